#ifndef MANKAI_C_MANKAI_H
#define MANKAI_C_MANKAI_H

/* Mankai for C, and for every language that can call C.
 *
 *     mankai_filter* filter = NULL;
 *     if (mankai_create("blocked-bloom:keys=1e6,fpr=0.01", &filter) != MANKAI_OK) {
 *       fprintf(stderr, "%s\n", mankai_last_error());
 *     }
 *
 * A mankai_filter is a filter in memory or in a file that survives crashes; the same functions change and query both.
 * A spec, as `mankai create` prints it, makes a filter of any kind. The other handles answer one question each:
 * mankai_seen ("have I seen it?"), mankai_confirmed (the same, exact), mankai_hot ("how hot is it now?"), mankai_guard
 * ("is it blocked?"), mankai_gate ("is there anything to fetch?").
 *
 * Results:   a function that can fail returns a mankai_code, MANKAI_OK being 0, and writes its results to the pointers
 *            at the end of its arguments. After an error it has written nothing, but a handle is set to NULL.
 * Pointers:  an invalid NULL gives MANKAI_INVALID_ARGUMENT. NULL is valid for an array of no elements, a key of no
 *            bytes, options, requests, settings, results of erase, and for mankai_free and the functions that close a
 *            handle, which then do nothing. A handle of another type gives MANKAI_INVALID_ARGUMENT.
 * Memory:    what a function writes to new memory is freed with one mankai_free.
 * Arrays:    `count` elements each; they must not overlap, and are accessed during the call only.
 * Exceptions: these functions do not throw.
 * Threads:   any thread may call any function at any time, with the same handle too: one change at a time, queries
 *            concurrently. Only closing needs the handle alone. During a call, no thread may be canceled.
 * Forks:     a child inherits handles. One that changes a file belongs to the process that opened it: in the child all
 *            its functions return MANKAI_FORKED, and closing it there does nothing, so that the file is never written,
 *            synchronized or unlocked. The file stays locked until the child, too, has ended or called exec. Other
 *            handles work in the child, on its own copy, if no thread was in a call with the handle at the fork. A
 *            memory that processes share works in the child whatever threads were in a call with it.
 * Errors:    mankai_last_error is of the calling thread. Languages whose functions move between threads must read it
 *            in the same call from their side.
 * Versions:  functions are added, never changed or removed. Structs with a `size` grow at their end: set it to sizeof
 *            the struct and the rest to 0, and a program compiled with an older header keeps working. A program may
 *            refuse a library that is older than its header: mankai_abi_version() < MANKAI_ABI_VERSION.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MANKAI_API __attribute__((visibility("default")))
#else
#define MANKAI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Outcome of a call. Values are never reused. */
enum mankai_code {
  MANKAI_OK = 0,
  MANKAI_INVALID_ARGUMENT = 1,    /* an impossible or contradictory request */
  MANKAI_NOT_FOUND = 2,           /* a file, kind or option that does not exist */
  MANKAI_IO = 3,                  /* the operating system refused; mankai_last_os_error says why */
  MANKAI_CORRUPT = 4,             /* truncated or altered bytes */
  MANKAI_UNSUPPORTED_VERSION = 5, /* a format newer than this library */
  MANKAI_OUT_OF_SPACE = 6,        /* memory or disk exhausted */
  MANKAI_LOCKED = 7,              /* another process is changing the file */
  MANKAI_FORKED = 8               /* the handle changes a file and belongs to the parent process; see Forks */
};

/* A filter. Made by mankai_create, mankai_from_image and the mankai_..._file functions; it lives until mankai_close. */
typedef struct mankai_filter mankai_filter;

/* A key: any bytes. They are read during the call only. */
typedef struct mankai_key {
  const void* data;
  size_t bytes;
} mankai_key;

/* Many keys in one buffer, as in Apache Arrow: key i is the bytes offsets[first + i] to offsets[first + i + 1] of the
 * data, or, without offsets, the `width` bytes at (first + i) * width. Every offset is checked: keys that are not in
 * the data give INVALID_ARGUMENT before anything is changed. A key whose bit in `validity` is 0 is skipped: it is not
 * inserted, and its result is false or 0. The `..._packed` functions use other arrays from their start: element i
 * belongs to key i. */
typedef struct mankai_packed {
  size_t size;             /* sizeof(mankai_packed) */
  const void* data;        /* the bytes of the keys */
  size_t data_bytes;       /* size of the data */
  const void* offsets;     /* first + count + 1 integers, aligned, not decreasing; NULL: keys of equal width */
  uint32_t offset_bytes;   /* bytes of an offset: 4 or 8; 0 without offsets */
  uint32_t width;          /* bytes of a key without offsets; else 0 */
  const uint8_t* validity; /* bit (first + i) % 8, counted from the lowest, of byte (first + i) / 8; NULL: all valid */
  size_t first;            /* number of the first key */
  size_t count;            /* number of keys */
} mankai_packed;

/* Texts that a function returns in new memory, freed with one mankai_free: text i is the bytes offsets[i] to
 * offsets[i + 1] of the data. `data` and `offsets` point into the same memory. */
typedef struct mankai_texts {
  const char* data;
  const int64_t* offsets; /* count + 1 */
  size_t count;
} mankai_texts;

/* A setting that a request may leave open: the default for a new file, any value for an existing one. */
enum { MANKAI_ANY = 0, MANKAI_YES = 1, MANKAI_NO = 2 };

/* ---- The library ---- */

/* Version of this header; it increases whenever functions or fields are added. */
#define MANKAI_ABI_VERSION 4

/* Returns the MANKAI_ABI_VERSION of the library. */
MANKAI_API uint32_t mankai_abi_version(void);

/* Returns the library's version, such as "0.1.0". The text is static. */
MANKAI_API const char* mankai_version(void);

/* Returns one line about the last error of this thread: what is wrong, where, and what to do; "" if there was none. The
 * text is valid until the thread's next error. */
MANKAI_API const char* mankai_last_error(void);

/* Returns the errno of that error; 0 if no system call failed. */
MANKAI_API int mankai_last_os_error(void);

/* Returns the name of a code, such as "corrupt"; "unknown" for another number. The text is static. */
MANKAI_API const char* mankai_code_name(int code);

/* Frees memory that a function below returned. */
MANKAI_API void mankai_free(void* memory);

/* Writes a JSON array of the kinds of filters to new memory, zero-terminated: name, summary, capabilities, options.
 * Errors: OUT_OF_SPACE. */
MANKAI_API int mankai_kinds(char** json);

/* Writes a JSON array with the size of each kind for so many keys to new memory, zero-terminated: at a false-positive
 * rate if `image_bytes` is 0, else the rate within so many bytes, and `fpr` must be 0. Errors: INVALID_ARGUMENT for an
 * impossible request; OUT_OF_SPACE. */
MANKAI_API int mankai_plan(uint64_t keys, double fpr, uint64_t image_bytes, char** json);

/* ---- Filters in memory ---- */

/* Makes an empty filter: "KIND" or "KIND:OPTION=VALUE,…". [default seed: random]
 * Errors: NOT_FOUND (kind), INVALID_ARGUMENT, OUT_OF_SPACE. */
MANKAI_API int mankai_create(const char* spec, mankai_filter** filter);

