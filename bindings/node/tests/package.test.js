'use strict';
// Every class under its promises.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { inspect } = require('node:util');
const { pathToFileURL } = require('node:url');

const { OTHERS, URLS, folderOf, mankai, pack } = require('./support.js');
const { Answer, Confirmed, ConfirmedSeen, Filter, Gate, GateFollower, Guard, Hot, MankaiError, Removal, Seen, plan, url } = mankai;

const code = (name) => (error) => error instanceof MankaiError && error.code === `MANKAI_${name}`;
const small = (options) => new Filter({ keys: 20000, fpr: 0.0001, ...options });

// ---- Keys ----

test('a string and its UTF-8 are one key', () => {
  const filter = small();
  for (const text of ['é☃𝄞', '', 'a', 'x'.repeat(254), 'x'.repeat(255), 'x'.repeat(256), 'é'.repeat(700), 'y'.repeat(5000)]) {
    filter.add(text);
    assert.equal(filter.has(Buffer.from(text)), true, `${text.length} characters`);
    assert.equal(filter.has(new Uint8Array(Buffer.from(text))), true);
    assert.deepEqual([...filter.hasMany([Buffer.from(text), text + '!'])], [1, 0]);
  }
  filter.update(['ü'.repeat(900), '\u0141']);
  assert.equal(filter.has('ü'.repeat(900)), true);
  assert.equal(filter.has('A'), false, 'U+0141 is not its lower byte');
  filter.add('\ud800');
  assert.equal(filter.has('\ufffd'), true);
});

test('an integer is its eight bytes', () => {
  const filter = small();
  filter.add(-2);
  assert.equal(filter.has(-2n), true);
  assert.equal(filter.has(Buffer.from('feffffffffffffff', 'hex')), true);
  assert.deepEqual([...filter.hasMany(new BigInt64Array([-2n, 3n]))], [1, 0]);
  assert.deepEqual([...filter.hasMany([-2, 3])], [1, 0]);
  for (const key of [2n ** 63n, 2 ** 53, 1.5, NaN, Infinity]) {
    assert.throws(() => filter.add(key), code('INVALID_ARGUMENT'));
    assert.throws(() => filter.update([1, key]), code('INVALID_ARGUMENT'));
  }
});

test('batches agree with single keys', () => {
  const filter = small();
  const model = new Set();
  let random = 5;
  for (let round = 0; round < 40; ++round) {
    const batch = Array.from({ length: [1, 3, 255, 1024, 1500][round % 5] }, () => {
      random = (random * 48271) % 2147483647;
      return URLS[random % URLS.length];
    });
    const expected = batch.map((key) => {
      const isRepeat = model.has(key) ? 1 : 0;
      model.add(key);
      return isRepeat;
    });
    assert.deepEqual([...filter.observeMany(round % 2 === 0 ? batch : pack(batch))], expected);
  }
  assert.ok(filter.hasMany([...model]).every((one) => one === 1));
  assert.deepEqual([...filter.hasMany(OTHERS)], OTHERS.map((key) => (filter.has(key) ? 1 : 0)));
  assert.ok(filter.hasMany(OTHERS).reduce((sum, one) => sum + one) < 20);
});

test('arrays, sets, generators and mixed keys', () => {
  const filter = small();
  assert.equal(filter.update(new Set(['a', 'b'])), 2);
  assert.equal(filter.update((function* keys() { yield* URLS; })()), URLS.length);
  assert.equal(filter.update(['c', Buffer.from('d'), 4, 5n, 'é']), 5);
  assert.deepEqual([...filter.hasMany(['a', 'd', 'c', 4n, 5, 'é', 6])], [1, 1, 1, 1, 1, 1, 0]);
  assert.deepEqual([...filter.hasMany(new Set(['a', 'nothing of it']))], [1, 0]);
  assert.equal(filter.hasMany([]).length, 0);
  assert.equal(filter.update(new Map([[1, 2]]).keys()), 1);
});

test('packed keys with offsets of every type', () => {
  const filter = small();
  filter.update(['a', 'bcd', '']);
  for (const Offsets of [Int32Array, Uint32Array, BigInt64Array, BigUint64Array]) {
    assert.deepEqual([...filter.hasMany(pack(['a', 'nothing', 'bcd', ''], Offsets))], [1, 0, 1, 1]);
    assert.equal(filter.hasMany({ data: new Uint8Array(0), offsets: new Offsets(0) }).length, 0);
    assert.equal(filter.hasMany({ data: new Uint8Array(0), offsets: new Offsets(1) }).length, 0);
  }
});

