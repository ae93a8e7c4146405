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
 * A spec, as `mankai create` prints it, makes a filter of any kind.
 *
 * Results:   a function that can fail returns a mankai_code, MANKAI_OK being 0, and writes its results to the pointers
 *            at the end of its arguments. After an error it has written nothing, but a handle is set to NULL.
 * Pointers:  an invalid NULL gives MANKAI_INVALID_ARGUMENT. NULL is valid for an array of no elements, a key of no
 *            bytes, options, results of erase, and for mankai_close and mankai_free, which then do nothing.
 * Arrays:    `count` elements each; they must not overlap, and are accessed during the call only.
 * Exceptions: these functions do not throw.
 * Threads:   any thread may call any function at any time, with the same handle too: one change at a time, queries
 *            concurrently. Only mankai_close needs the handle alone. During a call, no thread may be canceled, and no
 *            process may fork and use the handle in the child.
 * Versions:  functions are added, never changed or removed. Structs with a `size` grow at their end: set it to sizeof
 *            the struct and the rest to 0, and a program compiled with an older header keeps working.
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
  MANKAI_LOCKED = 7               /* another process is changing the file */
};

/* A filter. Made by mankai_create, mankai_from_image and the mankai_..._file functions; it lives until mankai_close. */
typedef struct mankai_filter mankai_filter;

/* A key: any bytes. They are read during the call only. */
typedef struct mankai_key {
  const void* data;
  size_t bytes;
} mankai_key;

/* ---- The library ---- */

/* Returns the library's version, such as "0.1.0". The text is static. */
MANKAI_API const char* mankai_version(void);

/* Returns one line about the last error of this thread: what is wrong, where, and what to do; "" if there was none. The
 * text is valid until the thread's next error. */
MANKAI_API const char* mankai_last_error(void);

/* Returns the errno of that error; 0 if no system call failed. */
MANKAI_API int mankai_last_os_error(void);

/* Returns the name of a code, such as "corrupt"; "unknown" for another number. The text is static. */
MANKAI_API const char* mankai_code_name(int code);

/* Frees memory that a function below returned for mankai_free. */
MANKAI_API void mankai_free(void* memory);

/* ---- Filters in memory ---- */

/* Makes an empty filter: "KIND" or "KIND:OPTION=VALUE,…". [default seed: random]
 * Errors: NOT_FOUND (kind), INVALID_ARGUMENT, OUT_OF_SPACE. */
MANKAI_API int mankai_create(const char* spec, mankai_filter** filter);

/* Makes a filter from an image, which is copied and checked completely. Errors: CORRUPT, UNSUPPORTED_VERSION,
 * OUT_OF_SPACE. */
MANKAI_API int mankai_from_image(const void* image, size_t bytes, mankai_filter** filter);

/* Writes the filter's image to new memory; free it with mankai_free. The image is also the content of a filter's file.
 * Errors: OUT_OF_SPACE. */
MANKAI_API int mankai_to_image(const mankai_filter* filter, void** image, size_t* bytes);

/* ---- Filters in files ---- */

/* When a change survives power loss. It survives a process crash once the call has returned, whatever the durability.
 */
enum mankai_durability {
  MANKAI_DURABILITY_DEFAULT = 0,  /* interval */
  MANKAI_DURABILITY_ALWAYS = 1,   /* a call returns when its changes are on the disk */
  MANKAI_DURABILITY_INTERVAL = 2, /* within interval_us */
  MANKAI_DURABILITY_NEVER = 3     /* at checkpoints and after mankai_sync, else when the system writes */
};

/* Options of a file. NULL, or all 0 but the size, is the default. An older library refuses a non-zero field of a newer
 * header. */
typedef struct mankai_file_options {
  size_t size;                     /* sizeof(mankai_file_options) */
  uint32_t durability;             /* mankai_durability */
  uint32_t replace;                /* not 0: mankai_create_file replaces an existing file */
  uint64_t interval_us;            /* of MANKAI_DURABILITY_INTERVAL; 0: a second */
  uint64_t checkpoint_bytes;       /* length of the journal that triggers a checkpoint; 0: the larger of 64 MiB and
                                      the image's size */
  uint64_t checkpoint_interval_us; /* interval of checkpoints if there are changes; 0: none */
  uint32_t trust_cells;            /* not 0: opening only maps the cells and does not detect corrupt ones */
  uint32_t mode;                   /* permissions of a new file, such as 0640; 0: those of the replaced file, else 0600
                                      less the umask */
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

/* Reads and checks a file completely, with its journal. Errors: as mankai_open_file_read. */
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

/* Inserts with an id per key, by which it can be erased: scalable-counting-bloom. */
MANKAI_API int mankai_insert_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count);
MANKAI_API int mankai_insert_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id);

/* Inserts with a time per key, in microseconds since 1970: decayed-top. */
MANKAI_API int mankai_insert_at(mankai_filter* filter, const mankai_key* keys, const int64_t* times_us, size_t count);
MANKAI_API int mankai_insert_one_at(mankai_filter* filter, const void* key, size_t bytes, int64_t time_us);

/* Inserts, and returns per key, in order, whether it was present before. */
MANKAI_API int mankai_observe(mankai_filter* filter, const mankai_key* keys, size_t count, bool* seen);
MANKAI_API int mankai_observe_one(mankai_filter* filter, const void* key, size_t bytes, bool* seen);

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
MANKAI_API int mankai_erase_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count,
                                     mankai_erase_result* results);
MANKAI_API int mankai_erase_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id,
                                        mankai_erase_result* result);

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

/* Count of a key. */
typedef struct mankai_count {
  uint32_t value;    /* never too low, unless saturated */
  bool is_saturated; /* the true count may be higher */
} mankai_count;

MANKAI_API int mankai_counts(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_count* counts);
MANKAI_API int mankai_count_one(const mankai_filter* filter, const void* key, size_t bytes, mankai_count* count);

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
  bool can_count;
  bool takes_ids;
  bool takes_values;
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

#ifdef __cplusplus
}
#endif

#endif
