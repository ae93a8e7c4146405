/* Keys: one at a time, and many at once from arrays and packed buffers. */
#include <math.h>

#include "core.h"

static bool refuse_key(napi_env env, napi_value value) {
  static const char message[] = "a key is a string, a Uint8Array, or a number or BigInt that is an integer of 64 bits";
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  void* none =
      type == napi_number || type == napi_bigint ? mankai_throw_invalid(env, message) : mankai_throw_type(env, message);
  return none != NULL;
}

/* The bytes of a Uint8Array, which a Buffer is. */
static bool bytes_of(napi_env env, napi_value value, const char** data, size_t* bytes) {
  bool is_typed_array = false;
  napi_typedarray_type type = napi_int8_array;
  void* begin = NULL;
  if (napi_is_typedarray(env, value, &is_typed_array) != napi_ok || !is_typed_array ||
      napi_get_typedarray_info(env, value, &type, bytes, &begin, NULL, NULL) != napi_ok || type != napi_uint8_array) {
    return false;
  }
  *data = begin;
  return true;
}

static bool integer_of(napi_env env, napi_value value, int64_t* integer) {
  double number = 0;
  bool is_lossless = false;
  if (napi_get_value_double(env, value, &number) == napi_ok) {
    *integer = fabs(number) <= 9007199254740991.0 ? (int64_t)number : 0;
    return (double)*integer == number;
  }
  return napi_get_value_bigint_int64(env, value, integer, &is_lossless) == napi_ok && is_lossless;
}

/* A string of any length in new memory. */
static bool long_text_of(napi_env env, napi_value value, Key* key) {
  if (napi_get_value_string_utf8(env, value, NULL, 0, &key->bytes) != napi_ok) {
    return false;
  }
  key->allocated = malloc(key->bytes + 1);
  key->data = key->allocated;
  if (key->allocated != NULL) {
    napi_get_value_string_utf8(env, value, key->allocated, key->bytes + 1, &key->bytes);
  }
  return true;
}

bool mankai_other_key(napi_env env, napi_value value, Key* key) {
  if (long_text_of(env, value, key)) {
    return key->allocated != NULL || mankai_throw_no_memory(env) != NULL;
  }
  if (integer_of(env, value, &key->integer)) {
    key->data = (const char*)&key->integer;
    key->bytes = sizeof key->integer;
    return true;
  }
  return bytes_of(env, value, &key->data, &key->bytes) || refuse_key(env, value);
}

/* ---- Arrays of keys: copied, one after the other, since code of the program may run between two of them ---- */

typedef struct Copy {
  char* data;
  size_t end;
  size_t room;
} Copy;

/* Makes room for so many bytes and some for the next text. */
static bool reserve(napi_env env, Copy* copy, size_t bytes) {
  if (copy->room - copy->end >= bytes) {
    return true;
  }
  const size_t room = 2 * copy->room + bytes + kKeyRoom;
  char* data = realloc(copy->data, room);
  if (data == NULL) {
    return mankai_throw_no_memory(env) != NULL;
  }
  copy->data = data;
  copy->room = room;
  return true;
}

static bool append(napi_env env, Copy* copy, napi_value value) {
  size_t bytes = 0;
  if (!reserve(env, copy, kKeyRoom)) {
    return false;
  }
  if (ascii_of(env, value, copy->data + copy->end, &bytes)) {
    copy->end += bytes;
    return true;
  }
  Key key;
  key.allocated = NULL;
  const bool is_appended = mankai_other_key(env, value, &key) && reserve(env, copy, key.bytes);
  if (is_appended && key.bytes != 0) {
    memcpy(copy->data + copy->end, key.data, key.bytes);
    copy->end += key.bytes;
  }
  release_key(&key);
  return is_appended;
}

/* Elements per scope of values. */
enum { kScopeKeys = 1024 };

static bool copy_keys(napi_env env, napi_value array, Keys* keys) {
  uint32_t count = 0;
  napi_get_array_length(env, array, &count);
  Copy copy = {NULL, 0, 0};
  keys->offsets = malloc(((size_t)count + 1) * sizeof *keys->offsets);
  bool is_copied =
      keys->offsets != NULL ? reserve(env, &copy, (size_t)count * 32) : mankai_throw_no_memory(env) != NULL;
  for (uint32_t i = 0; is_copied && i < count;) {
    napi_handle_scope scope = NULL;
    napi_open_handle_scope(env, &scope);
    for (uint32_t end = count - i < kScopeKeys ? count : i + kScopeKeys; is_copied && i < end; ++i) {
      napi_value value = NULL;
      keys->offsets[i] = (int64_t)copy.end;
      is_copied = napi_get_element(env, array, i, &value) == napi_ok && append(env, &copy, value);
    }
    napi_close_handle_scope(env, scope);
  }
  keys->data = copy.data;
  if (is_copied) {
    keys->offsets[count] = (int64_t)copy.end;
    keys->packed.data = copy.data;
    keys->packed.data_bytes = copy.end;
    keys->packed.offsets = keys->offsets;
    keys->packed.offset_bytes = sizeof *keys->offsets;
    keys->packed.count = count;
  }
  return is_copied;
}

/* ---- Packed keys: used where they are ---- */

/* Whether another thread cannot change an array meanwhile. The offsets are checked once. */
static bool is_own_memory(napi_env env, napi_value buffer) {
  bool is_own = false;
  return napi_is_arraybuffer(env, buffer, &is_own) == napi_ok && is_own;
}