test('forged packed keys are errors', () => {
  const filter = small();
  const data = Buffer.from('abcd');
  const forged = [
    new Int32Array([0, 5]), new Int32Array([0, 2, 1]), new Int32Array([-1, 2]), new Int32Array([0, -1]),
    new Uint32Array([0, 0xffffffff]), new BigInt64Array([0n, 2n ** 62n]), new BigInt64Array([-(2n ** 63n), 1n]),
    new BigUint64Array([0n, 2n ** 64n - 1n]),
  ];
  for (const offsets of forged) {
    assert.throws(() => filter.hasMany({ data, offsets }), code('INVALID_ARGUMENT'));
    assert.throws(() => filter.update({ data, offsets }), code('INVALID_ARGUMENT'));
    assert.throws(() => filter.observeMany({ data, offsets }), code('INVALID_ARGUMENT'));
  }
  const shared = new Int32Array(new SharedArrayBuffer(8));
  for (const keys of [
    { data, offsets: shared }, { data, offsets: [0, 1] }, { data, offsets: new Float64Array(2) }, { data: 'ab', offsets: forged[0] },
    { data: new Int32Array(4), offsets: forged[0] }, { offsets: forged[0] }, { data, offsets: null },
  ]) assert.throws(() => filter.hasMany(keys), TypeError);
  assert.throws(() => filter.hasMany({ data, offsets: shared }), /offsets are in a SharedArrayBuffer.*copy them/);
  assert.throws(() => filter.hasMany({ data: 'ab', offsets: forged[0] }), /^TypeError: keys are an array of keys/);
  assert.deepEqual([...filter.hasMany({ data, offsets: shared.slice() })], [0]);
  assert.equal(filter.size, 0);
});

test('code that runs while keys are read cannot harm', () => {
  const filter = small();
  const keys = ['a', 'b', 'c'];
  Object.defineProperty(keys, 1, { get() { filter.closeSync(); return 'b'; } });
  assert.throws(() => filter.observeMany(keys), code('CLOSED'));
  const thrower = { get data() { throw new RangeError('mine'); }, offsets: new Int32Array(2) };
  assert.throws(() => small().hasMany(thrower), RangeError);
  const data = Buffer.from(new ArrayBuffer(8));
  const detached = { data, get offsets() { structuredClone(data.buffer, { transfer: [data.buffer] }); return new Int32Array([0, 8]); } };
  assert.throws(() => small().hasMany(detached), code('INVALID_ARGUMENT'));
});

// ---- Filter ----

test('a spec or settings make a filter', () => {
  assert.equal(new Filter('blocked-bloom:keys=1000,fpr=0.01').kind, 'blocked-bloom');
  assert.equal(small().size, 0);
  assert.throws(() => new Filter('no-such-kind:keys=1'), code('NOT_FOUND'));
  assert.throws(() => new Filter({ keys: 10, fpr: 2 }), code('INVALID_ARGUMENT'));
  assert.throws(() => new Filter({}), code('INVALID_ARGUMENT'));
  assert.throws(() => new Filter('blocked-bloom:keys=1000\0'), code('INVALID_ARGUMENT'));
  assert.ok(mankai.kinds().some((kind) => kind.name === 'blocked-bloom'));
  assert.ok(mankai.plan(1e6, { fpr: 0.01 }).length > 3);
  assert.ok(mankai.plan(1e6, { memoryBytes: 1e6 }).length > 3);
});

test('remove, count, merge, copy, clear', () => {
  const filter = new Filter({ kind: 'counting-bloom', keys: 1000, seed: '00000000000000010000000000000002' });
  filter.update(['a', 'a', 'b']);
  assert.deepEqual(filter.count('a'), { value: 2, isSaturated: false });
  assert.deepEqual([...filter.counts(['a', 'b', 'c'])], [2, 1, 0]);
  assert.deepEqual([...filter.counts(pack(['a', 'c']))], [2, 0]);
  filter.update(Array(20).fill('many'));
  assert.deepEqual(filter.count('many'), { value: 15, isSaturated: true });
  assert.equal(filter.remove('many'), Removal.STUCK);
  assert.equal(filter.remove('nothing'), Removal.ABSENT);
  assert.throws(() => small().remove('a'), code('INVALID_ARGUMENT'));
  assert.equal(filter.remove('a'), Removal.REMOVED);
  assert.deepEqual([...filter.removeMany(['nothing', 'b'])], [Removal.ABSENT, Removal.REMOVED]);
  const other = filter.copy();
  other.add('c');
  filter.merge(other);
  assert.equal(filter.has('c'), true);
  filter.clear();
  assert.equal(filter.has('c'), false);
  assert.throws(() => filter.merge(small()), code('INVALID_ARGUMENT'));
  assert.throws(() => filter.merge('a'), TypeError);
  assert.throws(() => small().count('a'), code('INVALID_ARGUMENT'));
  assert.equal(Filter.fromBytes(other.toBytes()).has('c'), true);
});

