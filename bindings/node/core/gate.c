/* Functions of Gate and GateFollower. */
#include "core.h"

static int close_gate(void* pointer) { return mankai_gate_close(pointer); }
static int close_follower(void* pointer) { return mankai_gate_follower_close(pointer); }

/* ---- What both share ---- */

static const Field kCounts[] = {FIELD(mankai_gate_counts, asked, "asked", 'u'),
                                FIELD(mankai_gate_counts, empty, "empty", 'u'),
                                FIELD(mankai_gate_counts, maybe, "maybe", 'u'),
                                FIELD(mankai_gate_counts, memo_hits, "memoHits", 'u'),
                                FIELD(mankai_gate_counts, waiting, "waiting", 'u'),
                                FIELD(mankai_gate_counts, false_positives, "falsePositives", 'u'),
                                FIELD(mankai_gate_counts, late_reports, "lateReports", 'u')};
static const Field kFacts[] = {FIELD(mankai_gate_facts, keys, "keys", 'u'),
                               FIELD(mankai_gate_facts, capacity_keys, "capacityKeys", 'u'),
                               FIELD(mankai_gate_facts, saturation, "saturation", 'd'),
                               FIELD(mankai_gate_facts, fpr_target, "fprTarget", 'd'),
                               FIELD(mankai_gate_facts, fpr_estimate, "fprEstimate", 'd'),
                               FIELD(mankai_gate_facts, stuck_cells, "stuckCells", 'u'),
                               FIELD(mankai_gate_facts, image_bytes, "imageBytes", 'u'),
                               FIELD(mankai_gate_facts, missed_erasures, "missedErasures", 'u')};

static napi_value position_of(napi_env env, uint64_t position, bool has_position) {
  napi_value value = NULL;
  if (!has_position) {
    return mankai_null(env);
  }
  napi_create_bigint_uint64(env, position, &value);
  return value;
}

