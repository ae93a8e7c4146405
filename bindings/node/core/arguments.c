/* Arguments in order. */
#include "core.h"

Arguments mankai_arguments(napi_env env, napi_callback_info info) {
  Arguments arguments = {.env = env};
  size_t count = COUNT_OF(arguments.values);
  napi_get_cb_info(env, info, &count, arguments.values, NULL, &arguments.data);
  return arguments;
}

static void fail(Arguments* arguments) {
  if (!arguments->failed) {
    arguments->failed = true;
    mankai_throw_type(arguments->env, "an argument has the wrong type");
  }
}

napi_value mankai_next(Arguments* arguments) {
  const size_t at = arguments->next++;
  return at < COUNT_OF(arguments->values) ? arguments->values[at] : mankai_undefined(arguments->env);
}

bool mankai_next_bool(Arguments* arguments) {
  bool flag = false;
  if (napi_get_value_bool(arguments->env, mankai_next(arguments), &flag) != napi_ok) {
    fail(arguments);
  }
  return flag;
}

double mankai_next_number(Arguments* arguments) {
  double number = 0;
  if (napi_get_value_double(arguments->env, mankai_next(arguments), &number) != napi_ok) {
    fail(arguments);
  }
  return number;
}

uint64_t mankai_next_count(Arguments* arguments) {
  napi_value value = mankai_next(arguments);
  double number = 0;
  uint64_t count = 0;
  bool is_lossless = false;
  if (napi_get_value_double(arguments->env, value, &number) == napi_ok) {
    if (number >= 0 && number < 18446744073709551616.0) {
      return (uint64_t)number;
    }
  } else if (napi_get_value_bigint_uint64(arguments->env, value, &count, &is_lossless) == napi_ok && is_lossless) {
    return count;
  }
  fail(arguments);
  return 0;
}

static bool is_absent(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  return type == napi_undefined || type == napi_null;
}

char* mankai_next_text(Arguments* arguments) {
  napi_env env = arguments->env;
  napi_value value = mankai_next(arguments);
  size_t bytes = 0;
  if (arguments->failed || is_absent(env, value)) {
    return NULL;
  }
  char* text = NULL;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &bytes) == napi_ok && (text = malloc(bytes + 1)) != NULL) {
    napi_get_value_string_utf8(env, value, text, bytes + 1, &bytes);
  }
  if (text == NULL || strlen(text) != bytes) {
    free(text);
    text = NULL;
    fail(arguments);
  }
  return text;
}

Handle* mankai_next_handle(Arguments* arguments) {
  napi_value value = mankai_next(arguments);
  Handle* handle = arguments->failed ? NULL : handle_of(arguments->env, value);
  arguments->failed = handle == NULL;
  return handle;
}

mankai_file_options mankai_next_options(Arguments* arguments) {
  mankai_file_options options = {.size = sizeof options, .durability = (uint32_t)mankai_next_count(arguments)};
  options.interval_us = (uint64_t)mankai_microseconds(mankai_next_number(arguments));
  return options;
}

void* mankai_next_array(Arguments* arguments, napi_typedarray_type type, size_t count) {
  napi_value value = mankai_next(arguments);
  napi_typedarray_type found = napi_int8_array;
  size_t length = 0;
  void* data = NULL;
  if (arguments->failed || is_absent(arguments->env, value)) {
    return NULL;
  }
  if (napi_get_typedarray_info(arguments->env, value, &found, &length, &data, NULL, NULL) != napi_ok || found != type ||
      length != count) {
    fail(arguments);
    return NULL;
  }
  return data;
}
