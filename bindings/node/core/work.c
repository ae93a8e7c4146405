/* Calls that may wait for the disk, here or on a thread of libuv. */
#include <stdio.h>

#include "core.h"

Work* mankai_new_work(napi_env env, int (*run)(Work*), napi_value (*finish)(napi_env, Work*)) {
  Work* work = calloc(1, sizeof *work);
  if (work == NULL) {
    return mankai_throw_no_memory(env);
  }
  work->run = run;
  work->finish = finish;
  return work;
}

static void free_work(Work* work) {
  for (size_t i = 0; i < COUNT_OF(work->texts); ++i) {
    free(work->texts[i]);
  }
  mankai_release_keys(&work->keys);
  free(work);
}

/* On any thread. */
static void run(Work* work) {
  work->code = work->run(work);
  if (work->code != MANKAI_OK) {
    work->os_error = mankai_last_os_error();
    snprintf(work->message, sizeof work->message, "%s", mankai_last_error());
  }
}

static napi_value result_of(napi_env env, Work* work) {
  return work->finish != NULL ? work->finish(env, work) : mankai_undefined(env);
}

static void execute(napi_env env, void* data) {
  (void)env;
  run(data);
}

static void complete(napi_env env, napi_status status, void* data) {
  Work* work = data;
  napi_value value = NULL;
  const bool is_done = status == napi_ok && work->code == MANKAI_OK;
  if (is_done) {
    value = result_of(env, work);
  } else {
    value = mankai_make_error(env, work->code, work->os_error, work->message);
  }
  if (value != NULL) {
    (is_done ? napi_resolve_deferred : napi_reject_deferred)(env, work->deferred, value);
  } else { /* finish threw, or the environment ends */
    bool is_pending = false;
    napi_is_exception_pending(env, &is_pending);
    if (is_pending && napi_get_and_clear_last_exception(env, &value) == napi_ok) {
      napi_reject_deferred(env, work->deferred, value);
    }
  }
  napi_delete_async_work(env, work->job);
  Handle* handle = work->handle;
  free_work(work);
  if (handle != NULL) {
    mankai_call_ended(env, handle);
  }
}

void mankai_queue(napi_env env, Work* work) { napi_queue_async_work(env, work->job); }

napi_value mankai_start(const Arguments* arguments, Work* work, Handle* handle, bool is_async) {
  napi_env env = arguments->env;
  if (arguments->failed) {
    free_work(work);
    return NULL;
  }
  work->handle = handle;
  if (handle != NULL && work->pointer == NULL) {
    work->pointer = handle->pointer;
  }
  if (!is_async) {
    run(work);
    napi_value value = NULL;
    if (work->code == MANKAI_OK) {
      value = result_of(env, work);
    } else {
      napi_value error = mankai_make_error(env, work->code, work->os_error, work->message);
      if (error != NULL) {
        napi_throw(env, error);
      }
    }
    free_work(work);
    return value;
  }
  napi_value promise = NULL;
  napi_value name = mankai_text(env, "mankai", 6);
  if (napi_create_promise(env, &work->deferred, &promise) != napi_ok ||
      napi_create_async_work(env, NULL, name, execute, complete, work, &work->job) != napi_ok) {
    free_work(work);
    return NULL;
  }
  if (handle != NULL && handle->pointer == NULL && handle->calls != 0) { /* a close that waits for other calls */
    handle->closing = work;
    return promise;
  }
  if (handle != NULL) {
    ++handle->calls;
  }
  mankai_queue(env, work);
  return promise;
}

napi_value mankai_save(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Handle* handle = mankai_next_handle(&arguments);
  Work* work = mankai_new_work(env, (int (*)(Work*))arguments.data, NULL);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  work->options.size = sizeof work->options;
  work->options.replace = !arguments.failed && mankai_next_bool(&arguments) ? 1U : 0U;
  return mankai_start(&arguments, work, handle, is_async);
}

static napi_value start_whole(napi_env env, napi_callback_info info, napi_value (*finish)(napi_env, Work*)) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Handle* handle = mankai_next_handle(&arguments);
  if (arguments.failed) {
    return NULL;
  }
  Work* work = mankai_new_work(env, (int (*)(Work*))arguments.data, finish);
  return work != NULL ? mankai_start(&arguments, work, handle, is_async) : NULL;
}

static napi_value flag_of(napi_env env, Work* work) { return mankai_bool(env, work->flag); }

napi_value mankai_whole(napi_env env, napi_callback_info info) { return start_whole(env, info, NULL); }
napi_value mankai_whole_flag(napi_env env, napi_callback_info info) { return start_whole(env, info, flag_of); }
