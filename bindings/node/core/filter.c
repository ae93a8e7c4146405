/* Functions of Filter: a filter of any kind. */
#include "core.h"

static int close_filter(void* pointer) { return mankai_close(pointer); }

static napi_value new_filter(napi_env env, mankai_filter* filter) {
  mankai_info info = {.size = sizeof info};
  const bool is_in_memory = mankai_get_info(filter, &info) == MANKAI_OK && !info.is_in_file;
  return mankai_new_handle(env, filter, close_filter, is_in_memory ? info.image_bytes : 0);
}

static napi_value finish_filter(napi_env env, Work* work) { return new_filter(env, work->made); }

/* ---- Making, opening, saving ---- */

/* create(spec) */
static napi_value create(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  char* spec = mankai_next_text(&arguments);
  mankai_filter* filter = NULL;
  if (arguments.failed) {
    return NULL;
  }
  const int code = mankai_create(spec, &filter);
  free(spec);
  return code == MANKAI_OK ? new_filter(env, filter) : mankai_throw(env, code);
}

static int run_create_file(Work* work) {
  return mankai_create_file(work->texts[0], work->texts[1], &work->options, (mankai_filter**)&work->made);
}

/* createFile(is_async, path, spec, durability, interval, replaces) */
static napi_value create_file(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_create_file, finish_filter);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  work->texts[1] = mankai_next_text(&arguments);
  work->options = mankai_next_options(&arguments);
  work->options.replace = mankai_next_bool(&arguments) ? 1U : 0U;
  return mankai_start(&arguments, work, NULL, is_async);
}

static int run_open(Work* work) {
  mankai_filter** filter = (mankai_filter**)&work->made;
  return work->flag ? mankai_open_file(work->texts[0], &work->options, filter)
                    : mankai_open_file_read(work->texts[0], &work->options, filter);
}

/* openFile(is_async, path, is_writable, durability, interval, trusts_cells) */
static napi_value open_file(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_open, finish_filter);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  work->flag = mankai_next_bool(&arguments);
  work->options = mankai_next_options(&arguments);
  work->options.trust_cells = mankai_next_bool(&arguments) ? 1U : 0U;
  return mankai_start(&arguments, work, NULL, is_async);
}

/* fromBytes(image) */
static napi_value from_bytes(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  Key image;
  mankai_filter* filter = NULL;
  if (!key_of(env, mankai_next(&arguments), &image)) {
    return NULL;
  }
  const int code = mankai_from_image(image.data, image.bytes, &filter);
  release_key(&image);
  return code == MANKAI_OK ? new_filter(env, filter) : mankai_throw(env, code);
}

TO_BYTES(to_bytes, mankai_to_image)

static int run_save(Work* work) { return mankai_save_file(work->pointer, work->texts[0], &work->options); }

static napi_value copy(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  mankai_filter* made = NULL;
  if (handle == NULL) {
    return NULL;
  }
  const int code = mankai_copy(handle->pointer, &made);
  return code == MANKAI_OK ? new_filter(env, made) : mankai_throw(env, code);
}

static int run_verify(Work* work) { return mankai_verify_file(work->texts[0]); }

/* verify(is_async, path) */
static napi_value verify(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_verify, NULL);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  return mankai_start(&arguments, work, NULL, is_async);
}

/* ---- Single keys ---- */

BOOL_OF_KEY(has, mankai_may_contain_one)
BOOL_OF_KEY(observe, mankai_observe_one)

static napi_value add(napi_env env, napi_callback_info info) {
  ONE_KEY(env, info, 2, mankai_insert_one(pointer, key.data, key.bytes))
  return NULL;
}

static const Field kValue[] = {FIELD(mankai_value, value, "value", 'v'), FIELD(mankai_value, matches, "matches", 'v')};

/* remove(handle, key): a mankai_erase_result. */
static napi_value remove_one(napi_env env, napi_callback_info info) {
  mankai_erase_result result = {0};
  ONE_KEY(env, info, 2, mankai_erase_one(pointer, key.data, key.bytes, &result))
  return mankai_number(env, result);
}

/* count(handle, key): a saturated count is returned as -1 - count, since an object takes ten times as long. */
static napi_value count_of(napi_env env, napi_callback_info info) {
  mankai_count result = {0};
  ONE_KEY(env, info, 2, mankai_count_one(pointer, key.data, key.bytes, &result))
  return mankai_number(env, result.is_saturated ? -1.0 - result.value : result.value);
}

