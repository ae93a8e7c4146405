'use strict';
// Filter: a filter of any kind, in memory or in a file.

const {
  Handle, OPENED, arrayOfKeys, batches, bytesOf, core, duration, durabilityCode, entriesOf, idsOf, isWritable, lengthOf, many,
  natural, number, pathOf, runBatch, setting, text, timeOf, timesOf, withDefaults, wrongValue,
} = require('./common.js');

/** Result of removing a key. All but REMOVED: nothing has changed. */
const Removal = Object.freeze({ REMOVED: 0, ABSENT: 1, AMBIGUOUS: 2, BELOW_IDS: 3, STUCK: 4 });

/** The spec of options such as {kind, keys, fpr, growth}: those of the kind are in camel case. */
function specOf(given) {
  if (typeof given === 'string') return text('a spec', given);
  if (typeof given !== 'object' || given === null) throw new TypeError('a filter is made from a spec or from options');
  const { kind = 'blocked-bloom', ...options } = given;
  const words = [];
  for (const [name, value] of Object.entries({ fpr: 0.01, ...options })) {
    if (value === undefined || value === null) continue;
    if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value)) {
      throw new TypeError(`the option ${name} is a string, a number or a boolean`);
    }
    if (['keys', 'fpr'].includes(name) && !['number', 'bigint'].includes(typeof value)) {
      throw new TypeError(`${name} is a number, not ${value}`);
    }
    const word = typeof value !== 'boolean' ? value : value ? 'yes' : 'no';
    words.push(`${name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase())}=${word}`);
  }
  return text('a spec', `${kind}:${words.join(',')}`);
}

function createWith(isAsync, path, given) {
  const { replace, durability = 'interval', interval = 1000, ...options } = typeof given === 'string' ? {} : { ...given };
  const spec = specOf(typeof given === 'string' ? given : options);
  return core.filterCreateFile(isAsync, pathOf(path), spec, durabilityCode(durability),
    setting(duration, 'interval', interval), !!replace);
}

function openWith(isAsync, path, given) {
  const options = withDefaults(given, { mode: 'r', durability: 'interval', interval: 1000, trustCells: false });
  return core.filterOpenFile(isAsync, pathOf(path), isWritable(options.mode), durabilityCode(options.durability),
    setting(duration, 'interval', options.interval), !!options.trustCells);
}

const found = new Float64Array(2); // numbers of one key, which the addon writes

const FOOTER = 'MKSTOR\x1a\n'; // docs/formats/store.md

class Filter extends Handle {
  #handle;

  constructor(spec, handle) {
    const made = spec === OPENED ? handle : core.filterCreate(specOf(spec));
    super(made);
    this.#handle = made;
  }

