/// <reference types="node" />
// Types of the package mankai.

/** Any bytes: a string is its UTF-8 (a lone surrogate is U+FFFD), and a number or BigInt is an integer of 64 bits, as 8 bytes. */
export type Key = string | Uint8Array | number | bigint;

/** Many keys in one buffer, as in Apache Arrow: key i is the bytes offsets[i] to offsets[i + 1] of the data. The fastest form. */
export interface PackedKeys {
  data: Uint8Array;
  offsets: Int32Array | Uint32Array | BigInt64Array | BigUint64Array;
}

/** An array is one batch; other iterables are batches of 65,536 keys. A BigInt64Array has keys of 8 bytes. */
export type Keys = readonly Key[] | PackedKeys | BigInt64Array | Iterable<Key>;

/** A time: a Date, or milliseconds since 1970, as Date.now() returns them. */
export type Time = Date | number;
export type Times = Time | readonly Time[] | Float64Array;

/** A path: a string or a file: URL. */
export type Path = string | URL;

/** When changes survive power loss: each call waits, within `interval` milliseconds, or at a sync. They survive a process crash at once. */
export type Durability = 'always' | 'interval' | 'never';

export interface FileOptions {
  /** [default: "interval"] */
  durability?: Durability;
  /** Milliseconds [default: 1000] */
  interval?: number;
}

export interface SaveOptions {
  /** Replaces an existing file [default: false] */
  replace?: boolean;
}

/** Every error of the library. `code` is one of those below, `osError` the errno of the system or 0, the message says what to do. */
export class MankaiError extends Error {
  constructor(code: string, message: string, osError?: number);
  readonly code:
    | 'MANKAI_INVALID_ARGUMENT' | 'MANKAI_NOT_FOUND' | 'MANKAI_IO' | 'MANKAI_CORRUPT' | 'MANKAI_UNSUPPORTED_VERSION'
    | 'MANKAI_OUT_OF_SPACE' | 'MANKAI_LOCKED' | 'MANKAI_FORKED' | 'MANKAI_CLOSED'
    | 'MANKAI_BUSY';
  readonly osError: number;
}

declare global {
  interface SymbolConstructor {
    readonly dispose: unique symbol;
    readonly asyncDispose: unique symbol;
  }
}

