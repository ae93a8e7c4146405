/* A C program against libmankai.so: what a user's program does, with the answers checked. Usage: mankai_c_test FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mankai/c/mankai.h"

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: %s does not hold; last error: %s\n", line, what, mankai_last_error());
    ++failures;
  }
}
#define MANKAI_CHECK(what) check(what, #what, __LINE__)

enum { key_count = 10000, key_bytes = 32 };
static char texts[key_count][key_bytes];
static mankai_key keys[key_count];
static bool outcomes[key_count];

static void make_keys(void) {
  int i;
  for (i = 0; i < key_count; ++i) {
    snprintf(texts[i], key_bytes, "http://example.org/%d", i);
    keys[i].data = texts[i];
    keys[i].bytes = strlen(texts[i]);
  }
}

static int count_of(const mankai_filter* filter) {
  int i;
  int found = 0;
  MANKAI_CHECK(mankai_may_contain(filter, keys, key_count, outcomes) == MANKAI_OK);
  for (i = 0; i < key_count; ++i) {
    found += outcomes[i] ? 1 : 0;
  }
  return found;
}

static void filter_in_memory(void) {
  mankai_filter* filter = NULL;
  mankai_filter* copy = NULL;
  void* image = NULL;
  size_t bytes = 0;
  bool seen = true;
  MANKAI_CHECK(mankai_create("blocked-bloom:keys=20000,fpr=0.001", &filter) == MANKAI_OK);
  MANKAI_CHECK(mankai_observe_one(filter, "key", 3, &seen) == MANKAI_OK && !seen);
  MANKAI_CHECK(mankai_observe_one(filter, "key", 3, &seen) == MANKAI_OK && seen);
  MANKAI_CHECK(mankai_insert(filter, keys, key_count) == MANKAI_OK);
  MANKAI_CHECK(count_of(filter) == key_count);
  MANKAI_CHECK(mankai_to_image(filter, &image, &bytes) == MANKAI_OK);
  MANKAI_CHECK(mankai_from_image(image, bytes, &copy) == MANKAI_OK);
  MANKAI_CHECK(count_of(copy) == key_count);
  mankai_free(image);
  MANKAI_CHECK(mankai_close(copy) == MANKAI_OK);
  MANKAI_CHECK(mankai_close(filter) == MANKAI_OK);
}

static void filter_in_a_file(const char* path) {
  mankai_file_options options = {0};
  mankai_recovery_report report = {0};
  mankai_filter* filter = NULL;
  mankai_erase_result result = MANKAI_ABSENT;
  uint64_t sequence = 0;
  char position[MANKAI_POSITION_BYTES];
  size_t bytes = 0;
  options.size = sizeof(options);
  options.durability = MANKAI_DURABILITY_NEVER;
  options.replace = 1;
  MANKAI_CHECK(mankai_create_file(path, "scalable-counting-bloom:keys=1000", &options, &filter) == MANKAI_OK);
  MANKAI_CHECK(mankai_begin(filter) == MANKAI_OK);
  MANKAI_CHECK(mankai_insert(filter, keys, key_count) == MANKAI_OK);
  MANKAI_CHECK(mankai_commit(filter, "line 10000", 10) == MANKAI_OK);
  MANKAI_CHECK(mankai_insert_one_with_id(filter, "key", 3, 77777) == MANKAI_OK);
  MANKAI_CHECK(mankai_erase_one_with_id(filter, "key", 3, 77777, &result) == MANKAI_OK && result == MANKAI_ERASED);
  MANKAI_CHECK(mankai_sync(filter) == MANKAI_OK);
  MANKAI_CHECK(mankai_durable_sequence(filter, &sequence) == MANKAI_OK && sequence == key_count + 2);
  MANKAI_CHECK(mankai_close(filter) == MANKAI_OK);

  MANKAI_CHECK(mankai_verify_file(path) == MANKAI_OK);
  MANKAI_CHECK(mankai_open_file(path, NULL, &filter) == MANKAI_OK);
  MANKAI_CHECK(count_of(filter) == key_count);
  report.size = sizeof(report);
  MANKAI_CHECK(mankai_recovery(filter, &report) == MANKAI_OK && report.was_closed && report.sequence == key_count + 2);
  MANKAI_CHECK(mankai_position(filter, position, &bytes) == MANKAI_OK && bytes == 10);
  MANKAI_CHECK(memcmp(position, "line 10000", 10) == 0);
  MANKAI_CHECK(mankai_close(filter) == MANKAI_OK);
}

static void errors(void) {
  mankai_filter* filter = NULL;
  MANKAI_CHECK(mankai_create("bloom:keys=none", &filter) == MANKAI_INVALID_ARGUMENT && filter == NULL);
  MANKAI_CHECK(strstr(mankai_last_error(), "none") != NULL);
  MANKAI_CHECK(strcmp(mankai_code_name(MANKAI_CORRUPT), "corrupt") == 0);
  MANKAI_CHECK(strchr(mankai_version(), '.') != NULL);
}

int main(int count, char** arguments) {
  char path[4096];
  if (count != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
    return 2;
  }
  snprintf(path, sizeof(path), "%s/mankai_c_test.mk", arguments[1]);
  make_keys();
  filter_in_memory();
  filter_in_a_file(path);
  errors();
  remove(path);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