/* Makes a filter from an image, which is copied and checked completely. Errors: CORRUPT, UNSUPPORTED_VERSION,
 * OUT_OF_SPACE. */
MANKAI_API int mankai_from_image(const void* image, size_t bytes, mankai_filter** filter);

/* Writes the filter's image to new memory; free it with mankai_free. A filter's file has a footer behind the image.
 * Errors: OUT_OF_SPACE. */
MANKAI_API int mankai_to_image(const mankai_filter* filter, void** image, size_t* bytes);

/* Makes a filter in memory with the same content. Errors: OUT_OF_SPACE. */
MANKAI_API int mankai_copy(const mankai_filter* filter, mankai_filter** copy);

/* ---- Filters in files ---- */

/* When a change survives power loss. It survives a process crash once the call has returned, whatever the durability.
 */
enum mankai_durability {
  MANKAI_DURABILITY_DEFAULT = 0,  /* interval */
  MANKAI_DURABILITY_ALWAYS = 1,   /* a call returns when its changes are on the disk */
  MANKAI_DURABILITY_INTERVAL = 2, /* within interval_us */
  MANKAI_DURABILITY_NEVER = 3     /* at checkpoints and after mankai_sync, else when the system writes */
};

/* Which processes may change a file at a time. */
enum mankai_sharing {
  MANKAI_SHARING_ONE_WRITER = 0, /* the one that has it open */
  MANKAI_SHARING_PROCESSES = 1   /* any number that all open it so: mankai_seen_open */
};

/* Options of a file. NULL, or all 0 but the size, is the default. An older library refuses a non-zero field of a newer
 * header. */
typedef struct mankai_file_options {
  size_t size;                     /* sizeof(mankai_file_options) */
  uint32_t durability;             /* mankai_durability */
  uint32_t replace;                /* not 0: mankai_create_file replaces an existing file */
  uint64_t interval_us;            /* of MANKAI_DURABILITY_INTERVAL, at most a day; 0: a second */
  uint64_t checkpoint_bytes;       /* length of the journal that triggers a checkpoint; 0: the larger of 64 MiB and
                                      the image's size */
  uint64_t checkpoint_interval_us; /* interval of checkpoints if there are changes; 0: none */
  uint32_t trust_cells;            /* not 0: opening only maps the cells and does not detect corrupt ones */
  uint32_t mode;                   /* permissions of a new file, such as 0640; 0: those of the replaced file, else 0600
                                      less the umask */
  uint32_t sharing;                /* mankai_sharing */
  uint32_t reserved;               /* 0 */
} mankai_file_options;

/* Makes a file with an empty filter, and opens it for changes. Errors: as mankai_create; INVALID_ARGUMENT if the file
 * exists and `replace` is 0; LOCKED, IO, OUT_OF_SPACE. */
MANKAI_API int mankai_create_file(const char* path, const char* spec, const mankai_file_options* options,
                                  mankai_filter** filter);

/* Opens a filter's file for changes, after recovery from its journal: see mankai_recovery. Only one handle of one
 * process at a time. Errors, which name the file: LOCKED with the owner's process, NOT_FOUND, CORRUPT,
 * UNSUPPORTED_VERSION, IO, OUT_OF_SPACE. */
MANKAI_API int mankai_open_file(const char* path, const mankai_file_options* options, mankai_filter** filter);

/* Opens a consistent snapshot of a filter's file for queries, also while another process changes the file. Any number
 * of handles. Only the option trust_cells has an effect. Errors: as mankai_open_file, except LOCKED. */
MANKAI_API int mankai_open_file_read(const char* path, const mankai_file_options* options, mankai_filter** filter);

/* Makes all changes of a file durable and frees the handle, also after an error, which means that the latest changes
 * are still in the journal. Errors: IO, OUT_OF_SPACE. */
MANKAI_API int mankai_close(mankai_filter* filter);

/* Brings a handle of mankai_open_file_read to the current content of its file, and writes whether that differs from
 * what the handle had. Cost: as opening the file. Errors: INVALID_ARGUMENT for other handles; as mankai_open_file_read,
 * and the handle then keeps its content. */
MANKAI_API int mankai_refresh(mankai_filter* filter, bool* is_changed);

/* Writes a copy of any filter to a file, completely or not at all; the handle stays what it is. Only the options
 * `replace` and `mode` have an effect. Errors: INVALID_ARGUMENT if the file exists and `replace` is 0; LOCKED, IO,
 * OUT_OF_SPACE. */
MANKAI_API int mankai_save_file(const mankai_filter* filter, const char* path, const mankai_file_options* options);

/* Reads and checks a file completely: a filter's with its journal, or a guard's. Errors: as mankai_open_file_read. */
MANKAI_API int mankai_verify_file(const char* path);

/* ---- Changes ----
 *
 * Each call is one batch; recovery finds all of it or nothing. A batch is much faster than single keys. Errors of all:
 * INVALID_ARGUMENT if the kind does not support it, naming those that do, and for a filter opened for queries;
 * OUT_OF_SPACE if a filter cannot grow; for a file IO and OUT_OF_SPACE if the journal cannot be written. After an
 * error, only the windows of 4096 keys before it are inserted. After a disk error, or if it could not grow, a file
 * accepts no more changes until it is opened again. */

MANKAI_API int mankai_insert(mankai_filter* filter, const mankai_key* keys, size_t count);
MANKAI_API int mankai_insert_one(mankai_filter* filter, const void* key, size_t bytes);
MANKAI_API int mankai_insert_packed(mankai_filter* filter, const mankai_packed* keys);

/* Inserts with an id per key, by which it can be erased: scalable-counting-bloom. */
MANKAI_API int mankai_insert_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count);
MANKAI_API int mankai_insert_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id);
MANKAI_API int mankai_insert_packed_with_ids(mankai_filter* filter, const mankai_packed* keys, const uint64_t* ids);

/* Inserts with a time per key, in microseconds since 1970: decayed-top. */
MANKAI_API int mankai_insert_at(mankai_filter* filter, const mankai_key* keys, const int64_t* times_us, size_t count);
MANKAI_API int mankai_insert_one_at(mankai_filter* filter, const void* key, size_t bytes, int64_t time_us);
MANKAI_API int mankai_insert_packed_at(mankai_filter* filter, const mankai_packed* keys, const int64_t* times_us);

/* Inserts, and returns per key, in order, whether it was present before. */
MANKAI_API int mankai_observe(mankai_filter* filter, const mankai_key* keys, size_t count, bool* seen);
MANKAI_API int mankai_observe_one(mankai_filter* filter, const void* key, size_t bytes, bool* seen);
MANKAI_API int mankai_observe_packed(mankai_filter* filter, const mankai_packed* keys, bool* seen);

/* Result of erasing a key. All but the first: refused, and nothing has changed. */
enum {
  MANKAI_ERASED = 0,    /* erased once */
  MANKAI_ABSENT = 1,    /* certainly absent */
  MANKAI_AMBIGUOUS = 2, /* more than one sub-filter may hold it */
  MANKAI_BELOW_IDS = 3, /* no sub-filter has ids so low */
  MANKAI_STUCK = 4      /* its counters are saturated, so its count is unknown */
};
typedef uint8_t mankai_erase_result;

/* Erases each key once, in order. Erase only inserted keys: erasing a false positive makes false negatives of other
 * keys. `results` may be NULL. */
