/* The library's codes as errors. */
#include <stdio.h>

#include "core.h"

/* The class MankaiError of ../lib/common.js, per environment. */
static napi_value error_class(napi_env env) {
  void* reference = NULL;
  napi_value found = NULL;
  if (napi_get_instance_data(env, &reference) == napi_ok && reference != NULL) {
    napi_get_reference_value(env, reference, &found);
  }
  return found;
}

static napi_value set_error_class(napi_env env, napi_callback_info info) {
  napi_value class_of_errors = NULL;
  size_t count = 1;
  napi_ref reference = NULL;
  napi_get_cb_info(env, info, &count, &class_of_errors, NULL, NULL);
  if (error_class(env) == NULL && napi_create_reference(env, class_of_errors, 1, &reference) == napi_ok) {
    napi_set_instance_data(env, reference, NULL, NULL);
  }
  return NULL;
}

static napi_value new_error(napi_env env, const char* name, int os_error, const char* message) {
  napi_value parts[3] = {mankai_text(env, name, strlen(name)), mankai_text(env, message, strlen(message)),
                         mankai_number(env, os_error)};
  napi_value made = NULL;
  napi_value class_of_errors = error_class(env);
  if (class_of_errors != NULL) {
    napi_new_instance(env, class_of_errors, 3, parts, &made);
  } else {
    napi_create_error(env, parts[0], parts[1], &made);
  }
  return made;
}

napi_value mankai_make_error(napi_env env, int code, int os_error, const char* message) {
  char name[64];
  snprintf(name, sizeof name, "MANKAI_%s", mankai_code_name(code));
  for (char* letter = name; *letter != '\0'; ++letter) {
    *letter = *letter >= 'a' && *letter <= 'z'   ? (char)(*letter - 'a' + 'A')
              : *letter == ' ' || *letter == '-' ? '_'
                                                 : *letter;
  }
  return new_error(env, name, os_error, message);
}

/* Throws an error unless the environment ends. Returns NULL. */
static void* throw_error(napi_env env, napi_value error) {
  if (error != NULL) {
    napi_throw(env, error);
  }
  return NULL;
}

napi_value mankai_throw(napi_env env, int code) {
  return throw_error(env, mankai_make_error(env, code, mankai_last_os_error(), mankai_last_error()));
}

void* mankai_throw_invalid(napi_env env, const char* message) {
  return throw_error(env, mankai_make_error(env, MANKAI_INVALID_ARGUMENT, 0, message));
}

void* mankai_throw_closed(napi_env env) {
  return throw_error(env, new_error(env, "MANKAI_CLOSED", 0, "the object is closed; open the file again"));
}

void* mankai_throw_busy(napi_env env) {
  return throw_error(
      env, new_error(env, "MANKAI_BUSY", 0, "a promise of this object is pending; await it, or await close()"));
}

void* mankai_throw_type(napi_env env, const char* message) {
  napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", message);
  return NULL;
}

void* mankai_throw_no_memory(napi_env env) {
  return throw_error(env, new_error(env, "MANKAI_OUT_OF_SPACE", 0, "not enough memory"));
}

bool mankai_add_errors(napi_env env, napi_value exports) {
  static const Function functions[] = {{"setErrorClass", set_error_class, NULL}};
  return mankai_add_functions(env, exports, functions, COUNT_OF(functions));
}
