'use strict';
// Guard: is it blocked?

const {
  Handle, OPENED, bytesOf, choice, core, isWritable, many, natural, number, pathOf, setting, text, withDefaults,
} = require('./common.js');

/** Answer of a guard for a URL. */
const Answer = Object.freeze({ OK: 0, BLOCKED: 1, ALLOWED: 2, INVALID: 3 });

const FORMATS = { automatic: 0, lines: 1, adblock: 2, csv: 3, urls: 4 };
const SETTINGS = { fpr: 0.01, exact: false, hash: null, seed: null };

function settingsOf(o, keepsRules) {
  return [setting(number, 'fpr', o.fpr), text('hash', o.hash), text('seed', o.seed), !!o.exact, keepsRules];
}

const openWith = (isAsync, path, options) =>
  core.guardOpen(isAsync, pathOf(path), isWritable(withDefaults(options, { mode: 'r' }).mode));

/** The steps of a build, each a function of is_async; returns the builder. */
function* stepsOf(lists, given) {
  const o = withDefaults(given, { ...SETTINGS, allow: [], keepsRules: true, format: 'automatic', column: null });
  const format = choice('format', o.format, FORMATS);
  const column = text('column', o.column);
  const builder = core.builderCreate(...settingsOf(o, !!o.keepsRules));
  for (const [sources, isAllowed] of [[lists, false], [o.allow, true]]) {
    if (!Array.isArray(sources)) throw new TypeError('lists and allow are arrays of paths or of arrays of rules');
    for (const source of sources) {
      if (typeof source === 'string' || source instanceof URL) {
        const path = pathOf(source);
        yield (isAsync) => core.builderAddList(isAsync, builder, path, column, format, isAllowed);
      } else if (typeof source?.[Symbol.iterator] !== 'function') {
        throw new TypeError('a list is a path or an iterable of rules');
      } else {
        const lines = Array.from(source, (line) => {
          if (typeof line !== 'string') throw new TypeError('a rule is a string');
          return line.endsWith('\n') ? line : line + '\n';
        });
        yield (isAsync) => core.builderAddList(isAsync, builder, null, column, format, isAllowed, [lines.join('')]);
      }
    }
  }
  return builder;
}

const builtOf = (report, guard) => ({ guard: new Guard(OPENED, guard), report });

function rulesOf(rules) {
  const all = typeof rules === 'string' ? [rules] : rules;
  if (!Array.isArray(all) || !all.every((rule) => typeof rule === 'string')) throw new TypeError('rules are a string or an array of strings');
  return all;
}

class Guard extends Handle {
  #handle;

  constructor(options, handle) {
    const made = options === OPENED ? handle : core.guardCreate(...settingsOf(withDefaults(options, SETTINGS), true));
    super(made);
    this.#handle = made;
  }
  static async open(path, options) {
    return new Guard(OPENED, await openWith(true, path, options));
  }
  static openSync(path, options) {
    return new Guard(OPENED, openWith(false, path, options));
  }
  static fromBytes(image) {
    return new Guard(OPENED, core.guardFromBytes(bytesOf('an image', image)));
  }
  static async build(lists, options) {
    const steps = stepsOf(lists, options);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await step.value(true);
    const report = core.builderReport(step.value);
    return builtOf(report, await core.builderBuild(true, step.value));
  }
  static buildSync(lists, options) {
    const steps = stepsOf(lists, options);
    let step = steps.next();
    for (; !step.done; step = steps.next()) step.value(false);
    const report = core.builderReport(step.value);
    return builtOf(report, core.builderBuild(false, step.value));
  }
  toBytes() {
    return core.guardToBytes(this.#handle);
  }
  async save(path, options) {
    await core.guardSave(true, this.#handle, pathOf(path), !!withDefaults(options, { replace: false }).replace);
  }
  saveSync(path, options) {
    core.guardSave(false, this.#handle, pathOf(path), !!withDefaults(options, { replace: false }).replace);
  }

  check(url) {
    const [answer, rule] = core.guardCheck(this.#handle, url);
    return { answer, rule };
  }
  checkMany(urls) {
    return many((chunk) => core.guardAnswers(this.#handle, chunk), urls);
  }
  blocked(url, options) {
    const answer = core.guardAnswer(this.#handle, url);
    return answer === Answer.BLOCKED || (answer === Answer.INVALID && options?.invalid !== false);
  }
  blockedMany(urls, options) {
    const invalid = options?.invalid === false ? 0 : 1;
    return this.checkMany(urls).map((answer) => (answer === Answer.INVALID ? invalid : answer === Answer.BLOCKED ? 1 : 0));
  }

  async add(rules, options) {
    return core.guardChange(true, this.#handle, rulesOf(rules), 0, true, natural('id', withDefaults(options, { id: 0 }).id));
  }
  addSync(rules, options) {
    return core.guardChange(false, this.#handle, rulesOf(rules), 0, true, natural('id', withDefaults(options, { id: 0 }).id));
  }
  async remove(rules, options) {
    const { id } = withDefaults(options, { id: null });
    return core.guardChange(true, this.#handle, rulesOf(rules), 1, id !== null, natural('id', id ?? 0));
  }
  removeSync(rules, options) {
    const { id } = withDefaults(options, { id: null });
    return core.guardChange(false, this.#handle, rulesOf(rules), 1, id !== null, natural('id', id ?? 0));
  }
  async allow(rules) {
    return core.guardChange(true, this.#handle, rulesOf(rules), 2, false, 0);
  }
  allowSync(rules) {
    return core.guardChange(false, this.#handle, rulesOf(rules), 2, false, 0);
  }
  async disallow(rules) {
    return core.guardChange(true, this.#handle, rulesOf(rules), 3, false, 0);
  }
  disallowSync(rules) {
    return core.guardChange(false, this.#handle, rulesOf(rules), 3, false, 0);
  }
  async compact() {
    await core.guardCompact(true, this.#handle);
  }
  compactSync() {
    core.guardCompact(false, this.#handle);
  }
  async refresh() {
    return core.guardRefresh(true, this.#handle);
  }
  refreshSync() {
    return core.guardRefresh(false, this.#handle);
  }
  get exceptions() {
    return core.guardExceptions(this.#handle);
  }
  get size() {
    return core.guardFacts(this.#handle).rulesInForce;
  }
  get info() {
    return core.guardFacts(this.#handle);
  }
}

module.exports = { Answer, Guard };
