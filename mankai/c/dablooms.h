#ifndef MANKAI_C_DABLOOMS_H
#define MANKAI_C_DABLOOMS_H

/* The interface of bitly's dablooms 0.9.1 over Mankai's durable filters. A program written for dablooms compiles with
 * this header, links with libmankai_dablooms and works as before; docs/c.md lists the intended differences.
 *
 *     scaling_bloom_t* bloom = new_scaling_bloom(100000, 0.05, "links.mk");
 *     scaling_bloom_add(bloom, url, strlen(url), id);
 *     scaling_bloom_flush(bloom);
 *     free_scaling_bloom(bloom);
 *
 * Files:    FILE is a Mankai filter (`mankai info FILE`). While it is open, FILE-journal belongs to it. Only one
 *           process at a time may change it. A file of bitly's dablooms is refused: use `mankai import dablooms`.
 * Crashes:  a change survives a process crash once the call has returned, and power loss once it is flushed. Opening
 *           a corrupt file fails.
 * Errors:   NULL, or as documented per function, with errno and a line on stderr.
 * Threads:  one at a time per bloom. The ..._check functions may run in any number of threads, concurrently with one
 *           that adds and removes.
 * Forks:    a bloom that was changed belongs to its process; a child that fork makes after that must not use it. There
 *           add, remove and flush fail with EPERM, and freeing it does nothing.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define MANKAI_DABLOOMS_API __attribute__((visibility("default")))
#else
#define MANKAI_DABLOOMS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.9.1", the version of the interface; mankai_version returns the library's. */
MANKAI_DABLOOMS_API const char* dablooms_version(void);

/* ---- Bitmaps ----
 *
 * Arrays of 4-bit counters in a file, changed in place and without checksums; the blooms below do not use them.
 * `offset` is in bytes, `index` in counters after it. In the bitmap of a bloom, `bytes` is the size of the image, `fd`
 * is -1 and `array` is NULL. On it bitmap_flush makes the bloom durable, free_bitmap has no effect, and the other
 * functions fail (EPERM). */

typedef struct {
  size_t bytes;
  int fd;
  char* array;
} bitmap_t;

/* Maps the first `bytes` of an open file and extends a shorter file; free_bitmap closes it. Returns NULL on error. */
MANKAI_DABLOOMS_API bitmap_t* new_bitmap(int fd, size_t bytes);
/* Maps `new_size` bytes instead. Returns NULL on error; the bitmap is then unchanged. */
MANKAI_DABLOOMS_API bitmap_t* bitmap_resize(bitmap_t* bitmap, size_t old_size, size_t new_size);
/* Returns 0, or -1 for a counter that is 15 (ERANGE) or out of bounds (EINVAL). */
MANKAI_DABLOOMS_API int bitmap_increment(bitmap_t* bitmap, unsigned int index, long offset);
/* Returns 0, or -1 for a counter that is 0 (ERANGE) or out of bounds (EINVAL). */
MANKAI_DABLOOMS_API int bitmap_decrement(bitmap_t* bitmap, unsigned int index, long offset);
/* Returns the counter, or -1 if it is out of bounds (EINVAL). */
MANKAI_DABLOOMS_API int bitmap_check(bitmap_t* bitmap, unsigned int index, long offset);
/* Returns 0 once everything is on the disk, or -1. */
MANKAI_DABLOOMS_API int bitmap_flush(bitmap_t* bitmap);
MANKAI_DABLOOMS_API void free_bitmap(bitmap_t* bitmap);

/* ---- Counting blooms ----
 *
 * The structs are read-only copies, which every change of the bloom updates. */

typedef struct {
  uint64_t id;    /* of a part of a scaling bloom: its first id */
  uint32_t count; /* additions minus removals */
  uint32_t _pad;
} counting_bloom_header_t;

typedef struct {
  counting_bloom_header_t* header;
  unsigned int capacity;
  long offset;                  /* 0 */
  unsigned int counts_per_func; /* counters over nfuncs */
  uint32_t* hashes;             /* NULL */
  size_t nfuncs;                /* counters per key */
  size_t size;                  /* counters */
  size_t num_bytes;             /* of the image */
  double error_rate;
  bitmap_t* bitmap;
} counting_bloom_t;

