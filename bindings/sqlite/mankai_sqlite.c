/* Functions of SQL over filters and guards in files, as an extension that SQLite loads. docs/sqlite.md describes them.
 *
 * A file is opened by the first statement that names it, and stays open in a small cache of the connection. Each
 * statement keeps the file that its first call found (as "auxiliary data" of a constant argument), so it sees one
 * content from its first row to its last, whatever happens to the file meanwhile. That first call looks whether the
 * cached file is still the one on the disk. */
#define _XOPEN_SOURCE 700

#include <sqlite3ext.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mankai/c/mankai.h"

SQLITE_EXTENSION_INIT1

/* ---- Open files ---- */

typedef enum FileType { FILTER, GUARD } FileType;

/* A file that is open for queries, shared by the cache and by statements. SQLite calls everything here while it holds
 * the connection's mutex, so the count of users needs no atomics. */
typedef struct File {
  struct File* next; /* in the cache */
  int users;
  FileType type;
  void* handle;
  struct stat status; /* before it was opened */
  char path[];
} File;

/* What the functions of a connection share: its files, the one used last first. */
typedef struct Cache {
  int users;
  File* files;
} Cache;

/* Files that stay open per connection. */
enum { kMostFiles = 16 };

static void leave_file(void* pointer) {
  File* file = pointer;
  if (--file->users > 0) {
    return;
  }
  if (file->type == FILTER) {
    (void)mankai_close(file->handle);
  } else {
    (void)mankai_guard_close(file->handle);
  }
  free(file);
}

static void leave_cache(void* pointer) {
  Cache* cache = pointer;
  if (--cache->users > 0) {
    return;
  }
  while (cache->files != NULL) {
    File* file = cache->files;
    cache->files = file->next;
    leave_file(file);
  }
  free(cache);
}

static void report(sqlite3_context* context, int code) {
  if (code == MANKAI_OUT_OF_SPACE) {
    sqlite3_result_error_nomem(context);
  } else {
    sqlite3_result_error(context, mankai_last_error(), -1);
  }
}

/* Returns whether the file may have changes beside it, in a journal, that its status does not show. */
static bool has_journal(const char* path) {
  static const char kSuffix[] = "-journal"; /* docs/formats/journal.md */
  char journal[4096];
  struct stat status;
  char* real = lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? realpath(path, NULL) : NULL;
  const int bytes = snprintf(journal, sizeof journal, "%s%s", real != NULL ? real : path, kSuffix);
  free(real);
  return bytes < 0 || (size_t)bytes >= sizeof journal || access(journal, F_OK) == 0;
}

