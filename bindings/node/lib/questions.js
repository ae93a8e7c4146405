'use strict';
// Seen, ConfirmedSeen and Hot.

const {
  Handle, OPENED, arrayOfKeys, batches, choice, core, duration, durabilityCode, entriesOf, lengthOf, many, natural,
  number, pathOf, runBatch, setting, text, timeOf, timesOf, withDefaults, yesNoAny,
} = require('./common.js');

const MEMORY = null;

function openSeen(isAsync, path, given) {
  const o = withDefaults(given, {
    keys: null, fpr: null, kind: null, hash: null, seed: null, canonical: null, window: null, durability: 'interval',
    interval: null, sharing: 'one writer',
  });
  return core.seenOpen(isAsync, path, text('kind', o.kind), text('hash', o.hash), text('seed', o.seed),
    setting(natural, 'keys', o.keys), setting(number, 'fpr', o.fpr), setting(duration, 'window', o.window), yesNoAny(o.canonical),
    durabilityCode(o.durability), setting(duration, 'interval', o.interval),
    choice('sharing', o.sharing, { 'one writer': 0, processes: 1 }));
}

/** Yields the items whose key observe(keys) answers with `isNew`, in order, in batches of at most 4096. */
function* firstOf(items, key, observe, isNew) {
  if (key !== undefined && typeof key !== 'function') throw new TypeError('key is a function');
  let chunk = [];
  let room = 64;
  const flush = function* flush() {
    const found = observe(key === undefined ? chunk : chunk.map((item) => key(item)));
    for (let i = 0; i < chunk.length; ++i) if (isNew(found[i])) yield chunk[i];
    chunk = [];
    room = Math.min(2 * room, 4096);
  };
  for (const item of items) {
    if (chunk.push(item) === room) yield* flush();
  }
  if (chunk.length !== 0) yield* flush();
}

class Seen extends Handle {
  #handle;
  #hasWindow;

  constructor(options, handle) {
    const made = options === OPENED ? handle : openSeen(false, MEMORY, options);
    super(made);
    this.#handle = made;
    this.#hasWindow = core.seenFacts(made).window !== 0;
  }
  static async open(path, options) {
    return new Seen(OPENED, await openSeen(true, pathOf(path), options));
  }
  static openSync(path, options) {
    return new Seen(OPENED, openSeen(false, pathOf(path), options));
  }

