#ifndef MANKAI_C_DABLOOMS_H
#define MANKAI_C_DABLOOMS_H

/* The interface of bitly's dablooms 0.9.1 over Mankai's durable filters: a program that was written for it is compiled
 * with this header, linked with libmankai_dablooms, and goes on working (docs/c.md: how, and what differs on purpose).
 *
 *     scaling_bloom_t* bloom = new_scaling_bloom(100000, 0.05, "links.mk");
 *     scaling_bloom_add(bloom, url, strlen(url), id);
 *     scaling_bloom_flush(bloom);
 *     free_scaling_bloom(bloom);
 *
 * Files:    FILE is a Mankai filter (`mankai info FILE`), with FILE-journal beside it while it is open: they belong
 *           together. One process changes it at a time. A file of bitly's own is refused: `mankai import dablooms`.
 * Crashes:  a change survives a process crash when the call returns, and power loss when it was flushed. A corrupt
 *           file is refused when it is opened.
 * Errors:   NULL, or as documented per function, with errno and a line on stderr.
 * Threads:  one at a time on one bloom; but the ..._check functions may be called from any number of threads beside
 *           one that adds and removes.
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

/* "0.9.1": whose interface this is. The library's own version is mankai's. */
MANKAI_DABLOOMS_API const char* dablooms_version(void);

/* ---- Bitmaps ----
 *
 * An array of 4-bit counters in a file, changed in place and without checksums: nothing below is made of it. `offset`
 * counts bytes, `index` counters behind them. Of the bitmap that a bloom shows, `bytes` is the size of its image, `fd`
 * is -1 and `array` is NULL; bitmap_flush makes the bloom durable, free_bitmap leaves it alone, and the others refuse
 * it (EPERM). */

typedef struct {
  size_t bytes;
  int fd;
  char* array;
} bitmap_t;

/* Maps the first `bytes` of an open file, which is made longer if it is shorter. free_bitmap closes the file. NULL if
 * it cannot. */
MANKAI_DABLOOMS_API bitmap_t* new_bitmap(int fd, size_t bytes);
/* Maps `new_size` bytes instead. NULL if it cannot; then the bitmap is as it was. */
MANKAI_DABLOOMS_API bitmap_t* bitmap_resize(bitmap_t* bitmap, size_t old_size, size_t new_size);
/* 0, or -1 for a counter that is at 15 (ERANGE) or lies outside (EINVAL). */
MANKAI_DABLOOMS_API int bitmap_increment(bitmap_t* bitmap, unsigned int index, long offset);
/* 0, or -1 for a counter that is at 0 (ERANGE) or lies outside (EINVAL). */
MANKAI_DABLOOMS_API int bitmap_decrement(bitmap_t* bitmap, unsigned int index, long offset);
/* The counter, or -1 for one that lies outside (EINVAL). */
MANKAI_DABLOOMS_API int bitmap_check(bitmap_t* bitmap, unsigned int index, long offset);
/* 0 when the disk has everything, or -1. */
MANKAI_DABLOOMS_API int bitmap_flush(bitmap_t* bitmap);
MANKAI_DABLOOMS_API void free_bitmap(bitmap_t* bitmap);

/* ---- Counting blooms ----
 *
 * What the structs show is a copy, for reading, kept up to date by every call that changes the bloom. */

typedef struct {
  uint64_t id;    /* of a scaling bloom's part: the first id that it takes */
  uint32_t count; /* keys that are in */
  uint32_t _pad;
} counting_bloom_header_t;

typedef struct {
  counting_bloom_header_t* header;
  unsigned int capacity;
  long offset;                  /* 0 */
  unsigned int counts_per_func; /* counters over nfuncs */
  uint32_t* hashes;             /* NULL */
  size_t nfuncs;                /* counters that a key has */
  size_t size;                  /* counters */
  size_t num_bytes;             /* of the image */
  double error_rate;
  bitmap_t* bitmap;
} counting_bloom_t;