static bool is_same(const struct stat* one, const struct stat* other) {
  return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size &&
         one->st_mtim.tv_sec == other->st_mtim.tv_sec && one->st_mtim.tv_nsec == other->st_mtim.tv_nsec &&
         one->st_ctim.tv_sec == other->st_ctim.tv_sec && one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* Returns a new file with one user; NULL after an error, which is reported. */
static File* open_file(sqlite3_context* context, const char* path, FileType type, const struct stat* status) {
  const size_t path_bytes = strlen(path) + 1;
  File* file = malloc(sizeof *file + path_bytes);
  if (file == NULL) {
    sqlite3_result_error_nomem(context);
    return NULL;
  }
  *file = (File){.users = 1, .type = type, .status = *status};
  memcpy(file->path, path, path_bytes);
  int code = MANKAI_OK;
  if (type == FILTER) {
    mankai_filter* filter = NULL;
    code = mankai_open_file_read(path, NULL, &filter);
    file->handle = filter;
  } else {
    mankai_guard* guard = NULL;
    code = mankai_guard_open_read(path, &guard);
    file->handle = guard;
  }
  if (code != MANKAI_OK) {
    report(context, code);
    free(file);
    return NULL;
  }
  return file;
}

/* Takes the file out of the cache; NULL if it is not there. */
static File* take(Cache* cache, const char* path, FileType type) {
  for (File** place = &cache->files; *place != NULL; place = &(*place)->next) {
    File* file = *place;
    if (file->type == type && strcmp(file->path, path) == 0) {
      *place = file->next;
      return file;
    }
  }
  return NULL;
}

static void put_first(Cache* cache, File* file) {
  file->next = cache->files;
  cache->files = file;
  File** place = &cache->files;
  for (int i = 0; i < kMostFiles && *place != NULL; ++i) {
    place = &(*place)->next;
  }
  if (*place != NULL) {
    File* last = *place;
    *place = NULL;
    leave_file(last);
  }
}

/* Returns the current content of the file; NULL after an error, which is reported. The cache uses it. */
static File* current_file(sqlite3_context* context, const char* path, FileType type) {
  Cache* cache = sqlite3_user_data(context);
  File* file = take(cache, path, type);
  /* Looked for before the file: a checkpoint in between replaces the file, and then its status differs. */
  const bool is_changing = has_journal(path);
  struct stat status = {0}; /* stays so if there is no file: opening it reports why */
  (void)stat(path, &status);
  if (file != NULL && (is_changing || !is_same(&status, &file->status))) {
    leave_file(file);
    file = NULL;
  }
  if (file == NULL) {
    file = open_file(context, path, type, &status);
  }
  if (file != NULL) {
    put_first(cache, file);
  }
  return file;
}

/* Returns the handle of the file that argument 0 names; NULL after an error, which is reported. */
static void* handle_of(sqlite3_context* context, sqlite3_value* argument, FileType type) {
  File* file = sqlite3_get_auxdata(context, 0);
  if (file == NULL) {
    const bool is_text = sqlite3_value_type(argument) == SQLITE_TEXT;
    const char* path = is_text ? (const char*)sqlite3_value_text(argument) : NULL;
    if (path == NULL || strlen(path) != (size_t)sqlite3_value_bytes(argument)) {
      sqlite3_result_error(context, "the path of a file is TEXT without zero bytes", -1);
      return NULL;
    }
    file = current_file(context, path, type);
    if (file == NULL) {
      return NULL;
    }
    ++file->users;
    /* SQLite may call leave_file at once; the cache still uses the file then. */
    sqlite3_set_auxdata(context, 0, file, leave_file);
  }
  return file->handle;
}

/* ---- Keys and URLs ---- */

typedef struct Bytes {
  const void* data;
  size_t size;
  unsigned char integer[sizeof(int64_t)];
} Bytes;

/* Reads the bytes of a key. False after an error, which is reported. */
static bool read_key(sqlite3_context* context, sqlite3_value* argument, Bytes* key) {
  switch (sqlite3_value_type(argument)) {
    case SQLITE_TEXT: key->data = sqlite3_value_text(argument); break;
    case SQLITE_BLOB: key->data = sqlite3_value_blob(argument); break;
    case SQLITE_INTEGER: {
      const uint64_t integer = (uint64_t)sqlite3_value_int64(argument);
      for (size_t i = 0; i < sizeof key->integer; ++i) {
        key->integer[i] = (unsigned char)(integer >> (8 * i));
      }
      key->data = key->integer;
      key->size = sizeof key->integer;
      return true;
    }
    default:
      sqlite3_result_error(context, "a key is TEXT, BLOB or INTEGER; CAST a REAL to the type that the filter has", -1);
      return false;
  }
  key->size = (size_t)sqlite3_value_bytes(argument);
  if (key->data == NULL && (key->size != 0 || sqlite3_value_type(argument) == SQLITE_TEXT)) {
    sqlite3_result_error_nomem(context); /* a conversion to UTF-8 failed */
    return false;
  }
  return true;
}

/* Reads the bytes of a URL. False after an error, which is reported. */
static bool read_url(sqlite3_context* context, sqlite3_value* argument, Bytes* url) {
  const int type = sqlite3_value_type(argument);
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
    sqlite3_result_error(context, "a URL is TEXT or BLOB", -1);
    return false;
  }
  return read_key(context, argument, url);
}

static bool is_null(sqlite3_value* argument) { return sqlite3_value_type(argument) == SQLITE_NULL; }

/* ---- The functions ---- */

/* mankai_contains(path, key) */
static void contains(sqlite3_context* context, int count, sqlite3_value** arguments) {
  (void)count;
  Bytes key;
  bool outcome = false;
  if (is_null(arguments[0]) || is_null(arguments[1])) {
    return;
  }
  const mankai_filter* filter = handle_of(context, arguments[0], FILTER);
  if (filter == NULL || !read_key(context, arguments[1], &key)) {
    return;
  }
  const int code = mankai_may_contain_one(filter, key.data, key.size, &outcome);
  if (code != MANKAI_OK) {
    report(context, code);
    return;
  }
  sqlite3_result_int(context, outcome ? 1 : 0);
}