MANKAI_API int mankai_erase(mankai_filter* filter, const mankai_key* keys, size_t count, mankai_erase_result* results);
MANKAI_API int mankai_erase_one(mankai_filter* filter, const void* key, size_t bytes, mankai_erase_result* result);
/* The result of a skipped key is MANKAI_ABSENT. */
MANKAI_API int mankai_erase_packed(mankai_filter* filter, const mankai_packed* keys, mankai_erase_result* results);
MANKAI_API int mankai_erase_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count,
                                     mankai_erase_result* results);
MANKAI_API int mankai_erase_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id,
                                        mankai_erase_result* result);
MANKAI_API int mankai_erase_packed_with_ids(mankai_filter* filter, const mankai_packed* keys, const uint64_t* ids,
                                            mankai_erase_result* results);

/* Stores a value per key: recent-values. `strength`, above 0 to 1, is the share of a key's cells that are
 * overwritten. */
MANKAI_API int mankai_put(mankai_filter* filter, const mankai_key* keys, const uint32_t* values, size_t count,
                          double strength);
MANKAI_API int mankai_put_one(mankai_filter* filter, const void* key, size_t bytes, uint32_t value, double strength);

/* Advances the time of a filter whose keys expire or decay, in microseconds since 1970. Errors: INVALID_ARGUMENT for a
 * time before the current one. */
MANKAI_API int mankai_advance(mankai_filter* filter, int64_t time_us);

/* Adds the keys of another filter with the same spec. For a file this is a checkpoint. */
MANKAI_API int mankai_merge(mankai_filter* filter, const mankai_filter* other);

/* Erases every key. For a file this is a checkpoint. */
MANKAI_API int mankai_clear(mankai_filter* filter);

/* ---- Queries ----
 *
 * Errors of all: INVALID_ARGUMENT if the kind does not support it, naming those that do. */

MANKAI_API int mankai_may_contain(const mankai_filter* filter, const mankai_key* keys, size_t count, bool* outcomes);
MANKAI_API int mankai_may_contain_one(const mankai_filter* filter, const void* key, size_t bytes, bool* outcome);
MANKAI_API int mankai_may_contain_packed(const mankai_filter* filter, const mankai_packed* keys, bool* outcomes);

/* Count of a key. */
typedef struct mankai_count {
  uint32_t value;    /* never too low, unless saturated */
  bool is_saturated; /* the true count may be higher */
} mankai_count;

MANKAI_API int mankai_counts(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_count* counts);
MANKAI_API int mankai_count_one(const mankai_filter* filter, const void* key, size_t bytes, mankai_count* count);
MANKAI_API int mankai_counts_packed(const mankai_filter* filter, const mankai_packed* keys, mankai_count* counts);

/* Decayed count of a key: each occurrence counts lambda to the power of the epochs since. */
typedef struct mankai_lately {
  double raw;        /* their sum */
  double rate;       /* (1 - lambda) * raw: occurrences per epoch, smoothed */
  bool is_saturated; /* the true count may be higher */
} mankai_lately;

MANKAI_API int mankai_counts_lately(const mankai_filter* filter, const mankai_key* keys, size_t count,
                                    mankai_lately* counts);
MANKAI_API int mankai_count_one_lately(const mankai_filter* filter, const void* key, size_t bytes,
                                       mankai_lately* count);

/* A value of a key, and the number of the key's cells that hold it. */
typedef struct mankai_value {
  uint32_t value;
  uint32_t matches;
} mankai_value;

/* Writes at most `room` values of a key, those with most matches first, and their number. Values with fewer than
 * `min_matches` are left out; 2 leaves out most values of other keys. */
MANKAI_API int mankai_recall(const mankai_filter* filter, const void* key, size_t bytes, uint32_t min_matches,
                             mankai_value* values, size_t room, size_t* count);

/* One of the hottest keys. */
typedef struct mankai_top_entry {
  const char* key; /* not zero-terminated; in the same memory as the entry */
  size_t bytes;
  mankai_lately count;
  int64_t last_seen_us; /* microseconds since 1970 */
  bool is_cut;          /* these are the first bytes of a longer key */
} mankai_top_entry;

/* Writes at most `most` of the hottest keys of a decayed-top, the hottest first, to new memory, which is freed with one
 * mankai_free; NULL if there are none. */
MANKAI_API int mankai_top(const mankai_filter* filter, size_t most, mankai_top_entry** entries, size_t* count);

/* Description of a filter. The texts are static. */
typedef struct mankai_info {
  size_t size;      /* sizeof(mankai_info), set by the caller; see Versions */
  const char* kind; /* such as "blocked-bloom" */
  uint64_t capacity_keys;
  uint64_t keys_inserted;
  uint64_t image_bytes;
  double fpr_target; /* false-positive rate at capacity_keys */
  int64_t time_us;   /* current time of the filter since 1970; 0 if it has none */
  bool is_in_file;
  bool has_time; /* its keys expire or decay: see mankai_advance */
  bool can_erase;
  bool can_count; /* by mankai_counts, or by mankai_counts_lately if its counts decay */
  bool takes_ids;
  bool takes_values;
  bool can_grow;
  uint32_t canonical_version; /* of the URL rules that canonicalize its keys; 0: keys are hashed as they are */
  const char* hash;           /* such as "xxh3" */
} mankai_info;

MANKAI_API int mankai_get_info(const mankai_filter* filter, mankai_info* info);

/* Estimates from the cells. Cost: two passes over the cells. */
typedef struct mankai_estimates {
  size_t size;          /* sizeof(mankai_estimates), set by the caller; see Versions */
  double fill_ratio;    /* cells in use over all */
  double fpr_estimate;  /* current false-positive rate */
  double keys_estimate; /* distinct keys */
} mankai_estimates;

MANKAI_API int mankai_estimate(const mankai_filter* filter, mankai_estimates* estimates);

/* Writes the spec of the filter, including its seed, to new memory; free it with mankai_free. Keep the seed secret:
 * with it, an adversary can choose keys that collide. */
MANKAI_API int mankai_spec(const mankai_filter* filter, char** spec);

/* Writes a JSON object that describes the filter to new memory, zero-terminated: the fields of `mankai info --json`
 * without those of the file. Cost: as mankai_estimate. Errors: OUT_OF_SPACE. */
MANKAI_API int mankai_describe(const mankai_filter* filter, char** json);

/* ---- Durability ----
 *
 * For filters opened by mankai_create_file and mankai_open_file; others give INVALID_ARGUMENT. */

/* Report of the recovery on opening. */
typedef struct mankai_recovery_report {
  size_t size; /* sizeof(mankai_recovery_report), set by the caller; see Versions */
  uint64_t records_replayed;
  uint64_t changes_replayed; /* of single keys */
  uint64_t bytes_dropped;    /* at the end of the journal: an incomplete record */
  uint64_t dropped_at;       /* offset in the journal */
  uint64_t sequence;         /* of the last change */
  const char* reason;        /* why bytes were dropped, else ""; valid as long as the handle */
  bool was_closed;           /* the last writer closed the file: nothing to recover */
} mankai_recovery_report;

MANKAI_API int mankai_recovery(const mankai_filter* filter, mankai_recovery_report* report);