/* lately(handle, key, results): writes the count and its rate to a Float64Array, and returns whether it is saturated. */
static napi_value lately(napi_env env, napi_callback_info info) {
  mankai_lately result = {0};
  ONE_KEY(env, info, 3, mankai_count_one_lately(pointer, key.data, key.bytes, &result))
  Arguments results = {.env = env, .values = {arguments[2]}};
  double* array = mankai_next_array(&results, napi_float64_array, 2);
  if (array == NULL) {
    return NULL;
  }
  array[0] = result.raw;
  array[1] = result.rate;
  return mankai_bool(env, result.is_saturated);
}

/* put(handle, key, value, strength) */
static napi_value put(napi_env env, napi_callback_info info) {
  Arguments all = mankai_arguments(env, info);
  all.next = 2;
  const uint64_t value = mankai_next_count(&all);
  const double strength = mankai_next_number(&all);
  if (all.failed) {
    return NULL;
  }
  if (value > UINT32_MAX) {
    return mankai_throw_invalid(env, "a value is an integer of 32 bits");
  }
  ONE_KEY(env, info, 2, mankai_put_one(pointer, key.data, key.bytes, (uint32_t)value, strength))
  return NULL;
}

/* recall(handle, key, min_matches) */
static napi_value recall(napi_env env, napi_callback_info info) {
  enum { kRoom = 64 };
  mankai_value values[kRoom];
  size_t found = 0;
  Arguments all = mankai_arguments(env, info);
  all.next = 2;
  const uint64_t min_matches = mankai_next_count(&all);
  if (all.failed) {
    return NULL;
  }
  ONE_KEY(env, info, 2,
          mankai_recall(pointer, key.data, key.bytes, min_matches < UINT32_MAX ? (uint32_t)min_matches : UINT32_MAX,
                        values, kRoom, &found))
  napi_value array = NULL;
  napi_create_array_with_length(env, found, &array);
  for (size_t i = 0; array != NULL && i < found; ++i) {
    napi_set_element(env, array, (uint32_t)i, mankai_object(env, &values[i], kValue, COUNT_OF(kValue)));
  }
  return array;
}

/* ---- Many keys ---- */

static int has_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)times;
  return mankai_may_contain_packed(pointer, keys, results);
}

static int observe_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)times;
  return mankai_observe_packed(pointer, keys, results);
}

static int erase_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)times;
  return mankai_erase_packed(pointer, keys, results);
}

/* addMany(handle, keys, times, ids): returns the number of keys. */
static napi_value add_many(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  napi_value external = mankai_next(&arguments);
  Keys keys;
  int code = -1;
  if (mankai_keys_of(env, mankai_next(&arguments), &keys)) {
    const size_t count = keys.packed.count;
    const double* times = mankai_next_array(&arguments, napi_float64_array, count);
    const uint64_t* ids = mankai_next_array(&arguments, napi_biguint64_array, count);
    const Handle* handle = arguments.failed ? NULL : handle_of(env, external);
    int64_t* times_us = NULL;
    if (handle != NULL && times != NULL) {
      times_us = malloc((count + 1) * sizeof *times_us);
      for (size_t i = 0; times_us != NULL && i < count; ++i) {
        times_us[i] = mankai_microseconds(times[i]);
      }
      code = times_us != NULL ? mankai_insert_packed_at(handle->pointer, &keys.packed, times_us) : MANKAI_OUT_OF_SPACE;
    } else if (handle != NULL && ids != NULL) {
      code = mankai_insert_packed_with_ids(handle->pointer, &keys.packed, ids);
    } else if (handle != NULL) {
      code = mankai_insert_packed(handle->pointer, &keys.packed);
    }
    free(times_us);
  }
  const size_t count = keys.packed.count;
  mankai_release_keys(&keys);
  return code == MANKAI_OK ? mankai_number(env, (double)count) : code > 0 ? mankai_throw(env, code) : NULL;
}

/* eraseWithIds(handle, keys, ids): a Uint8Array of results. */
static napi_value erase_with_ids(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  napi_value external = mankai_next(&arguments);
  Keys keys;
  napi_value results = NULL;
  if (mankai_keys_of(env, mankai_next(&arguments), &keys)) {
    const size_t count = keys.packed.count;
    const uint64_t* ids = mankai_next_array(&arguments, napi_biguint64_array, count);
    const Handle* handle = arguments.failed ? NULL : handle_of(env, external);
    napi_value buffer = NULL;
    void* bytes = NULL;
    if (handle != NULL && napi_create_arraybuffer(env, count, &bytes, &buffer) == napi_ok) {
      const int code = mankai_erase_packed_with_ids(handle->pointer, &keys.packed, ids, bytes);
      if (code == MANKAI_OK) {
        napi_create_typedarray(env, napi_uint8_array, count, buffer, 0, &results);
      } else {
        mankai_throw(env, code);
      }
    }
  }
  mankai_release_keys(&keys);
  return results;
}