test('ids, times, values and the hottest', () => {
  const numbered = new Filter({ kind: 'scalable-counting-bloom', keys: 1000 });
  numbered.update(['a', 'b'], { ids: [1, 2n] });
  numbered.update(pack(['c', 'd']), { ids: [3, 4] });
  assert.deepEqual([...numbered.removeMany(pack(['c', 'x']), { ids: [3, 4] })], [Removal.REMOVED, Removal.ABSENT]);
  numbered.add('c', { id: 3 });
  assert.equal(numbered.remove('a', { id: 1 }), Removal.REMOVED);
  assert.throws(() => numbered.update(['a', 'b'], { ids: [1] }), code('INVALID_ARGUMENT'));
  assert.throws(() => numbered.add('c', { id: 2 ** 64 }), code('INVALID_ARGUMENT'));
  assert.throws(() => numbered.update(['a'], { ids: [2 ** 53] }), code('INVALID_ARGUMENT'));
  const hot = new Filter('decayed-top:bytes=65536');
  hot.update(['a', 'a', 'b'], { at: new Date(1.7e12) });
  hot.add('c', { at: 1.7e12 });
  const top = hot.top(5);
  assert.equal(top[0].text, 'a');
  assert.equal(top.length, 3);
  assert.ok(Math.abs(top[0].lastSeen.getTime() - 1.7e12) < 3.6e6);
  const { raw, rate, isSaturated } = hot.lately('a');
  assert.ok(raw >= 2 && rate > 0 && isSaturated === false);
  assert.deepEqual(hot.lately('absent'), { raw: 0, rate: 0, isSaturated: false });
  const values = new Filter('recent-values:keys=100');
  values.put('a', 17);
  assert.equal(values.recall('a')[0].value, 17);
});

test('a file keeps its keys and names its owner', async (t) => {
  const file = path.join(folderOf(t), 'f.mk');
  const filter = await Filter.create(file, { keys: 1000, durability: 'always' });
  filter.add('a');
  filter.batch((batch) => {
    filter.update(['b', 'c']);
    batch.position = Buffer.from('offset 7');
  });
  assert.equal(filter.position.toString(), 'offset 7');
  assert.equal(filter.sequence, 3);
  await filter.sync();
  assert.equal(filter.durableSequence, 3);
  assert.equal(filter.recovery.wasClosed, true);
  await assert.rejects(Filter.open(file, { mode: 'w' }), (error) => code('LOCKED')(error) && error.message.includes('this process'));
  await filter.checkpoint();
  await filter.close();
  await filter.close();
  assert.equal(filter.closed, true);
  assert.throws(() => filter.add('d'), code('CLOSED'));
  await assert.rejects(filter.sync(), code('CLOSED'));
  await assert.rejects(Filter.create(file, { keys: 1000 }), code('INVALID_ARGUMENT'));
  assert.throws(() => Filter.createSync(file, 'bloom:keys=1'), code('INVALID_ARGUMENT'));
  const reader = Filter.openSync(pathToFileURL(file));
  assert.deepEqual([...reader.hasMany(['a', 'b', 'c', 'd'])], [1, 1, 1, 0]);
  assert.throws(() => reader.add('d'), code('INVALID_ARGUMENT'));
  reader.closeSync();
  await mankai.verify(file);
  mankai.verifySync(file);
  await assert.rejects(Filter.open(file + '.none'), (error) => code('NOT_FOUND')(error) && error.osError === 2);
  await small().save(file, { replace: true });
  assert.throws(() => small().saveSync(file), code('INVALID_ARGUMENT'));
});

test('a batch that fails is not in the file', async (t) => {
  const file = path.join(folderOf(t), 'f.mk');
  const filter = Filter.createSync(file, { keys: 1000 });
  filter.add('a');
  assert.throws(() => filter.batch(() => { filter.add('b'); throw new RangeError('mine'); }), RangeError);
  assert.equal(filter.closed, true);
  const again = Filter.openSync(file, { mode: 'w' });
  await assert.rejects(again.batch(async () => { again.add('c'); throw new RangeError('mine'); }), RangeError);
  const last = Filter.openSync(file, { mode: 'w' });
  assert.equal(await last.batch(async () => { last.add('d'); return 7; }), 7);
  assert.deepEqual([...last.hasMany(['a', 'b', 'c', 'd'])], [1, 0, 0, 1]);
  last.closeSync();
});

