/* What the files of the addon share. Everything is over mankai/c/mankai.h and version 8 of Node-API, which Node.js 18
 * and all later versions have.
 *
 * The classes are in ../lib; here are functions, and a handle of the library is an external in a private field of an
 * object. Unwrapping an object would cost 60 ns per call, which is more than everything else; an external costs 7. */
#ifndef MANKAI_NODE_CORE_H
#define MANKAI_NODE_CORE_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mankai/c/mankai.h"

/* ---- Errors (errors.c) ---- */

/* Each throws and returns NULL: a MankaiError of a code with the message of the thread's last error; of a wrong value;
 * of a closed object; of one whose promise is pending; a TypeError. */
napi_value mankai_throw(napi_env env, int code);
void* mankai_throw_invalid(napi_env env, const char* message);
void* mankai_throw_closed(napi_env env);
void* mankai_throw_busy(napi_env env);
void* mankai_throw_type(napi_env env, const char* message);
void* mankai_throw_no_memory(napi_env env);
/* A MankaiError from parts. Returns NULL if the environment ends. */
napi_value mankai_make_error(napi_env env, int code, int os_error, const char* message);

/* ---- Values (values.c) ---- */

napi_value mankai_undefined(napi_env env);
napi_value mankai_null(napi_env env);
static inline napi_value mankai_bool(napi_env env, bool flag) {
  napi_value value = NULL;
  napi_get_boolean(env, flag, &value);
  return value;
}
napi_value mankai_number(napi_env env, double number);
/* A string of UTF-8; other bytes are replaced. */
napi_value mankai_text(napi_env env, const char* text, size_t bytes);
/* Convert new memory of the library, and free it. */
napi_value mankai_take_text(napi_env env, char* text);
napi_value mankai_take_bytes(napi_env env, void* data, size_t bytes);
napi_value mankai_take_texts(napi_env env, mankai_texts* texts);
napi_value mankai_take_top(napi_env env, mankai_top_entry* entries, size_t found);

/* A field of a struct of the library. Types: 'u' uint64, 'v' uint32, 'd' double, 'b' bool, 's' text, 't' int64 and 'm'
 * double of microseconds, which JavaScript has in milliseconds. */
typedef struct Field {
  const char* name;
  size_t offset;
  char type;
} Field;
#define FIELD(type, member, name, code) {name, offsetof(type, member), code}
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
napi_value mankai_object(napi_env env, const void* facts, const Field* fields, size_t count);

/* ---- Handles (handle.c) ---- */

typedef struct Work Work;

typedef struct Handle {
  void* pointer;       /* NULL: closed */
  int (*close)(void*); /* of the library */
  size_t calls;        /* works that are queued or running */
  Work* closing;       /* waits until there are none */
  int64_t bytes;       /* of memory that the collector was told of */
  bool is_collected;   /* the object is gone: freed when there are no calls */
} Handle;

/* Makes an external that owns the pointer; `bytes` of memory are freed with it. */
napi_value mankai_new_handle(napi_env env, void* pointer, int (*close)(void*), uint64_t bytes);
/* close(is_async, handle) */
napi_value mankai_close_handle(napi_env env, napi_callback_info info);
napi_value mankai_is_closed(napi_env env, napi_callback_info info);
void mankai_call_ended(napi_env env, Handle* handle);

/* The handle of an external; throws and returns NULL for other values and closed objects. */
static inline Handle* handle_of(napi_env env, napi_value value) {
  void* data = NULL;
  if (napi_get_value_external(env, value, &data) != napi_ok) {
    return mankai_throw_type(env, "not an object of mankai");
  }
  return ((Handle*)data)->pointer != NULL ? data : mankai_throw_closed(env);
}

/* ---- Arguments (arguments.c) ---- */

/* Reads arguments in order. The first one of another type throws a TypeError; then `failed` is set and the rest is 0.
 * Arguments come from ../lib, which has checked them with better messages. */
typedef struct Arguments {
  napi_env env;
  napi_value values[16];
  size_t next;
  void* data; /* of the function */
  bool failed;
} Arguments;

Arguments mankai_arguments(napi_env env, napi_callback_info info);
napi_value mankai_next(Arguments* arguments);
bool mankai_next_bool(Arguments* arguments);
double mankai_next_number(Arguments* arguments);
/* A number from 0, or a BigInt. */
uint64_t mankai_next_count(Arguments* arguments);
/* A text without zeros in new memory; NULL for null and undefined. */
char* mankai_next_text(Arguments* arguments);
Handle* mankai_next_handle(Arguments* arguments);
/* A durability and an interval in milliseconds. */
mankai_file_options mankai_next_options(Arguments* arguments);
/* A typed array of a type with so many elements; NULL for undefined. */
void* mankai_next_array(Arguments* arguments, napi_typedarray_type type, size_t count);

