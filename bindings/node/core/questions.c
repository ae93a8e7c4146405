/* Functions of Seen, ConfirmedSeen and Hot. */
#include "core.h"

/* Functions that Seen and Hot share. */
#define BATCHES(name)                                                                        \
  static int close_##name(void* pointer) { return mankai_##name##_close(pointer); }          \
  static int run_##name##_begin(Work* work) { return mankai_##name##_begin(work->pointer); } \
  static int run_##name##_sync(Work* work) { return mankai_##name##_sync(work->pointer); }   \
  COMMIT_AND_POSITION(name, mankai_##name##_commit, mankai_##name##_position)
BATCHES(seen)
BATCHES(hot)

/* ---- Seen ---- */

static int run_seen_open(Work* work) {
  mankai_seen_request* request = &work->request.seen;
  request->kind = work->texts[1];
  request->hash = work->texts[2];
  request->seed = work->texts[3];
  return mankai_seen_open(work->texts[0], request, &work->options, (mankai_seen**)&work->made);
}

static napi_value finish_seen(napi_env env, Work* work) {
  mankai_seen_facts facts = {.size = sizeof facts};
  const bool is_in_memory = mankai_seen_get_facts(work->made, &facts) == MANKAI_OK && !facts.is_in_file;
  return mankai_new_handle(env, work->made, close_seen, is_in_memory ? facts.image_bytes : 0);
}

/* seenOpen(is_async, path, kind, hash, seed, keys, fpr, window, canonical, durability, interval, sharing) */
static napi_value seen_open(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_seen_open, finish_seen);
  if (work == NULL) {
    return NULL;
  }
  for (int i = 0; i < 4; ++i) {
    work->texts[i] = mankai_next_text(&arguments);
  }
  mankai_seen_request* request = &work->request.seen;
  request->size = sizeof *request;
  request->keys = mankai_next_count(&arguments);
  request->fpr = mankai_next_number(&arguments);
  request->window_us = (uint64_t)mankai_microseconds(mankai_next_number(&arguments));
  request->canonical = (uint32_t)mankai_next_count(&arguments);
  work->options = mankai_next_options(&arguments);
  work->options.sharing = (uint32_t)mankai_next_count(&arguments);
  if (work->options.sharing != MANKAI_SHARING_ONE_WRITER) {
    work->options.checkpoint_interval_us = work->options.interval_us; /* there is no journal to synchronize */
  }
  return mankai_start(&arguments, work, NULL, is_async);
}

BOOL_OF_KEY(seen_has, mankai_seen_may_contain_one)
BOOL_OF_KEY(seen_observe, mankai_seen_observe_one)

/* Reads the third argument of (handle, key, time). */
static bool third_is_time(napi_env env, napi_callback_info info, int64_t* time_us) {
  Arguments arguments = mankai_arguments(env, info);
  arguments.next = 2;
  *time_us = mankai_microseconds(mankai_next_number(&arguments));
  return !arguments.failed;
}

/* seenObserveAt(handle, key, time) */
static napi_value seen_observe_at(napi_env env, napi_callback_info info) {
  bool is_repeat = false;
  int64_t time_us = 0;
  if (!third_is_time(env, info, &time_us)) {
    return NULL;
  }
  ONE_KEY(env, info, 2, mankai_seen_observe_one_at(pointer, key.data, key.bytes, time_us, &is_repeat))
  return mankai_bool(env, is_repeat);
}

static int seen_observe_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  return mankai_seen_observe_packed(pointer, keys, times, results);
}

static int seen_has_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)times;
  return mankai_seen_may_contain_packed(pointer, keys, results);
}

static int seen_forget_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)times;
  return mankai_seen_forget_packed(pointer, keys, results);
}

static const Field kSeen[] = {FIELD(mankai_seen_facts, kind, "kind", 's'),
                              FIELD(mankai_seen_facts, keys_inserted, "keysInserted", 'u'),
                              FIELD(mankai_seen_facts, capacity_keys, "capacityKeys", 'u'),
                              FIELD(mankai_seen_facts, image_bytes, "imageBytes", 'u'),
                              FIELD(mankai_seen_facts, fpr_target, "fprTarget", 'd'),
                              FIELD(mankai_seen_facts, window_us, "window", 't'),
                              FIELD(mankai_seen_facts, forgets_after_us, "forgetsAfter", 't'),
                              FIELD(mankai_seen_facts, time_us, "time", 't'),
                              FIELD(mankai_seen_facts, sequence, "sequence", 'u'),
                              FIELD(mankai_seen_facts, durable_sequence, "durableSequence", 'u'),
                              FIELD(mankai_seen_facts, is_in_file, "isInFile", 'b'),
                              FIELD(mankai_seen_facts, is_over_capacity, "isOverCapacity", 'b'),
                              FIELD(mankai_seen_facts, is_overfull, "isOverfull", 'b')};