test('a reader sees changes after refresh', async (t) => {
  const file = path.join(folderOf(t), 'f.mk');
  const writer = Filter.createSync(file, { keys: 1000 });
  writer.checkpointSync();
  const reader = await Filter.open(file);
  writer.add('a');
  await writer.checkpoint();
  assert.equal(reader.has('a'), false);
  assert.equal(await reader.refresh(), true);
  assert.equal(reader.has('a'), true);
  assert.equal(reader.refreshSync(), false);
  writer.closeSync();
});

test('close waits for pending promises', async (t) => {
  const file = path.join(folderOf(t), 'f.mk');
  const filter = Filter.createSync(file, { keys: 100000 });
  const works = [];
  for (let i = 0; i < 8; ++i) {
    filter.update(URLS);
    works.push(filter.checkpoint());
  }
  assert.throws(() => filter.closeSync(), { code: 'MANKAI_BUSY' });
  const closing = filter.close();
  assert.throws(() => filter.add('a'), code('CLOSED'));
  await Promise.all([...works, closing]);
  Filter.openSync(file, { mode: 'w' }).closeSync();
});

test('a second close waits for the first', async (t) => {
  for (let round = 0; round < 4; ++round) {
    const file = path.join(folderOf(t), 'f.mk');
    const filter = Filter.createSync(file, { keys: 1e6 });
    filter.add('a');
    const pending = round % 2 === 0 ? filter.checkpoint() : null;
    const first = filter.close();
    assert.throws(() => filter.closeSync(), code('BUSY'));
    await (round < 2 ? filter.close() : Promise.all([filter.close(), filter.close()]));
    Filter.openSync(file, { mode: 'w' }).closeSync();
    await Promise.all([first, pending]);
    filter.closeSync();
    await filter.close();
  }
});

test('corrupt images are errors', () => {
  const image = small().toBytes();
  image[200] ^= 1;
  assert.throws(() => Filter.fromBytes(image), code('CORRUPT'));
  assert.throws(() => Filter.fromBytes(Buffer.from('nothing')), MankaiError);
  assert.throws(() => Filter.fromBytes('nothing'), TypeError);
});

test('the bytes of a file are not an image', (t) => {
  const file = path.join(folderOf(t), 'f.mk');
  Filter.createSync(file, { keys: 1000 }).closeSync();
  const content = fs.readFileSync(file);
  for (const bytes of [content, new Uint8Array(content)]) {
    assert.throws(() => Filter.fromBytes(bytes), (error) => code('INVALID_ARGUMENT')(error) && error.message.includes('Filter.open(path)'));
  }
  assert.ok(Filter.fromBytes(Filter.openSync(file).toBytes()));
});

test('objects are disposed', { skip: Symbol.dispose === undefined && 'Symbol.dispose is newer than this Node.js' }, async () => {
  const filter = small();
  filter[Symbol.dispose]();
  assert.equal(filter.closed, true);
  const other = small();
  await other[Symbol.asyncDispose]();
  assert.equal(other.closed, true);
});

// ---- Seen, ConfirmedSeen, Hot ----

test('Seen in memory and in a file', async (t) => {
  const file = path.join(folderOf(t), 'seen.mk');
  for (const seen of [new Seen({ keys: 20000 }), await Seen.open(file, { keys: 20000 })]) {
    assert.equal(seen.observe('a'), false);
    assert.equal(seen.observe('a'), true);
    assert.equal(seen.add('b'), true);
    assert.equal(seen.update(['b', 'c', 'c', 'd']), 2);
    assert.deepEqual([...seen.hasMany(pack(['a', 'e']))], [1, 0]);
    assert.deepEqual([...seen.first(['d', 'x', 'y', 'x'])], ['x', 'y']);
    assert.deepEqual([...seen.first([{ id: 'y' }, { id: 'z' }], (row) => row.id)], [{ id: 'z' }]);
    assert.equal(seen.size, 7);
    seen.batch((batch) => { seen.observe('p'); batch.position = Buffer.from([1, 2]); });
    await seen.sync();
    await seen.close();
  }
  await assert.rejects(Seen.open(file, { keys: 30000 }), code('INVALID_ARGUMENT'));
  const again = Seen.openSync(file);
  assert.equal(again.has('p'), true);
  assert.deepEqual([...again.position], [1, 2]);
  again.closeSync();
});

