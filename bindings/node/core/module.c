/* The addon. Each environment (a process, a worker thread) has its own functions and error class; nothing is shared. */
#include "core.h"

bool mankai_add_functions(napi_env env, napi_value exports, const Function* functions, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    napi_value made = NULL;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call,
                             (void*)(uintptr_t)functions[i].data, &made) != napi_ok ||
        napi_set_named_property(env, exports, functions[i].name, made) != napi_ok) {
      return false;
    }
  }
  return true;
}

NAPI_MODULE_INIT() {
  const char* version = mankai_version();
  napi_value text = mankai_text(env, version, strlen(version));
  if (mankai_abi_version() < MANKAI_ABI_VERSION) {
    napi_throw_error(env, "MANKAI_UNSUPPORTED_VERSION", "the library is older than the addon");
    return NULL;
  }
  const bool is_made = text != NULL && napi_set_named_property(env, exports, "version", text) == napi_ok &&
                       mankai_add_errors(env, exports) && mankai_add_filter(env, exports) &&
                       mankai_add_questions(env, exports) && mankai_add_guard(env, exports) &&
                       mankai_add_gate(env, exports) && mankai_add_url(env, exports);
  return is_made ? exports : NULL;
}