static bool refuse_packed(napi_env env) {
  return mankai_throw_type(
             env,
             "keys are an array of keys, a BigInt64Array, or {data: Uint8Array, offsets: Int32Array | Uint32Array | "
             "BigInt64Array}") != NULL;
}

static bool use_packed(napi_env env, napi_value value, Keys* keys) {
  napi_value data = NULL;
  napi_value offsets = NULL;
  napi_value buffer = NULL;
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  void* begin = NULL;
  const char* bytes = NULL;
  napi_valuetype value_type = napi_undefined;
  napi_typeof(env, value, &value_type);
  if (value_type != napi_object) {
    return refuse_packed(env);
  }
  if (napi_get_named_property(env, value, "data", &data) != napi_ok ||
      napi_get_named_property(env, value, "offsets", &offsets) != napi_ok) {
    return false; /* an accessor threw */
  }
  bool is_typed_array = false;
  if (!bytes_of(env, data, &bytes, &keys->packed.data_bytes) ||
      napi_is_typedarray(env, offsets, &is_typed_array) != napi_ok || !is_typed_array ||
      napi_get_typedarray_info(env, offsets, &type, &length, &begin, &buffer, NULL) != napi_ok) {
    return refuse_packed(env);
  }
  const bool is_32 = type == napi_int32_array || type == napi_uint32_array;
  if (!is_32 && type != napi_bigint64_array && type != napi_biguint64_array) {
    return refuse_packed(env);
  }
  if (!is_own_memory(env, buffer)) {
    return mankai_throw_type(env,
                             "offsets are in a SharedArrayBuffer, which another thread may change during the call; "
                             "copy them: offsets.slice()") != NULL;
  }
  keys->packed.data = bytes;
  keys->packed.offsets = length != 0 ? begin : NULL;
  keys->packed.offset_bytes = length == 0 ? 0 : is_32 ? 4 : 8;
  keys->packed.count = length != 0 ? length - 1 : 0;
  return true;
}

/* A BigInt64Array: each key is the 8 bytes of an integer. */
static bool use_integers(napi_env env, napi_value value, Keys* keys) {
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  void* begin = NULL;
  if (napi_get_typedarray_info(env, value, &type, &length, &begin, NULL, NULL) != napi_ok ||
      type != napi_bigint64_array) {
    return refuse_packed(env);
  }
  keys->packed.data = begin;
  keys->packed.data_bytes = length * sizeof(int64_t);
  keys->packed.width = sizeof(int64_t);
  keys->packed.count = length;
  return true;
}

bool mankai_keys_of(napi_env env, napi_value value, Keys* keys) {
  bool is_array = false;
  bool is_typed_array = false;
  *keys = (Keys){.packed = {.size = sizeof keys->packed}};
  napi_is_array(env, value, &is_array);
  napi_is_typedarray(env, value, &is_typed_array);
  return is_array         ? copy_keys(env, value, keys)
         : is_typed_array ? use_integers(env, value, keys)
                          : use_packed(env, value, keys);
}

bool mankai_each_key(napi_env env, Keys* keys) {
  const mankai_packed* packed = &keys->packed;
  if (packed->count != 0 && keys->offsets == NULL) {
    return mankai_throw_type(env, "this function takes an array of keys") != NULL;
  }
  keys->each = malloc((packed->count + 1) * sizeof *keys->each);
  if (keys->each == NULL) {
    return mankai_throw_no_memory(env) != NULL;
  }
  for (size_t i = 0; i < packed->count; ++i) {
    keys->each[i].data = keys->data + keys->offsets[i];
    keys->each[i].bytes = (size_t)(keys->offsets[i + 1] - keys->offsets[i]);
  }
  return true;
}

void mankai_release_keys(Keys* keys) {
  free(keys->data);
  free(keys->offsets);
  free(keys->each);
}

/* ---- Functions of many keys ---- */

int64_t mankai_microseconds(double milliseconds) {
  const double microseconds = milliseconds * 1000;
  return microseconds >= 9.2e18    ? INT64_MAX
         : microseconds <= -9.2e18 ? INT64_MIN
         : isnan(microseconds)     ? 0
                                   : llround(microseconds);
}

/* Times per key, given in milliseconds. */
static bool times_of(Arguments* arguments, size_t count, int64_t** times) {
  const double* given = mankai_next_array(arguments, napi_float64_array, count);
  if (given == NULL) {
    return !arguments->failed;
  }
  *times = malloc((count + 1) * sizeof **times);
  if (*times == NULL) {
    return mankai_throw_no_memory(arguments->env) != NULL;
  }
  for (size_t i = 0; i < count; ++i) {
    (*times)[i] = mankai_microseconds(given[i]);
  }
  return true;
}

napi_value mankai_many(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  Many* call = (Many*)arguments.data;
  napi_value external = mankai_next(&arguments);
  Keys keys;
  int64_t* times = NULL;
  napi_value results = NULL;
  if (mankai_keys_of(env, mankai_next(&arguments), &keys) && times_of(&arguments, keys.packed.count, &times)) {
    const Handle* handle = handle_of(env, external);
    napi_value buffer = NULL;
    void* bytes = NULL;
    if (handle != NULL && napi_create_arraybuffer(env, keys.packed.count, &bytes, &buffer) == napi_ok) {
      const int code = call(handle->pointer, &keys.packed, times, bytes);
      if (code == MANKAI_OK) {
        napi_create_typedarray(env, napi_uint8_array, keys.packed.count, buffer, 0, &results);
      } else {
        mankai_throw(env, code);
      }
    }
  }
  free(times);
  mankai_release_keys(&keys);
  return results;
}