/* The number of changes of single keys since the file was created, and how many of them survive power loss. */
MANKAI_API int mankai_sequence(const mankai_filter* filter, uint64_t* sequence);
MANKAI_API int mankai_durable_sequence(const mankai_filter* filter, uint64_t* sequence);

/* Longest source position. */
enum { MANKAI_POSITION_BYTES = 64 };

/* Makes one batch of all calls of all threads until mankai_commit. Queries see them at once; after a crash, or when the
 * handle is closed without a commit, recovery finds all of them or none. */
MANKAI_API int mankai_begin(mankai_filter* filter);

/* Ends the batch and stores the position of its source after it: up to 64 bytes of the caller, such as an offset in a
 * log; no bytes keep the last position. Without mankai_begin it only stores the position. */
MANKAI_API int mankai_commit(mankai_filter* filter, const void* position, size_t bytes);

/* Writes the position of the last commit, at most MANKAI_POSITION_BYTES, and its length. A consumer that continues from
 * here processes every key exactly once. */
MANKAI_API int mankai_position(const mankai_filter* filter, void* position, size_t* bytes);

/* Returns when all changes so far survive power loss. */
MANKAI_API int mankai_sync(mankai_filter* filter);

/* Writes the filter's image and empties its journal; also done automatically: see mankai_file_options. */
MANKAI_API int mankai_checkpoint(mankai_filter* filter);

/* ---- Have I seen it? ----
 *
 * Remembers keys, in memory or in a file, and reports repeats: no false negatives, except with kind
 * fading-fingerprints, which overwrites old keys; and a false-positive rate of at most `fpr` up to `keys` keys. With a
 * window, keys expire, and the caller passes the time of each. */

typedef struct mankai_seen mankai_seen;

/* What is wanted. A field of 0 means the default for a new file, and any value for an existing one. */
typedef struct mankai_seen_request {
  size_t size;        /* sizeof(mankai_seen_request) */
  const char* kind;   /* NULL: blocked-bloom, or rotating-bloom with a window */
  uint64_t keys;      /* number of distinct keys, per window if there is one; 0: 10 million */
  double fpr;         /* false-positive rate; 0: 0.001 */
  const char* hash;   /* such as "xxh3"; NULL: keyed */
  const char* seed;   /* as in specs; NULL: random */
  uint64_t window_us; /* time after which keys expire; 0: never */
  uint32_t canonical; /* MANKAI_YES: keys are URLs, compared in canonical form */
  uint32_t reserved;  /* 0 */
} mankai_seen_request;

/* Opens a file for changes, or creates it if it is missing; a path of NULL: in memory. Errors: INVALID_ARGUMENT if the
 * file has other settings than requested, naming them; as mankai_open_file and mankai_create. The option `replace` must
 * be 0.
 *
 * With MANKAI_SHARING_PROCESSES any number of processes remember keys in one file (blocked-bloom, bloom, and
 * counting-bloom, which can forget keys; without a window). Of those that observe an absent key at once, exactly one
 * gets the answer that it is new. What a call returned survives process crashes; a power loss restores the last
 * checkpoint, which mankai_seen_sync makes, or checkpoint_interval_us [default: a minute]. The handle may be used after
 * a fork. */
MANKAI_API int mankai_seen_open(const char* path, const mankai_seen_request* request,
                                const mankai_file_options* options, mankai_seen** seen);

/* Inserts keys in order, and returns per key whether it was present before, also earlier in the call. `times_us` has a
 * time per key in microseconds since 1970; a time before the latest one counts as the latest one. NULL without a
 * window. Each call is one batch; with a window, the keys of each part of it are one. Errors: INVALID_ARGUMENT for
 * times without a window and a window without times; as mankai_observe. */
MANKAI_API int mankai_seen_observe(mankai_seen* seen, const mankai_key* keys, const int64_t* times_us, size_t count,
                                   bool* repeats);
MANKAI_API int mankai_seen_observe_packed(mankai_seen* seen, const mankai_packed* keys, const int64_t* times_us,
                                          bool* repeats);
MANKAI_API int mankai_seen_observe_one(mankai_seen* seen, const void* key, size_t bytes, bool* repeat);
MANKAI_API int mankai_seen_observe_one_at(mankai_seen* seen, const void* key, size_t bytes, int64_t time_us,
                                          bool* repeat);

/* Forgets keys, so that the next call that observes one reports it as new: for kind counting-bloom that processes
 * share; others give INVALID_ARGUMENT. Forget only what was reported as new, and once, whatever the result: forgetting
 * a false positive makes false negatives of other keys. `results` may be NULL. */
MANKAI_API int mankai_seen_forget(mankai_seen* seen, const mankai_key* keys, size_t count,
                                  mankai_erase_result* results);
MANKAI_API int mankai_seen_forget_packed(mankai_seen* seen, const mankai_packed* keys, mankai_erase_result* results);

/* Asks without inserting; keys that have expired may still be reported until the next observe. */
MANKAI_API int mankai_seen_may_contain(const mankai_seen* seen, const mankai_key* keys, size_t count, bool* outcomes);
MANKAI_API int mankai_seen_may_contain_packed(const mankai_seen* seen, const mankai_packed* keys, bool* outcomes);
MANKAI_API int mankai_seen_may_contain_one(const mankai_seen* seen, const void* key, size_t bytes, bool* outcome);

/* As mankai_begin, mankai_commit, mankai_position and mankai_sync. In memory, position writes no bytes, and the others
 * have no effect. With MANKAI_SHARING_PROCESSES, begin is INVALID_ARGUMENT: each call is in the file when it returns.
 */
MANKAI_API int mankai_seen_begin(mankai_seen* seen);
MANKAI_API int mankai_seen_commit(mankai_seen* seen, const void* position, size_t bytes);
MANKAI_API int mankai_seen_position(const mankai_seen* seen, void* position, size_t* bytes);
MANKAI_API int mankai_seen_sync(mankai_seen* seen);

typedef struct mankai_seen_facts {
  size_t size;      /* sizeof(mankai_seen_facts), set by the caller; see Versions */
  const char* kind; /* static */
  uint64_t keys_inserted;
  uint64_t capacity_keys;
  uint64_t image_bytes;
  double fpr_target;
  int64_t window_us;         /* a key is found for at least so long; 0 without a window */
  int64_t forgets_after_us;  /* after so long a key has expired; 0 without a window */
  int64_t time_us;           /* start of the window's current part since 1970 */
  uint64_t sequence;         /* as mankai_sequence; 0 in memory */
  uint64_t durable_sequence; /* as mankai_durable_sequence; 0 in memory */
  bool is_in_file;
  bool is_over_capacity; /* the false-positive rate rises above its target */
  bool is_overfull;      /* soon most absent keys are false positives */
} mankai_seen_facts;

MANKAI_API int mankai_seen_get_facts(const mankai_seen* seen, mankai_seen_facts* facts);

/* Frees the handle; with a file as mankai_close. */
MANKAI_API int mankai_seen_close(mankai_seen* seen);

/* ---- Have I seen it? Without false positives ----
 *
 * A filter in memory answers for most new keys, and an exact log on disk confirms repeats. Observed keys are in the log
 * after mankai_confirmed_commit. */

typedef struct mankai_confirmed mankai_confirmed;