/** Base of the classes that have a file or memory of the library. */
declare abstract class Handle {
  readonly closed: boolean;
  /** Waits for pending promises of the object, makes all changes of a file durable, unlocks it and frees the memory. A second
   * call waits for the first, which rejects after an error. */
  close(): Promise<void>;
  /** The same in this thread. Errors: code "MANKAI_BUSY" while a promise of the object is pending. */
  closeSync(): void;
  /** For `using` and `await using`, where Node.js has these symbols (from 18.18 on). */
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Changes between begin and commit. Set `position` (at most 64 bytes) before the end of the function. */
export interface Batch {
  position: Uint8Array;
}

// ---- Filter ----

/** Result of removing a key. All but REMOVED: nothing has changed. */
export const Removal: { readonly REMOVED: 0; readonly ABSENT: 1; readonly AMBIGUOUS: 2; readonly BELOW_IDS: 3; readonly STUCK: 4 };

export interface FilterSettings {
  /** [default: "blocked-bloom"] */
  kind?: string;
  /** Number of distinct keys to size the filter for */
  keys: number;
  /** False-positive rate at that number [default: 0.01] */
  fpr?: number;
  hash?: string;
  seed?: string;
  /** Keys are URLs, compared in canonical form. */
  canonical?: boolean;
  /** Options of the kind, in camel case; see kinds(). */
  [option: string]: string | number | bigint | boolean | null | undefined;
}

export interface FilterInfo {
  kind: string;
  capacityKeys: number;
  keysInserted: number;
  imageBytes: number;
  fprTarget: number;
  /** Current time of the filter; 0 if it has none */
  time: number;
  isInFile: boolean;
  hasTime: boolean;
  canRemove: boolean;
  /** Keys have counts, or decayed counts */
  canCount: boolean;
  takesIds: boolean;
  takesValues: boolean;
  canGrow: boolean;
  canonicalVersion: number;
  hash: string;
}

/** Count of a key; never too low, unless saturated. */
export interface Count { value: number; isSaturated: boolean }
/** Decayed count of a key, and occurrences per epoch. */
export interface Lately { raw: number; rate: number; isSaturated: boolean }
/** One of the hottest keys. `isCut`: these are the first bytes of a longer key. */
export interface Entry {
  key: Buffer;
  text: string;
  count: number;
  rate: number;
  lastSeen: Date;
  isSaturated: boolean;
  isCut: boolean;
}
export interface Estimates { fillRatio: number; fpr: number; keys: number }
/** What opening a file after a crash did. */
export interface Recovery {
  recordsReplayed: number;
  changesReplayed: number;
  bytesDropped: number;
  sequence: number;
  reason: string;
  wasClosed: boolean;
}

/** A filter of any kind, in memory or in a file that survives crashes. */
export class Filter extends Handle {
  /** An empty filter in memory, from a spec such as "blocked-bloom:keys=1e6,fpr=0.01" or from settings. */
  constructor(spec: string | FilterSettings);
  /** An empty filter in a new file, opened for changes. Errors: MANKAI_INVALID_ARGUMENT if it exists and `replace` is false. */
  static create(path: Path, settings: string | (FilterSettings & FileOptions & SaveOptions)): Promise<Filter>;
  static createSync(path: Path, settings: string | (FilterSettings & FileOptions & SaveOptions)): Filter;
  /** Opens a file: "r" for queries (any number of handles), "w" for changes (one at a time) [default: "r"]. */
  static open(path: Path, options?: FileOptions & { mode?: 'r' | 'w'; trustCells?: boolean }): Promise<Filter>;
  static openSync(path: Path, options?: FileOptions & { mode?: 'r' | 'w'; trustCells?: boolean }): Filter;
  /** A filter in memory from an image, as toBytes() returns it, which is checked completely. A filter's file is not an image, since
   * keys may be in its journal: use open(path), and copy() of that for a filter in memory. */
  static fromBytes(image: Uint8Array): Filter;
  /** The image, for fromBytes; the filter's file has a footer after it. It contains the seed, a secret. */
  toBytes(): Buffer;
  /** Writes a copy to a file, completely or not at all. */
  save(path: Path, options?: SaveOptions): Promise<void>;
  saveSync(path: Path, options?: SaveOptions): void;
  /** A filter in memory with the same content. */
  copy(): Filter;

  /** Whether a key may have been added. Never a false negative, except in kinds whose keys expire or are overwritten by new ones
   * (`forgets` in kinds()). */
  has(key: Key): boolean;
  /** 1 or 0 per key. */
  hasMany(keys: Keys): Uint8Array;
  /** Adds a key. id: to remove it by (scalable-counting-bloom). at: its time (decayed-top). */
  add(key: Key, options?: { id?: number | bigint; at?: Time }): void;
  /** Adds keys and returns their number. */
  update(keys: Keys, options?: { ids?: readonly (number | bigint)[] | BigUint64Array; at?: Times }): number;
  /** Adds a key, and returns whether it was present before. */
  observe(key: Key): boolean;
  observeMany(keys: Keys): Uint8Array;
  /** Removes a key once. Remove only keys that were added: removing a false positive makes false negatives of others. */
  remove(key: Key, options?: { id?: number | bigint }): number;
  /** A value of Removal per key. */
  removeMany(keys: Keys, options?: { ids?: readonly (number | bigint)[] | BigUint64Array }): Uint8Array;
  /** How often a key was added; for kinds that count. */
  count(key: Key): Count;
  counts(keys: Keys): Uint32Array;
  /** The decayed count of a key; for kinds that decay. */
  lately(key: Key): Lately;
  /** The hottest keys of a decayed-top [default: 20]. */
  top(most?: number): Entry[];
  /** Stores a value of 32 bits with a key; for recent-values. */
  put(key: Key, value: number, options?: { strength?: number }): void;
  recall(key: Key, options?: { minMatches?: number }): { value: number; matches: number }[];

  /** Advances the time of a filter whose keys expire or decay. */
  advance(now: Time): void;
  /** Adds the keys of another filter with the same spec, seed included. */
  merge(other: Filter): void;
  clear(): void;
  /** Number of keys added */
  readonly size: number;
  readonly kind: string;
  readonly info: FilterInfo;
  /** With the seed, which is a secret. */
  readonly spec: string;
  /** Cost: two passes over the cells. */
  estimate(): Estimates;

