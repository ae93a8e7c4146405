#ifndef MANKAI_C_MANKAI_H
#define MANKAI_C_MANKAI_H

/* Mankai for C, and for every language that can call C.
 *
 *     mankai_filter* filter = NULL;
 *     if (mankai_create("blocked-bloom:keys=1e6,fpr=0.01", &filter) != MANKAI_OK) {
 *       fprintf(stderr, "%s\n", mankai_last_error());
 *     }
 *
 * One handle, mankai_filter, whether the filter is in memory only or in a file that survives crashes: the same calls
 * change it and ask it. A filter of any kind is made from a spec, as the command's `mankai create` prints them.
 *
 * Results:   every function that can fail returns one of mankai_code, MANKAI_OK being 0, and what it has to say goes to
 *            the pointers at the end of its arguments. A function that failed has written nothing there, but a handle
 *            that could not be made is NULL.
 * Pointers:  a NULL that is not allowed gives MANKAI_INVALID_ARGUMENT. It is allowed for an array of no elements, a key
 *            of no bytes, options, results of erase, and where nothing is to be done: mankai_close, mankai_free.
 * Arrays:    `count` elements each; they must not overlap, and are read and written during the call only.
 * Exceptions: none comes out of these functions.
 * Threads:   any thread may make any call at any time, on the same handle too: changes are done one after the other,
 *            and questions beside them. Only mankai_close needs the handle alone. No thread may be cancelled, and no
 *            process may fork and go on with the handle in the child, while a call is running.
 * Versions:  functions are added, never changed or removed. The structs with a `size` grow at their end: set it to
 *            sizeof the struct and the rest to 0, and a program that was compiled with an older header goes on working.
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

/* What became of a call. Values are never reused. */
enum mankai_code {
  MANKAI_OK = 0,
  MANKAI_INVALID_ARGUMENT = 1,    /* a request that makes no sense or contradicts another one */
  MANKAI_NOT_FOUND = 2,           /* a file, kind or option that does not exist */
  MANKAI_IO = 3,                  /* the operating system refused; mankai_last_os_error says why */
  MANKAI_CORRUPT = 4,             /* bytes from outside that are not what they claim to be */
  MANKAI_UNSUPPORTED_VERSION = 5, /* a format newer than this library */
  MANKAI_OUT_OF_SPACE = 6,        /* memory or disk exhausted */
  MANKAI_LOCKED = 7               /* somebody else is changing the file */
};

/* A filter. Made by mankai_create, mankai_from_image and the mankai_..._file functions; it lives until mankai_close. */
typedef struct mankai_filter mankai_filter;

/* A key: any bytes. They are read during the call only. */
typedef struct mankai_key {
  const void* data;
  size_t bytes;
} mankai_key;

/* ---- The library ---- */

/* The library's version, such as "0.1.0". The text is the library's own. */
MANKAI_API const char* mankai_version(void);

/* What went wrong in the last call of this thread that failed, in one line: what, where and the way out. "" if none has
 * failed. The text is this thread's: it stands until the thread's next call that fails. */
MANKAI_API const char* mankai_last_error(void);

/* The operating system's errno of that failure; 0 if it had no part in it. */
MANKAI_API int mankai_last_os_error(void);

/* The name of a code, such as "corrupt"; "unknown" for a number that is none. The text is the library's own. */
MANKAI_API const char* mankai_code_name(int code);

/* Gives back what a function below says is to be given back here. NULL: nothing. */
MANKAI_API void mankai_free(void* memory);

/* ---- Filters in memory ---- */

/* Makes an empty filter: "KIND" or "KIND:OPTION=VALUE,…". A seed that is not given is drawn at random.
 * Errors: NOT_FOUND (kind), INVALID_ARGUMENT, OUT_OF_SPACE. */
MANKAI_API int mankai_create(const char* spec, mankai_filter** filter);

/* Makes a filter of an image, which is copied and checked completely. Errors: CORRUPT, UNSUPPORTED_VERSION,
 * OUT_OF_SPACE. */
MANKAI_API int mankai_from_image(const void* image, size_t bytes, mankai_filter** filter);

/* Writes a copy of the filter's image to memory of its own, to be given back to mankai_free. The image is also a file:
 * mankai_open_file and the command read it. Errors: OUT_OF_SPACE. */
MANKAI_API int mankai_to_image(const mankai_filter* filter, void** image, size_t* bytes);