/* counts(handle, keys): a Uint32Array. */
static napi_value counts(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  napi_value external = mankai_next(&arguments);
  Keys keys;
  mankai_count* found = NULL;
  napi_value results = NULL;
  const Handle* handle = mankai_keys_of(env, mankai_next(&arguments), &keys) ? handle_of(env, external) : NULL;
  const size_t count = keys.packed.count;
  if (handle != NULL && (found = malloc((count + 1) * sizeof *found)) == NULL) {
    mankai_throw_no_memory(env);
  }
  if (found != NULL) {
    napi_value buffer = NULL;
    void* bytes = NULL;
    const int code = mankai_counts_packed(handle->pointer, &keys.packed, found);
    if (code != MANKAI_OK) {
      mankai_throw(env, code);
    } else if (napi_create_arraybuffer(env, count * sizeof(uint32_t), &bytes, &buffer) == napi_ok) {
      for (size_t i = 0; i < count; ++i) {
        ((uint32_t*)bytes)[i] = found[i].value;
      }
      napi_create_typedarray(env, napi_uint32_array, count, buffer, 0, &results);
    }
  }
  free(found);
  mankai_release_keys(&keys);
  return results;
}

/* ---- The whole filter ---- */

static int run_sync(Work* work) { return mankai_sync(work->pointer); }
static int run_checkpoint(Work* work) { return mankai_checkpoint(work->pointer); }
static int run_clear(Work* work) { return mankai_clear(work->pointer); }
static int run_begin(Work* work) { return mankai_begin(work->pointer); }
static int run_refresh(Work* work) { return mankai_refresh(work->pointer, &work->flag); }

/* advance(handle, time) */
static napi_value advance(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  if (handle == NULL) {
    return NULL;
  }
  const double time = mankai_next_number(&arguments);
  const int code = arguments.failed ? MANKAI_OK : mankai_advance(handle->pointer, mankai_microseconds(time));
  return code == MANKAI_OK ? NULL : mankai_throw(env, code);
}

/* merge(handle, other) */
static napi_value merge(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  const Handle* other = handle != NULL ? mankai_next_handle(&arguments) : NULL;
  const int code = other != NULL ? mankai_merge(handle->pointer, other->pointer) : MANKAI_OK;
  return code == MANKAI_OK ? NULL : mankai_throw(env, code);
}

COMMIT_AND_POSITION(filter, mankai_commit, mankai_position)

/* sequence(handle, is_durable) */
static napi_value sequence(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  uint64_t number = 0;
  if (handle == NULL) {
    return NULL;
  }
  const bool is_durable = mankai_next_bool(&arguments);
  const int code = arguments.failed ? MANKAI_OK
                   : is_durable     ? mankai_durable_sequence(handle->pointer, &number)
                                    : mankai_sequence(handle->pointer, &number);
  return code == MANKAI_OK ? mankai_number(env, (double)number) : mankai_throw(env, code);
}

static napi_value spec(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  char* text = NULL;
  const int code = handle != NULL ? mankai_spec(handle->pointer, &text) : MANKAI_OK;
  return handle == NULL ? NULL : code == MANKAI_OK ? mankai_take_text(env, text) : mankai_throw(env, code);
}

HOTTEST(top, uint64_t, mankai_next_count, mankai_top)

static const Field kInfo[] = {FIELD(mankai_info, kind, "kind", 's'),
                              FIELD(mankai_info, capacity_keys, "capacityKeys", 'u'),
                              FIELD(mankai_info, keys_inserted, "keysInserted", 'u'),
                              FIELD(mankai_info, image_bytes, "imageBytes", 'u'),
                              FIELD(mankai_info, fpr_target, "fprTarget", 'd'),
                              FIELD(mankai_info, time_us, "time", 't'),
                              FIELD(mankai_info, is_in_file, "isInFile", 'b'),
                              FIELD(mankai_info, has_time, "hasTime", 'b'),
                              FIELD(mankai_info, can_erase, "canRemove", 'b'),
                              FIELD(mankai_info, can_count, "canCount", 'b'),
                              FIELD(mankai_info, takes_ids, "takesIds", 'b'),
                              FIELD(mankai_info, takes_values, "takesValues", 'b'),
                              FIELD(mankai_info, can_grow, "canGrow", 'b'),
                              FIELD(mankai_info, canonical_version, "canonicalVersion", 'v'),
                              FIELD(mankai_info, hash, "hash", 's')};