typedef struct mankai_confirmed_request {
  size_t size;        /* sizeof(mankai_confirmed_request) */
  uint64_t keys;      /* initial capacity of the filter, which grows; 0: 10 million */
  double fpr;         /* share of absent keys that cost a look-up in the log; 0: 0.001 */
  const char* hash;   /* NULL: keyed for a new log */
  const char* seed;   /* as in specs; NULL: random for a new log */
  uint32_t canonical; /* MANKAI_YES: keys are URLs, compared in canonical form */
  uint32_t mode;      /* permissions of a new log, such as 0640; 0: 0600 less the umask */
} mankai_confirmed_request;

/* Answer for a key. */
enum {
  MANKAI_CONFIRMED_NEW = 0,    /* new: the filter lacks it */
  MANKAI_CONFIRMED_REPEAT = 1, /* seen before */
  MANKAI_CONFIRMED_RESCUED = 2 /* new: a false positive of the filter, which the log corrected */
};
typedef uint8_t mankai_confirmed_answer;

/* Opens a log, or creates it if it is missing. Errors: INVALID_ARGUMENT if it has other settings; LOCKED, CORRUPT,
 * UNSUPPORTED_VERSION, IO, OUT_OF_SPACE; NOT_FOUND also if a file of the log is missing. */
MANKAI_API int mankai_confirmed_open(const char* path, const mankai_confirmed_request* request,
                                     mankai_confirmed** confirmed);

/* Inserts keys in order and returns their answers; the second occurrence in a call is a repeat. The answer of a skipped
 * key is MANKAI_CONFIRMED_REPEAT. */
MANKAI_API int mankai_confirmed_observe(mankai_confirmed* confirmed, const mankai_key* keys, size_t count,
                                        mankai_confirmed_answer* answers);
MANKAI_API int mankai_confirmed_observe_packed(mankai_confirmed* confirmed, const mankai_packed* keys,
                                               mankai_confirmed_answer* answers);
MANKAI_API int mankai_confirmed_observe_one(mankai_confirmed* confirmed, const void* key, size_t bytes,
                                            mankai_confirmed_answer* answer);

/* Writes the observed keys to the log, all or none; they then survive a process crash. Errors: IO, OUT_OF_SPACE; then
 * every later call fails, and earlier commits are safe. */
MANKAI_API int mankai_confirmed_commit(mankai_confirmed* confirmed);

/* Returns when everything committed survives power loss. */
MANKAI_API int mankai_confirmed_sync(mankai_confirmed* confirmed);

typedef struct mankai_confirmed_facts {
  size_t size;            /* sizeof(mankai_confirmed_facts), set by the caller; see Versions */
  uint64_t keys;          /* in the log, including uncommitted ones */
  uint64_t file_bytes;    /* of all files of the log */
  uint64_t memory_bytes;  /* without mapped files */
  uint64_t dropped_bytes; /* incomplete batches that opening dropped */
} mankai_confirmed_facts;

MANKAI_API int mankai_confirmed_get_facts(const mankai_confirmed* confirmed, mankai_confirmed_facts* facts);

/* Makes everything committed durable and frees the handle; uncommitted keys are lost. Errors: IO, OUT_OF_SPACE. */
MANKAI_API int mankai_confirmed_close(mankai_confirmed* confirmed);

/* ---- How hot is it now? ----
 *
 * Keeps decayed counts of keys, or counts of a window, in a fixed amount of memory, and lists the hottest keys. The
 * caller passes the time of each record, in microseconds since 1970. */

typedef struct mankai_hot mankai_hot;

/* How counts are rounded. */
enum mankai_rounding {
  MANKAI_ROUNDING_ANY = 0,     /* strict for a new state, either for an existing one */
  MANKAI_ROUNDING_STRICT = 1,  /* up: never too low */
  MANKAI_ROUNDING_BALANCED = 2 /* at random: the smallest error */
};

/* What is wanted. A field of 0 means the default for a new state, and any value for an existing one. */
typedef struct mankai_hot_request {
  size_t size;                /* sizeof(mankai_hot_request) */
  uint64_t half_life_us;      /* counts are halved in this time; 0: an hour */
  uint64_t epoch_us;          /* counts decay in steps of this; 0: a fraction of the half-life. Needs half_life_us */
  uint64_t window_us;         /* counts the keys of the last window instead; not with half_life_us */
  uint64_t memory_bytes;      /* 0: 256 KiB */
  const char* hash;           /* NULL: keyed */
  const char* seed;           /* as in specs; NULL: random */
  uint64_t keys_tag;          /* identifies the type of keys; stored in a new state */
  uint64_t late_tolerance_us; /* records this much older than the newest one count as late; 0: 5 minutes. Not stored */
  int64_t latest_us;          /* as mankai_hot_accept_until; 0: every time is accepted. Not stored */
  uint32_t rounding;          /* mankai_rounding */
  uint32_t reserved;          /* 0 */
} mankai_hot_request;

/* Opens a file for changes, or creates it if it is missing; a path of NULL: in memory. Errors: as mankai_seen_open. */
MANKAI_API int mankai_hot_open(const char* path, const mankai_hot_request* request, const mankai_file_options* options,
                               mankai_hot** hot);

/* Counts each key once at its time, in order. Each call is one batch. Errors: as mankai_insert_at. */
MANKAI_API int mankai_hot_observe(mankai_hot* hot, const mankai_key* keys, const int64_t* times_us, size_t count);
MANKAI_API int mankai_hot_observe_packed(mankai_hot* hot, const mankai_packed* keys, const int64_t* times_us);
MANKAI_API int mankai_hot_observe_one(mankai_hot* hot, const void* key, size_t bytes, int64_t time_us);

/* Ignores records later than this: one far in the future would decay all other counts to nothing. The library reads no
 * clock: pass its time plus a tolerance. */
MANKAI_API int mankai_hot_accept_until(mankai_hot* hot, int64_t latest_us);

/* Decays counts until a time; an earlier time has no effect. Errors: as mankai_advance. */
MANKAI_API int mankai_hot_advance(mankai_hot* hot, int64_t time_us);

/* Counts as of the newest record, or of mankai_hot_advance if that is later. */
MANKAI_API int mankai_hot_counts(const mankai_hot* hot, const mankai_key* keys, size_t count, mankai_lately* counts);
MANKAI_API int mankai_hot_count_one(const mankai_hot* hot, const void* key, size_t bytes, mankai_lately* count);

/* Writes at most `most` of the hottest keys, or all with at least a decayed count, the hottest first, to new memory, as
 * mankai_top. */
MANKAI_API int mankai_hot_top(const mankai_hot* hot, size_t most, mankai_top_entry** entries, size_t* count);
MANKAI_API int mankai_hot_above(const mankai_hot* hot, double min_raw, mankai_top_entry** entries, size_t* count);

/* As mankai_seen_begin and so on. */
MANKAI_API int mankai_hot_begin(mankai_hot* hot);
MANKAI_API int mankai_hot_commit(mankai_hot* hot, const void* position, size_t bytes);
MANKAI_API int mankai_hot_position(const mankai_hot* hot, void* position, size_t* bytes);
MANKAI_API int mankai_hot_sync(mankai_hot* hot);