  has(key) {
    return core.seenHas(this.#handle, key);
  }
  hasMany(keys) {
    return many((chunk) => core.seenHasMany(this.#handle, chunk), keys);
  }
  observe(key, at) {
    if (at === undefined && !this.#hasWindow) return core.seenObserve(this.#handle, key);
    return core.seenObserveAt(this.#handle, key, at === undefined ? Date.now() : timeOf(at));
  }
  observeMany(keys, at) {
    if (at === undefined && !this.#hasWindow) return many((chunk) => core.seenObserveMany(this.#handle, chunk), keys);
    const all = arrayOfKeys(keys);
    return core.seenObserveMany(this.#handle, all, timesOf(at ?? Date.now(), lengthOf(all)));
  }
  add(key, at) {
    return !this.observe(key, at);
  }
  update(keys, at) {
    let added = 0;
    for (const chunk of at === undefined ? batches(keys) : [arrayOfKeys(keys)]) {
      for (const isRepeat of this.observeMany(chunk, at)) added += 1 - isRepeat;
    }
    return added;
  }
  forget(key) {
    return this.forgetMany([key])[0];
  }
  forgetMany(keys) {
    return many((chunk) => core.seenForgetMany(this.#handle, chunk), keys);
  }
  first(items, key) {
    return firstOf(items, key, (keys) => this.observeMany(keys), (isRepeat) => isRepeat === 0);
  }

  get size() {
    return core.seenFacts(this.#handle).keysInserted;
  }
  get info() {
    return core.seenFacts(this.#handle);
  }
  batch(change) {
    return runBatch(this, () => core.seenBegin(false, this.#handle), (position) => core.seenCommit(this.#handle, position),
      change);
  }
  get position() {
    return core.seenPosition(this.#handle);
  }
  async sync() {
    await core.seenSync(true, this.#handle);
  }
  syncSync() {
    core.seenSync(false, this.#handle);
  }
}

/** Answer of ConfirmedSeen for a key. RESCUED: new; a false positive of the filter, which the log corrected. */
const Confirmed = Object.freeze({ NEW: 0, REPEAT: 1, RESCUED: 2 });

function openConfirmed(isAsync, path, given) {
  const o = withDefaults(given, { keys: null, fpr: null, hash: null, seed: null, canonical: null });
  return core.confirmedOpen(isAsync, pathOf(path), text('hash', o.hash), text('seed', o.seed),
    setting(natural, 'keys', o.keys), setting(number, 'fpr', o.fpr), yesNoAny(o.canonical));
}

class ConfirmedSeen extends Handle {
  #handle;

  constructor(opened, handle) {
    if (opened !== OPENED) throw new TypeError('use ConfirmedSeen.open(path) or ConfirmedSeen.openSync(path)');
    super(handle);
    this.#handle = handle;
  }
  static async open(path, options) {
    return new ConfirmedSeen(OPENED, await openConfirmed(true, path, options));
  }
  static openSync(path, options) {
    return new ConfirmedSeen(OPENED, openConfirmed(false, path, options));
  }

  observe(key) {
    return core.confirmedObserve(this.#handle, key);
  }
  observeMany(keys) {
    return many((chunk) => core.confirmedObserveMany(this.#handle, chunk), keys);
  }
  first(items, key) {
    return firstOf(items, key, (keys) => this.observeMany(keys), (answer) => answer !== Confirmed.REPEAT);
  }
  async commit() {
    await core.confirmedCommit(true, this.#handle);
  }
  commitSync() {
    core.confirmedCommit(false, this.#handle);
  }
  async sync() {
    await core.confirmedSync(true, this.#handle);
  }
  syncSync() {
    core.confirmedSync(false, this.#handle);
  }
  get size() {
    return core.confirmedFacts(this.#handle).keys;
  }
  get info() {
    return core.confirmedFacts(this.#handle);
  }
}

const HOT = {
  halfLife: null, window: null, epoch: null, memory: null, rounding: 'default', hash: null, seed: null, lateTolerance: 300_000,
  acceptFuture: 86_400_000, durability: 'interval', interval: 1000,
};

function openHot(isAsync, path, given) {
  const o = withDefaults(given, HOT);
  duration('acceptFuture', o.acceptFuture);
  return core.hotOpen(isAsync, path, text('hash', o.hash), text('seed', o.seed), setting(duration, 'halfLife', o.halfLife),
    setting(duration, 'epoch', o.epoch), setting(duration, 'window', o.window), setting(natural, 'memory', o.memory),
    setting(duration, 'lateTolerance', o.lateTolerance), choice('rounding', o.rounding, { default: 0, strict: 1, balanced: 2 }),
    durabilityCode(o.durability), setting(duration, 'interval', o.interval));
}

class Hot extends Handle {
  #handle;
  #acceptFuture;

  constructor(options, handle, acceptFuture) {
    const made = options === OPENED ? handle : openHot(false, MEMORY, options);
    super(made);
    this.#handle = made;
    this.#acceptFuture = (options === OPENED ? acceptFuture : options?.acceptFuture) ?? HOT.acceptFuture;
  }
  static async open(path, options) {
    return new Hot(OPENED, await openHot(true, pathOf(path), options), options?.acceptFuture);
  }
  static openSync(path, options) {
    return new Hot(OPENED, openHot(false, pathOf(path), options), options?.acceptFuture);
  }

  #hasLimit = false; // that must follow the clock

  #limitFuture(at) {
    if (at === undefined && !this.#hasLimit) return;
    this.#hasLimit = true;
    core.hotAcceptUntil(this.#handle, Date.now() + this.#acceptFuture);
  }
  observe(key, at) {
    this.#limitFuture(at);
    core.hotObserve(this.#handle, key, at === undefined ? Date.now() : timeOf(at));
  }
  observeMany(keys, at) {
    this.#limitFuture(at);
    const all = arrayOfKeys(keys);
    core.hotObserveMany(this.#handle, all, timesOf(at ?? Date.now(), lengthOf(all)));
  }
  count(key) {
    return core.hotCount(this.#handle, key);
  }
  top(most = 20) {
    return entriesOf(core.hotTop(this.#handle, natural('the number of keys', most)));
  }
  above(count) {
    return entriesOf(core.hotAbove(this.#handle, number('a count', count)));
  }
  advance(now = Date.now()) {
    core.hotAdvance(this.#handle, timeOf(now));
  }
  get size() {
    return core.hotFacts(this.#handle).records;
  }
  get info() {
    return core.hotFacts(this.#handle);
  }
  batch(change) {
    return runBatch(this, () => core.hotBegin(false, this.#handle), (position) => core.hotCommit(this.#handle, position), change);
  }
  get position() {
    return core.hotPosition(this.#handle);
  }
  async sync() {
    await core.hotSync(true, this.#handle);
  }
  syncSync() {
    core.hotSync(false, this.#handle);
  }
}

module.exports = { Confirmed, ConfirmedSeen, Hot, Seen };