test('processes that share counters forget keys', async (t) => {
  const file = path.join(folderOf(t), 'seen.mk');
  const seen = Seen.openSync(file, { keys: 1000, fpr: 1e-6, kind: 'counting-bloom', sharing: 'processes' });
  const other = await Seen.open(file, { sharing: 'processes' });
  assert.equal(seen.update(['a', 'b', 'c', 'c']), 3);
  assert.equal(other.forget('a'), Removal.REMOVED);
  assert.deepEqual([...seen.forgetMany(['a', 'b'])], [Removal.ABSENT, Removal.REMOVED]);
  assert.deepEqual([...other.observeMany(['a', 'b', 'c'])], [0, 0, 1]);
  assert.equal(seen.size, 3);
  await other.close();
  seen.closeSync();
  assert.throws(() => new Seen({ keys: 10 }).forget('a'), code('INVALID_ARGUMENT'));
});

test('a filter that processes share has checkpoints at its interval, and no batches', async (t) => {
  const seen = Seen.openSync(path.join(folderOf(t), 'seen.mk'), { keys: 1000, sharing: 'processes', interval: 20 });
  seen.observe('a');
  for (let i = 0; i < 1000 && seen.info.durableSequence < 1; ++i) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(seen.info.durableSequence, 1);
  assert.throws(() => seen.batch(() => seen.observe('b')), code('INVALID_ARGUMENT'));
  assert.equal(seen.observe('b'), false);
  seen.closeSync();
});

test('keys of Seen expire after its window', () => {
  const seen = new Seen({ keys: 1000, window: 60_000 });
  const start = 1.7e12;
  assert.equal(seen.observe('a', start), false);
  assert.equal(seen.observe('a', new Date(start + 30_000)), true);
  assert.equal(seen.observe('a', start + 3_600_000), false);
  assert.deepEqual([...seen.observeMany(['a', 'b'], [start + 3_600_000, start + 3_600_001])], [1, 0]);
  assert.ok(seen.info.window >= 60_000);
  assert.equal(seen.observe('now'), false);
  assert.throws(() => new Seen({ keys: 10 }).observe('a', start), code('INVALID_ARGUMENT'));
});

test('canonical URLs are one key', () => {
  for (const set of [new Seen({ keys: 1000, canonical: true }), new Filter({ keys: 1000, canonical: true })]) {
    set.observe('http://EXAMPLE.com:80/a/../b');
    assert.equal(set.has('http://example.com/b'), true);
  }
  assert.equal(new Filter({ keys: 1000, canonical: false }).info.canonicalVersion, 0);
});

test('ConfirmedSeen is never wrong', async (t) => {
  const file = path.join(folderOf(t), 'seen.log');
  const seen = await ConfirmedSeen.open(file, { keys: 100, fpr: 0.5 });
  const answers = seen.observeMany([...URLS, URLS[0]]);
  assert.ok(answers.subarray(0, -1).every((one) => one !== Confirmed.REPEAT));
  assert.equal(answers.at(-1), Confirmed.REPEAT);
  assert.equal(seen.observe('a'), false);
  assert.equal(seen.observe('a'), true);
  assert.deepEqual([...seen.first(['a', 'b'])], ['b']);
  await seen.commit();
  await seen.sync();
  assert.equal(seen.size, URLS.length + 2);
  await seen.close();
  const again = ConfirmedSeen.openSync(file);
  assert.equal(again.observe('b'), true);
  again.commitSync();
  again.closeSync();
  assert.throws(() => new ConfirmedSeen(file), TypeError);
});

test('Hot counts, decays and lists', async (t) => {
  const file = path.join(folderOf(t), 'hot.mk');
  const hot = await Hot.open(file, { halfLife: 60_000, acceptFuture: Infinity });
  const start = 1.7e12;
  for (let i = 0; i < 8; ++i) hot.observe('/a', start);
  hot.observeMany(['/b', '/b'], start);
  hot.observeMany(pack(['/c']), [start]);
  assert.ok(hot.count('/a') >= 8);
  assert.deepEqual(hot.top(2).map((entry) => entry.text), ['/a', '/b']);
  assert.deepEqual(hot.above(5).map((entry) => entry.text), ['/a']);
  hot.advance(start + 60_000);
  assert.ok(hot.count('/a') < 6);
  assert.ok(Math.abs(hot.info.halfLife - 60_000) < 1000);
  assert.equal(hot.size, 11);
  await hot.sync();
  await hot.close();
  const now = new Hot();
  now.observe('x');
  now.observeMany(new Set(['x', 'y']));
  now.observe('future', Date.now() + 1e9);
  assert.equal(now.info.recordsInFuture, 1);
  assert.equal(now.top()[0].text, 'x');
  // The limit follows the clock also for records without a time.
  const soon = new Hot({ acceptFuture: 1 });
  soon.observe('x', Date.now() - 1000);
  const limit = Date.now() + 5;
  while (Date.now() < limit);
  soon.observe('x');
  soon.observeMany(['x']);
  assert.equal(soon.info.recordsInFuture, 0);
});

