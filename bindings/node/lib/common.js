'use strict';
// What the classes share: the addon, errors, options, times, keys.

const { fileURLToPath } = require('node:url');

function loadAddon() {
  try {
    return require('../mankai.node');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(
      'mankai.node is missing: this is the source of the package. Run `make node` in the clone of Mankai, then install ' +
        'build/packages/mankai-*.tgz',
      { cause: error },
    );
  }
}

const core = loadAddon();

class MankaiError extends Error {
  constructor(code, message, osError = 0) {
    super(message);
    this.code = code;
    this.osError = osError;
  }
  get name() {
    return 'MankaiError';
  }
}
core.setErrorClass(MankaiError);

// First argument of the constructors, for a handle that is open already.
const OPENED = Symbol('opened');

/** Base of the classes that have a file or memory of the library. */
class Handle {
  #handle;
  constructor(handle) {
    this.#handle = handle;
  }
  get closed() {
    return core.isClosed(this.#handle);
  }
  #closing = null;
  async close() {
    if (this.closed) { // perhaps not yet: the first call tells the error
      await this.#closing?.catch(() => {});
    } else {
      this.#closing = core.close(true, this.#handle);
      await this.#closing;
    }
  }
  closeSync() {
    core.close(false, this.#handle);
  }
}
if (Symbol.dispose !== undefined) {
  Handle.prototype[Symbol.dispose] = function dispose() {
    this.closeSync();
  };
  Handle.prototype[Symbol.asyncDispose] = function dispose() {
    return this.close();
  };
}

// ---- Options ----

/** The options with their defaults; an unknown name is a TypeError. */
function withDefaults(given, defaults) {
  const options = { ...defaults };
  if (given === undefined) return options;
  if (typeof given !== 'object' || given === null) throw new TypeError(`options are an object, not ${typeof given}`);
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name)) {
      throw new TypeError(`unknown option "${name}"; the options are ${Object.keys(defaults).join(', ')}`);
    }
    if (value !== undefined) options[name] = value;
  }
  return options;
}

/** An error of a value of the right type. */
function wrongValue(message) {
  return new MankaiError('MANKAI_INVALID_ARGUMENT', message);
}

function choice(name, value, codes) {
  if (typeof value === 'string' && Object.hasOwn(codes, value)) return codes[value];
  const message = `${name} is one of ${Object.keys(codes).join(', ')}, not ${String(value)}`;
  throw typeof value === 'string' ? wrongValue(message) : new TypeError(message);
}

function natural(name, value) {
  if (typeof value === 'bigint' ? value >= 0n && value < 2n ** 64n : Number.isSafeInteger(value) && value >= 0) return value;
  const message = `${name} is an integer from 0 (from 2^53 a BigInt), not ${String(value)}`;
  throw ['number', 'bigint'].includes(typeof value) ? wrongValue(message) : new TypeError(message);
}

function number(name, value) {
  if (typeof value !== 'number') throw new TypeError(`${name} is a number, not ${String(value)}`);
  if (Number.isNaN(value)) throw wrongValue(`${name} is NaN`);
  return value;
}

function duration(name, value) {
  if (typeof value !== 'number') throw new TypeError(`${name} is a number of milliseconds, not ${String(value)}`);
  if (!(value >= 0)) throw wrongValue(`${name} is ${value}; give milliseconds from 0`);
  return value === 0 ? 0 : Math.max(value, 0.001); // a microsecond, since 0 is another value
}

/** A setting that check(name, value) returns, as the addon takes it: 0 is its default. */
function setting(check, name, value) {
  const checked = value === null || value === undefined ? null : check(name, value);
  if (checked !== null && Number(checked) === 0) {
    throw wrongValue(`${name} is ${value}; give more than 0, or leave it out`);
  }
  return checked ?? 0;
}

function text(name, value) {
  if (value === null || value === undefined) return value;
  if (typeof value !== 'string') throw new TypeError(`${name} is a string`);
  if (value.includes('\0')) throw wrongValue(`${name} has a zero byte`);
  return value;
}

/** A path as a string: of a string or a file: URL. */
function pathOf(path) {
  const name = path instanceof URL ? fileURLToPath(path) : path;
  if (typeof name !== 'string') throw new TypeError('a path is a string or a file: URL');
  if (name === '') throw wrongValue('a path is empty');
  return text('a path', name);
}

const durabilityCode = (name) => choice('durability', name, { always: 1, interval: 2, never: 3 });
const yesNoAny = (value) => (value === null ? 0 : value ? 1 : 2);

function isWritable(mode) {
  return choice('mode', mode, { r: false, w: true });
}

