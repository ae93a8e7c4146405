'use strict';
// What a program does wrong, and what it forgets: wrong arguments, memory, worker threads. Run with --expose-gc.

const assert = require('node:assert/strict');
const path = require('node:path');
const test = require('node:test');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const { PACKAGE, URLS, folderOf, mankai, pack } = require('./support.js');
const { ConfirmedSeen, Filter, Gate, GateFollower, Guard, Hot, Seen } = mankai;

if (!isMainThread) {
  const { Filter: Own } = require(workerData.package);
  const filter = Own.openSync(workerData.file);
  const own = new Own({ keys: 1000 });
  own.add(`${workerData.number}`);
  // Left open, with a promise that is pending when the thread ends.
  own.save(workerData.file + workerData.number).catch(() => {});
  parentPort.postMessage([filter.has('a'), own.has(`${workerData.number}`), own.has('another')]);
} else {
  const WRONG = [undefined, null, true, 1.5, -1, 2n ** 70n, '', 'a\0b', Symbol('s'), {}, [], [null], new Map(), () => 1, new Date(NaN),
    Buffer.alloc(0), new Float64Array(3), new BigInt64Array(1), new Proxy({}, {}), new Proxy([1], {}), Object.create(null), NaN,
    { data: 1, offsets: 2 }, { keys: {} }, { mode: 'x' }, { at: 'x' }, { ids: 1 }, { guard: 1 }, new SharedArrayBuffer(8), /x/];

  const methodsOf = (object) => {
    const names = new Set();
    for (let at = object; at !== null && at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
      for (const name of Reflect.ownKeys(at)) names.add(name);
    }
    for (const name of ['constructor', 'length', 'name', 'prototype', 'arguments', 'caller']) names.delete(name);
    return [...names];
  };

  /** Calls everything that an object has with wrong arguments; only errors may come of it. */
  async function abuse(make) {
    let object = make();
    for (const name of methodsOf(object)) {
      for (const first of WRONG) {
        for (const second of [undefined, first, {}, 'x', 7]) {
          try {
            const member = object[name];
            const found = typeof member === 'function' ? member.call(object, first, second, first) : member;
            if (typeof found?.then === 'function') await found;
            if (typeof found?.next === 'function') found.next();
          } catch (error) {
            assert.ok(error instanceof Error, `${String(name)} threw ${String(error)}`);
          }
        }
      }
      // What was closed, or changed beyond use.
      object = make();
    }
    for (const name of methodsOf(object)) {
      for (const other of [{}, null, Object.create(Object.getPrototypeOf(object)), mankai]) {
        if (typeof Object.getOwnPropertyDescriptor(Object.getPrototypeOf(object), name)?.value !== 'function') continue;
        try {
          await Object.getPrototypeOf(object)[name].call(other, 'a', 'b');
        } catch (error) {
          assert.ok(error instanceof Error);
        }
      }
    }
  }

  test('wrong arguments give errors, never a crash', async (t) => {
    const folder = folderOf(t);
    const before = process.cwd();
    process.chdir(folder); // for what is created with a wrong name
    t.after(() => process.chdir(before));
    let number = 0;
    const file = () => path.join(folder, `abused${++number}`);
    await abuse(() => new Filter({ keys: 10 }));
    await abuse(() => new Filter({ kind: 'scalable-counting-bloom', keys: 10 }));
    await abuse(() => new Filter('decayed-top:bytes=65536'));
    await abuse(() => new Filter('recent-values:keys=10'));
    await abuse(() => Filter.createSync(file(), { keys: 10 }));
    await abuse(() => new Seen({ keys: 10 }));
    await abuse(() => new Seen({ keys: 10, window: 1000 }));
    await abuse(() => ConfirmedSeen.openSync(file(), { keys: 10 }));
    await abuse(() => new Hot({ memory: 65536 }));
    await abuse(() => new Guard());
    await abuse(() => new Gate({ keys: 10 }));
    await abuse(() => {
      const name = file();
      new Gate({ keys: 10 }).saveSync(name);
      return GateFollower.openSync(name);
    });
    for (const object of [Filter, Seen, ConfirmedSeen, Hot, Guard, Gate, GateFollower, mankai, mankai.url]) await abuse(() => object);
    for (const Class of [Filter, Seen, ConfirmedSeen, Hot, Guard, Gate, GateFollower]) {
      for (const first of WRONG) {
        for (const second of [undefined, first, {}, 7]) {
          try {
            new Class(first, second);
          } catch (error) {
            assert.ok(error instanceof Error);
          }
        }
      }
    }
  });

  test('worker threads have the addon each', async (t) => {
    const file = path.join(folderOf(t), 'f.mk');
    const filter = Filter.createSync(file, { keys: 1000 });
    filter.add('a');
    filter.checkpointSync();
    const answers = await Promise.all(Array.from({ length: 6 }, (_, number) => new Promise((resolve, reject) => {
      const worker = new Worker(__filename, { workerData: { package: PACKAGE, file, number } });
      let found = null;
      worker.on('message', (message) => { found = message; });
      worker.on('error', reject);
      worker.on('exit', (exitCode) => (exitCode === 0 ? resolve(found) : reject(new Error(`exit ${exitCode}`))));
    })));
    assert.deepEqual(answers, Array(6).fill([true, true, false]));
    const busy = new Worker(__filename, { workerData: { package: PACKAGE, file, number: 7 } });
    await new Promise((resolve) => busy.once('online', resolve));
    await busy.terminate();
    filter.closeSync();
  });

  test('memory is freed', { skip: typeof global.gc !== 'function' && 'run node with --expose-gc' }, async (t) => {
    const folder = folderOf(t);
    const packed = pack(URLS);
    const breathe = async () => {
      global.gc();
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    };
    const work = async (number) => {
      const filter = new Filter({ keys: 100_000 });
      filter.update(URLS);
      filter.hasMany(packed);
      filter.add('x'.repeat(5000));
      Filter.fromBytes(filter.toBytes()).copy().closeSync();
      for (const key of [null, 1.5]) assert.throws(() => filter.update(['a', key]), /a key is/);
      const name = path.join(folder, `${number % 4}`);
      await filter.save(name, { replace: true });
      const reader = await Filter.open(name);
      await assert.rejects(Filter.open(name + '.none'));
      if (number % 2 === 0) await reader.close();
      new Hot().top();
      const gate = new Gate({ keys: 1000 });
      gate.hold('a');
      const { guard } = await Guard.build([['a.example']]);
      guard.check('http://a.example/');
      mankai.url.canonical('http://a.example/');
      if (number % 10 === 0) await breathe();
    };
    for (let i = 0; i < 100; ++i) await work(i);
    await breathe();
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 400; ++i) await work(i);
    await breathe();
    const more = process.memoryUsage.rss() - before;
    // Without any freeing it would be 400 times 300 KiB.
    assert.ok(more < 24 << 20, `${more >> 10} KiB more after 400 rounds`);
  });

  test('the collector closes a file that was forgotten', { skip: typeof global.gc !== 'function' && 'run node with --expose-gc' }, async (t) => {
    const file = path.join(folderOf(t), 'f.mk');
    (() => Filter.createSync(file, { keys: 1000 }).add('a'))();
    for (let tries = 0; ; ++tries) {
      global.gc();
      await new Promise((resolve) => setImmediate(resolve));
      try {
        const again = Filter.openSync(file, { mode: 'w' });
        assert.equal(again.has('a'), true);
        again.closeSync();
        break;
      } catch (error) {
        if (error.code !== 'MANKAI_LOCKED' || tries === 100) throw error;
      }
    }
  });
}