typedef struct mankai_hot_facts {
  size_t size;                       /* sizeof(mankai_hot_facts), set by the caller; see Versions */
  uint64_t records;                  /* since the state was created */
  uint64_t late_records;             /* arrived in a later epoch than their own */
  uint64_t records_beyond_tolerance; /* late records of this handle beyond late_tolerance_us; they are counted */
  uint64_t records_in_future;        /* records that this handle ignored */
  int64_t now_us;                    /* time to which counts are decayed */
  int64_t newest_us;                 /* time of the newest record */
  double half_life_us;               /* 0 with a window; infinity if counts do not decay */
  int64_t epoch_us;                  /* length of an epoch */
  int64_t window_us;                 /* 0 if counts decay */
  uint64_t image_bytes;
  uint64_t keys_tag;
  uint64_t sequence;         /* as mankai_sequence; 0 in memory */
  uint64_t durable_sequence; /* as mankai_durable_sequence; 0 in memory */
  bool is_in_file;
  bool is_balanced; /* counts are rounded at random */
} mankai_hot_facts;

MANKAI_API int mankai_hot_get_facts(const mankai_hot* hot, mankai_hot_facts* facts);

/* Frees the handle; with a file as mankai_close. */
MANKAI_API int mankai_hot_close(mankai_hot* hot);

/* ---- Is it blocked? ----
 *
 * A guard is a compiled block list: a rule such as "evil.example/path" covers everything below it, and exceptions
 * override rules. Checks wait for a change, which writes a file completely. */

typedef struct mankai_guard mankai_guard;

/* Answer to a check. */
enum {
  MANKAI_GUARD_OK = 0,      /* no rule covers the URL; never wrong */
  MANKAI_GUARD_BLOCKED = 1, /* a rule covers it, or it is a false positive */
  MANKAI_GUARD_ALLOWED = 2, /* blocked, but exceptions cover it */
  MANKAI_GUARD_INVALID = 3  /* not a URL with a host in any reading */
};
typedef uint8_t mankai_guard_answer;

/* Settings of a new guard. */
typedef struct mankai_guard_settings {
  size_t size;          /* sizeof(mankai_guard_settings) */
  double fpr;           /* false-positive rate; 0: 0.01 */
  const char* hash;     /* NULL: keyed */
  const char* seed;     /* as in specs; NULL: random */
  uint32_t is_exact;    /* not 0: confirms every blocked URL by the rules' digests, 16 bytes each */
  uint32_t drops_rules; /* not 0: does not keep these digests; then it cannot be exact or compacted */
} mankai_guard_settings;

/* Makes an empty guard in memory. Use a mankai_guard_builder for many rules. */
MANKAI_API int mankai_guard_create(const mankai_guard_settings* settings, mankai_guard** guard);

/* Opens a guard's file for checks and changes; one handle of one process at a time. Errors: as mankai_open_file. */
MANKAI_API int mankai_guard_open(const char* path, mankai_guard** guard);

/* Opens a guard's file for checks; any number of handles. Errors: as mankai_guard_open, except LOCKED. */
MANKAI_API int mankai_guard_open_read(const char* path, mankai_guard** guard);

/* A guard in memory from the content of a guard's file, and this content in new memory. Errors: CORRUPT,
 * UNSUPPORTED_VERSION, OUT_OF_SPACE. */
MANKAI_API int mankai_guard_from_bytes(const void* image, size_t bytes, mankai_guard** guard);
MANKAI_API int mankai_guard_to_bytes(const mankai_guard* guard, void** image, size_t* bytes);

/* Writes a copy of a guard to a file, completely or not at all. Only the options `replace` and `mode` have an effect.
 * Errors: INVALID_ARGUMENT if the file exists and `replace` is 0, or is not a guard; LOCKED, IO, OUT_OF_SPACE. */
MANKAI_API int mankai_guard_save_file(const mankai_guard* guard, const char* path, const mankai_file_options* options);

/* Checks a URL in every reading that programs have of it; accepts any text. Writes the answer, and the length of the
 * rule, exception or reason that gives it, whose text is written if `room` is enough. It is not zero-terminated. `rule`
 * may be NULL if `room` is 0, and `rule_bytes` may be NULL. */
MANKAI_API int mankai_guard_check(const mankai_guard* guard, const void* url, size_t bytes, mankai_guard_answer* answer,
                                  char* rule, size_t room, size_t* rule_bytes);

/* The answer of a skipped URL is MANKAI_GUARD_OK. */
MANKAI_API int mankai_guard_check_many(const mankai_guard* guard, const mankai_key* urls, size_t count,
                                       mankai_guard_answer* answers);
MANKAI_API int mankai_guard_check_packed(const mankai_guard* guard, const mankai_packed* urls,
                                         mankai_guard_answer* answers);

/* Add rules or exceptions, or remove them, and write how many were changed, which may be NULL. A file is written once
 * per call; on the disk there is all of a call or nothing. A rule is in force while at least one id holds it: lists use
 * 0. `id` of NULL removes all ids. Errors: INVALID_ARGUMENT for an invalid rule, without any change in a file; for a
 * guard opened for checks; CORRUPT for a digest collision; IO, OUT_OF_SPACE. In memory, the rules before the invalid
 * one are changed. */
MANKAI_API int mankai_guard_add(mankai_guard* guard, const mankai_key* rules, size_t count, uint64_t id,
                                uint64_t* changed);
MANKAI_API int mankai_guard_remove(mankai_guard* guard, const mankai_key* rules, size_t count, const uint64_t* id,
                                   uint64_t* changed);
MANKAI_API int mankai_guard_allow(mankai_guard* guard, const mankai_key* rules, size_t count, uint64_t* changed);
MANKAI_API int mankai_guard_disallow(mankai_guard* guard, const mankai_key* rules, size_t count, uint64_t* changed);

/* Moves added rules to the static base; only false positives change. Errors: INVALID_ARGUMENT without kept rules. */
MANKAI_API int mankai_guard_compact(mankai_guard* guard);

/* Opens the file of a mankai_guard_open_read again if it was replaced, and writes whether it was. Errors:
 * INVALID_ARGUMENT for other handles; as mankai_guard_open_read, and the handle then keeps its content. */
MANKAI_API int mankai_guard_refresh(mankai_guard* guard, bool* is_changed);

typedef struct mankai_guard_facts {
  size_t size; /* sizeof(mankai_guard_facts), set by the caller; see Versions */
  uint64_t rules_in_force;
  uint64_t exceptions;
  uint64_t added_rules;   /* since the last mankai_guard_compact */
  uint64_t removed_rules; /* the same */
  uint64_t memory_bytes;  /* including mapped bytes */
  double bits_per_rule;
  double fpr;       /* promised for any URL */
  double fpr_worst; /* by the formula, for the URLs with the most look-ups; 0 for an exact guard */
  bool keeps_rules;
  bool is_exact;
  uint32_t canonical_version; /* of its URL rules */
  const char* hash;           /* static */
} mankai_guard_facts;

MANKAI_API int mankai_guard_get_facts(const mankai_guard* guard, mankai_guard_facts* facts);

/* Writes the exceptions, sorted, to new memory. */
MANKAI_API int mankai_guard_exceptions(const mankai_guard* guard, mankai_texts** exceptions);

/* Frees the handle; a file is unlocked. */
MANKAI_API int mankai_guard_close(mankai_guard* guard);

/* Collects rules for a guard. */
typedef struct mankai_guard_builder mankai_guard_builder;