  /**
   * Makes one batch of all changes of a function, and of the promise that it returns. After an error the file has none of them, and the
   * filter is closed, since memory cannot take them back.
   */
  batch<T>(change: (batch: Batch) => T): T;
  /** Position of the last batch */
  readonly position: Buffer;
  /** Number of changes of keys since the file was created */
  readonly sequence: number;
  /** How many of these survive power loss */
  readonly durableSequence: number;
  readonly recovery: Recovery;
  /** Resolves when all changes so far survive power loss. */
  sync(): Promise<void>;
  syncSync(): void;
  /** Writes the image and empties the journal; also done automatically. */
  checkpoint(): Promise<void>;
  checkpointSync(): void;
  /** Mode "r": reads the file again, and returns whether it has changed. */
  refresh(): Promise<boolean>;
  refreshSync(): boolean;
}

// ---- Seen ----

export interface SeenSettings {
  /** Number of distinct keys, per window if there is one [default: 10,000,000] */
  keys?: number;
  /** [default: 0.001] */
  fpr?: number;
  kind?: string;
  hash?: string;
  seed?: string;
  canonical?: boolean;
  /** Milliseconds after which keys expire [default: never] */
  window?: number;
}

export interface SeenInfo {
  kind: string;
  keysInserted: number;
  capacityKeys: number;
  imageBytes: number;
  fprTarget: number;
  window: number;
  forgetsAfter: number;
  time: number;
  sequence: number;
  durableSequence: number;
  isInFile: boolean;
  isOverCapacity: boolean;
  isOverfull: boolean;
}

/** Have I seen it? No false negatives, except of kind fading-fingerprints, where new keys overwrite old ones; up to `keys` keys, a new key
 * is reported as seen with probability `fpr`. */
export class Seen extends Handle {
  /** In memory. */
  constructor(settings?: SeenSettings);
  /**
   * Opens a file for changes, or creates it. Errors: MANKAI_INVALID_ARGUMENT if it has other settings; MANKAI_LOCKED. With sharing 'processes',
   * `interval` is that of checkpoints [default: 60,000], and a power loss restores the last one.
   */
  static open(path: Path, settings?: SeenSettings & FileOptions & { sharing?: 'one writer' | 'processes' }): Promise<Seen>;
  static openSync(path: Path, settings?: SeenSettings & FileOptions & { sharing?: 'one writer' | 'processes' }): Seen;
  /** Asks without adding. */
  has(key: Key): boolean;
  hasMany(keys: Keys): Uint8Array;
  /** Adds a key, and returns whether it was seen before. at: its time, with a window [default: now]. */
  observe(key: Key, at?: Time): boolean;
  observeMany(keys: Keys, at?: Times): Uint8Array;
  /** Adds a key, and returns whether it was new. */
  add(key: Key, at?: Time): boolean;
  /** Adds keys, and returns how many were new. */
  update(keys: Keys, at?: Times): number;
  /** Forgets a key, so that the next observe reports it as new: of kind 'counting-bloom' that processes share. Forget only
   * what observe reported as new, and once, whatever the result: forgetting a false positive makes false negatives of
   * other keys. Returns a value of Removal. */
  forget(key: Key): number;
  forgetMany(keys: Keys): Uint8Array;
  /** Yields the items whose key is new, in order; adds them in batches of at most 4096. */
  first<T extends Key>(items: Iterable<T>): Generator<T>;
  first<T>(items: Iterable<T>, key: (item: T) => Key): Generator<T>;
  readonly size: number;
  readonly info: SeenInfo;
  /** As Filter.batch. Error: MANKAI_INVALID_ARGUMENT with sharing 'processes', where each call is in the file when it returns. */
  batch<T>(change: (batch: Batch) => T): T;
  readonly position: Buffer;
  sync(): Promise<void>;
  syncSync(): void;
}

/** Answer of ConfirmedSeen for a key. RESCUED: new; a false positive of the filter, which the log corrected. */
export const Confirmed: { readonly NEW: 0; readonly REPEAT: 1; readonly RESCUED: 2 };

export interface ConfirmedSettings { keys?: number; fpr?: number; hash?: string; seed?: string; canonical?: boolean }

/** Have I seen it? Never wrong: a filter in memory, and behind it an exact log of digests on disk. */
export class ConfirmedSeen extends Handle {
  private constructor();
  static open(path: Path, settings?: ConfirmedSettings): Promise<ConfirmedSeen>;
  static openSync(path: Path, settings?: ConfirmedSettings): ConfirmedSeen;
  observe(key: Key): boolean;
  /** A value of Confirmed per key. */
  observeMany(keys: Keys): Uint8Array;
  first<T extends Key>(items: Iterable<T>): Generator<T>;
  first<T>(items: Iterable<T>, key: (item: T) => Key): Generator<T>;
  /** Writes the observed keys to the log, all or none; they then survive a process crash. */
  commit(): Promise<void>;
  commitSync(): void;
  /** Resolves when everything committed survives power loss. */
  sync(): Promise<void>;
  syncSync(): void;
  readonly size: number;
  readonly info: { keys: number; fileBytes: number; memoryBytes: number; droppedBytes: number };
}

// ---- Hot ----

export interface HotSettings {
  /** Milliseconds in which counts are halved [default: 3,600,000] */
  halfLife?: number;
  /** Counts the last milliseconds only, instead of a half-life */
  window?: number;
  epoch?: number;
  /** Bytes [default: 262,144] */
  memory?: number;
  /** "strict": never too low; "balanced": half of the error, some counts too low */
  rounding?: 'strict' | 'balanced';
  hash?: string;
  seed?: string;
  /** Milliseconds; older records count as late [default: 300,000] */
  lateTolerance?: number;
  /** Milliseconds; records further ahead of the clock are ignored; Infinity accepts all [default: a day] */
  acceptFuture?: number;
}

export interface HotInfo {
  records: number;
  lateRecords: number;
  recordsBeyondTolerance: number;
  recordsInFuture: number;
  now: number;
  newest: number;
  halfLife: number;
  epoch: number;
  window: number;
  imageBytes: number;
  sequence: number;
  durableSequence: number;
  isInFile: boolean;
  isBalanced: boolean;
}

/** How hot is it now? Decayed counts of keys in a fixed amount of memory, and the hottest keys. */
export class Hot extends Handle {
  /** In memory. */
  constructor(settings?: HotSettings);
  static open(path: Path, settings?: HotSettings & FileOptions): Promise<Hot>;
  static openSync(path: Path, settings?: HotSettings & FileOptions): Hot;
  /** Counts a key once. at: its time [default: now]. */
  observe(key: Key, at?: Time): void;
  observeMany(keys: Keys, at?: Times): void;
  /** The decayed count, or the count in the window. */
  count(key: Key): number;
  /** The hottest keys, the hottest first [default: 20]. */
  top(most?: number): Entry[];
  /** The keys with at least this decayed count. */
  above(count: number): Entry[];
  /** Decays counts until a time [default: now]. */
  advance(now?: Time): void;
  /** Number of records */
  readonly size: number;
  readonly info: HotInfo;
  batch<T>(change: (batch: Batch) => T): T;
  readonly position: Buffer;
  sync(): Promise<void>;
  syncSync(): void;
}

// ---- Guard ----

/** Answer of a guard. OK is never wrong; INVALID: not a URL with a host. */
export const Answer: { readonly OK: 0; readonly BLOCKED: 1; readonly ALLOWED: 2; readonly INVALID: 3 };

export interface GuardSettings { fpr?: number; exact?: boolean; hash?: string; seed?: string }

export interface BuildOptions extends GuardSettings {
  /** Lists of exceptions */
  allow?: readonly (Path | Iterable<string>)[];
  keepsRules?: boolean;
  /** [default: "automatic": hosts files, hosts, URLs, Adblock] */
  format?: 'automatic' | 'lines' | 'adblock' | 'csv' | 'urls';
  /** Of CSV */
  column?: string;
}

export interface BuildReport {
  lines: number;
  rules: number;
  exceptions: number;
  withoutRules: number;
  skipped: number;
  skippedRules: number;
  widened: number;
  narrowed: number;
  rulesInForce: number;
  skippedReason: string;
}

export interface GuardInfo {
  rulesInForce: number;
  exceptions: number;
  addedRules: number;
  removedRules: number;
  memoryBytes: number;
  bitsPerRule: number;
  fpr: number;
  fprWorst: number;
  keepsRules: boolean;
  isExact: boolean;
  canonicalVersion: number;
  hash: string;
}

/** Is it blocked? A compiled block list: a rule such as "evil.example/path" covers everything below it. */
export class Guard extends Handle {
  /** An empty guard in memory. For many rules use build(). */
  constructor(settings?: GuardSettings);
  /** Opens a file: "r" for checks (any number of handles), "w" for changes (one at a time) [default: "r"]. */
  static open(path: Path, options?: { mode?: 'r' | 'w' }): Promise<Guard>;
  static openSync(path: Path, options?: { mode?: 'r' | 'w' }): Guard;
  static fromBytes(image: Uint8Array): Guard;
  /** Builds a guard from lists: paths of files, or iterables of rules. */
  static build(lists: readonly (Path | Iterable<string>)[], options?: BuildOptions): Promise<{ guard: Guard; report: BuildReport }>;
  static buildSync(lists: readonly (Path | Iterable<string>)[], options?: BuildOptions): { guard: Guard; report: BuildReport };
  toBytes(): Buffer;
  save(path: Path, options?: SaveOptions): Promise<void>;
  saveSync(path: Path, options?: SaveOptions): void;
  /** Checks a URL in every reading that programs have of it: a value of Answer, and the rule, exception or reason. Takes any text. */
  check(url: Key): { answer: number; rule: string };
  /** A value of Answer per URL. */
  checkMany(urls: Keys): Uint8Array;
  /** Whether a URL is blocked; `invalid` is the answer for a text that is not a URL with a host [default: true]. */
  blocked(url: Key, options?: { invalid?: boolean }): boolean;
  blockedMany(urls: Keys, options?: { invalid?: boolean }): Uint8Array;
  /** Add rules or exceptions, or remove them; return how many were changed. A file is written once per call. */
  add(rules: string | readonly string[], options?: { id?: number | bigint }): Promise<number>;
  addSync(rules: string | readonly string[], options?: { id?: number | bigint }): number;
  remove(rules: string | readonly string[], options?: { id?: number | bigint }): Promise<number>;
  removeSync(rules: string | readonly string[], options?: { id?: number | bigint }): number;
  allow(rules: string | readonly string[]): Promise<number>;
  allowSync(rules: string | readonly string[]): number;
  disallow(rules: string | readonly string[]): Promise<number>;
  disallowSync(rules: string | readonly string[]): number;
  /** Moves added rules to the static base; only false positives change. */
  compact(): Promise<void>;
  compactSync(): void;
  /** Mode "r": opens the file again if it was replaced, and returns whether it was. */
  refresh(): Promise<boolean>;
  refreshSync(): boolean;
  readonly exceptions: string[];
  /** Number of rules in force */
  readonly size: number;
  readonly info: GuardInfo;
}

// ---- Gate ----

/** The answer "maybe": pass it to report() if the database has no row. */
declare class Maybe {
  private constructor();
  private readonly state: unknown;
}

/** Ends what Gate.hold began. */
declare class Hold extends Handle {
  private constructor();
  release(): void;
}

export interface ReportOptions {
  /** Bytes for reported keys [default: 8192] */
  memo?: number;
  /** [default: true] */
  reports?: boolean;
}
export interface AfterOptions {
  /** Until this position is applied the answer is "maybe": for a client that knows the position of its own commit. */
  after?: number | bigint;
}
export interface GateCounts {
  asked: number;
  empty: number;
  maybe: number;
  memoHits: number;
  waiting: number;
  falsePositives: number;
  lateReports: number;
}
export interface GateInfo {
  keys: number;
  capacityKeys: number;
  saturation: number;
  fprTarget: number;
  fprEstimate: number;
  stuckCells: number;
  imageBytes: number;
  missedErasures: number;
}

/** What Gate and GateFollower share. */
declare abstract class Queries extends Handle {
  /** null: there is no row with this key. Else ask the database, and pass the answer to report() if it has no row. */
  maybe(key: Key, options?: AfterOptions): Maybe | null;
  /** Reports that the database has no row: the key is empty until it is inserted or leaves the memory for reports. */
  report(key: Key, maybe: Maybe): void;
  /** Returns load() if there may be a row with this key, else null; reports the key if load() found null or something empty. */
  get<T>(key: Key, load: () => T | Promise<T>, options?: AfterOptions): Promise<T | null>;
  /** Position of the source up to which everything is applied */
  readonly position: bigint | null;
  readonly counts: GateCounts;
  /** Cost: two passes over the cells. */
  readonly info: GateInfo;
}

/** Is there anything to fetch? A negative cache in front of a table, for the process that applies its changes. */
export class Gate extends Queries {
  /** An empty gate in memory, sized for `keys` rows [default: 1,000,000] at `fpr` [default: 0.01]. */
  constructor(settings?: ReportOptions & { keys?: number; fpr?: number; hash?: string; seed?: string; sourceId?: string });
  static open(path: Path, options?: ReportOptions & FileOptions): Promise<Gate>;
  static openSync(path: Path, options?: ReportOptions & FileOptions): Gate;
  save(path: Path, options?: SaveOptions): Promise<void>;
  saveSync(path: Path, options?: SaveOptions): void;
  /** Applies the changes of one or more transactions and the position after them, atomically on disk. */
  apply(changes: {
    inserted?: Iterable<Key>;
    removed?: Iterable<Key>;
    position: number | bigint;
    /** All earlier rows were deleted. */
    clears?: boolean;
    /** Stored with the position: at most 10 characters */
    mark?: string;
  }): void;
  /** Answers "maybe" for a key until release(), whatever is reported: for a change that is applied before its commit. */
  hold(key: Key): Hold;
  readonly source: { id: string; mark: string };
  sync(): Promise<void>;
  syncSync(): void;
}

/** A read-only copy of a gate's file that another process keeps in step. */
export class GateFollower extends Queries {
  private constructor();
  static open(path: Path, options?: ReportOptions): Promise<GateFollower>;
  static openSync(path: Path, options?: ReportOptions): GateFollower;
  /** Reads the file again if it has changed, and returns whether it has. */
  refresh(): Promise<boolean>;
  refreshSync(): boolean;
  /** Refreshes at an interval of milliseconds until close(); errors are ignored, since the old copy stays in use. */
  refreshEvery(milliseconds: number): void;
}

// ---- URLs ----

export type UrlRules = 'default' | 'keys' | 'safe browsing';

/** A canonical URL and its parts. `query` begins with "?" if there is one. */
export interface CanonicalUrl {
  text: string;
  scheme: string;
  host: string;
  authority: string;
  path: string;
  query: string;
  isIp: boolean;
  /** Such as "b.co.uk" for "a.b.co.uk"; "" for addresses and public suffixes */
  readonly registrableDomain: string;
}

/** URLs in the one form that all their spellings share. */
export const url: {
  /** Number of the rules of keys in new filters */
  readonly VERSION: number;
  /** Errors: MANKAI_INVALID_ARGUMENT for a text without a host. */
  canonical(raw: Key, options?: { rules?: UrlRules }): string;
  /** null for what is not a URL. */
  canonicalMany(urls: Keys, options?: { rules?: UrlRules }): (string | null)[];
  parse(raw: Key, options?: { rules?: UrlRules }): CanonicalUrl;
  registrableDomain(host: string): string;
  /** The host of a URL and its parents, for look-ups in lists of your own. */
  hosts(raw: Key, options?: { rules?: UrlRules; ladder?: 'exact' | 'safe browsing v4' | 'safe browsing v5' | 'all' }): string[];
  /** The path of a URL and its parents. */
  paths(raw: Key, options?: { rules?: UrlRules; ladder?: 'safe browsing' | 'all' }): string[];
};

// ---- Functions ----

export interface KindInfo { name: string; summary: string; [field: string]: unknown }
/** The kinds of filters: name, summary, capabilities, options. */
export function kinds(): KindInfo[];
/** The size of each kind for so many keys, or with memoryBytes the false-positive rate of each. */
export function plan(keys: number, options?: { fpr?: number; memoryBytes?: number }): { [field: string]: unknown }[];
/** Reads and checks the file of a filter or guard completely. Errors: MANKAI_CORRUPT, MANKAI_NOT_FOUND, MANKAI_UNSUPPORTED_VERSION, MANKAI_IO. */
export function verify(path: Path): Promise<void>;
export function verifySync(path: Path): void;
export const version: string;

interface IncomingLike { url?: string }
interface OutgoingLike { statusCode: number; setHeader(name: string, value: string): unknown; end(text: string): unknown }

/** A middleware for Express and node:http that refuses requests whose URL parameter is blocked. */
export function guardMiddleware(options: {
  guard: Guard;
  /** Names of parameters of the query, and of a body that was parsed before [default: ["url"]] */
  parameters?: readonly string[];
  /** Of the refusal [default: 403] */
  status?: number;
  /** Whether text that is not a URL is refused [default: false] */
  blocksInvalid?: boolean;
}): (request: IncomingLike, response: OutgoingLike, next: () => void) => void;

export type { Handle, Hold, Maybe };