// ---- Guard ----

test('Guard answers, changes and is saved', async (t) => {
  const file = path.join(folderOf(t), 'blocked.mkg');
  const { guard, report } = await Guard.build([['evil.example', '||bad.example^', '0.0.0.0 ads.example']], {
    allow: [['good.evil.example']], exact: true,
  });
  assert.equal(report.rules, 3);
  assert.equal(guard.blocked('http://www.EVIL.example/a'), true);
  assert.equal(guard.blocked('http://fine.example/'), false);
  assert.equal(guard.blocked(''), true);
  assert.equal(guard.blocked('', { invalid: false }), false);
  assert.equal(guard.check('http://good.evil.example/').answer, Answer.ALLOWED);
  assert.deepEqual({ ...guard.check('http://evil.example/x') }.answer, Answer.BLOCKED);
  assert.match(guard.check('http://evil.example/x').rule, /evil\.example/);
  assert.deepEqual([...guard.checkMany(['http://evil.example/', 'http://fine.example/', ''])],
    [Answer.BLOCKED, Answer.OK, Answer.INVALID]);
  assert.deepEqual([...guard.blockedMany(pack(['http://evil.example/', '']), { invalid: false })], [1, 0]);
  await guard.save(file);
  await mankai.verify(file);
  const writer = await Guard.open(file, { mode: 'w' });
  const reader = Guard.openSync(file);
  assert.equal(await writer.add(['new.example', 'evil.example']), 1);
  assert.equal(writer.removeSync('evil.example'), 1);
  assert.equal(await writer.allow('fine.new.example'), 1);
  assert.equal(writer.disallowSync('good.evil.example'), 1);
  await assert.rejects(writer.add('://'), code('INVALID_ARGUMENT'));
  assert.equal(await reader.refresh(), true);
  assert.equal(reader.blocked('http://new.example/'), true);
  assert.deepEqual(reader.exceptions, ['fine.new.example']);
  await writer.compact();
  assert.equal(writer.size, 3);
  await assert.rejects(reader.add('a.example'), code('INVALID_ARGUMENT'));
  assert.equal(Guard.fromBytes(guard.toBytes()).blocked('http://evil.example/'), true);
  await writer.close();
  await assert.rejects(Guard.build([file + '.none']), code('NOT_FOUND'));
  await assert.rejects(Guard.build('list.txt'), TypeError);
  assert.equal(Guard.buildSync([new Set(['a.example'])]).guard.size, 1);
});

// ---- Gate ----

test('Gate and its followers', async (t) => {
  const file = path.join(folderOf(t), 'gate.mk');
  const gate = new Gate({ keys: 1000 });
  gate.apply({ inserted: ['a', 'b', 7], position: 1 });
  assert.equal(gate.maybe('nothing'), null);
  assert.ok(gate.maybe('a'));
  assert.ok(gate.maybe(7n));
  let asked = 0;
  const load = async () => { ++asked; return null; };
  assert.equal(await gate.get('nothing', load), null);
  assert.equal(asked, 0);
  assert.equal(await gate.get('a', async () => 'row'), 'row');
  gate.apply({ removed: ['b'], inserted: ['c'], position: 2n, mark: 'm' });
  assert.ok(gate.maybe('later', { after: 3 }), 'before its position is applied the answer is maybe');
  const maybe = gate.maybe('a');
  gate.report('a', maybe);
  assert.equal(gate.maybe('a'), null, 'reported');
  const hold = gate.hold('a');
  assert.ok(gate.maybe('a'));
  hold.release();
  assert.equal(gate.position, 2n);
  assert.equal(gate.source.mark, 'm');
  assert.equal(gate.counts.falsePositives, 1);
  assert.equal(gate.info.keys, 3);
  assert.throws(() => gate.apply({ position: 1 }), code('INVALID_ARGUMENT'));
  for (const one of ['word', Buffer.from('word'), 5, null, pack(['word'])]) {
    assert.throws(() => gate.apply({ inserted: one, position: 3 }), TypeError);
    assert.throws(() => gate.apply({ removed: one, position: 3 }), TypeError);
  }
  gate.apply({ inserted: new BigInt64Array([11n]), position: 2 });
  assert.ok(gate.maybe(11));
  gate.apply({ removed: new Set([11]), position: 2 });
  assert.throws(() => gate.report('a', {}), TypeError);
  await gate.save(file);
  const writer = await Gate.open(file);
  const follower = await GateFollower.open(file);
  assert.ok(follower.maybe('c'));
  writer.apply({ inserted: ['d'], position: 3 });
  await writer.sync();
  assert.equal(await follower.refresh(), true);
  assert.ok(follower.maybe('d'));
  assert.equal(follower.position, 3n);
  follower.refreshEvery(5);
  writer.apply({ inserted: ['e'], position: 4 });
  await writer.sync();
  while (follower.maybe('e') === null) await new Promise((resolve) => setTimeout(resolve, 5));
  await follower.close();
  await writer.close();
});