/* ---- Filters in files ---- */

/* When a change that has returned survives the end of the machine. The end of the process it survives under each. */
enum mankai_durability {
  MANKAI_DURABILITY_DEFAULT = 0,  /* interval */
  MANKAI_DURABILITY_ALWAYS = 1,   /* at once: a call returns when the disk has its changes */
  MANKAI_DURABILITY_INTERVAL = 2, /* within interval_us */
  MANKAI_DURABILITY_NEVER = 3     /* when the system pleases, at checkpoints and after mankai_sync */
};

/* How a file is used. All 0 but the size, and NULL instead of it, is the default. Size: see Versions; a field of a
 * newer header that is not 0 is refused by an older library. */
typedef struct mankai_file_options {
  size_t size;                     /* sizeof(mankai_file_options) */
  uint32_t durability;             /* mankai_durability */
  uint32_t replace;                /* not 0: mankai_create_file replaces a file that is there */
  uint64_t interval_us;            /* of MANKAI_DURABILITY_INTERVAL; 0: a second */
  uint64_t checkpoint_bytes;       /* of journal after which a checkpoint is made; 0: 64 MiB, or the image's size if
                                      that is more */
  uint64_t checkpoint_interval_us; /* after which one is made if there were changes; 0: none for time alone */
  uint32_t trust_cells;            /* not 0: opening takes the cells as they are, at the cost of mapping them; damage to
                                      them goes unseen */
  uint32_t mode;                   /* permissions of a file that is made, such as 0640; 0: 0600 less the umask, or those
                                      of the file that is replaced */
} mankai_file_options;

/* Makes a new file with an empty filter, and opens it for changes. Errors: as mankai_create's; INVALID_ARGUMENT when
 * the file is there and is not to be replaced; LOCKED, IO, OUT_OF_SPACE. */
MANKAI_API int mankai_create_file(const char* path, const char* spec, const mankai_file_options* options,
                                  mankai_filter** filter);

/* Opens a filter's file for changes, and takes in what a crash left in its journal: see mankai_recovery. One handle of
 * one process at a time. Errors: LOCKED with the owner's process, NOT_FOUND, CORRUPT, UNSUPPORTED_VERSION, IO,
 * OUT_OF_SPACE; all name the file. */
MANKAI_API int mankai_open_file(const char* path, const mankai_file_options* options, mankai_filter** filter);

/* Opens a filter's file for questions only, as it is now: also beside a process that is changing it, whose later
 * changes do not show. Any number of handles. Of the options trust_cells counts. Errors: as mankai_open_file's, never
 * LOCKED. */
MANKAI_API int mankai_open_file_read(const char* path, const mankai_file_options* options, mankai_filter** filter);

/* Closes a filter, and of one in a file makes everything durable first. The handle is gone, also after a failure, which
 * only says that the file's latest changes are in its journal still. NULL: nothing to do. Errors: IO, OUT_OF_SPACE. */
MANKAI_API int mankai_close(mankai_filter* filter);

/* Reads a file completely and checks everything that can be checked, its journal included. Errors: as
 * mankai_open_file_read's. */
MANKAI_API int mankai_verify_file(const char* path);

/* ---- Changes ----
 *
 * Each call is one batch: in a file it is there after a crash as a whole or not at all. A batch is much faster than its
 * keys one by one. Errors of all: INVALID_ARGUMENT when the filter's kind cannot do it, naming those that can, and for
 * a filter that was opened for questions; OUT_OF_SPACE where a growing filter cannot grow; for a file IO and
 * OUT_OF_SPACE when the journal could not be written. After an error the keys of the windows of 4096 before it are in,
 * and no more. A file whose disk failed, or that could not grow, takes no more changes until it is opened again. */

MANKAI_API int mankai_insert(mankai_filter* filter, const mankai_key* keys, size_t count);
MANKAI_API int mankai_insert_one(mankai_filter* filter, const void* key, size_t bytes);

/* With a number for each key, by which it is taken out again: scalable-counting-bloom. */
MANKAI_API int mankai_insert_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count);
MANKAI_API int mankai_insert_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id);

/* With a time for each key, in microseconds since 1970: decayed-top. */
MANKAI_API int mankai_insert_at(mankai_filter* filter, const mankai_key* keys, const int64_t* times_us, size_t count);
MANKAI_API int mankai_insert_one_at(mankai_filter* filter, const void* key, size_t bytes, int64_t time_us);

