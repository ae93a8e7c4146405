'use strict';
// Gate and GateFollower: is there anything to fetch?

const {
  Handle, OPENED, arrayOfKeys, core, duration, durabilityCode, natural, number, pathOf, setting, text, withDefaults,
} = require('./common.js');

/** The answer "maybe" of a gate: pass it to report() if the database has no row. */
class Maybe {
  #state;
  constructor(opened, state) {
    if (opened !== OPENED) throw new TypeError('a Maybe is the answer of a gate');
    this.#state = state;
  }
  static stateOf(maybe) {
    return maybe.#state;
  }
}
const stateOf = Maybe.stateOf;
delete Maybe.stateOf;

/** The keys of a change as an array; packed keys are a TypeError. */
function listOf(keys) {
  const all = arrayOfKeys(keys);
  if (typeof all[Symbol.iterator] !== 'function') throw new TypeError('the keys of a change are an array or an iterable');
  return Array.from(all);
}

/** Ends what Gate.hold began. */
class Hold extends Handle {
  constructor(opened, handle) {
    if (opened !== OPENED) throw new TypeError('a Hold is made by Gate.hold');
    super(handle);
  }
  release() {
    this.closeSync();
  }
}

const REPORTS = { memo: null, reports: true };
const reportsOf = (o) => [setting(natural, 'memo', o.memo), !o.reports];

const hasNothing = (found) => found === undefined || found === null || found.length === 0;

/** What Gate and GateFollower share. */
class Queries extends Handle {
  async get(key, load, options) {
    const maybe = this.maybe(key, options);
    if (maybe === null) return null;
    const found = await load();
    if (!hasNothing(found)) return found;
    this.report(key, maybe);
    return found ?? null;
  }
}

const afterOf = (options) => natural('after', withDefaults(options, { after: 0 }).after);
const maybeOf = (state) => (state === null ? null : new Maybe(OPENED, state));

class Gate extends Queries {
  #handle;

  constructor(options, handle) {
    let made = handle;
    if (options !== OPENED) {
      const o = withDefaults(options, { keys: null, fpr: null, hash: null, seed: null, sourceId: null, ...REPORTS });
      made = core.gateCreate(text('hash', o.hash), text('seed', o.seed), text('sourceId', o.sourceId),
        setting(natural, 'keys', o.keys), setting(number, 'fpr', o.fpr), ...reportsOf(o));
    }
    super(made);
    this.#handle = made;
  }
  static #open(isAsync, path, given) {
    const o = withDefaults(given, { ...REPORTS, durability: 'interval', interval: 1000 });
    return core.gateOpen(isAsync, pathOf(path), ...reportsOf(o), durabilityCode(o.durability),
      setting(duration, 'interval', o.interval));
  }
  static async open(path, options) {
    return new Gate(OPENED, await Gate.#open(true, path, options));
  }
  static openSync(path, options) {
    return new Gate(OPENED, Gate.#open(false, path, options));
  }
  async save(path, options) {
    await core.gateSave(true, this.#handle, pathOf(path), !!withDefaults(options, { replace: false }).replace);
  }
  saveSync(path, options) {
    core.gateSave(false, this.#handle, pathOf(path), !!withDefaults(options, { replace: false }).replace);
  }

  maybe(key, options) {
    return maybeOf(core.gateMaybe(this.#handle, key, options === undefined ? 0 : afterOf(options)));
  }
  report(key, maybe) {
    core.gateReport(this.#handle, key, stateOf(maybe));
  }
  apply(changes) {
    const o = withDefaults(changes, { inserted: [], removed: [], position: undefined, clears: false, mark: null });
    core.gateApply(this.#handle, listOf(o.inserted), listOf(o.removed), natural('position', o.position), !!o.clears,
      text('mark', o.mark));
  }
  hold(key) {
    return new Hold(OPENED, core.gateHold(this.#handle, key));
  }
  get position() {
    return core.gatePosition(this.#handle);
  }
  get counts() {
    return core.gateCounts(this.#handle);
  }
  get info() {
    return core.gateFacts(this.#handle);
  }
  get source() {
    const [id, mark] = core.gateSource(this.#handle);
    return { id, mark };
  }
  async sync() {
    await core.gateSync(true, this.#handle);
  }
  syncSync() {
    core.gateSync(false, this.#handle);
  }
}

class GateFollower extends Queries {
  #handle;
  #timer = null;

  constructor(opened, handle) {
    if (opened !== OPENED) throw new TypeError('use GateFollower.open(path) or GateFollower.openSync(path)');
    super(handle);
    this.#handle = handle;
  }
  static async open(path, options) {
    return new GateFollower(OPENED, await core.followerOpen(true, pathOf(path), ...reportsOf(withDefaults(options, REPORTS))));
  }
  static openSync(path, options) {
    return new GateFollower(OPENED, core.followerOpen(false, pathOf(path), ...reportsOf(withDefaults(options, REPORTS))));
  }

  maybe(key, options) {
    return maybeOf(core.followerMaybe(this.#handle, key, options === undefined ? 0 : afterOf(options)));
  }
  report(key, maybe) {
    core.followerReport(this.#handle, key, stateOf(maybe));
  }
  async refresh() {
    return core.followerRefresh(true, this.#handle);
  }
  refreshSync() {
    return core.followerRefresh(false, this.#handle);
  }
  refreshEvery(milliseconds) {
    this.#endTimer();
    let isBusy = false;
    const refresh = async () => {
      if (isBusy) return;
      isBusy = true;
      await this.refresh().catch(() => { // the old copy stays in use
        if (this.closed) this.#endTimer();
      });
      isBusy = false;
    };
    // setInterval takes 31 bits, and would run all the time beyond them.
    this.#timer = setInterval(refresh, Math.min(Math.max(duration('the interval', milliseconds), 1), 2 ** 31 - 1));
    this.#timer.unref();
  }
  #endTimer() {
    clearInterval(this.#timer);
    this.#timer = null;
  }
  close() {
    this.#endTimer();
    return super.close();
  }
  closeSync() {
    this.#endTimer();
    super.closeSync();
  }
  get position() {
    return core.followerPosition(this.#handle);
  }
  get counts() {
    return core.followerCounts(this.#handle);
  }
  get info() {
    return core.followerFacts(this.#handle);
  }
}

module.exports = { Gate, GateFollower };
