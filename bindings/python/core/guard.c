/* mankai._core.Guard and GuardBuilder. */
#include "core.h"

static int close_guard(void* pointer) { return mankai_guard_close(pointer); }
static int close_builder(void* pointer) { return mankai_guard_builder_close(pointer); }

static PyObject* wrap(PyObject* type, int code, mankai_guard* guard) {
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, guard, close_guard, false) : mankai_raise(code);
}

/* Reads the settings of a new guard: fpr, hash, seed, is_exact, keeps_rules. */
static bool settings_of(PyObject* arguments, mankai_guard_settings* settings) {
  int is_exact = 0;
  int keeps_rules = 1;
  if (!mankai_parse(arguments, "dzzpp", &settings->fpr, &settings->hash, &settings->seed, &is_exact, &keeps_rules)) {
    return false;
  }
  settings->size = sizeof *settings;
  settings->is_exact = is_exact != 0 ? 1U : 0U;
  settings->drops_rules = keeps_rules != 0 ? 0U : 1U;
  return true;
}

static PyObject* create(PyObject* type, PyObject* arguments) {
  mankai_guard_settings settings = {0};
  mankai_guard* guard = NULL;
  if (!settings_of(arguments, &settings)) {
    return NULL;
  }
  const int code = mankai_guard_create(&settings, &guard);
  return wrap(type, code, guard);
}

static PyObject* open_file(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  int is_writable = 0;
  mankai_guard* guard = NULL;
  if (!mankai_parse(arguments, "O&p", PyUnicode_FSConverter, &path, &is_writable)) {
    return NULL;
  }
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = is_writable != 0 ? mankai_guard_open(PyBytes_AsString(path), &guard)
                                                 : mankai_guard_open_read(PyBytes_AsString(path), &guard);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return wrap(type, code, guard);
}

static PyObject* from_bytes(PyObject* type, PyObject* arguments) {
  Py_buffer image;
  mankai_guard* guard = NULL;
  if (!mankai_parse(arguments, "y*", &image)) {
    return NULL;
  }
  const int code = mankai_guard_from_bytes(image.buf, (size_t)image.len, &guard);
  PyBuffer_Release(&image);
  return wrap(type, code, guard);
}

TO_BYTES(to_bytes, mankai_guard_to_bytes)
SAVE(save, mankai_guard_save_file)

/* Returns the number of the answer, and the rule, exception or reason. */
static PyObject* check(PyObject* self, PyObject* object) {
  enum { kRoom = 1024 };
  char text[kRoom];
  char* rule = text;
  mankai_guard_answer answer = MANKAI_GUARD_OK;
  size_t bytes = 0;
  Key key;
  mankai_guard* guard = pointer_and_key(self, object, &key);
  if (guard == NULL) {
    return NULL;
  }
  int code = mankai_guard_check(guard, key.data, key.bytes, &answer, rule, kRoom, &bytes);
  if (code == MANKAI_OK && bytes > kRoom) {
    const size_t room = bytes;
    rule = PyMem_Malloc(room);
    code = rule != NULL ? mankai_guard_check(guard, key.data, key.bytes, &answer, rule, room, &bytes) : code;
    bytes = rule != NULL && bytes <= room ? bytes : 0;
  }
  release_key(&key);
  if (rule == NULL) {
    return PyErr_NoMemory();
  }
  PyObject* verdict = NULL;
  if (code != MANKAI_OK) {
    mankai_raise(code);
  } else {
    PyObject* decoded = PyUnicode_DecodeUTF8(rule, (Py_ssize_t)bytes, "replace");
    verdict = decoded != NULL ? Py_BuildValue("(iN)", (int)answer, decoded) : NULL;
  }
  if (rule != text) {
    PyMem_Free(rule);
  }
  return verdict;
}

/* Returns the number of the answer only. */
static PyObject* answer_of(PyObject* self, PyObject* object) {
  mankai_guard_answer answer = MANKAI_GUARD_OK;
  ONE_KEY(self, object, mankai_guard_check(pointer, key.data, key.bytes, &answer, NULL, 0, NULL))
  return PyLong_FromLong(answer);
}

static int contains(PyObject* self, PyObject* object) {
  mankai_guard_answer answer = MANKAI_GUARD_OK;
  ASK_KEY(self, object, mankai_guard_check(pointer, key.data, key.bytes, &answer, NULL, 0, NULL))
  return answer == MANKAI_GUARD_BLOCKED || answer == MANKAI_GUARD_INVALID;
}

static PyObject* blocked_alone(PyObject* self, PyObject* object) {
  const int outcome = contains(self, object);
  return outcome >= 0 ? PyBool_FromLong(outcome) : NULL;
}

static PyObject* blocked(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_with_options(self, arguments, count, options, blocked_alone, "_blocked");
}