/* Inserts, and says of each key whether it was there before, in order. */
MANKAI_API int mankai_observe(mankai_filter* filter, const mankai_key* keys, size_t count, bool* seen);
MANKAI_API int mankai_observe_one(mankai_filter* filter, const void* key, size_t bytes, bool* seen);

/* What became of a key that was to be taken out. All but the first: refused, and nothing has changed. */
enum {
  MANKAI_ERASED = 0,    /* it is one time fewer in the filter */
  MANKAI_ABSENT = 1,    /* it is certainly not in it */
  MANKAI_AMBIGUOUS = 2, /* more than one slice may hold it */
  MANKAI_BELOW_IDS = 3, /* no slice has ids so low */
  MANKAI_STUCK = 4      /* its counters are at their largest value: nobody knows how often it is in */
};
typedef uint8_t mankai_erase_result;

/* Takes keys out once each, in order. Take out only what was inserted: a stranger that the filter takes for a member,
 * as it does at its false positive rate, costs members. `results` may be NULL. */
MANKAI_API int mankai_erase(mankai_filter* filter, const mankai_key* keys, size_t count, mankai_erase_result* results);
MANKAI_API int mankai_erase_one(mankai_filter* filter, const void* key, size_t bytes, mankai_erase_result* result);
MANKAI_API int mankai_erase_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count,
                                     mankai_erase_result* results);
MANKAI_API int mankai_erase_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id,
                                        mankai_erase_result* result);

/* Puts a value beside each key: recent-values. `strength` is the share of a key's places that a put takes over, above 0
 * to 1. */
MANKAI_API int mankai_put(mankai_filter* filter, const mankai_key* keys, const uint32_t* values, size_t count,
                          double strength);
MANKAI_API int mankai_put_one(mankai_filter* filter, const void* key, size_t bytes, uint32_t value, double strength);

/* Moves a filter that forgets with time on to a moment, in microseconds since 1970. Time is told to it and does not go
 * back: INVALID_ARGUMENT. */
MANKAI_API int mankai_advance(mankai_filter* filter, int64_t time_us);

/* Adds the keys of another filter that was made alike. Of a file this is a checkpoint. */
MANKAI_API int mankai_merge(mankai_filter* filter, const mankai_filter* other);

/* Forgets every key. Of a file this is a checkpoint. */
MANKAI_API int mankai_clear(mankai_filter* filter);

/* ---- Questions ----
 *
 * Errors of all: INVALID_ARGUMENT when the filter's kind cannot say, naming those that can. */

MANKAI_API int mankai_may_contain(const mankai_filter* filter, const mankai_key* keys, size_t count, bool* outcomes);
MANKAI_API int mankai_may_contain_one(const mankai_filter* filter, const void* key, size_t bytes, bool* outcome);

/* How often a key is in. */
typedef struct mankai_count {
  uint32_t value;    /* never too little, unless saturated */
  bool is_saturated; /* it may have been more often */
} mankai_count;

MANKAI_API int mankai_counts(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_count* counts);
MANKAI_API int mankai_count_one(const mankai_filter* filter, const void* key, size_t bytes, mankai_count* count);

/* How often a key came lately: each time counts lambda to the power of the epochs since. */
typedef struct mankai_lately {
  double raw;        /* the sum of that */
  double rate;       /* (1 - lambda) * raw: times an epoch, smoothed */
  bool is_saturated; /* it may have been more */
} mankai_lately;

MANKAI_API int mankai_counts_lately(const mankai_filter* filter, const mankai_key* keys, size_t count,
                                    mankai_lately* counts);
MANKAI_API int mankai_count_one_lately(const mankai_filter* filter, const void* key, size_t bytes,
                                       mankai_lately* count);

/* A value of a key, and in how many of the key's places it was found. */
typedef struct mankai_value {
  uint32_t value;
  uint32_t matches;
} mankai_value;

/* Writes the values that were put beside a key lately, those with most matches first, at most `room` of them, and how
 * many it wrote. Those with fewer than `min_matches` are left out: 2 leaves out what strangers wrote. */
MANKAI_API int mankai_recall(const mankai_filter* filter, const void* key, size_t bytes, uint32_t min_matches,
                             mankai_value* values, size_t room, size_t* count);

