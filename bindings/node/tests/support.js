'use strict';
// What the suites share. MANKAI_PACKAGE is the folder of the built package [default: build/node of the clone].

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const PACKAGE = process.env.MANKAI_PACKAGE ?? path.join(__dirname, '../../../build/node');
const URLS = Array.from({ length: 5000 }, (_, i) => `https://example.org/pages/${i}?q=${i * 7}`);
const OTHERS = Array.from({ length: 5000 }, (_, i) => `https://example.net/other/${i}`);

/** A new folder that is removed when the test ends. */
function folderOf(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mankai-node-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Packed keys of an array of strings. */
function pack(keys, Offsets = Int32Array) {
  const parts = keys.map((key) => Buffer.from(key));
  const offsets = new Offsets(keys.length + 1);
  let end = 0;
  parts.forEach((part, i) => {
    end += part.length;
    offsets[i + 1] = Offsets === BigInt64Array || Offsets === BigUint64Array ? BigInt(end) : end;
  });
  return { data: Buffer.concat(parts), offsets };
}

/** Requires a module of npm that the machine may lack: from Debian, or from a folder in MANKAI_NODE_MODULES. */
function optional(name) {
  for (const folder of [process.env.MANKAI_NODE_MODULES, '/usr/share/nodejs', '/usr/lib/nodejs']) {
    if (folder !== undefined && fs.existsSync(path.join(folder, name))) return require(path.join(folder, name));
  }
  return null;
}

module.exports = { OTHERS, PACKAGE, URLS, folderOf, mankai: require(PACKAGE), optional, pack };