// ---- Errors ----

test('an object that is in use cannot be closed at once', async (t) => {
  const filter = Filter.createSync(path.join(folderOf(t), 'f.mk'), { keys: 1000 });
  const pending = filter.sync();
  assert.throws(() => filter.closeSync(), code('BUSY'));
  await pending;
  filter.batch(() => assert.throws(() => filter.batch(() => {}), code('BUSY')));
  filter.closeSync();
});

test('wrong types are a TypeError, wrong values MANKAI_INVALID_ARGUMENT', async (t) => {
  const file = path.join(folderOf(t), 'new');
  const values = new Filter('recent-values:keys=100');
  const [filter, hot, guard, gate, seen] = [small(), new Hot(), new Guard(), new Gate({ keys: 10 }), new Seen({ keys: 10 })];
  const hottest = new Filter('decayed-top:bytes=65536');
  const numbered = new Filter('scalable-counting-bloom:keys=10');
  const cases = [ // a call with one argument, wrong types, wrong values
    [(one) => new Filter(one), [5, null, { keys: 10, growth: {} }, { keys: '10' }, { keys: 10, fpr: '0.1' }, { keys: true }], ['none\0', { keys: 10, fpr: NaN }, { keys: -1 }]],
    [(one) => Filter.openSync(one), [5, null, undefined], ['', 'a\0']],
    [(one) => Filter.openSync(file, one), [5, { mode: 1 }, { none: 1 }, { durability: 1 }], [{ mode: 'x' }, { durability: 'x' }, { interval: -1 }]],
    [(one) => Filter.createSync(file, { keys: 10, interval: one }), ['1'], [NaN, -1]],
    [(one) => Filter.fromBytes(one), ['a', new Float64Array(1), new ArrayBuffer(4)], []],
    [(one) => filter.add(one), [null, undefined, true, {}, new Date(), new ArrayBuffer(8)], [1.5, 2n ** 63n, -(2n ** 63n) - 1n]],
    [(one) => filter.hasMany(one), ['a', 5, Buffer.from('a'), ['a', null], {}], [['a', 1.5]]],
    [(one) => hottest.update(['a'], { at: one }), ['1', null, {}], [NaN, new Date(NaN), [1, 2], [NaN]]],
    [(one) => numbered.update(['a'], { ids: one }), [1, 'a', ['a']], [[-1], [1, 2], [2n ** 64n]]],
    [(one) => hottest.advance(one), ['1', undefined], [NaN, new Date(NaN)]],
    [(one) => hottest.top(one), ['1', null], [-1, 1.5, 2n ** 64n]],
    [(one) => values.put('a', one), ['1', null], [-1, 1.5, 2 ** 32]],
    [(one) => values.put('a', 1, { strength: one }), ['1', null], [NaN, 7]],
    [(one) => values.recall('a', { minMatches: one }), ['1'], [-1, 1.5]],
    [(one) => new Seen(one), [5, { keys: '1' }, { fpr: '1' }, { hash: 1 }, { window: '1' }, { none: 1 }, { toString: 1 }],
      [{ keys: -1 }, { fpr: NaN }, { hash: 'a\0' }, { window: NaN }, { sharing: 'x' }, { keys: 1.5 }]],
    [(one) => seen.observe('a', one), ['1', null], [NaN, Infinity]],
    [(one) => ConfirmedSeen.openSync(file, one), [{ keys: '1' }], [{ keys: -1 }]],
    [(one) => new Hot(one), [{ acceptFuture: '1' }, { rounding: 1 }], [{ acceptFuture: NaN }, { acceptFuture: -1 }, { rounding: 'x' }]],
    [(one) => hot.observe('a', one), ['1'], [NaN, Infinity]],
    [(one) => hot.observeMany(['a'], one), ['1'], [NaN, [], [1, 2]]],
    [(one) => hot.above(one), ['1', undefined], [NaN]],
    [(one) => new Guard(one), [{ fpr: '1' }, { seed: 1 }], [{ fpr: NaN }, { seed: 'a\0' }]],
    [(one) => Guard.buildSync([['a.example']], one), [{ format: 1 }, { column: 1 }], [{ format: 'x' }, { column: 'a\0' }]],
    [(one) => Guard.buildSync([one]), [5, {}, null, Promise.resolve(['a.example']), Buffer.from('a.example'), [5]], []],
    [(one) => guard.addSync(one), [5, null, [5], [Buffer.from('a.example')]], ['://', '']],
    [(one) => guard.addSync('a.example', { id: one }), ['1'], [-1, 1.5, 2n ** 64n]],
    [(one) => new Gate(one), [{ memo: '1' }, { sourceId: 1 }], [{ memo: -1 }, { sourceId: 'a\0' }]],
    [(one) => gate.apply(one), [undefined, { position: '1' }, { position: 1, mark: 1 }], [{ position: -1 }, { position: 1, mark: 'a\0' }]],
    [(one) => gate.maybe('a', { after: one }), ['1'], [-1, 2n ** 64n]],
    [(one) => gate.report('a', one), [null, {}], []],
    [(one) => plan(one), ['1', undefined], [-1, 1.5]],
    [(one) => url.canonical('http://a.example/', { rules: one }), [1], ['x']],
    [(one) => url.hosts('http://a.example/', { ladder: one }), [1], ['x', 'toString']],
    [(one) => mankai.guardMiddleware({ guard, status: one }), ['403'], [99, 1.5]],
    [(one) => mankai.verifySync(one), [5], ['', 'a\0']],
  ];
  for (const [call, types, wrong] of cases) {
    for (const one of types) assert.throws(() => call(one), TypeError, `${call} ${inspect(one)}`);
    for (const one of wrong) assert.throws(() => call(one), code('INVALID_ARGUMENT'), `${call} ${inspect(one)}`);
  }
  await assert.rejects(Filter.open(5), TypeError);
  await assert.rejects(Filter.open('a\0'), code('INVALID_ARGUMENT'));
});