// ---- Times: milliseconds since 1970, as Date.now() returns them ----

function timeOf(at) {
  const time = at instanceof Date ? at.getTime() : at;
  if (typeof time !== 'number') throw new TypeError('a time is a Date, or a number of milliseconds since 1970');
  if (!Number.isFinite(time)) throw wrongValue(`${time} is not a time`);
  return time;
}

/** One time per key, from one for all or an array. */
function timesOf(at, count) {
  if (Array.isArray(at) || ArrayBuffer.isView(at)) {
    if (at.length !== count) throw wrongValue(`${count} keys, but ${at.length} times`);
    return Float64Array.from(at, timeOf);
  }
  return new Float64Array(count).fill(timeOf(at));
}

function idsOf(ids, count) {
  if (!Array.isArray(ids) && !ArrayBuffer.isView(ids)) throw new TypeError('ids are an array of numbers or BigInts');
  if (ids.length !== count) throw wrongValue(`${count} keys, but ${ids.length} ids`);
  return BigUint64Array.from(ids, (id) => BigInt(natural('an id', id)));
}

// ---- Many keys ----

/** Keys per batch of an iterable that is no array. */
const BATCH_KEYS = 65536;

/** Whether the addon takes these keys as they are: an array, a BigInt64Array, or packed keys. */
function isArrayOfKeys(keys) {
  if (Array.isArray(keys) || keys instanceof BigInt64Array) return true;
  if (typeof keys !== 'object' || keys === null || keys instanceof Uint8Array) {
    throw new TypeError(
      'keys are an array, {data, offsets}, a BigInt64Array or an iterable, not one key; put it into an array',
    );
  }
  return 'offsets' in keys || typeof keys[Symbol.iterator] !== 'function';
}

const arrayOfKeys = (keys) => (isArrayOfKeys(keys) ? keys : Array.from(keys));
const lengthOf = (keys) => (keys.length !== undefined ? keys.length : Math.max(0, (keys.offsets?.length ?? 0) - 1));

/** The keys as arrays of at most BATCH_KEYS, or as the one array that they are. */
function* batches(keys) {
  if (isArrayOfKeys(keys)) {
    yield keys;
    return;
  }
  let chunk = [];
  for (const key of keys) {
    chunk.push(key);
    if (chunk.length === BATCH_KEYS) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length !== 0) yield chunk;
}

/** Results of call(keys) -> Uint8Array or Uint32Array, of all batches. */
function many(call, keys, Results = Uint8Array) {
  if (isArrayOfKeys(keys)) return call(keys);
  const parts = [];
  for (const chunk of batches(keys)) parts.push(call(chunk));
  if (parts.length === 1) return parts[0];
  const all = new Results(parts.reduce((sum, part) => sum + part.length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  return all;
}

// ---- Batches ----

function bytesOf(name, value) {
  if (!(value instanceof Uint8Array)) throw new TypeError(`${name} is a Uint8Array`);
  return value;
}

function closeNow(object) {
  try {
    object.closeSync();
  } catch {
    object.close().catch(() => {});
  }
}

/** Objects with an open batch. */
const inBatch = new WeakSet();

/** Runs change(batch) between begin and commit. After an error the object is closed: memory cannot take the changes back. */
function runBatch(object, begin, commit, change) {
  const batch = { position: new Uint8Array(0) };
  const end = (value) => {
    commit(bytesOf('position', batch.position));
    inBatch.delete(object);
    return value;
  };
  const fail = (error) => {
    inBatch.delete(object);
    closeNow(object);
    throw error;
  };
  if (typeof change !== 'function') throw new TypeError('a batch is a function');
  if (inBatch.has(object)) throw new MankaiError('MANKAI_BUSY', 'a batch of this object is open; it would take these changes, too');
  begin();
  inBatch.add(object);
  let value;
  try {
    value = change(batch);
    if (typeof value?.then !== 'function') return end(value);
  } catch (error) {
    fail(error);
  }
  return Promise.resolve(value).then(end).catch(fail);
}

/** Entries of the hottest keys. */
function entriesOf(found) {
  for (const entry of found) {
    entry.text = entry.key.toString();
    entry.lastSeen = new Date(entry.lastSeen);
  }
  return found;
}

module.exports = {
  Handle, MankaiError, OPENED, arrayOfKeys, batches, bytesOf, choice, core, duration, durabilityCode, entriesOf, idsOf,
  isWritable, lengthOf, many, natural, number, pathOf, runBatch, setting, text, timeOf, timesOf, withDefaults, wrongValue,
  yesNoAny,
};