/* Defines a function of (handle) that returns a struct of facts as an object. */
#define FACTS(function, struct_type, get, fields)                                                              \
  static napi_value function(napi_env env, napi_callback_info info) {                                          \
    Arguments arguments = mankai_arguments(env, info);                                                         \
    const Handle* handle = mankai_next_handle(&arguments);                                                     \
    struct_type facts = {.size = sizeof facts};                                                                \
    if (handle == NULL) {                                                                                      \
      return NULL;                                                                                             \
    }                                                                                                          \
    const int code = get(handle->pointer, &facts);                                                             \
    return code == MANKAI_OK ? mankai_object(env, &facts, fields, COUNT_OF(fields)) : mankai_throw(env, code); \
  }

/* ---- Keys (keys.c) ---- */

enum { kKeyRoom = 1024 };

/* One key: a string as UTF-8, a Uint8Array, or a number or BigInt as 8 bytes. */
typedef struct Key {
  const char* data;
  size_t bytes;
  int64_t integer;
  char* allocated;
  char text[kKeyRoom];
} Key;

/* The cases beyond short strings of ASCII. */
bool mankai_other_key(napi_env env, napi_value value, Key* key);

/* Writes a short string of ASCII. V8 copies UTF-16 twice as fast as it writes UTF-8, also with the narrowing. */
static inline bool ascii_of(napi_env env, napi_value value, char* restrict text, size_t* restrict bytes) {
  enum { kRoom = kKeyRoom / 4 };
  char16_t wide[kRoom];
  size_t length = 0;
  if (napi_get_value_string_utf16(env, value, wide, kRoom, &length) != napi_ok || length == kRoom - 1) {
    return false;
  }
  const size_t end = length; /* its address is known to others, which would keep the loop from being vectorized */
  unsigned all = 0;
  for (size_t i = 0; i < end; ++i) {
    all |= wide[i];
    text[i] = (char)wide[i];
  }
  *bytes = end;
  return all < 0x80;
}

/* Reads a key; throws a TypeError and returns false for other values. Runs no code of the program. */
static inline bool key_of(napi_env env, napi_value value, Key* key) {
  key->allocated = NULL;
  key->data = key->text;
  return ascii_of(env, value, key->text, &key->bytes) || mankai_other_key(env, value, key);
}

static inline void release_key(Key* key) { free(key->allocated); }

/* Begins a function of (handle, key, ...): runs `call`, an expression with `pointer` (the library's handle), `key` and
 * `arguments`, whose value is a code; returns from the function after an error. */
#define ONE_KEY(env, info, most, call)                                 \
  napi_value arguments[most];                                          \
  size_t argument_count = (most);                                      \
  Key key;                                                             \
  napi_get_cb_info(env, info, &argument_count, arguments, NULL, NULL); \
  Handle* handle = handle_of(env, arguments[0]);                       \
  if (handle == NULL || !key_of(env, arguments[1], &key)) {            \
    return NULL;                                                       \
  }                                                                    \
  void* pointer = handle->pointer;                                     \
  const int code = (call);                                             \
  release_key(&key);                                                   \
  if (code != MANKAI_OK) {                                             \
    return mankai_throw(env, code);                                    \
  }

/* Defines a function of (handle, key) that returns what `call` writes for one key: a bool. */
#define BOOL_OF_KEY(name, call)                                         \
  static napi_value name(napi_env env, napi_callback_info info) {       \
    bool outcome = false;                                               \
    ONE_KEY(env, info, 2, call(pointer, key.data, key.bytes, &outcome)) \
    return mankai_bool(env, outcome);                                   \
  }

/* Defines name_commit(handle, position) and name_position(handle), a Buffer. */
#define COMMIT_AND_POSITION(name, commit, position)                          \
  static napi_value name##_commit(napi_env env, napi_callback_info info) {   \
    ONE_KEY(env, info, 2, commit(pointer, key.data, key.bytes))              \
    return NULL;                                                             \
  }                                                                          \
  static napi_value name##_position(napi_env env, napi_callback_info info) { \
    Arguments arguments = mankai_arguments(env, info);                       \
    const Handle* handle = mankai_next_handle(&arguments);                   \
    char bytes[MANKAI_POSITION_BYTES];                                       \
    size_t length = 0;                                                       \
    napi_value buffer = NULL;                                                \
    if (handle == NULL) {                                                    \
      return NULL;                                                           \
    }                                                                        \
    const int code = position(handle->pointer, bytes, &length);              \
    if (code != MANKAI_OK) {                                                 \
      return mankai_throw(env, code);                                        \
    }                                                                        \
    napi_create_buffer_copy(env, length, bytes, NULL, &buffer);              \
    return buffer;                                                           \
  }

