'use strict';
// The middleware in servers on the loopback interface: of node:http, and of Express and Fastify where they are installed.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const test = require('node:test');

const { PACKAGE, folderOf, mankai, optional } = require('./support.js');
const { Guard, guardMiddleware } = mankai;

const { guard } = Guard.buildSync([['evil.example']], { exact: true });

/** A function that asks a server: the status of the answer, or its text. */
const asker = (port, ofText = false) => (target, body, type = 'application/x-www-form-urlencoded') => new Promise((resolve, reject) => {
  const headers = body === undefined ? {} : { 'Content-Type': type };
  const method = body === undefined ? 'GET' : 'POST';
  const request = http.request({ port, host: '127.0.0.1', path: target, agent: false, headers, method }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (part) => { text += part; });
    response.on('end', () => resolve(ofText ? text : response.statusCode));
  });
  request.on('error', reject);
  request.end(body);
});

/** Starts a listener. */
async function serve(t, listener) {
  const server = http.createServer(listener);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => server.close(resolve)));
  return asker(server.address().port);
}

/** Starts an example, which prints its port, in a folder whose packages are linked. */
async function start(t, folder, packages, name, ...words) {
  const modules = path.join(folder, 'node_modules');
  fs.mkdirSync(modules, { recursive: true });
  for (const [title, place] of Object.entries(packages)) fs.symlinkSync(path.resolve(place), path.join(modules, title));
  fs.copyFileSync(path.join(__dirname, '../../../examples/node', name), path.join(folder, name));
  const child = spawn(process.execPath, [name, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => resolve(Number(/listening on (\d+)/.exec(text)?.[1])));
    child.once('exit', (exitCode) => reject(new Error(`the example ended: ${exitCode}`)));
  });
  return { port, end: () => { child.kill('SIGTERM'); return ended; } };
}

test('a server of node:http', async (t) => {
  const check = guardMiddleware({ guard, parameters: ['url', 'u'], status: 451 });
  const ask = await serve(t, (request, response) => check(request, response, () => response.end('ok')));
  assert.equal(await ask('/?url=http%3A%2F%2Fevil.example%2Fa'), 451);
  assert.equal(await ask('/?x=1&u=HTTP://cdn.EVIL.example'), 451);
  assert.equal(await ask('/?url=http://fine.example&url=http://evil.example'), 451);
  assert.equal(await ask('/?url=http://fine.example'), 200);
  assert.equal(await ask('/?other=http://evil.example'), 200);
  assert.equal(await ask('/?url='), 200);
  assert.equal(await ask('/'), 200);
  const strict = guardMiddleware({ guard, blocksInvalid: true });
  const askStrict = await serve(t, (request, response) => strict(request, response, () => response.end('ok')));
  assert.equal(await askStrict('/?url='), 403);
  assert.equal(await askStrict('/'), 200);
});

test('values that a parser nested', () => {
  const check = guardMiddleware({ guard });
  const isRefused = (request) => {
    let isPassed = false;
    check({ url: '/', ...request }, { setHeader() {}, end() {} }, () => { isPassed = true; });
    return !isPassed;
  };
  for (const url of [['http://evil.example'], { x: 'http://evil.example' }, [{ x: ['http://a.example', 'http://evil.example'] }]]) {
    assert.equal(isRefused({ query: { url } }), true);
    assert.equal(isRefused({ body: { url } }), true);
    assert.equal(isRefused({ body: { items: [{ item: { url } }] } }), true);
    assert.equal(isRefused({ query: { other: url } }), false);
  }
  const cycle = { x: 'http://fine.example' };
  cycle.itself = cycle;
  assert.equal(isRefused({ body: { url: cycle } }), false);
  assert.equal(isRefused({ body: { url: new Array(1e6).fill(1) } }), false);
  assert.equal(isRefused({ body: Buffer.alloc(64 << 20) }), false);
});

test('wrong options of the middleware are errors', () => {
  assert.throws(() => guardMiddleware(), /guard is a Guard/);
  assert.throws(() => guardMiddleware({ guard, status: '403' }), TypeError);
  assert.throws(() => guardMiddleware({ guard, parameter: 'url' }), /unknown option "parameter"/);
});

const express = optional('express');
test('Express', { skip: express === null && 'express is missing: set MANKAI_NODE_MODULES to a folder of npm that has it' }, async (t) => {
  const app = express();
  app.use(express.urlencoded({ extended: false }));
  app.use('/api', guardMiddleware({ guard }));
  app.all('/api/preview', (request, response) => response.send('ok'));
  const ask = await serve(t, app);
  assert.equal(await ask('/api/preview?url=http://evil.example/'), 403);
  assert.equal(await ask('/api/preview?url=http://fine.example/'), 200);
  assert.equal(await ask('/api/preview', 'url=http%3A%2F%2Fevil.example'), 403);
  assert.equal(await ask('/api/preview', 'url=http%3A%2F%2Ffine.example'), 200);
  app.use(express.json(), guardMiddleware({ guard }), (request, response) => response.send('ok'));
  assert.equal(await ask('/json', '{"a": {"url": "http://evil.example"}}', 'application/json'), 403);
  assert.equal(await ask('/json', '{"a": {"url": "http://fine.example"}}', 'application/json'), 200);
});

test('the example with Express', { skip: express === null && 'express is missing: set MANKAI_NODE_MODULES to a folder of npm that has it' },
  async (t) => {
    const folder = folderOf(t);
    await guard.save(path.join(folder, 'blocked.mkg'));
    const place = path.join(process.env.MANKAI_NODE_MODULES ?? '/usr/share/nodejs', 'express');
    const example = await start(t, folder, { mankai: PACKAGE, express: place }, 'express_preview.js', 'blocked.mkg', '0');
    const ask = asker(example.port);
    assert.equal(await ask('/preview?url=http://evil.example/'), 403);
    assert.equal(await ask('/preview?url=http://fine.example/'), 200);
    assert.equal(await ask('/preview', 'url=http%3A%2F%2Fevil.example'), 403);
    assert.equal(await ask('/preview'), 400);
    assert.equal(await ask('/preview', '{"url": 1}', 'application/json'), 400);
    assert.equal(await example.end(), 0);
  });

test('the example of a cluster', async (t) => {
  const folder = folderOf(t);
  try {
    mankai.Seen.openSync(path.join(folder, 'shared.mk'), { keys: 10, sharing: 'processes' }).closeSync();
  } catch (error) {
    if (!/not supported by this library/.test(error.message)) throw error;
    t.skip(error.message);
    return;
  }
  const example = await start(t, folder, { mankai: PACKAGE }, 'cluster_seen.js', 'seen.mk', '0');
  const ask = asker(example.port, true);
  const answers = [];
  for (let i = 0; i < 40; ++i) answers.push(await ask(`/?id=${i % 20}`, ''));
  assert.deepEqual(answers, [...Array(20).fill('new\n'), ...Array(20).fill('repeat\n')]);
  assert.equal(await example.end(), 0);
});

const fastify = optional('fastify');
test('Fastify', { skip: fastify === null && 'fastify is missing: set MANKAI_NODE_MODULES to a folder of npm that has it' }, async (t) => {
  const app = fastify();
  app.addHook('preHandler', async (request, reply) => {
    const { url } = request.query;
    if (url !== undefined && guard.blocked(url)) return reply.code(403).send('blocked\n');
  });
  app.get('/preview', async () => 'ok');
  t.after(() => app.close());
  assert.equal((await app.inject('/preview?url=http://evil.example/')).statusCode, 403);
  assert.equal((await app.inject('/preview?url=http://fine.example/')).statusCode, 200);
});
