/* Functions of Guard, and of the builder behind Guard.build. */
#include "core.h"

static int close_guard(void* pointer) { return mankai_guard_close(pointer); }
static int close_builder(void* pointer) { return mankai_guard_builder_close(pointer); }

static napi_value new_guard(napi_env env, mankai_guard* guard, bool is_in_memory) {
  mankai_guard_facts facts = {.size = sizeof facts};
  const bool has_facts = is_in_memory && mankai_guard_get_facts(guard, &facts) == MANKAI_OK;
  return mankai_new_handle(env, guard, close_guard, has_facts ? facts.memory_bytes : 0);
}

/* Reads (fpr, hash, seed, is_exact, keeps_rules); the texts are freed by the caller. */
static mankai_guard_settings settings_of(Arguments* arguments, char* texts[2]) {
  mankai_guard_settings settings = {.size = sizeof settings};
  settings.fpr = mankai_next_number(arguments);
  texts[0] = mankai_next_text(arguments);
  texts[1] = mankai_next_text(arguments);
  settings.hash = texts[0];
  settings.seed = texts[1];
  settings.is_exact = mankai_next_bool(arguments) ? 1U : 0U;
  settings.drops_rules = mankai_next_bool(arguments) ? 0U : 1U;
  return settings;
}

/* guardCreate(fpr, hash, seed, is_exact, keeps_rules), builderCreate(the same) */
static napi_value create(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool of_builder = arguments.data != NULL;
  char* texts[2];
  const mankai_guard_settings settings = settings_of(&arguments, texts);
  mankai_guard* guard = NULL;
  mankai_guard_builder* builder = NULL;
  napi_value made = NULL;
  if (!arguments.failed) {
    const int code =
        of_builder ? mankai_guard_builder_create(&settings, &builder) : mankai_guard_create(&settings, &guard);
    made = code != MANKAI_OK ? mankai_throw(env, code)
           : of_builder      ? mankai_new_handle(env, builder, close_builder, 0)
                             : new_guard(env, guard, true);
  }
  free(texts[0]);
  free(texts[1]);
  return made;
}

static int run_open(Work* work) {
  mankai_guard** guard = (mankai_guard**)&work->made;
  return work->flag ? mankai_guard_open(work->texts[0], guard) : mankai_guard_open_read(work->texts[0], guard);
}

static napi_value finish_open(napi_env env, Work* work) { return new_guard(env, work->made, false); }

/* guardOpen(is_async, path, is_writable) */
static napi_value open_file(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Work* work = mankai_new_work(env, run_open, finish_open);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  work->flag = mankai_next_bool(&arguments);
  return mankai_start(&arguments, work, NULL, is_async);
}

/* guardFromBytes(image) */
static napi_value from_bytes(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  Key image;
  mankai_guard* guard = NULL;
  if (!key_of(env, mankai_next(&arguments), &image)) {
    return NULL;
  }
  const int code = mankai_guard_from_bytes(image.data, image.bytes, &guard);
  release_key(&image);
  return code == MANKAI_OK ? new_guard(env, guard, true) : mankai_throw(env, code);
}

TO_BYTES(to_bytes, mankai_guard_to_bytes)

static int run_save(Work* work) { return mankai_guard_save_file(work->pointer, work->texts[0], &work->options); }

/* ---- Checks ---- */

/* guardCheck(handle, url): [answer, rule] */
static napi_value check(napi_env env, napi_callback_info info) {
  enum { kRoom = 1024 };
  char text[kRoom];
  char* rule = text;
  mankai_guard_answer answer = MANKAI_GUARD_OK;
  size_t bytes = 0;
  Key key;
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  if (handle == NULL || !key_of(env, mankai_next(&arguments), &key)) {
    return NULL;
  }
  int code = mankai_guard_check(handle->pointer, key.data, key.bytes, &answer, rule, kRoom, &bytes);
  if (code == MANKAI_OK && bytes > kRoom) {
    const size_t room = bytes;
    rule = malloc(room);
    code = rule != NULL ? mankai_guard_check(handle->pointer, key.data, key.bytes, &answer, rule, room, &bytes) : code;
    bytes = rule != NULL && bytes <= room ? bytes : 0;
  }
  release_key(&key);
  if (rule == NULL) {
    return mankai_throw_no_memory(env);
  }
  napi_value verdict = NULL;
  if (code != MANKAI_OK) {
    mankai_throw(env, code);
  } else {
    napi_create_array_with_length(env, 2, &verdict);
    napi_set_element(env, verdict, 0, mankai_number(env, answer));
    napi_set_element(env, verdict, 1, mankai_text(env, rule, bytes));
  }
  if (rule != text) {
    free(rule);
  }
  return verdict;
}