/* Defines a function of (handle, limit) that returns the hottest keys: `read` reads the limit from the arguments. */
#define HOTTEST(name, type, read, call)                                                        \
  static napi_value name(napi_env env, napi_callback_info info) {                              \
    Arguments arguments = mankai_arguments(env, info);                                         \
    const Handle* handle = mankai_next_handle(&arguments);                                     \
    mankai_top_entry* entries = NULL;                                                          \
    size_t found = 0;                                                                          \
    const type limit = handle != NULL ? read(&arguments) : 0;                                  \
    if (arguments.failed) {                                                                    \
      return NULL;                                                                             \
    }                                                                                          \
    const int code = call(handle->pointer, limit, &entries, &found);                           \
    return code == MANKAI_OK ? mankai_take_top(env, entries, found) : mankai_throw(env, code); \
  }

/* Defines a function of (handle) that returns the image of an object as a Buffer. */
#define TO_BYTES(name, call)                                                                   \
  static napi_value name(napi_env env, napi_callback_info info) {                              \
    Arguments arguments = mankai_arguments(env, info);                                         \
    const Handle* handle = mankai_next_handle(&arguments);                                     \
    void* image = NULL;                                                                        \
    size_t bytes = 0;                                                                          \
    if (handle == NULL) {                                                                      \
      return NULL;                                                                             \
    }                                                                                          \
    const int code = call(handle->pointer, &image, &bytes);                                    \
    return code == MANKAI_OK ? mankai_take_bytes(env, image, bytes) : mankai_throw(env, code); \
  }

typedef struct Keys {
  mankai_packed packed;
  char* data;       /* of an array of keys */
  int64_t* offsets; /* the same */
  mankai_key* each; /* set by mankai_each_key */
} Keys;

/* Reads keys: an array of keys, a BigInt64Array, or {data, offsets}. Throws and returns false. Code of the program may
 * run (accessors), so that a handle must be read afterwards. */
bool mankai_keys_of(napi_env env, napi_value value, Keys* keys);
/* The same keys for functions that take them one by one. Throws and returns false. */
bool mankai_each_key(napi_env env, Keys* keys);
void mankai_release_keys(Keys* keys);

/* What a function of (handle, keys, times) calls: `times` are of the keys, or NULL. */
typedef int Many(void* pointer, const mankai_packed* keys, const int64_t* times_us, void* results);
/* The function: returns a Uint8Array of a result per key. Its data is a Many. */
napi_value mankai_many(napi_env env, napi_callback_info info);

int64_t mankai_microseconds(double milliseconds);

/* ---- Work (work.c) ---- */

/* A call that may wait for the disk: made here, or on a thread of libuv. */
struct Work {
  int (*run)(Work* work);                         /* returns a code */
  napi_value (*finish)(napi_env env, Work* work); /* the result; NULL: undefined */
  Handle* handle;                                 /* of the object, or NULL */
  void* pointer;                                  /* the library's handle of it */
  char* texts[6];                                 /* freed with the work */
  Keys keys;                                      /* the same */
  union {
    mankai_seen_request seen;
    mankai_confirmed_request confirmed;
    mankai_hot_request hot;
    mankai_gate_options gate;
    mankai_list_options list;
  } request;
  mankai_file_options options;
  bool flag;
  unsigned which;
  uint64_t number;
  void* made; /* a new handle of the library */
  /* Set by work.c */
  int code;
  int os_error;
  char message[1024];
  napi_async_work job;
  napi_deferred deferred;
};

/* A new work with the texts that the arguments still have; NULL without memory. */
Work* mankai_new_work(napi_env env, int (*run)(Work*), napi_value (*finish)(napi_env, Work*));
/* Runs the work, or queues it: returns the result or a promise of it. Frees the work, also if the arguments failed. */
napi_value mankai_start(const Arguments* arguments, Work* work, Handle* handle, bool is_async);
void mankai_queue(napi_env env, Work* work);
/* The function (is_async, handle, path, replaces), which writes a copy of an object. Its data is the `run`. */
napi_value mankai_save(napi_env env, napi_callback_info info);
/* Functions of (is_async, handle) whose data is the `run`: their results are undefined, or work->flag. */
napi_value mankai_whole(napi_env env, napi_callback_info info);
napi_value mankai_whole_flag(napi_env env, napi_callback_info info);

/* ---- Files of the addon ---- */

typedef struct Function {
  const char* name;
  napi_callback call;
  const void* data;
} Function;
bool mankai_add_functions(napi_env env, napi_value exports, const Function* functions, size_t count);

bool mankai_add_errors(napi_env env, napi_value exports);
bool mankai_add_filter(napi_env env, napi_value exports);
bool mankai_add_questions(napi_env env, napi_value exports);
bool mankai_add_guard(napi_env env, napi_value exports);
bool mankai_add_gate(napi_env env, napi_value exports);
bool mankai_add_url(napi_env env, napi_value exports);

#endif