FACTS(seen_facts, mankai_seen_facts, mankai_seen_get_facts, kSeen)

/* ---- ConfirmedSeen ---- */

static int close_confirmed(void* pointer) { return mankai_confirmed_close(pointer); }

static int run_confirmed_open(Work* work) {
  mankai_confirmed_request* request = &work->request.confirmed;
  request->hash = work->texts[1];
  request->seed = work->texts[2];
  return mankai_confirmed_open(work->texts[0], request, (mankai_confirmed**)&work->made);
}

static napi_value finish_confirmed(napi_env env, Work* work) {
  return mankai_new_handle(env, work->made, close_confirmed, 0);
}

/* confirmedOpen(is_async, path, hash, seed, keys, fpr, canonical) */
static napi_value confirmed_open(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_confirmed_open, finish_confirmed);
  if (work == NULL) {
    return NULL;
  }
  for (int i = 0; i < 3; ++i) {
    work->texts[i] = mankai_next_text(&arguments);
  }
  mankai_confirmed_request* request = &work->request.confirmed;
  request->size = sizeof *request;
  request->keys = mankai_next_count(&arguments);
  request->fpr = mankai_next_number(&arguments);
  request->canonical = (uint32_t)mankai_next_count(&arguments);
  return mankai_start(&arguments, work, NULL, is_async);
}

static napi_value confirmed_observe(napi_env env, napi_callback_info info) {
  mankai_confirmed_answer answer = 0;
  ONE_KEY(env, info, 2, mankai_confirmed_observe_one(pointer, key.data, key.bytes, &answer))
  return mankai_bool(env, answer == MANKAI_CONFIRMED_REPEAT);
}

static int confirmed_observe_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)times;
  return mankai_confirmed_observe_packed(pointer, keys, results);
}

static int run_confirmed_commit(Work* work) { return mankai_confirmed_commit(work->pointer); }
static int run_confirmed_sync(Work* work) { return mankai_confirmed_sync(work->pointer); }

static const Field kConfirmed[] = {FIELD(mankai_confirmed_facts, keys, "keys", 'u'),
                                   FIELD(mankai_confirmed_facts, file_bytes, "fileBytes", 'u'),
                                   FIELD(mankai_confirmed_facts, memory_bytes, "memoryBytes", 'u'),
                                   FIELD(mankai_confirmed_facts, dropped_bytes, "droppedBytes", 'u')};
FACTS(confirmed_facts, mankai_confirmed_facts, mankai_confirmed_get_facts, kConfirmed)

/* ---- Hot ---- */

static int run_hot_open(Work* work) {
  mankai_hot_request* request = &work->request.hot;
  request->hash = work->texts[1];
  request->seed = work->texts[2];
  return mankai_hot_open(work->texts[0], request, &work->options, (mankai_hot**)&work->made);
}

static napi_value finish_hot(napi_env env, Work* work) {
  mankai_hot_facts facts = {.size = sizeof facts};
  const bool is_in_memory = mankai_hot_get_facts(work->made, &facts) == MANKAI_OK && !facts.is_in_file;
  return mankai_new_handle(env, work->made, close_hot, is_in_memory ? facts.image_bytes : 0);
}

/* hotOpen(is_async, path, hash, seed, half_life, epoch, window, memory, late_tolerance, rounding, durability, interval)
 */
static napi_value hot_open(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_hot_open, finish_hot);
  if (work == NULL) {
    return NULL;
  }
  for (int i = 0; i < 3; ++i) {
    work->texts[i] = mankai_next_text(&arguments);
  }
  mankai_hot_request* request = &work->request.hot;
  request->size = sizeof *request;
  request->half_life_us = (uint64_t)mankai_microseconds(mankai_next_number(&arguments));
  request->epoch_us = (uint64_t)mankai_microseconds(mankai_next_number(&arguments));
  request->window_us = (uint64_t)mankai_microseconds(mankai_next_number(&arguments));
  request->memory_bytes = mankai_next_count(&arguments);
  request->late_tolerance_us = (uint64_t)mankai_microseconds(mankai_next_number(&arguments));
  request->rounding = (uint32_t)mankai_next_count(&arguments);
  work->options = mankai_next_options(&arguments);
  return mankai_start(&arguments, work, NULL, is_async);
}

/* hotObserve(handle, key, time) */
static napi_value hot_observe(napi_env env, napi_callback_info info) {
  int64_t time_us = 0;
  if (!third_is_time(env, info, &time_us)) {
    return NULL;
  }
  ONE_KEY(env, info, 2, mankai_hot_observe_one(pointer, key.data, key.bytes, time_us))
  return NULL;
}