enum mankai_list_format {
  MANKAI_LIST_AUTOMATIC = 0, /* detected per line: hosts files, hosts, URLs, Adblock rules; or CSV */
  MANKAI_LIST_LINES = 1,     /* detected per line, never CSV */
  MANKAI_LIST_ADBLOCK = 2,   /* Adblock's syntax on every line */
  MANKAI_LIST_CSV = 3,       /* one column has a host or URL */
  MANKAI_LIST_URLS = 4       /* one host or URL per line, and nothing else */
};

typedef struct mankai_list_options {
  size_t size;            /* sizeof(mankai_list_options) */
  uint32_t format;        /* mankai_list_format */
  uint32_t is_allow_list; /* not 0: its rules are exceptions */
  const char* column;     /* of CSV: name or number from 1; NULL: detected */
} mankai_list_options;

MANKAI_API int mankai_guard_builder_create(const mankai_guard_settings* settings, mankai_guard_builder** builder);

/* Add one rule or exception. Errors: INVALID_ARGUMENT for an invalid rule. */
MANKAI_API int mankai_guard_builder_add(mankai_guard_builder* builder, const void* rule, size_t bytes);
MANKAI_API int mankai_guard_builder_allow(mankai_guard_builder* builder, const void* rule, size_t bytes);

/* Adds the rules of a complete list, given as text or as an uncompressed file. Lines that are no rules are skipped and
 * counted: mankai_guard_builder_report. Errors: INVALID_ARGUMENT for JSON and a missing column; NOT_FOUND, IO. */
MANKAI_API int mankai_guard_builder_add_list(mankai_guard_builder* builder, const void* text, size_t bytes,
                                             const mankai_list_options* options);
MANKAI_API int mankai_guard_builder_add_file(mankai_guard_builder* builder, const char* path,
                                             const mankai_list_options* options);

/* Sums over all lists. */
typedef struct mankai_guard_report {
  size_t size; /* sizeof(mankai_guard_report), set by the caller; see Versions */
  uint64_t lines;
  uint64_t rules;             /* read from lists */
  uint64_t exceptions;        /* read from lists */
  uint64_t without_rules;     /* blank lines, comments, headings */
  uint64_t skipped;           /* all lines and names that gave no rule */
  uint64_t skipped_rules;     /* of these, rules that the guard should have but cannot express */
  uint64_t widened;           /* rules that cover more than their list says */
  uint64_t narrowed;          /* rules that cover less */
  uint64_t rules_in_force;    /* distinct rules in the builder */
  const char* skipped_reason; /* the most frequent reason of skipped_rules; "" if there are none. Static */
} mankai_guard_report;

MANKAI_API int mankai_guard_builder_report(const mankai_guard_builder* builder, mankai_guard_report* report);

/* Builds the guard, in memory or in a file (then open it); the builder is then empty and can only be closed. Options:
 * as mankai_guard_save_file. Errors: INVALID_ARGUMENT if it was built already; OUT_OF_SPACE; as mankai_guard_save_file,
 * after which it can be built again. */
MANKAI_API int mankai_guard_builder_build(mankai_guard_builder* builder, mankai_guard** guard);
MANKAI_API int mankai_guard_builder_build_file(mankai_guard_builder* builder, const char* path,
                                               const mankai_file_options* options);

MANKAI_API int mankai_guard_builder_close(mankai_guard_builder* builder);

/* ---- Is there anything to fetch? ----
 *
 * A gate is a Bloom-filter negative cache in front of a database table, kept in step with it. mankai/gate/gate.hpp has
 * the requirements on changes and reports. */

typedef struct mankai_gate mankai_gate;
typedef struct mankai_gate_hold mankai_gate_hold;

typedef struct mankai_gate_request {
  size_t size;           /* sizeof(mankai_gate_request) */
  uint64_t keys;         /* number of rows to size it for; 0: 1 million */
  double fpr;            /* false-positive rate at that size; 0: 0.01 */
  const char* hash;      /* NULL: keyed */
  const char* seed;      /* as in specs; NULL: random */
  const char* source_id; /* identifies the source whose positions are applied: at most 32 characters without spaces */
} mankai_gate_request;

typedef struct mankai_gate_options {
  size_t size;              /* sizeof(mankai_gate_options) */
  uint64_t memo_bytes;      /* memory for reported keys; 0: 8 KiB */
  uint32_t ignores_reports; /* not 0: no such memory */
  uint32_t reserved;        /* 0 */
} mankai_gate_options;

/* Makes an empty gate in memory. Errors: as mankai_create. */
MANKAI_API int mankai_gate_create(const mankai_gate_request* request, const mankai_gate_options* options,
                                  mankai_gate** gate);

/* Opens a gate's file for changes. Errors: as mankai_open_file; INVALID_ARGUMENT if it is not a gate. */
MANKAI_API int mankai_gate_open(const char* path, const mankai_gate_options* options,
                                const mankai_file_options* file_options, mankai_gate** gate);

/* Writes a gate in memory, with its position, to a file, completely or not at all. Only the options `replace` and
 * `mode` have an effect. Errors: as mankai_save_file. */
MANKAI_API int mankai_gate_save_file(mankai_gate* gate, const char* path, const mankai_file_options* options);

/* The answer to a query. Keep it to report a false positive. */
typedef struct mankai_gate_answer {
  uint64_t state; /* of the gate's memory for reports */
  bool is_maybe;  /* true: ask the database; false: there is no row with this key */
} mankai_gate_answer;

/* Asks whether a row may have this key. Until the position `after` is applied, the answer is "maybe": for a client that
 * knows the position of its own commit; else 0. After an error the answer is "maybe", too. */
MANKAI_API int mankai_gate_maybe(const mankai_gate* gate, const void* key, size_t bytes, uint64_t after,
                                 mankai_gate_answer* answer);

/* Reports that the query after a "maybe" found nothing: the key is "empty" until it is inserted or leaves the memory
 * for reports. */
MANKAI_API int mankai_gate_report(const mankai_gate* gate, const void* key, size_t bytes,
                                  const mankai_gate_answer* answer);

/* While it is held, a key is "maybe", whatever is reported: for a change that is applied before its commit. A hold may
 * be released after its gate was closed. */
MANKAI_API int mankai_gate_hold_key(const mankai_gate* gate, const void* key, size_t bytes, mankai_gate_hold** hold);
MANKAI_API int mankai_gate_release(mankai_gate_hold* hold);

/* The changes of one or more transactions. A row whose key changed is in both lists. */
typedef struct mankai_gate_changes {
  size_t size; /* sizeof(mankai_gate_changes) */
  const mankai_key* inserted;
  size_t inserted_count;
  const mankai_key* erased;
  size_t erased_count;
  const char* mark; /* stored with the position: at most 10 characters without spaces; NULL: none */
  uint32_t clears;  /* not 0: all earlier rows are deleted; the lists have what changed after that */
  uint32_t reserved;
} mankai_gate_changes;

/* Applies changes and the source's position after them, atomically on disk. Errors: INVALID_ARGUMENT for a position
 * before the gate's and for an invalid mark; IO, OUT_OF_SPACE, after which the gate answers but accepts no changes. */
MANKAI_API int mankai_gate_apply(mankai_gate* gate, const mankai_gate_changes* changes, uint64_t position);