/* maybe(handle, key, after): null if there is no row, else the state for report(handle, key, state). */
#define QUERIES(name)                                                                              \
  static napi_value name##_maybe(napi_env env, napi_callback_info info) {                          \
    Arguments all = mankai_arguments(env, info);                                                   \
    all.next = 2;                                                                                  \
    const uint64_t after = mankai_next_count(&all);                                                \
    mankai_gate_answer answer = {0, true};                                                         \
    if (all.failed) {                                                                              \
      return NULL;                                                                                 \
    }                                                                                              \
    ONE_KEY(env, info, 2, mankai_##name##_maybe(pointer, key.data, key.bytes, after, &answer))     \
    return position_of(env, answer.state, answer.is_maybe);                                        \
  }                                                                                                \
  static napi_value name##_report(napi_env env, napi_callback_info info) {                         \
    Arguments all = mankai_arguments(env, info);                                                   \
    all.next = 2;                                                                                  \
    const mankai_gate_answer answer = {mankai_next_count(&all), true};                             \
    if (all.failed) {                                                                              \
      return NULL;                                                                                 \
    }                                                                                              \
    ONE_KEY(env, info, 2, mankai_##name##_report(pointer, key.data, key.bytes, &answer))           \
    return NULL;                                                                                   \
  }                                                                                                \
  static napi_value name##_position(napi_env env, napi_callback_info info) {                       \
    Arguments arguments = mankai_arguments(env, info);                                             \
    const Handle* handle = mankai_next_handle(&arguments);                                         \
    uint64_t position = 0;                                                                         \
    bool has_position = false;                                                                     \
    if (handle == NULL) {                                                                          \
      return NULL;                                                                                 \
    }                                                                                              \
    const int code = mankai_##name##_position(handle->pointer, &position, &has_position);          \
    return code == MANKAI_OK ? position_of(env, position, has_position) : mankai_throw(env, code); \
  }                                                                                                \
  FACTS(name##_counts, mankai_gate_counts, mankai_##name##_get_counts, kCounts)                    \
  FACTS(name##_facts, mankai_gate_facts, mankai_##name##_get_facts, kFacts)
QUERIES(gate)
QUERIES(gate_follower)

static void options_of(Arguments* arguments, mankai_gate_options* options) {
  options->size = sizeof *options;
  options->memo_bytes = mankai_next_count(arguments);
  options->ignores_reports = mankai_next_bool(arguments) ? 1U : 0U;
}

/* ---- Gate ---- */

/* gateCreate(hash, seed, source_id, keys, fpr, memo_bytes, ignores_reports) */
static napi_value gate_create(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  char* texts[3];
  mankai_gate_request request = {.size = sizeof request};
  mankai_gate_options options = {0};
  mankai_gate* gate = NULL;
  napi_value made = NULL;
  for (int i = 0; i < 3; ++i) {
    texts[i] = mankai_next_text(&arguments);
  }
  request.hash = texts[0];
  request.seed = texts[1];
  request.source_id = texts[2];
  request.keys = mankai_next_count(&arguments);
  request.fpr = mankai_next_number(&arguments);
  options_of(&arguments, &options);
  if (!arguments.failed) {
    const int code = mankai_gate_create(&request, &options, &gate);
    made = code == MANKAI_OK ? mankai_new_handle(env, gate, close_gate, request.keys) : mankai_throw(env, code);
  }
  for (int i = 0; i < 3; ++i) {
    free(texts[i]);
  }
  return made;
}

static int run_gate_open(Work* work) {
  return mankai_gate_open(work->texts[0], &work->request.gate, &work->options, (mankai_gate**)&work->made);
}

static napi_value finish_gate(napi_env env, Work* work) { return mankai_new_handle(env, work->made, close_gate, 0); }

/* gateOpen(is_async, path, memo_bytes, ignores_reports, durability, interval) */
static napi_value gate_open(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_gate_open, finish_gate);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  options_of(&arguments, &work->request.gate);
  work->options = mankai_next_options(&arguments);
  return mankai_start(&arguments, work, NULL, is_async);
}

static int run_gate_save(Work* work) { return mankai_gate_save_file(work->pointer, work->texts[0], &work->options); }
static int run_gate_sync(Work* work) { return mankai_gate_sync(work->pointer); }

/* gateApply(handle, inserted, removed, position, clears, mark) */
static napi_value gate_apply(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  napi_value external = mankai_next(&arguments);
  Keys inserted = {0};
  Keys erased = {0};
  mankai_gate_changes changes = {.size = sizeof changes};
  arguments.failed = !mankai_keys_of(env, mankai_next(&arguments), &inserted) || !mankai_each_key(env, &inserted) ||
                     !mankai_keys_of(env, mankai_next(&arguments), &erased) || !mankai_each_key(env, &erased);
  const uint64_t position = mankai_next_count(&arguments);
  changes.clears = mankai_next_bool(&arguments) ? 1U : 0U;
  char* mark = mankai_next_text(&arguments);
  const Handle* handle = arguments.failed ? NULL : handle_of(env, external);
  if (handle != NULL) {
    changes.inserted = inserted.each;
    changes.inserted_count = inserted.packed.count;
    changes.erased = erased.each;
    changes.erased_count = erased.packed.count;
    changes.mark = mark;
    const int code = mankai_gate_apply(handle->pointer, &changes, position);
    if (code != MANKAI_OK) {
      mankai_throw(env, code);
    }
  }
  free(mark);
  mankai_release_keys(&inserted);
  mankai_release_keys(&erased);
  return NULL;
}

static int release_hold(void* pointer) { return mankai_gate_release(pointer); }

/* gateHold(handle, key): a handle, which close() releases. */
static napi_value gate_hold(napi_env env, napi_callback_info info) {
  mankai_gate_hold* hold = NULL;
  ONE_KEY(env, info, 2, mankai_gate_hold_key(pointer, key.data, key.bytes, &hold))
  return mankai_new_handle(env, hold, release_hold, 0);
}

static napi_value gate_source(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  mankai_texts* texts = NULL;
  if (handle == NULL) {
    return NULL;
  }
  const int code = mankai_gate_source(handle->pointer, &texts);
  return code == MANKAI_OK ? mankai_take_texts(env, texts) : mankai_throw(env, code);
}

/* ---- GateFollower ---- */

static int run_follower_open(Work* work) {
  return mankai_gate_follower_open(work->texts[0], &work->request.gate, (mankai_gate_follower**)&work->made);
}

static napi_value finish_follower(napi_env env, Work* work) {
  return mankai_new_handle(env, work->made, close_follower, 0);
}

/* followerOpen(is_async, path, memo_bytes, ignores_reports) */
static napi_value follower_open(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_follower_open, finish_follower);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  options_of(&arguments, &work->request.gate);
  return mankai_start(&arguments, work, NULL, is_async);
}

static int run_follower_refresh(Work* work) { return mankai_gate_follower_refresh(work->pointer, &work->flag); }

bool mankai_add_gate(napi_env env, napi_value exports) {
  static const Function functions[] = {{"gateCreate", gate_create, NULL},
                                       {"gateOpen", gate_open, NULL},
                                       {"gateSave", mankai_save, run_gate_save},
                                       {"gateApply", gate_apply, NULL},
                                       {"gateHold", gate_hold, NULL},
                                       {"gateSource", gate_source, NULL},
                                       {"gateSync", mankai_whole, run_gate_sync},
                                       {"gateMaybe", gate_maybe, NULL},
                                       {"gateReport", gate_report, NULL},
                                       {"gatePosition", gate_position, NULL},
                                       {"gateCounts", gate_counts, NULL},
                                       {"gateFacts", gate_facts, NULL},
                                       {"followerOpen", follower_open, NULL},
                                       {"followerRefresh", mankai_whole_flag, run_follower_refresh},
                                       {"followerMaybe", gate_follower_maybe, NULL},
                                       {"followerReport", gate_follower_report, NULL},
                                       {"followerPosition", gate_follower_position, NULL},
                                       {"followerCounts", gate_follower_counts, NULL},
                                       {"followerFacts", gate_follower_facts, NULL}};
  return mankai_add_functions(env, exports, functions, COUNT_OF(functions));
}
