'use strict';
// Runs the examples of pages: the ```js blocks of a page that do not begin with "// not run" are one program. Pages are in MANKAI_PAGES.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');

const { PACKAGE, folderOf } = require('./support.js');

const PAGES = process.env.MANKAI_PAGES?.split(':') ?? [path.join(__dirname, '../../../docs/node.md'), path.join(__dirname, '../README.md')];

for (const page of PAGES) {
  test(path.basename(page), (t) => {
    const blocks = [...fs.readFileSync(page, 'utf8').matchAll(/^```js\n(.*?)^```/gms)].map((match) => match[1]);
    const program = blocks.filter((block) => !block.startsWith('// not run')).join('\n');
    assert.ok(program.length > 100);
    const folder = folderOf(t);
    fs.mkdirSync(path.join(folder, 'node_modules'));
    fs.symlinkSync(path.resolve(PACKAGE), path.join(folder, 'node_modules/mankai'));
    fs.writeFileSync(path.join(folder, 'page.js'), `(async () => {\n${program}\n})().catch((error) => { console.error(error); process.exit(1); });\n`);
    const done = spawnSync(process.execPath, ['page.js'], { cwd: folder, encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
  });
}
