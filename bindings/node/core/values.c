/* The library's results as values of JavaScript. */
#include "core.h"

napi_value mankai_undefined(napi_env env) {
  napi_value value = NULL;
  napi_get_undefined(env, &value);
  return value;
}

napi_value mankai_null(napi_env env) {
  napi_value value = NULL;
  napi_get_null(env, &value);
  return value;
}

napi_value mankai_number(napi_env env, double number) {
  napi_value value = NULL;
  napi_create_double(env, number, &value);
  return value;
}

napi_value mankai_text(napi_env env, const char* text, size_t bytes) {
  napi_value value = NULL;
  napi_create_string_utf8(env, text, bytes, &value);
  return value;
}

napi_value mankai_take_text(napi_env env, char* text) {
  napi_value value = mankai_text(env, text, strlen(text));
  mankai_free(text);
  return value;
}

napi_value mankai_take_bytes(napi_env env, void* data, size_t bytes) {
  napi_value buffer = NULL;
  napi_create_buffer_copy(env, bytes, data, NULL, &buffer);
  mankai_free(data);
  return buffer;
}

napi_value mankai_take_texts(napi_env env, mankai_texts* texts) {
  napi_value array = NULL;
  napi_create_array_with_length(env, texts->count, &array);
  for (size_t i = 0; array != NULL && i < texts->count; ++i) {
    napi_handle_scope scope = NULL;
    napi_open_handle_scope(env, &scope);
    napi_set_element(
        env, array, (uint32_t)i,
        mankai_text(env, texts->data + texts->offsets[i], (size_t)(texts->offsets[i + 1] - texts->offsets[i])));
    napi_close_handle_scope(env, scope);
  }
  mankai_free(texts);
  return array;
}

static void set(napi_env env, napi_value object, const char* name, napi_value value) {
  if (value != NULL) {
    napi_set_named_property(env, object, name, value);
  }
}

napi_value mankai_take_top(napi_env env, mankai_top_entry* entries, size_t found) {
  napi_value array = NULL;
  napi_create_array_with_length(env, found, &array);
  for (size_t i = 0; array != NULL && i < found; ++i) {
    const mankai_top_entry* entry = &entries[i];
    napi_handle_scope scope = NULL;
    napi_value object = NULL;
    napi_value key = NULL;
    napi_open_handle_scope(env, &scope);
    napi_create_object(env, &object);
    napi_create_buffer_copy(env, entry->bytes, entry->key, NULL, &key);
    set(env, object, "key", key);
    set(env, object, "count", mankai_number(env, entry->count.raw));
    set(env, object, "rate", mankai_number(env, entry->count.rate));
    set(env, object, "lastSeen", mankai_number(env, (double)entry->last_seen_us / 1000));
    set(env, object, "isSaturated", mankai_bool(env, entry->count.is_saturated));
    set(env, object, "isCut", mankai_bool(env, entry->is_cut));
    napi_set_element(env, array, (uint32_t)i, object);
    napi_close_handle_scope(env, scope);
  }
  mankai_free(entries);
  return array;
}

napi_value mankai_object(napi_env env, const void* facts, const Field* fields, size_t count) {
  napi_value object = NULL;
  napi_create_object(env, &object);
  for (size_t i = 0; object != NULL && i < count; ++i) {
    const void* at = (const char*)facts + fields[i].offset;
    napi_value value = NULL;
    switch (fields[i].type) {
      case 'u': value = mankai_number(env, (double)*(const uint64_t*)at); break;
      case 'v': value = mankai_number(env, *(const uint32_t*)at); break;
      case 'd': value = mankai_number(env, *(const double*)at); break;
      case 'm': value = mankai_number(env, *(const double*)at / 1000); break;
      case 't': value = mankai_number(env, (double)*(const int64_t*)at / 1000); break;
      case 'b': value = mankai_bool(env, *(const bool*)at); break;
      default: value = mankai_text(env, *(const char* const*)at, strlen(*(const char* const*)at)); break;
    }
    set(env, object, fields[i].name, value);
  }
  return object;
}