static int hot_observe_many(void* pointer, const mankai_packed* keys, const int64_t* times, void* results) {
  (void)results;
  return mankai_hot_observe_packed(pointer, keys, times);
}

static napi_value hot_count(napi_env env, napi_callback_info info) {
  mankai_lately count = {0};
  ONE_KEY(env, info, 2, mankai_hot_count_one(pointer, key.data, key.bytes, &count))
  return mankai_number(env, count.raw);
}

HOTTEST(hot_top, uint64_t, mankai_next_count, mankai_hot_top)
HOTTEST(hot_above, double, mankai_next_number, mankai_hot_above)

/* hotAdvance(handle, time), hotAcceptUntil(handle, time) */
static napi_value hot_time(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  const double time = handle != NULL ? mankai_next_number(&arguments) : 0;
  if (arguments.failed) {
    return NULL;
  }
  int (*set)(mankai_hot*, int64_t) = (int (*)(mankai_hot*, int64_t))arguments.data;
  const int code = set(handle->pointer, mankai_microseconds(time));
  return code == MANKAI_OK ? NULL : mankai_throw(env, code);
}

static const Field kHot[] = {FIELD(mankai_hot_facts, records, "records", 'u'),
                             FIELD(mankai_hot_facts, late_records, "lateRecords", 'u'),
                             FIELD(mankai_hot_facts, records_beyond_tolerance, "recordsBeyondTolerance", 'u'),
                             FIELD(mankai_hot_facts, records_in_future, "recordsInFuture", 'u'),
                             FIELD(mankai_hot_facts, now_us, "now", 't'),
                             FIELD(mankai_hot_facts, newest_us, "newest", 't'),
                             FIELD(mankai_hot_facts, epoch_us, "epoch", 't'),
                             FIELD(mankai_hot_facts, window_us, "window", 't'),
                             FIELD(mankai_hot_facts, half_life_us, "halfLife", 'm'),
                             FIELD(mankai_hot_facts, image_bytes, "imageBytes", 'u'),
                             FIELD(mankai_hot_facts, sequence, "sequence", 'u'),
                             FIELD(mankai_hot_facts, durable_sequence, "durableSequence", 'u'),
                             FIELD(mankai_hot_facts, is_in_file, "isInFile", 'b'),
                             FIELD(mankai_hot_facts, is_balanced, "isBalanced", 'b')};
FACTS(hot_facts, mankai_hot_facts, mankai_hot_get_facts, kHot)

bool mankai_add_questions(napi_env env, napi_value exports) {
  static const Function functions[] = {{"seenOpen", seen_open, NULL},
                                       {"seenHas", seen_has, NULL},
                                       {"seenObserve", seen_observe, NULL},
                                       {"seenObserveAt", seen_observe_at, NULL},
                                       {"seenObserveMany", mankai_many, seen_observe_many},
                                       {"seenHasMany", mankai_many, seen_has_many},
                                       {"seenForgetMany", mankai_many, seen_forget_many},
                                       {"seenBegin", mankai_whole, run_seen_begin},
                                       {"seenCommit", seen_commit, NULL},
                                       {"seenPosition", seen_position, NULL},
                                       {"seenSync", mankai_whole, run_seen_sync},
                                       {"seenFacts", seen_facts, NULL},
                                       {"confirmedOpen", confirmed_open, NULL},
                                       {"confirmedObserve", confirmed_observe, NULL},
                                       {"confirmedObserveMany", mankai_many, confirmed_observe_many},
                                       {"confirmedCommit", mankai_whole, run_confirmed_commit},
                                       {"confirmedSync", mankai_whole, run_confirmed_sync},
                                       {"confirmedFacts", confirmed_facts, NULL},
                                       {"hotOpen", hot_open, NULL},
                                       {"hotObserve", hot_observe, NULL},
                                       {"hotObserveMany", mankai_many, hot_observe_many},
                                       {"hotCount", hot_count, NULL},
                                       {"hotTop", hot_top, NULL},
                                       {"hotAbove", hot_above, NULL},
                                       {"hotAdvance", hot_time, mankai_hot_advance},
                                       {"hotAcceptUntil", hot_time, mankai_hot_accept_until},
                                       {"hotBegin", mankai_whole, run_hot_begin},
                                       {"hotCommit", hot_commit, NULL},
                                       {"hotPosition", hot_position, NULL},
                                       {"hotSync", mankai_whole, run_hot_sync},
                                       {"hotFacts", hot_facts, NULL}};
  return mankai_add_functions(env, exports, functions, COUNT_OF(functions));
}