static int check_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_guard_check_many(many->pointer, keys, count, (mankai_guard_answer*)many->results + first);
}

static int check_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_guard_check_packed(many->pointer, keys, (mankai_guard_answer*)many->results + first);
}

/* Returns a bytearray with the number of an answer per URL. */
static PyObject* answers_of(PyObject* self, PyObject* urls) {
  Many many = {.pointer = pointer_of(self), .keys = check_keys, .packed = check_packed, .result_bytes = 1};
  return many.pointer != NULL ? mankai_many(self, &many, urls, NULL, NULL, NULL) : NULL;
}

/* ---- Changes ---- */

typedef struct Change {
  uint64_t id;
  bool has_id;
  int which; /* 0 add, 1 remove, 2 allow, 3 disallow */
  uint64_t changed;
} Change;

static int change_keys(Many* many, const mankai_key* rules, size_t first, size_t count) {
  (void)first;
  Change* change = (Change*)(void*)many->results;
  switch (change->which) {
    case 0: return mankai_guard_add(many->pointer, rules, count, change->id, &change->changed);
    case 1:
      return mankai_guard_remove(many->pointer, rules, count, change->has_id ? &change->id : NULL, &change->changed);
    case 2: return mankai_guard_allow(many->pointer, rules, count, &change->changed);
    default: return mankai_guard_disallow(many->pointer, rules, count, &change->changed);
  }
}

/* change(which, rules, id): returns how many rules were changed. */
static PyObject* change(PyObject* self, PyObject* arguments) {
  PyObject* rules = NULL;
  PyObject* id = Py_None;
  Change made = {0};
  Many many = {.pointer = pointer_of(self), .keys = change_keys, .results = (char*)&made, .waits = true};
  if (many.pointer == NULL || !mankai_parse(arguments, "iO!O", &made.which, &PyList_Type, &rules, &id)) {
    return NULL;
  }
  if (id != Py_None) {
    made.has_id = true;
    unsigned long long number = 0;
    if (!mankai_uint64(id, &number)) {
      return NULL;
    }
    made.id = number;
  }
  PyObject* none = mankai_many(self, &many, rules, NULL, NULL, NULL);
  Py_XDECREF(none);
  return none != NULL ? PyLong_FromUnsignedLongLong(made.changed) : NULL;
}

WHOLE(compact, mankai_guard_compact(pointer))

REFRESH(refresh, mankai_guard_refresh)

static PyObject* facts(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_guard_facts f = {.size = sizeof f};
  mankai_guard* guard = pointer_of(self);
  if (guard == NULL) {
    return NULL;
  }
  const int code = mankai_guard_get_facts(guard, &f);
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return Py_BuildValue("{sK sK sK sK sK sd sd sd sO sO sI ss}", "rules_in_force", (unsigned long long)f.rules_in_force,
                       "exceptions", (unsigned long long)f.exceptions, "added_rules", (unsigned long long)f.added_rules,
                       "removed_rules", (unsigned long long)f.removed_rules, "memory_bytes",
                       (unsigned long long)f.memory_bytes, "bits_per_rule", f.bits_per_rule, "fpr", f.fpr, "fpr_worst",
                       f.fpr_worst, "keeps_rules", FLAG(f.keeps_rules), "is_exact", FLAG(f.is_exact),
                       "canonical_version", f.canonical_version, "hash", f.hash);
}

static PyObject* exceptions(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_texts* texts = NULL;
  mankai_guard* guard = pointer_of(self);
  if (guard == NULL) {
    return NULL;
  }
  const int code = mankai_guard_exceptions(guard, &texts);
  return code == MANKAI_OK ? mankai_take_texts(texts) : mankai_raise(code);
}

static PyMethodDef methods[] = {
    {"_create", create, METH_VARARGS | METH_CLASS, NULL},
    {"_open_file", open_file, METH_VARARGS | METH_CLASS, NULL},
    {"_from_bytes", from_bytes, METH_VARARGS | METH_CLASS, NULL},
    {"to_bytes", to_bytes, METH_NOARGS, "to_bytes($self, /)\n--\n\nReturns the content of a guard's file."},
    {"_save", save, METH_VARARGS, NULL},
    {"_check", check, METH_O, NULL},
    {"blocked", METHOD(blocked), METH_FASTCALL | METH_KEYWORDS,
     "blocked($self, url, /, *, invalid=True)\n--\n\n"
     "Returns whether a URL is blocked; `invalid` is the answer for a text that is not a URL with a host."},
    {"_answer", answer_of, METH_O, NULL},
    {"_answers", answers_of, METH_O, NULL},
    {"_change", change, METH_VARARGS, NULL},
    {"compact", compact, METH_NOARGS,
     "compact($self, /)\n--\n\nMoves added rules to the static base; only false positives change."},
    {"refresh", refresh, METH_NOARGS,
     "refresh($self, /)\n--\n\nReads a file that was opened with mode \"r\" again if it was replaced. Returns whether "
     "it was."},
    {"_facts", facts, METH_NOARGS, NULL},
    {"_exceptions", exceptions, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_sq_contains, contains},
                              {Py_tp_doc, "The part of mankai.Guard that is in C."},
                              {0, NULL}};