/* One of the hottest keys. */
typedef struct mankai_top_entry {
  const char* key; /* not closed by a zero; lives in the same memory as the entry */
  size_t bytes;
  mankai_lately count;
  int64_t last_seen_us; /* microseconds since 1970 */
  bool is_cut;          /* the key is longer; these are its first bytes */
} mankai_top_entry;

/* Writes the hottest keys of a decayed-top, at most `most`, the hottest first, to memory of their own, to be given back
 * to mankai_free as one piece; NULL if there are none. */
MANKAI_API int mankai_top(const mankai_filter* filter, size_t most, mankai_top_entry** entries, size_t* count);

/* What a filter is. The texts are the library's own. */
typedef struct mankai_info {
  size_t size;      /* sizeof(mankai_info), set by the caller; see Versions */
  const char* kind; /* such as "blocked-bloom" */
  uint64_t capacity_keys;
  uint64_t keys_inserted;
  uint64_t image_bytes;
  double fpr_target; /* false positive rate when as many keys are in as it was made for */
  int64_t time_us;   /* the moment at which it stands, since 1970; 0 if it does not forget with time */
  bool is_in_file;
  bool has_time; /* it forgets with time: see mankai_advance */
  bool can_erase;
  bool can_count;
  bool takes_ids;
  bool takes_values;
} mankai_info;

MANKAI_API int mankai_get_info(const mankai_filter* filter, mankai_info* info);

/* What only a look at the cells says. Cost: two passes over the cells. */
typedef struct mankai_estimates {
  size_t size;          /* sizeof(mankai_estimates), set by the caller; see Versions */
  double fill_ratio;    /* cells in use over all */
  double fpr_estimate;  /* false positive rate as it is now */
  double keys_estimate; /* distinct keys */
} mankai_estimates;

MANKAI_API int mankai_estimate(const mankai_filter* filter, mankai_estimates* estimates);

/* Writes the spec by which such a filter is made again, its seed included, to memory of its own, to be given back to
 * mankai_free. Whoever knows the seed can choose keys that collide: keep it from strangers. */
MANKAI_API int mankai_spec(const mankai_filter* filter, char** spec);

/* ---- Durability ----
 *
 * Of filters that were opened by mankai_create_file and mankai_open_file; the others give INVALID_ARGUMENT. */

/* What opening found. */
typedef struct mankai_recovery_report {
  size_t size; /* sizeof(mankai_recovery_report), set by the caller; see Versions */
  uint64_t records_replayed;
  uint64_t changes_replayed; /* of single keys */
  uint64_t bytes_dropped;    /* of the journal's end: what was being written when it was cut off */
  uint64_t dropped_at;       /* offset in the journal */
  uint64_t sequence;         /* of the last change that is in */
  const char* reason;        /* why bytes were dropped, "" if none were; lives as long as the handle */
  bool was_closed;           /* the last writer ended well: there was nothing to do */
} mankai_recovery_report;

MANKAI_API int mankai_recovery(const mankai_filter* filter, mankai_recovery_report* report);

/* The changes of single keys since the file began, and how many of them survive the end of the machine. */
MANKAI_API int mankai_sequence(const mankai_filter* filter, uint64_t* sequence);
MANKAI_API int mankai_durable_sequence(const mankai_filter* filter, uint64_t* sequence);

/* How long a source position may be. */
enum { MANKAI_POSITION_BYTES = 64 };

/* Makes one batch of the calls until mankai_commit, of all threads. In memory they count at once; after a crash, or
 * when the handle is closed without a commit, all of them are there or none. */
MANKAI_API int mankai_begin(mankai_filter* filter);

/* Ends the batch, and says where the source of its keys stands after it: up to 64 bytes that mean something to the
 * caller, such as an offset in a log. No bytes: it stands where it stood. Without mankai_begin it says only that. */
MANKAI_API int mankai_commit(mankai_filter* filter, const void* position, size_t bytes);

/* Writes where the source stood at the last commit, MANKAI_POSITION_BYTES at most, and how many bytes that is. A
 * consumer that opens the file goes on from here, and has every key exactly once. */
MANKAI_API int mankai_position(const mankai_filter* filter, void* position, size_t* bytes);

/* Returns when everything so far survives the end of the machine. */
MANKAI_API int mankai_sync(mankai_filter* filter);

/* Writes the filter's image anew and starts its journal over. It happens by itself, too: see mankai_file_options. */
MANKAI_API int mankai_checkpoint(mankai_filter* filter);

#ifdef __cplusplus
}
#endif

#endif