/* guardAnswer(handle, url): the number of the answer */
static napi_value answer_of(napi_env env, napi_callback_info info) {
  mankai_guard_answer answer = MANKAI_GUARD_OK;
  ONE_KEY(env, info, 2, mankai_guard_check(pointer, key.data, key.bytes, &answer, NULL, 0, NULL))
  napi_value number = NULL;
  napi_create_uint32(env, answer, &number);
  return number;
}

static int check_many(void* pointer, const mankai_packed* urls, const int64_t* times, void* results) {
  (void)times;
  return mankai_guard_check_packed(pointer, urls, results);
}

/* ---- Changes ---- */

static int run_change(Work* work) {
  const mankai_key* rules = work->keys.each;
  const size_t count = work->keys.packed.count;
  const uint64_t id = work->number;
  switch (work->which) {
    case 0: return mankai_guard_add(work->pointer, rules, count, id, &work->number);
    case 1: return mankai_guard_remove(work->pointer, rules, count, work->flag ? &id : NULL, &work->number);
    case 2: return mankai_guard_allow(work->pointer, rules, count, &work->number);
    default: return mankai_guard_disallow(work->pointer, rules, count, &work->number);
  }
}

static napi_value number_of(napi_env env, Work* work) { return mankai_number(env, (double)work->number); }

/* guardChange(is_async, handle, rules, which, has_id, id): the number of rules that were changed */
static napi_value change(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  napi_value external = mankai_next(&arguments);
  Work* work = arguments.failed ? NULL : mankai_new_work(env, run_change, number_of);
  if (work == NULL) {
    return NULL;
  }
  arguments.failed = !mankai_keys_of(env, mankai_next(&arguments), &work->keys) || !mankai_each_key(env, &work->keys);
  work->which = (unsigned)mankai_next_count(&arguments);
  work->flag = mankai_next_bool(&arguments);
  work->number = mankai_next_count(&arguments);
  Handle* handle = arguments.failed ? NULL : handle_of(env, external);
  arguments.failed = handle == NULL;
  return mankai_start(&arguments, work, handle, is_async);
}

static int run_compact(Work* work) { return mankai_guard_compact(work->pointer); }
static int run_refresh(Work* work) { return mankai_guard_refresh(work->pointer, &work->flag); }

static napi_value exceptions(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const Handle* handle = mankai_next_handle(&arguments);
  mankai_texts* texts = NULL;
  if (handle == NULL) {
    return NULL;
  }
  const int code = mankai_guard_exceptions(handle->pointer, &texts);
  return code == MANKAI_OK ? mankai_take_texts(env, texts) : mankai_throw(env, code);
}

static const Field kFacts[] = {FIELD(mankai_guard_facts, rules_in_force, "rulesInForce", 'u'),
                               FIELD(mankai_guard_facts, exceptions, "exceptions", 'u'),
                               FIELD(mankai_guard_facts, added_rules, "addedRules", 'u'),
                               FIELD(mankai_guard_facts, removed_rules, "removedRules", 'u'),
                               FIELD(mankai_guard_facts, memory_bytes, "memoryBytes", 'u'),
                               FIELD(mankai_guard_facts, bits_per_rule, "bitsPerRule", 'd'),
                               FIELD(mankai_guard_facts, fpr, "fpr", 'd'),
                               FIELD(mankai_guard_facts, fpr_worst, "fprWorst", 'd'),
                               FIELD(mankai_guard_facts, keeps_rules, "keepsRules", 'b'),
                               FIELD(mankai_guard_facts, is_exact, "isExact", 'b'),
                               FIELD(mankai_guard_facts, canonical_version, "canonicalVersion", 'v'),
                               FIELD(mankai_guard_facts, hash, "hash", 's')};