FACTS(info_of, mankai_info, mankai_get_info, kInfo)

static const Field kEstimates[] = {FIELD(mankai_estimates, fill_ratio, "fillRatio", 'd'),
                                   FIELD(mankai_estimates, fpr_estimate, "fpr", 'd'),
                                   FIELD(mankai_estimates, keys_estimate, "keys", 'd')};
FACTS(estimate, mankai_estimates, mankai_estimate, kEstimates)

static const Field kRecovery[] = {FIELD(mankai_recovery_report, records_replayed, "recordsReplayed", 'u'),
                                  FIELD(mankai_recovery_report, changes_replayed, "changesReplayed", 'u'),
                                  FIELD(mankai_recovery_report, bytes_dropped, "bytesDropped", 'u'),
                                  FIELD(mankai_recovery_report, sequence, "sequence", 'u'),
                                  FIELD(mankai_recovery_report, reason, "reason", 's'),
                                  FIELD(mankai_recovery_report, was_closed, "wasClosed", 'b')};
FACTS(recovery, mankai_recovery_report, mankai_recovery, kRecovery)

/* ---- Kinds ---- */

static napi_value kinds(napi_env env, napi_callback_info info) {
  (void)info;
  char* json = NULL;
  const int code = mankai_kinds(&json);
  return code == MANKAI_OK ? mankai_take_text(env, json) : mankai_throw(env, code);
}

/* plan(keys, fpr, image_bytes) */
static napi_value plan(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  char* json = NULL;
  const uint64_t keys = mankai_next_count(&arguments);
  const double fpr = mankai_next_number(&arguments);
  const uint64_t image_bytes = mankai_next_count(&arguments);
  if (arguments.failed) {
    return NULL;
  }
  const int code = mankai_plan(keys, fpr, image_bytes, &json);
  return code == MANKAI_OK ? mankai_take_text(env, json) : mankai_throw(env, code);
}

bool mankai_add_filter(napi_env env, napi_value exports) {
  static const Function functions[] = {{"close", mankai_close_handle, NULL},
                                       {"isClosed", mankai_is_closed, NULL},
                                       {"filterCreate", create, NULL},
                                       {"filterCreateFile", create_file, NULL},
                                       {"filterOpenFile", open_file, NULL},
                                       {"filterFromBytes", from_bytes, NULL},
                                       {"filterToBytes", to_bytes, NULL},
                                       {"filterSave", mankai_save, run_save},
                                       {"filterCopy", copy, NULL},
                                       {"filterHas", has, NULL},
                                       {"filterAdd", add, NULL},
                                       {"filterObserve", observe, NULL},
                                       {"filterRemove", remove_one, NULL},
                                       {"filterCount", count_of, NULL},
                                       {"filterLately", lately, NULL},
                                       {"filterPut", put, NULL},
                                       {"filterRecall", recall, NULL},
                                       {"filterHasMany", mankai_many, has_many},
                                       {"filterObserveMany", mankai_many, observe_many},
                                       {"filterRemoveMany", mankai_many, erase_many},
                                       {"filterAddMany", add_many, NULL},
                                       {"filterRemoveWithIds", erase_with_ids, NULL},
                                       {"filterCounts", counts, NULL},
                                       {"filterSync", mankai_whole, run_sync},
                                       {"filterCheckpoint", mankai_whole, run_checkpoint},
                                       {"filterClear", mankai_whole, run_clear},
                                       {"filterBegin", mankai_whole, run_begin},
                                       {"filterRefresh", mankai_whole_flag, run_refresh},
                                       {"filterAdvance", advance, NULL},
                                       {"filterMerge", merge, NULL},
                                       {"filterCommit", filter_commit, NULL},
                                       {"filterPosition", filter_position, NULL},
                                       {"filterSequence", sequence, NULL},
                                       {"filterSpec", spec, NULL},
                                       {"filterTop", top, NULL},
                                       {"filterInfo", info_of, NULL},
                                       {"filterEstimate", estimate, NULL},
                                       {"filterRecovery", recovery, NULL},
                                       {"verify", verify, NULL},
                                       {"kinds", kinds, NULL},
                                       {"plan", plan, NULL}};
  return mankai_add_functions(env, exports, functions, COUNT_OF(functions));
}