/* Writes the position up to which everything is applied, and whether there is one. */
MANKAI_API int mankai_gate_position(const mankai_gate* gate, uint64_t* position, bool* has_position);

/* Writes two texts to new memory: the source's id and the mark of the position, each empty if there is none. */
MANKAI_API int mankai_gate_source(const mankai_gate* gate, mankai_texts** id_and_mark);

/* Numbers of queries by answer. asked = empty + maybe. */
typedef struct mankai_gate_counts {
  size_t size; /* sizeof(mankai_gate_counts), set by the caller; see Versions */
  uint64_t asked;
  uint64_t empty;
  uint64_t maybe;
  uint64_t memo_hits;       /* answers "empty" because of a report */
  uint64_t waiting;         /* answers "maybe" because of `after` or a hold */
  uint64_t false_positives; /* reports */
  uint64_t late_reports;    /* reports ignored because such a key was inserted or held in between */
} mankai_gate_counts;

MANKAI_API int mankai_gate_get_counts(const mankai_gate* gate, mankai_gate_counts* counts);

typedef struct mankai_gate_facts {
  size_t size;              /* sizeof(mankai_gate_facts), set by the caller; see Versions */
  uint64_t keys;            /* number of rows */
  uint64_t capacity_keys;   /* number of rows the gate is sized for */
  double saturation;        /* fraction of the cells that are not 0 */
  double fpr_target;        /* upper bound up to the capacity */
  double fpr_estimate;      /* of the current cells */
  uint64_t stuck_cells;     /* saturated counters, which never decrease */
  uint64_t image_bytes;     /* size in memory and in a file */
  uint64_t missed_erasures; /* if not 0, the gate differs from its source: build it again; 0 for a follower */
} mankai_gate_facts;

/* Cost: two passes over the cells. */
MANKAI_API int mankai_gate_get_facts(const mankai_gate* gate, mankai_gate_facts* facts);

/* Returns when everything applied survives power loss. No effect in memory. */
MANKAI_API int mankai_gate_sync(mankai_gate* gate);

/* Frees the handle; with a file as mankai_close. */
MANKAI_API int mankai_gate_close(mankai_gate* gate);

/* A read-only copy of a gate's file that another process keeps in step. */
typedef struct mankai_gate_follower mankai_gate_follower;

/* Opens a gate's file without a lock. Errors: as mankai_gate_open, except LOCKED. */
MANKAI_API int mankai_gate_follower_open(const char* path, const mankai_gate_options* options,
                                         mankai_gate_follower** follower);

/* Reads the file again if it has changed, and writes whether it has. Queries continue meanwhile. Errors: as
 * mankai_gate_follower_open; the old copy then stays in use. */
MANKAI_API int mankai_gate_follower_refresh(mankai_gate_follower* follower, bool* is_changed);

/* As for a gate. */
MANKAI_API int mankai_gate_follower_maybe(const mankai_gate_follower* follower, const void* key, size_t bytes,
                                          uint64_t after, mankai_gate_answer* answer);
MANKAI_API int mankai_gate_follower_report(const mankai_gate_follower* follower, const void* key, size_t bytes,
                                           const mankai_gate_answer* answer);
MANKAI_API int mankai_gate_follower_position(const mankai_gate_follower* follower, uint64_t* position,
                                             bool* has_position);
MANKAI_API int mankai_gate_follower_get_counts(const mankai_gate_follower* follower, mankai_gate_counts* counts);
MANKAI_API int mankai_gate_follower_get_facts(const mankai_gate_follower* follower, mankai_gate_facts* facts);
MANKAI_API int mankai_gate_follower_close(mankai_gate_follower* follower);

/* ---- URLs ---- */

/* Rules of canonical URLs: which percent-escapes are decoded. Keys of different rules do not compare. */
enum mankai_url_rules {
  MANKAI_URL_DEFAULT = 0,       /* mankai_url_version */
  MANKAI_URL_SAFE_BROWSING = 1, /* every escape until none is left: for block lists */
  MANKAI_URL_KEYS = 2           /* each escape once, except those of reserved bytes: for keys */
};

/* Returns the number of the rules of keys in new filters. */
MANKAI_API uint32_t mankai_url_version(void);

/* Where the parts of a canonical URL are: scheme "://" host [":" port] path [query]. */
typedef struct mankai_url_parts {
  size_t size;          /* sizeof(mankai_url_parts), set by the caller; see Versions */
  size_t scheme_end;    /* the scheme begins at 0 */
  size_t host_begin;    /* the part from here on identifies a page when http and https count as the same */
  size_t host_end;      /* the authority is the host, and ":port" unless that is the scheme's default */
  size_t authority_end; /* the path begins here */
  size_t path_end;      /* the query, with its '?', is from here to the end */
  bool is_ip;           /* the host is an address */
} mankai_url_parts;

/* Converts a URL to the one form that all its spellings share. Writes the length of that form, and the form itself if
 * `room` is enough; it is not zero-terminated. If *needed > room, call again with that much room. Most forms are as
 * long as the URL or shorter. `text` may be NULL if `room` is 0; `parts` may be NULL. Errors: INVALID_ARGUMENT for a
 * URL without a host and for unknown rules. */
MANKAI_API int mankai_url_canonicalize(const void* raw, size_t bytes, uint32_t rules, char* text, size_t room,
                                       size_t* needed, mankai_url_parts* parts);

/* Writes the canonical form of each URL to new memory; it is empty for a skipped URL and for one without a host. */
MANKAI_API int mankai_url_canonicalize_packed(const mankai_packed* raw, uint32_t rules, mankai_texts** canonical);

/* Writes where the registrable domain begins in a canonical host: "a.b.co.uk" gives 2, for "b.co.uk". It ends with the
 * host; `bytes` if there is none, as in an address and a public suffix. */
MANKAI_API int mankai_url_registrable_domain(const void* host, size_t bytes, size_t* begin);

/* Which parents of a host a list may contain. */
enum mankai_host_ladder {
  MANKAI_HOSTS_EXACT = 0,            /* the host itself */
  MANKAI_HOSTS_SAFE_BROWSING_V4 = 1, /* and up to 4 suffixes from its last 5 labels, the longest first */
  MANKAI_HOSTS_SAFE_BROWSING_V5 = 2, /* and up to 4 suffixes from the registrable domain upwards, the shortest first */
  MANKAI_HOSTS_ALL = 3               /* and every suffix, the longest first */
};

/* Which parents of a path a list may contain. */
enum mankai_path_ladder {
  MANKAI_PATHS_SAFE_BROWSING = 0, /* with query, without, and up to 4 directories from "/" down */
  MANKAI_PATHS_ALL = 1            /* with query, without, and every directory from "/" down */
};

/* Write the host of a URL and its parents, or its path and the parents of that, to new memory, for look-ups in lists of
 * your own. Errors: as mankai_url_canonicalize; INVALID_ARGUMENT for an unknown ladder. */
MANKAI_API int mankai_url_hosts(const void* raw, size_t bytes, uint32_t rules, uint32_t ladder, mankai_texts** hosts);
MANKAI_API int mankai_url_paths(const void* raw, size_t bytes, uint32_t rules, uint32_t ladder, mankai_texts** paths);

#ifdef __cplusplus
}
#endif

#endif
