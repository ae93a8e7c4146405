'use strict';
// Webhooks that are processed once, by a cluster of processes that share one memory: node cluster_seen.js SEEN.mk [PORT]
//   curl -X POST 'http://127.0.0.1:3000/?id=42'

const cluster = require('node:cluster');
const http = require('node:http');
const { Seen } = require('mankai');

async function work(file, port) {
  // Opened in each worker: processes do not inherit it.
  const seen = await Seen.open(file, { keys: 1_000_000, sharing: 'processes' });
  const server = http.createServer((request, response) => {
    const id = new URL(request.url, 'http://localhost').searchParams.get('id') ?? '';
    response.end(seen.observe(id) ? 'repeat\n' : 'new\n');
  });
  server.listen(Number(port), '127.0.0.1', () => process.send({ port: server.address().port }));
  process.once('SIGTERM', () => server.close(() => seen.close().then(() => process.exit())));
}

const [file, port = '3000'] = process.argv.slice(2);
if (cluster.isPrimary) {
  for (let i = 0; i < 2; ++i) cluster.fork();
  let listening = 0;
  cluster.on('message', (worker, message) => {
    if (++listening === 2) console.log(`listening on ${message.port}`);
  });
  cluster.on('exit', (worker, code) => { process.exitCode ||= code; });
  process.once('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
  });
} else {
  work(file, port).catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}
