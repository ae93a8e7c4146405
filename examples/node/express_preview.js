'use strict';
// A link-preview service that refuses blocked URLs, with Express: node express_preview.js BLOCKED.mkg [PORT]
//   curl 'http://127.0.0.1:3000/preview?url=http://example.org/'

const express = require('express');
const { Guard, guardMiddleware } = require('mankai');

async function main(file, port = '3000') {
  const guard = await Guard.open(file);
  // `mankai guard update` replaces the file; this process then uses the new one.
  const timer = setInterval(() => guard.refresh().catch((error) => console.error(error.message)), 60_000);
  timer.unref();

  const app = express();
  app.use(express.urlencoded({ extended: false }));
  app.use(guardMiddleware({ guard, parameters: ['url'] }));
  app.all('/preview', (request, response) => {
    const url = request.query.url ?? request.body?.url; // Express 5 has no body where no parser read one
    if (typeof url === 'string') response.type('text').send(`a preview of ${url}\n`);
    else response.status(400).type('text').send('one parameter "url" is needed\n');
  });

  const server = app.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
  process.once('SIGTERM', () => server.close(() => guard.close()));
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
