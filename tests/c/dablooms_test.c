/* A C program as those that were written for bitly's library are: it knows dablooms.h and links with
 * libmankai_dablooms.so. Usage: dablooms_c_test FOLDER */
#include "dablooms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: %s does not hold\n", line, what);
    ++failures;
  }
}
#define MANKAI_CHECK(what) check(what, #what, __LINE__)

enum { capacity = 1000, key_count = 12000, key_bytes = 64 };
static const double kErrorRate = 0.01;

static size_t make_key(char* key, const char* host, int number) {
  snprintf(key, key_bytes, "http://%s/%d", host, number);
  return strlen(key);
}

/* As a service that restarts does: the sequence number says where its own log goes on. */
static void scaling(const char* path) {
  char key[key_bytes];
  int i;
  int found = 0;
  scaling_bloom_t* bloom = new_scaling_bloom(capacity, kErrorRate, path);
  MANKAI_CHECK(bloom != NULL && scaling_bloom_mem_seqnum(bloom) == 1);
  for (i = 0; i < key_count; ++i) {
    size_t bytes = make_key(key, "example.org", i);
    MANKAI_CHECK(scaling_bloom_add(bloom, key, bytes, (uint64_t)i) == 1);
  }
  MANKAI_CHECK(scaling_bloom_mem_seqnum(bloom) == key_count + 1 && scaling_bloom_disk_seqnum(bloom) == 0);
  MANKAI_CHECK(scaling_bloom_flush(bloom) == 0);
  MANKAI_CHECK(scaling_bloom_disk_seqnum(bloom) == key_count + 1);
  MANKAI_CHECK(bloom->num_blooms > 1 && bloom->header->max_id == key_count - 1);
  MANKAI_CHECK(free_scaling_bloom(bloom) == 0);

  bloom = new_scaling_bloom_from_file(capacity, kErrorRate, path);
  MANKAI_CHECK(bloom != NULL && scaling_bloom_disk_seqnum(bloom) == key_count + 1);
  for (i = 0; i < key_count; ++i) {
    size_t bytes = make_key(key, "example.org", i);
    MANKAI_CHECK(scaling_bloom_check(bloom, key, bytes) == 1);
    bytes = make_key(key, "example.net", i);
    found += scaling_bloom_check(bloom, key, bytes);
  }
  MANKAI_CHECK(found < 2 * key_count * kErrorRate);
  MANKAI_CHECK(scaling_bloom_remove(bloom, "http://example.org/5", 20, 5) == 1);
  MANKAI_CHECK(free_scaling_bloom(bloom) == 0);
}

static void counting(const char* path) {
  counting_bloom_t* bloom = new_counting_bloom(capacity, kErrorRate, path);
  MANKAI_CHECK(bloom != NULL && bloom->capacity == capacity && bloom->header->count == 0);
  MANKAI_CHECK(counting_bloom_add(bloom, "a", 1) == 0 && bloom->header->count == 1);
  MANKAI_CHECK(counting_bloom_check(bloom, "a", 1) == 1);
  MANKAI_CHECK(counting_bloom_remove(bloom, "a", 1) == 0);
  MANKAI_CHECK(counting_bloom_check(bloom, "a", 1) == 0);
  MANKAI_CHECK(bitmap_flush(bloom->bitmap) == 0);
  MANKAI_CHECK(free_counting_bloom(bloom) == 0);
}

int main(int count, char** arguments) {
  char path[4096];
  if (count != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
    return 2;
  }
  snprintf(path, sizeof(path), "%s/dablooms_c_test.bin", arguments[1]);
  scaling(path);
  counting(path);
  remove(path);
  MANKAI_CHECK(strcmp(dablooms_version(), "0.9.1") == 0);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
