/* Handles of the library: open and closed, and what happens to one that nobody closed. All of this is on the
 * environment's thread. */
#include "core.h"

static void tell_collector(napi_env env, int64_t bytes) {
  int64_t unused = 0;
  napi_adjust_external_memory(env, bytes, &unused);
}

static void destroy(napi_env env, Handle* handle) {
  if (handle->pointer != NULL) {
    handle->close(handle->pointer);
  }
  tell_collector(env, -handle->bytes);
  free(handle);
}

static void collect(napi_env env, void* data, void* unused) {
  (void)unused;
  Handle* handle = data;
  handle->is_collected = true;
  if (handle->calls == 0) {
    destroy(env, handle);
  }
}

napi_value mankai_new_handle(napi_env env, void* pointer, int (*close)(void*), uint64_t bytes) {
  napi_value external = NULL;
  Handle* handle = calloc(1, sizeof *handle);
  if (handle == NULL) {
    close(pointer);
    return mankai_throw_no_memory(env);
  }
  handle->pointer = pointer;
  handle->close = close;
  if (napi_create_external(env, handle, collect, NULL, &external) != napi_ok) {
    destroy(env, handle);
    return NULL;
  }
  handle->bytes = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
  tell_collector(env, handle->bytes);
  return external;
}

void mankai_call_ended(napi_env env, Handle* handle) {
  if (--handle->calls != 0) {
    return;
  }
  if (handle->closing != NULL) {
    Work* closing = handle->closing;
    handle->closing = NULL;
    ++handle->calls;
    mankai_queue(env, closing);
  } else if (handle->is_collected) {
    destroy(env, handle);
  }
}

static int run_close(Work* work) {
  int (*close)(void*) = work->handle->close;
  const int code = close(work->pointer);
  return code == MANKAI_FORKED ? MANKAI_OK : code;
}

static napi_value finish_close(napi_env env, Work* work) {
  tell_collector(env, -work->handle->bytes);
  work->handle->bytes = 0;
  return mankai_undefined(env);
}

napi_value mankai_close_handle(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  void* data = NULL;
  if (arguments.failed || napi_get_value_external(env, mankai_next(&arguments), &data) != napi_ok) {
    return arguments.failed ? NULL : mankai_throw_type(env, "not an object of mankai");
  }
  Handle* handle = data;
  if (!is_async && handle->calls != 0) { /* among them a close() that is pending */
    return mankai_throw_busy(env);
  }
  if (handle->pointer == NULL) {
    return mankai_undefined(env);
  }
  Work* work = mankai_new_work(env, run_close, finish_close);
  if (work == NULL) {
    return NULL;
  }
  work->pointer = handle->pointer;
  handle->pointer = NULL;
  return mankai_start(&arguments, work, handle, is_async);
}

napi_value mankai_is_closed(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  void* data = NULL;
  if (napi_get_value_external(env, mankai_next(&arguments), &data) != napi_ok) {
    return mankai_throw_type(env, "not an object of mankai");
  }
  return mankai_bool(env, ((Handle*)data)->pointer == NULL);
}