test('zero is not a default', (t) => {
  const file = path.join(folderOf(t), 'new');
  for (const [make, names] of [
    [(options) => new Seen(options), ['keys', 'fpr', 'window', 'interval']],
    [(options) => ConfirmedSeen.openSync(file, options), ['keys', 'fpr']],
    [(options) => new Hot(options), ['halfLife', 'window', 'epoch', 'memory', 'lateTolerance', 'interval']],
    [(options) => Filter.createSync(file, { keys: 10, ...options }), ['keys', 'interval']],
    [(options) => Filter.openSync(file, options), ['interval']],
    [(options) => new Gate(options), ['keys', 'fpr', 'memo']],
    [(options) => Gate.openSync(file, options), ['memo', 'interval']],
    [(options) => new Guard(options), ['fpr']],
    [(options) => Guard.buildSync([], options), ['fpr']],
    [(options) => plan(10, options), ['fpr', 'memoryBytes']],
  ]) {
    for (const name of names) assert.throws(() => make({ [name]: 0 }), code('INVALID_ARGUMENT'), name);
  }
  assert.throws(() => new Gate({ keys: 0n }), /keys is 0; give more than 0, or leave it out/);
  assert.ok(new Seen({ keys: 10, window: 1e-9 }).info.window > 0);
});

// ---- URLs ----

test('URLs', () => {
  assert.equal(url.canonical('HTTP://Example.COM:80/a/../b'), 'http://example.com/b');
  assert.throws(() => url.canonical(''), code('INVALID_ARGUMENT'));
  assert.deepEqual(url.canonicalMany(['http://A.example', '', 'http://b.example/%7e']),
    ['http://a.example/', null, url.canonical('http://b.example/%7e')]);
  const parsed = url.parse('https://a.b.co.uk:8443/x?y');
  assert.equal(parsed.registrableDomain, 'b.co.uk');
  assert.equal(url.registrableDomain('b\u00fccher.example.co.uk'), 'example.co.uk');
  assert.deepEqual([parsed.scheme, parsed.host, parsed.authority, parsed.path, parsed.query, parsed.isIp],
    ['https', 'a.b.co.uk', 'a.b.co.uk:8443', '/x', '?y', false]);
  assert.equal(url.parse('http://127.0.0.1/').registrableDomain, '');
  assert.deepEqual(url.hosts('http://a.b.example/', { ladder: 'all' }), ['a.b.example', 'b.example', 'example']);
  assert.ok(url.paths('http://a.example/b/c?d').includes('/b/'));
  assert.ok(url.canonical('http://a.example/' + 'x'.repeat(5000)).length > 5000);
  assert.throws(() => url.canonical('http://a.example/', { rules: 'none' }), code('INVALID_ARGUMENT'));
  assert.ok(url.VERSION >= 1);
});
