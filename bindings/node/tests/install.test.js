'use strict';
// The package as it is installed: packed by npm, without scripts and without a network; CommonJS, ES modules and TypeScript.

const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');

const { PACKAGE, folderOf, mankai } = require('./support.js');

const NPM = spawnSync('npm', ['--version']).status === 0;
const QUIET = ['--no-audit', '--no-fund', '--offline', '--ignore-scripts'];

const run = (command, words, cwd) => execFileSync(command, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

test('the version is the library\'s, and no script runs at installation', () => {
  const description = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
  assert.equal(description.version, mankai.version);
  assert.equal(description.scripts, undefined);
  assert.equal(description.dependencies, undefined);
});

const READELF = spawnSync('readelf', ['--version']).status === 0;
test('the addon needs libraries of the system only', { skip: !READELF && 'readelf is missing: apt-get install binutils' }, () => {
  const addon = path.join(PACKAGE, 'mankai.node');
  const needed = [...run('readelf', ['--dynamic', '--wide', addon]).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map((match) => match[1]);
  assert.ok(needed.includes('libc.so.6'));
  assert.deepEqual(needed.filter((name) => !/^(libc\.so\.6|libm\.so\.6|libstdc\+\+\.so\.6|libgcc_s\.so\.1|ld-linux-[\w-]+\.so\.\d)$/.test(name)), []);
  const names = run('nm', ['--dynamic', '--defined-only', addon]).trim().split('\n').map((line) => line.split(' ').at(-1)).sort();
  assert.deepEqual(names, ['napi_register_module_v1', 'node_api_module_get_api_version_v1'].filter((name) => names.includes(name)));
});

test('npm pack and npm install in an empty folder', { skip: !NPM && 'npm is missing' }, (t) => {
  const folder = folderOf(t);
  const name = run('npm', ['pack', PACKAGE, '--pack-destination', folder, '--silent'], folder).trim();
  assert.equal(name, `mankai-${mankai.version}.tgz`);
  const program = path.join(folder, 'program');
  fs.mkdirSync(program);
  run('npm', ['install', ...QUIET, path.join(folder, name)], program);
  const installed = fs.readdirSync(path.join(program, 'node_modules/mankai')).sort();
  assert.deepEqual(installed, ['LICENSE', 'README.md', 'index.d.ts', 'index.js', 'index.mjs', 'lib', 'mankai.node', 'package.json']);
  const work = 'const seen = new Seen({ keys: 10 }); seen.add("a"); console.log(seen.has("a"), seen.has("b"));';
  assert.equal(run(process.execPath, ['-e', `const { Seen } = require("mankai"); ${work}`], program), 'true false\n');
  assert.equal(run(process.execPath, ['--input-type=module', '-e', `import mankai, { Seen } from "mankai"; ${work}`], program),
    'true false\n');
});

test('ES modules have every name', async () => {
  const module = await import(path.join(PACKAGE, 'index.mjs'));
  assert.deepEqual(Object.keys(module).filter((name) => name !== 'default').sort(), Object.keys(mankai).sort());
});

test('the source of the package says what to do', (t) => {
  const folder = folderOf(t);
  fs.cpSync(PACKAGE, folder, { recursive: true });
  fs.rmSync(path.join(folder, 'mankai.node'));
  assert.throws(() => require(folder), /mankai\.node is missing.*make node/s);
});

/** The compiler and the types of Node.js, from MANKAI_NODE_MODULES or from Debian. */
function typescript() {
  const own = process.env.MANKAI_NODE_MODULES;
  const compiler = own !== undefined && fs.existsSync(path.join(own, '.bin/tsc')) ? path.join(own, '.bin/tsc') : 'tsc';
  const types = [own, '/usr/share/nodejs'].find((one) => one !== undefined && fs.existsSync(path.join(one, '@types/node')));
  return types !== undefined && spawnSync(compiler, ['--version']).status === 0 ? { compiler, types } : null;
}

const TYPESCRIPT = typescript();
test('the types', { skip: TYPESCRIPT === null && 'typescript is missing: set MANKAI_NODE_MODULES, or apt-get install node-typescript node-undici' }, (t) => {
  const folder = folderOf(t);
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.symlinkSync(path.resolve(PACKAGE), path.join(folder, 'node_modules/mankai'));
  fs.symlinkSync(path.join(TYPESCRIPT.types, '@types'), path.join(folder, 'node_modules/@types'));
  const errorsOf = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text);
    const found = spawnSync(TYPESCRIPT.compiler, ['--noEmit', '--strict', '--target', 'es2022', '--module', 'node16', '--moduleResolution',
      'node16', '--types', 'node', '--preserveSymlinks', name], { cwd: folder, encoding: 'utf8' });
    return found.stdout.split('\n').filter((line) => /^(right|wrong)\.ts|mankai\/index\.d\.ts/.test(line));
  };
  assert.deepEqual(errorsOf('right.ts', fs.readFileSync(path.join(__dirname, 'types.ts'), 'utf8')), []);
  const wrong = errorsOf('wrong.ts', 'import { Seen, Filter } from "mankai";\nnew Seen({ key: 1 });\nnew Filter(7);\nnew Seen().has({});\n');
  assert.equal(wrong.length, 3, wrong.join('\n'));
});