FACTS(facts_of, mankai_guard_facts, mankai_guard_get_facts, kFacts)

/* ---- Builder ---- */

static int run_add_list(Work* work) {
  mankai_list_options* options = &work->request.list;
  options->column = work->texts[1];
  if (work->texts[0] != NULL) {
    return mankai_guard_builder_add_file(work->pointer, work->texts[0], options);
  }
  return mankai_guard_builder_add_list(work->pointer, work->keys.data, work->number, options);
}

/* builderAddList(is_async, handle, path or null, column, format, is_allow_list, [text]) */
static napi_value add_list(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  napi_value external = mankai_next(&arguments);
  Work* work = arguments.failed ? NULL : mankai_new_work(env, run_add_list, NULL);
  if (work == NULL) {
    return NULL;
  }
  work->texts[0] = mankai_next_text(&arguments);
  work->texts[1] = mankai_next_text(&arguments);
  mankai_list_options* options = &work->request.list;
  options->size = sizeof *options;
  options->format = (uint32_t)mankai_next_count(&arguments);
  options->is_allow_list = mankai_next_bool(&arguments) ? 1U : 0U;
  /* The text is an array of one key, so that it is copied: a thread reads it. */
  if (!arguments.failed && work->texts[0] == NULL) {
    arguments.failed = !mankai_keys_of(env, mankai_next(&arguments), &work->keys);
    work->number = work->keys.packed.data_bytes;
  }
  Handle* handle = arguments.failed ? NULL : handle_of(env, external);
  arguments.failed = handle == NULL;
  return mankai_start(&arguments, work, handle, is_async);
}

static const Field kReport[] = {FIELD(mankai_guard_report, lines, "lines", 'u'),
                                FIELD(mankai_guard_report, rules, "rules", 'u'),
                                FIELD(mankai_guard_report, exceptions, "exceptions", 'u'),
                                FIELD(mankai_guard_report, without_rules, "withoutRules", 'u'),
                                FIELD(mankai_guard_report, skipped, "skipped", 'u'),
                                FIELD(mankai_guard_report, skipped_rules, "skippedRules", 'u'),
                                FIELD(mankai_guard_report, widened, "widened", 'u'),
                                FIELD(mankai_guard_report, narrowed, "narrowed", 'u'),
                                FIELD(mankai_guard_report, rules_in_force, "rulesInForce", 'u'),
                                FIELD(mankai_guard_report, skipped_reason, "skippedReason", 's')};
FACTS(report, mankai_guard_report, mankai_guard_builder_report, kReport)

static int run_build(Work* work) { return mankai_guard_builder_build(work->pointer, (mankai_guard**)&work->made); }

static napi_value finish_build(napi_env env, Work* work) { return new_guard(env, work->made, true); }

/* builderBuild(is_async, handle) */
static napi_value build(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  const bool is_async = mankai_next_bool(&arguments);
  Handle* handle = mankai_next_handle(&arguments);
  Work* work = handle != NULL ? mankai_new_work(env, run_build, finish_build) : NULL;
  return work != NULL ? mankai_start(&arguments, work, handle, is_async) : NULL;
}

bool mankai_add_guard(napi_env env, napi_value exports) {
  static const Function functions[] = {{"guardCreate", create, NULL},
                                       {"guardOpen", open_file, NULL},
                                       {"guardFromBytes", from_bytes, NULL},
                                       {"guardToBytes", to_bytes, NULL},
                                       {"guardSave", mankai_save, run_save},
                                       {"guardCheck", check, NULL},
                                       {"guardAnswer", answer_of, NULL},
                                       {"guardAnswers", mankai_many, check_many},
                                       {"guardChange", change, NULL},
                                       {"guardCompact", mankai_whole, run_compact},
                                       {"guardRefresh", mankai_whole_flag, run_refresh},
                                       {"guardExceptions", exceptions, NULL},
                                       {"guardFacts", facts_of, NULL},
                                       {"builderCreate", create, "builder"},
                                       {"builderAddList", add_list, NULL},
                                       {"builderReport", report, NULL},
                                       {"builderBuild", build, NULL}};
  return mankai_add_functions(env, exports, functions, COUNT_OF(functions));
}