/* Makes a new file, in place of one that is there, and opens it. NULL: EINVAL, EBUSY (another process has it open),
 * ENOSPC, ENOMEM or the system's. */
MANKAI_DABLOOMS_API counting_bloom_t* new_counting_bloom(unsigned int capacity, double error_rate,
                                                         const char* filename);
/* Opens a file, which must have been made for the same capacity and error rate. NULL: as new_counting_bloom, and
 * EBADMSG for one that is damaged or no such file. */
MANKAI_DABLOOMS_API counting_bloom_t* new_counting_bloom_from_file(unsigned int capacity, double error_rate,
                                                                   const char* filename);
/* Makes everything durable and closes the file. 0; -1 when the latest changes are in the journal only. */
MANKAI_DABLOOMS_API int free_counting_bloom(counting_bloom_t* bloom);
/* 0; -1 when the key could not be journaled, and is not in. */
MANKAI_DABLOOMS_API int counting_bloom_add(counting_bloom_t* bloom, const char* s, size_t len);
/* 0; -1 when nothing was taken out: the key is not in (ENOENT), or so often that nobody counted (EOVERFLOW). */
MANKAI_DABLOOMS_API int counting_bloom_remove(counting_bloom_t* bloom, const char* s, size_t len);
/* 1 if the key may be in, 0 if it is not. */
MANKAI_DABLOOMS_API int counting_bloom_check(counting_bloom_t* bloom, const char* s, size_t len);

/* ---- Scaling blooms ----
 *
 * Sequence numbers: a new bloom begins at 1, and each add and each remove, also one that is refused, is one more.
 * mem_seqnum says at which the bloom stands, also after a crash, since there are no halves of changes. disk_seqnum is
 * the same while everything is known to be on the disk: after a flush and after opening; else it is 0. */

typedef struct {
  uint64_t max_id;
  uint64_t mem_seqnum;
  uint64_t disk_seqnum;
} scaling_bloom_header_t;

typedef struct {
  scaling_bloom_header_t* header;
  unsigned int capacity; /* of the first part; each further one is twice as large, or of an imported file as large */
  unsigned int num_blooms;
  size_t num_bytes; /* of the image */
  double error_rate;
  int fd;                    /* -1 */
  counting_bloom_t** blooms; /* the parts, oldest first: to be looked at and checked, not changed */
  bitmap_t* bitmap;
} scaling_bloom_t;

/* As new_counting_bloom and new_counting_bloom_from_file. */
MANKAI_DABLOOMS_API scaling_bloom_t* new_scaling_bloom(unsigned int capacity, double error_rate, const char* filename);
MANKAI_DABLOOMS_API scaling_bloom_t* new_scaling_bloom_from_file(unsigned int capacity, double error_rate,
                                                                 const char* filename);
/* As free_counting_bloom. */
MANKAI_DABLOOMS_API int free_scaling_bloom(scaling_bloom_t* bloom);
/* 1; 0 when the key could not be journaled, and is not in. */
MANKAI_DABLOOMS_API int scaling_bloom_add(scaling_bloom_t* bloom, const char* s, size_t len, uint64_t id);
/* 1; 0 when nothing was taken out: as counting_bloom_remove, or more than one part may hold it (ENOTUNIQ). */
MANKAI_DABLOOMS_API int scaling_bloom_remove(scaling_bloom_t* bloom, const char* s, size_t len, uint64_t id);
/* 1 if the key may be in, 0 if it is not. */
MANKAI_DABLOOMS_API int scaling_bloom_check(scaling_bloom_t* bloom, const char* s, size_t len);
/* 0 when the disk has everything, or -1. */
MANKAI_DABLOOMS_API int scaling_bloom_flush(scaling_bloom_t* bloom);
MANKAI_DABLOOMS_API uint64_t scaling_bloom_mem_seqnum(scaling_bloom_t* bloom);
MANKAI_DABLOOMS_API uint64_t scaling_bloom_disk_seqnum(scaling_bloom_t* bloom);

#ifdef __cplusplus
}
#endif

#endif