/* mankai_blocked(path, url) */
static void blocked(sqlite3_context* context, int count, sqlite3_value** arguments) {
  (void)count;
  Bytes url;
  mankai_guard_answer answer = MANKAI_GUARD_OK;
  if (is_null(arguments[0]) || is_null(arguments[1])) {
    return;
  }
  const mankai_guard* guard = handle_of(context, arguments[0], GUARD);
  if (guard == NULL || !read_url(context, arguments[1], &url)) {
    return;
  }
  const int code = mankai_guard_check(guard, url.data, url.size, &answer, NULL, 0, NULL);
  if (code != MANKAI_OK) {
    report(context, code);
    return;
  }
  sqlite3_result_int(context, answer == MANKAI_GUARD_BLOCKED || answer == MANKAI_GUARD_INVALID ? 1 : 0);
}

/* A canonical URL: in `room`, or in memory of SQLite if it is longer. */
typedef struct Canonical {
  char* text;
  size_t size;
  mankai_url_parts parts;
  char room[1024];
} Canonical;

static void free_canonical(Canonical* url) {
  if (url->text != url->room) {
    sqlite3_free(url->text);
  }
}

/* False for NULL, for a text that is not a URL with a host, and after an error, which is reported. */
static bool read_canonical(sqlite3_context* context, sqlite3_value* argument, Canonical* url) {
  Bytes raw;
  if (is_null(argument) || !read_url(context, argument, &raw)) {
    return false;
  }
  url->text = url->room;
  url->parts.size = sizeof url->parts;
  size_t room = sizeof url->room;
  for (;;) {
    const int code =
        mankai_url_canonicalize(raw.data, raw.size, MANKAI_URL_DEFAULT, url->text, room, &url->size, &url->parts);
    if (code == MANKAI_OK && url->size <= room) {
      return true;
    }
    free_canonical(url);
    if (code != MANKAI_OK) {
      if (code != MANKAI_INVALID_ARGUMENT) {
        report(context, code);
      }
      return false;
    }
    room = url->size;
    url->text = sqlite3_malloc64(room);
    if (url->text == NULL) {
      sqlite3_result_error_nomem(context);
      return false;
    }
  }
}

/* mankai_canonical(url) */
static void canonical(sqlite3_context* context, int count, sqlite3_value** arguments) {
  (void)count;
  Canonical url;
  if (read_canonical(context, arguments[0], &url)) {
    sqlite3_result_text64(context, url.text, url.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    free_canonical(&url);
  }
}

/* mankai_registrable_domain(url) */
static void registrable_domain(sqlite3_context* context, int count, sqlite3_value** arguments) {
  (void)count;
  Canonical url;
  if (!read_canonical(context, arguments[0], &url)) {
    return;
  }
  const char* host = url.text + url.parts.host_begin;
  const size_t bytes = url.parts.host_end - url.parts.host_begin;
  size_t begin = bytes;
  const int code = url.parts.is_ip ? MANKAI_OK : mankai_url_registrable_domain(host, bytes, &begin);
  if (code != MANKAI_OK) {
    report(context, code);
  } else if (begin < bytes) {
    sqlite3_result_text64(context, host + begin, bytes - begin, SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  free_canonical(&url);
}

/* ---- Loading ---- */

typedef struct Function {
  const char* name;
  void (*call)(sqlite3_context* context, int count, sqlite3_value** arguments);
  int arguments;
  int flags;
} Function;

/* What reads files is for statements only: a schema, which may come from someone else, cannot call it. The registrable
 * domain depends on the list of public suffixes of this build, so an index must not contain it. */
static const Function kFunctions[] = {
    {"mankai_contains", contains, 2, SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY},
    {"mankai_blocked", blocked, 2, SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY},
    {"mankai_canonical", canonical, 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS},
    {"mankai_registrable_domain", registrable_domain, 1, SQLITE_INNOCUOUS},
};

/* What SQLite calls, whatever the file is called. */
MANKAI_API int sqlite3_extension_init(sqlite3* database, char** error, const sqlite3_api_routines* api);

int sqlite3_extension_init(sqlite3* database, char** error, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  if (sqlite3_libversion_number() < 3031000) {
    *error = sqlite3_mprintf("mankai needs SQLite 3.31 or later, this is %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  Cache* cache = calloc(1, sizeof *cache);
  if (cache == NULL) {
    return SQLITE_NOMEM;
  }
  int code = SQLITE_OK;
  cache->users = 1; /* this function, until all others have it */
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions && code == SQLITE_OK; ++i) {
    const Function* function = &kFunctions[i];
    ++cache->users; /* SQLite calls leave_cache after an error, too */
    code = sqlite3_create_function_v2(database, function->name, function->arguments, SQLITE_UTF8 | function->flags,
                                      cache, function->call, NULL, NULL, leave_cache);
  }
  leave_cache(cache);
  /* The file stays loaded: the next connection need not load and prepare it again. */
  return code == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : code;
}