  static async create(path, options) {
    return new Filter(OPENED, await createWith(true, path, options));
  }
  static createSync(path, options) {
    return new Filter(OPENED, createWith(false, path, options));
  }
  static async open(path, options) {
    return new Filter(OPENED, await openWith(true, path, options));
  }
  static openSync(path, options) {
    return new Filter(OPENED, openWith(false, path, options));
  }
  static fromBytes(image) {
    bytesOf('an image', image);
    try {
      return new Filter(OPENED, core.filterFromBytes(image));
    } catch (error) {
      if (Buffer.from(image.slice(-512, -504)).toString('latin1') !== FOOTER) throw error;
      throw wrongValue("the bytes of a filter's file, not of an image: open the file with Filter.open(path), and use copy() of that for a " +
        'filter in memory');
    }
  }
  toBytes() {
    return core.filterToBytes(this.#handle);
  }
  async save(path, options) {
    await core.filterSave(true, this.#handle, pathOf(path), !!withDefaults(options, { replace: false }).replace);
  }
  saveSync(path, options) {
    core.filterSave(false, this.#handle, pathOf(path), !!withDefaults(options, { replace: false }).replace);
  }
  copy() {
    return new Filter(OPENED, core.filterCopy(this.#handle));
  }

  // ---- Keys ----

  has(key) {
    return core.filterHas(this.#handle, key);
  }
  hasMany(keys) {
    return many((chunk) => core.filterHasMany(this.#handle, chunk), keys);
  }
  add(key, options) {
    if (options === undefined) {
      core.filterAdd(this.#handle, key);
    } else {
      const { id, at } = withDefaults(options, { id: undefined, at: undefined });
      this.update([key], { ids: id === undefined ? undefined : [id], at });
    }
  }
  update(keys, options) {
    const { ids, at } = withDefaults(options, { ids: undefined, at: undefined });
    if (ids === undefined && at === undefined) {
      let count = 0;
      for (const chunk of batches(keys)) count += core.filterAddMany(this.#handle, chunk);
      return count;
    }
    if (ids !== undefined && at !== undefined) throw new TypeError('keys have ids or times, not both');
    const all = arrayOfKeys(keys);
    const count = lengthOf(all);
    return core.filterAddMany(this.#handle, all, at === undefined ? undefined : timesOf(at, count),
      ids === undefined ? undefined : idsOf(ids, count));
  }
  observe(key) {
    return core.filterObserve(this.#handle, key);
  }
  observeMany(keys) {
    return many((chunk) => core.filterObserveMany(this.#handle, chunk), keys);
  }
  remove(key, options) {
    if (options === undefined) return core.filterRemove(this.#handle, key);
    const { id } = withDefaults(options, { id: undefined });
    return this.removeMany([key], { ids: id === undefined ? undefined : [id] })[0];
  }
  removeMany(keys, options) {
    const { ids } = withDefaults(options, { ids: undefined });
    if (ids === undefined) return many((chunk) => core.filterRemoveMany(this.#handle, chunk), keys);
    const all = arrayOfKeys(keys);
    return core.filterRemoveWithIds(this.#handle, all, idsOf(ids, lengthOf(all)));
  }
  count(key) {
    const count = core.filterCount(this.#handle, key);
    return count >= 0 ? { value: count, isSaturated: false } : { value: -1 - count, isSaturated: true };
  }
  counts(keys) {
    return many((chunk) => core.filterCounts(this.#handle, chunk), keys, Uint32Array);
  }
  lately(key) {
    const isSaturated = core.filterLately(this.#handle, key, found);
    return { raw: found[0], rate: found[1], isSaturated };
  }
  top(most = 20) {
    return entriesOf(core.filterTop(this.#handle, natural('the number of keys', most)));
  }
  put(key, value, options) {
    const { strength } = withDefaults(options, { strength: 1 });
    core.filterPut(this.#handle, key, natural('a value', value), number('strength', strength));
  }
  recall(key, options) {
    const { minMatches } = withDefaults(options, { minMatches: 2 });
    return core.filterRecall(this.#handle, key, natural('minMatches', minMatches));
  }

  // ---- The whole filter ----

  advance(now) {
    core.filterAdvance(this.#handle, timeOf(now));
  }
  merge(other) {
    if (!(other instanceof Filter)) throw new TypeError('a Filter is merged with a Filter');
    core.filterMerge(this.#handle, other.#handle);
  }
  clear() {
    core.filterClear(false, this.#handle);
  }
  get size() {
    return core.filterInfo(this.#handle).keysInserted;
  }
  get kind() {
    return core.filterInfo(this.#handle).kind;
  }
  get info() {
    return core.filterInfo(this.#handle);
  }
  get spec() {
    return core.filterSpec(this.#handle);
  }
  estimate() {
    return core.filterEstimate(this.#handle);
  }

  // ---- Files ----

  batch(change) {
    return runBatch(this, () => core.filterBegin(false, this.#handle),
      (position) => core.filterCommit(this.#handle, position), change);
  }
  get position() {
    return core.filterPosition(this.#handle);
  }
  get sequence() {
    return core.filterSequence(this.#handle, false);
  }
  get durableSequence() {
    return core.filterSequence(this.#handle, true);
  }
  get recovery() {
    return core.filterRecovery(this.#handle);
  }
  async sync() {
    await core.filterSync(true, this.#handle);
  }
  syncSync() {
    core.filterSync(false, this.#handle);
  }
  async checkpoint() {
    await core.filterCheckpoint(true, this.#handle);
  }
  checkpointSync() {
    core.filterCheckpoint(false, this.#handle);
  }
  async refresh() {
    return core.filterRefresh(true, this.#handle);
  }
  refreshSync() {
    return core.filterRefresh(false, this.#handle);
  }
}

function kinds() {
  return JSON.parse(core.kinds());
}

function plan(keys, options) {
  const { fpr, memoryBytes } = withDefaults(options, { fpr: 0.01, memoryBytes: null });
  return JSON.parse(core.plan(natural('keys', keys), memoryBytes === null ? number('fpr', fpr) : 0,
    setting(natural, 'memoryBytes', memoryBytes)));
}

async function verify(path) {
  await core.verify(true, pathOf(path));
}

function verifySync(path) {
  core.verify(false, pathOf(path));
}

module.exports = { Filter, Removal, kinds, plan, verify, verifySync };