/* Creates a file, replaces an existing one, and opens it. Returns NULL on error: EINVAL, EBUSY (another process has the
 * file open), ENOSPC, ENOMEM, or an errno of the system. */
MANKAI_DABLOOMS_API counting_bloom_t* new_counting_bloom(unsigned int capacity, double error_rate,
                                                         const char* filename);
/* Opens a file, which must have the same capacity and error rate. Returns NULL on error: as new_counting_bloom, and
 * EBADMSG if the file is corrupt or not a filter. */
MANKAI_DABLOOMS_API counting_bloom_t* new_counting_bloom_from_file(unsigned int capacity, double error_rate,
                                                                   const char* filename);
/* Makes everything durable and closes the file. Returns 0, or -1 if the latest changes are only in the journal. */
MANKAI_DABLOOMS_API int free_counting_bloom(counting_bloom_t* bloom);
/* Returns 0, or -1 if the key could not be journaled and was not added. */
MANKAI_DABLOOMS_API int counting_bloom_add(counting_bloom_t* bloom, const char* s, size_t len);
/* Returns 0, or -1 if nothing was removed: the key is absent (ENOENT), or its counters are saturated (EOVERFLOW). */
MANKAI_DABLOOMS_API int counting_bloom_remove(counting_bloom_t* bloom, const char* s, size_t len);
/* Returns 1 if the key may be present, 0 if it is absent. */
MANKAI_DABLOOMS_API int counting_bloom_check(counting_bloom_t* bloom, const char* s, size_t len);

/* ---- Scaling blooms ----
 *
 * Sequence numbers: a new bloom has 1. Each add and each remove, even a refused one, increments it. mem_seqnum is the
 * current number; it is exact even after a crash, since changes are atomic. disk_seqnum is equal to it if everything is
 * known to be on the disk, as after a flush and after opening; else it is 0. */

typedef struct {
  uint64_t max_id;
  uint64_t mem_seqnum;
  uint64_t disk_seqnum;
} scaling_bloom_header_t;

typedef struct {
  scaling_bloom_header_t* header;
  unsigned int capacity; /* of the first part; each further one is twice as large, or equal in an imported file */
  unsigned int num_blooms;
  size_t num_bytes; /* of the image */
  double error_rate;
  int fd;                    /* -1 */
  counting_bloom_t** blooms; /* the parts, oldest first; read-only */
  bitmap_t* bitmap;
} scaling_bloom_t;

/* As new_counting_bloom and new_counting_bloom_from_file. */
MANKAI_DABLOOMS_API scaling_bloom_t* new_scaling_bloom(unsigned int capacity, double error_rate, const char* filename);
MANKAI_DABLOOMS_API scaling_bloom_t* new_scaling_bloom_from_file(unsigned int capacity, double error_rate,
                                                                 const char* filename);
/* As free_counting_bloom. */
MANKAI_DABLOOMS_API int free_scaling_bloom(scaling_bloom_t* bloom);
/* Returns 1, or 0 if the key could not be journaled and was not added. */
MANKAI_DABLOOMS_API int scaling_bloom_add(scaling_bloom_t* bloom, const char* s, size_t len, uint64_t id);
/* Returns 1, or 0 if nothing was removed: as counting_bloom_remove, or more than one part may have the key (ENOTUNIQ).
 */
MANKAI_DABLOOMS_API int scaling_bloom_remove(scaling_bloom_t* bloom, const char* s, size_t len, uint64_t id);
/* Returns 1 if the key may be present, 0 if it is absent. */
MANKAI_DABLOOMS_API int scaling_bloom_check(scaling_bloom_t* bloom, const char* s, size_t len);
/* Returns 0 once everything is on the disk, or -1. */
MANKAI_DABLOOMS_API int scaling_bloom_flush(scaling_bloom_t* bloom);
MANKAI_DABLOOMS_API uint64_t scaling_bloom_mem_seqnum(scaling_bloom_t* bloom);
MANKAI_DABLOOMS_API uint64_t scaling_bloom_disk_seqnum(scaling_bloom_t* bloom);

#ifdef __cplusplus
}
#endif

#endif