/* ---- Builder ---- */

static PyObject* builder_create(PyObject* type, PyObject* arguments) {
  mankai_guard_settings settings = {0};
  mankai_guard_builder* builder = NULL;
  if (!settings_of(arguments, &settings)) {
    return NULL;
  }
  const int code = mankai_guard_builder_create(&settings, &builder);
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, builder, close_builder, false) : mankai_raise(code);
}

/* add(rule, is_exception) */
static PyObject* builder_add(PyObject* self, PyObject* arguments) {
  PyObject* object = NULL;
  int is_exception = 0;
  if (!mankai_parse(arguments, "Op", &object, &is_exception)) {
    return NULL;
  }
  ONE_KEY(self, object,
          is_exception != 0 ? mankai_guard_builder_allow(pointer, key.data, key.bytes)
                            : mankai_guard_builder_add(pointer, key.data, key.bytes))
  Py_RETURN_NONE;
}

/* add_list(text or None, path or None, format, is_allow_list, column) */
static PyObject* builder_add_list(PyObject* self, PyObject* arguments) {
  const char* text = NULL;
  Py_ssize_t bytes = 0;
  PyObject* path = NULL;
  int is_allow_list = 0;
  mankai_list_options options = {.size = sizeof options};
  if (!mankai_parse(arguments, "z#O&Ipz", &text, &bytes, mankai_path_or_none, &path, &options.format, &is_allow_list,
                    &options.column)) {
    return NULL;
  }
  mankai_guard_builder* builder = pointer_of(self);
  if (builder == NULL) {
    Py_XDECREF(path);
    return NULL;
  }
  options.is_allow_list = is_allow_list != 0 ? 1U : 0U;
  int code = MANKAI_OK;
  BEGIN_WAITING(self)
  code = path != NULL ? mankai_guard_builder_add_file(builder, PyBytes_AsString(path), &options)
                      : mankai_guard_builder_add_list(builder, text, (size_t)bytes, &options);
  END_WAITING(self)
  Py_XDECREF(path);
  return none_or_raise(code);
}

static PyObject* builder_report(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_guard_report r = {.size = sizeof r};
  mankai_guard_builder* builder = pointer_of(self);
  if (builder == NULL) {
    return NULL;
  }
  const int code = mankai_guard_builder_report(builder, &r);
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return Py_BuildValue("{sK sK sK sK sK sK sK sK sK ss}", "lines", (unsigned long long)r.lines, "rules",
                       (unsigned long long)r.rules, "exceptions", (unsigned long long)r.exceptions, "without_rules",
                       (unsigned long long)r.without_rules, "skipped", (unsigned long long)r.skipped, "skipped_rules",
                       (unsigned long long)r.skipped_rules, "widened", (unsigned long long)r.widened, "narrowed",
                       (unsigned long long)r.narrowed, "rules_in_force", (unsigned long long)r.rules_in_force,
                       "skipped_reason", r.skipped_reason);
}

/* build(guard type) */
static PyObject* builder_build(PyObject* self, PyObject* type) {
  mankai_guard* guard = NULL;
  mankai_guard_builder* builder = pointer_of(self);
  if (builder == NULL) {
    return NULL;
  }
  int code = MANKAI_OK;
  BEGIN_WAITING(self)
  code = mankai_guard_builder_build(builder, &guard);
  END_WAITING(self)
  return wrap(type, code, guard);
}

static PyMethodDef builder_methods[] = {{"_create", builder_create, METH_VARARGS | METH_CLASS, NULL},
                                        {"_add", builder_add, METH_VARARGS, NULL},
                                        {"_add_list", builder_add_list, METH_VARARGS, NULL},
                                        {"_report", builder_report, METH_NOARGS, NULL},
                                        {"_build", builder_build, METH_O, NULL},
                                        {NULL, NULL, 0, NULL}};

static PyType_Slot builder_slots[] = {
    {Py_tp_methods, builder_methods}, {Py_tp_doc, "Collects rules for a guard."}, {0, NULL}};

static PyType_Spec spec = {.name = "mankai._core.Guard",
                           .basicsize = sizeof(Handle),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};
static PyType_Spec builder_spec = {.name = "mankai._core.GuardBuilder",
                                   .basicsize = sizeof(Handle),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   .slots = builder_slots};

int mankai_add_guard(PyObject* module) {
  return mankai_add_type(module, &spec) == 0 ? mankai_add_type(module, &builder_spec) : -1;
}
