/* mankai._core.Gate, GateFollower, and Maybe, the answer of both. */
#include "core.h"

/* ---- Maybe ---- */

typedef struct Maybe {
  PyObject_HEAD mankai_gate_answer answer;
} Maybe;

static PyTypeObject* maybe_type = NULL;

static PyObject* new_maybe(const mankai_gate_answer* answer) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(maybe_type, Py_tp_alloc);
  Maybe* self = (Maybe*)allocate(maybe_type, 0);
  if (self != NULL) {
    self->answer = *answer;
  }
  return (PyObject*)self;
}

static void maybe_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static int maybe_is_true(PyObject* self) { return ((Maybe*)self)->answer.is_maybe; }

static PyObject* maybe_repr(PyObject* self) {
  return PyUnicode_FromString(((Maybe*)self)->answer.is_maybe ? "Maybe(True)" : "Maybe(False)");
}

static PyType_Slot maybe_slots[] = {
    {Py_tp_dealloc, maybe_dealloc},
    {Py_nb_bool, maybe_is_true},
    {Py_tp_repr, maybe_repr},
    {Py_tp_doc,
     "The answer of a gate. False: there is no row with this key. True: ask the database; if it has no row, "
     "pass this object to report()."},
    {0, NULL}};
static PyType_Spec maybe_spec = {.name = "mankai.Maybe",
                                 .basicsize = sizeof(Maybe),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = maybe_slots};

/* ---- What Gate and GateFollower share ---- */

static int close_gate(void* pointer) { return mankai_gate_close(pointer); }
static int close_follower(void* pointer) { return mankai_gate_follower_close(pointer); }

static PyObject* counts_of(int code, const mankai_gate_counts* c) {
  return code == MANKAI_OK
             ? Py_BuildValue("{sK sK sK sK sK sK sK}", "asked", (unsigned long long)c->asked, "empty",
                             (unsigned long long)c->empty, "maybe", (unsigned long long)c->maybe, "memo_hits",
                             (unsigned long long)c->memo_hits, "waiting", (unsigned long long)c->waiting,
                             "false_positives", (unsigned long long)c->false_positives, "late_reports",
                             (unsigned long long)c->late_reports)
             : mankai_raise(code);
}

static PyObject* facts_of(int code, const mankai_gate_facts* f) {
  return code == MANKAI_OK
             ? Py_BuildValue("{sK sK sd sd sd sK sK sK}", "keys", (unsigned long long)f->keys, "capacity_keys",
                             (unsigned long long)f->capacity_keys, "saturation", f->saturation, "fpr_target",
                             f->fpr_target, "fpr_estimate", f->fpr_estimate, "stuck_cells",
                             (unsigned long long)f->stuck_cells, "image_bytes", (unsigned long long)f->image_bytes,
                             "missed_erasures", (unsigned long long)f->missed_erasures)
             : mankai_raise(code);
}

static PyObject* position_of(int code, uint64_t position, bool has_position) {
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return has_position ? PyLong_FromUnsignedLongLong(position) : Py_NewRef(Py_None);
}

/* The queries of a handle, whose functions have the same shapes for both. */
#define QUERIES(name)                                                                                 \
  static PyObject* name##_maybe(PyObject* self, PyObject* arguments) {                                \
    PyObject* object = NULL;                                                                          \
    unsigned long long after = 0;                                                                     \
    mankai_gate_answer answer = {0, true};                                                            \
    if (!mankai_parse(arguments, "O|O&", &object, mankai_uint64, &after)) {                           \
      return NULL;                                                                                    \
    }                                                                                                 \
    ONE_KEY(self, object, mankai_##name##_maybe(pointer, key.data, key.bytes, after, &answer))        \
    return new_maybe(&answer);                                                                        \
  }                                                                                                   \
  static PyObject* name##_report(PyObject* self, PyObject* arguments) {                               \
    PyObject* object = NULL;                                                                          \
    PyObject* maybe = NULL;                                                                           \
    if (!mankai_parse(arguments, "OO!", &object, maybe_type, &maybe)) {                               \
      return NULL;                                                                                    \
    }                                                                                                 \
    const mankai_gate_answer* answer = &((Maybe*)maybe)->answer;                                      \
    ONE_KEY(self, object, mankai_##name##_report(pointer, key.data, key.bytes, answer))               \
    Py_RETURN_NONE;                                                                                   \
  }                                                                                                   \
  static PyObject* name##_position(PyObject* self, PyObject* unused) {                                \
    (void)unused;                                                                                     \
    uint64_t position = 0;                                                                            \
    bool has_position = false;                                                                        \
    void* pointer = pointer_of(self);                                                                 \
    if (pointer == NULL) {                                                                            \
      return NULL;                                                                                    \
    }                                                                                                 \
    const int code = mankai_##name##_position(pointer, &position, &has_position);                     \
    return position_of(code, position, has_position);                                                 \
  }                                                                                                   \
  static PyObject* name##_counts(PyObject* self, PyObject* unused) {                                  \
    (void)unused;                                                                                     \
    mankai_gate_counts counts = {.size = sizeof counts};                                              \
    void* pointer = pointer_of(self);                                                                 \
    return pointer != NULL ? counts_of(mankai_##name##_get_counts(pointer, &counts), &counts) : NULL; \
  }                                                                                                   \
  static PyObject* name##_facts(PyObject* self, PyObject* unused) {                                   \
    (void)unused;                                                                                     \
    mankai_gate_facts facts = {.size = sizeof facts};                                                 \
    void* pointer = pointer_of(self);                                                                 \
    return pointer != NULL ? facts_of(mankai_##name##_get_facts(pointer, &facts), &facts) : NULL;     \
  }
QUERIES(gate)
QUERIES(gate_follower)

#define QUERY_METHODS(name)                                                                                           \
  {"maybe", name##_maybe, METH_VARARGS,                                                                               \
   "maybe($self, key, after=0, /)\n--\n\nReturns whether a row may have this key; pass the answer to report() if it " \
   "was wrong.\n\nUntil the position `after` is applied the answer is true: for a client that knows the position of " \
   "its own commit."},                                                                                                \
      {"report", name##_report, METH_VARARGS,                                                                         \
       "report($self, key, maybe, /)\n--\n\nReports that the database has no row: the key is empty until it is "      \
       "inserted "                                                                                                    \
       "or leaves the memory for reports."},                                                                          \
      {"_position", name##_position, METH_NOARGS, NULL}, {"_counts", name##_counts, METH_NOARGS, NULL}, {             \
    "_facts", name##_facts, METH_NOARGS, NULL                                                                         \
  }

/* ---- Gate ---- */

static mankai_gate_options options_of(unsigned long long memo_bytes, int ignores_reports) {
  const mankai_gate_options options = {
      .size = sizeof options, .memo_bytes = memo_bytes, .ignores_reports = ignores_reports != 0 ? 1U : 0U};
  return options;
}

static PyObject* gate_create(PyObject* type, PyObject* arguments) {
  unsigned long long keys = 0;
  unsigned long long memo_bytes = 0;
  int ignores_reports = 0;
  mankai_gate_request request = {.size = sizeof request};
  mankai_gate* gate = NULL;
  if (!mankai_parse(arguments, "O&dzzzO&p", mankai_uint64, &keys, &request.fpr, &request.hash, &request.seed,
                    &request.source_id, mankai_uint64, &memo_bytes, &ignores_reports)) {
    return NULL;
  }
  request.keys = keys;
  const mankai_gate_options options = options_of(memo_bytes, ignores_reports);
  const int code = mankai_gate_create(&request, &options, &gate);
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, gate, close_gate, false) : mankai_raise(code);
}

static PyObject* gate_open(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  unsigned durability = 0;
  unsigned long long interval_us = 0;
  unsigned long long memo_bytes = 0;
  int ignores_reports = 0;
  mankai_gate* gate = NULL;
  if (!mankai_parse(arguments, "O&IO&O&p", PyUnicode_FSConverter, &path, &durability, mankai_uint64, &interval_us,
                    mankai_uint64, &memo_bytes, &ignores_reports)) {
    return NULL;
  }
  const mankai_gate_options options = options_of(memo_bytes, ignores_reports);
  const mankai_file_options file_options = mankai_options(durability, interval_us, 0);
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = mankai_gate_open(PyBytes_AsString(path), &options, &file_options, &gate);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, gate, close_gate, false) : mankai_raise(code);
}

SAVE(gate_save, mankai_gate_save_file)

/* Reads a list of keys that are held by the list. Integers are written to `integers`. */
static mankai_key* keys_of(PyObject* list, int64_t** integers) {
  const Py_ssize_t count = PyList_Size(list);
  mankai_key* keys = PyMem_Malloc((size_t)(count + 1) * sizeof *keys);
  *integers = PyMem_Malloc((size_t)(count + 1) * sizeof **integers);
  bool is_read = keys != NULL && *integers != NULL;
  if (!is_read) {
    PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; is_read && i < count; ++i) {
    Key key;
    is_read = key_of(PyList_GetItem(list, i), &key);
    if (is_read) {
      (*integers)[i] = key.data == (const char*)&key.integer ? key.integer : 0;
      keys[i].data = key.data == (const char*)&key.integer ? (const char*)&(*integers)[i] : key.data;
      keys[i].bytes = key.bytes;
      release_key(&key);
    }
  }
  if (!is_read) {
    PyMem_Free(keys);
    PyMem_Free(*integers);
    return NULL;
  }
  return keys;
}

/* _apply(inserted, erased, position, clears, mark): both are lists of str, bytes or int of the caller's own. */
static PyObject* gate_apply(PyObject* self, PyObject* arguments) {
  PyObject* inserted = NULL;
  PyObject* erased = NULL;
  unsigned long long position = 0;
  int clears = 0;
  mankai_gate_changes changes = {.size = sizeof changes};
  if (!mankai_parse(arguments, "O!O!O&pz", &PyList_Type, &inserted, &PyList_Type, &erased, mankai_uint64, &position,
                    &clears, &changes.mark)) {
    return NULL;
  }
  int64_t* integers[2] = {NULL, NULL};
  mankai_key* in = keys_of(inserted, &integers[0]);
  mankai_key* out = in != NULL ? keys_of(erased, &integers[1]) : NULL;
  mankai_gate* gate = out != NULL ? pointer_of(self) : NULL;
  PyObject* done = NULL;
  if (gate != NULL) {
    changes.inserted = in;
    changes.inserted_count = (size_t)PyList_Size(inserted);
    changes.erased = out;
    changes.erased_count = (size_t)PyList_Size(erased);
    changes.clears = clears != 0 ? 1U : 0U;
    int code = MANKAI_OK;
    BEGIN_WAITING(self)
    code = mankai_gate_apply(gate, &changes, position);
    END_WAITING(self)
    done = none_or_raise(code);
  }
  if (out != NULL) {
    PyMem_Free(out);
    PyMem_Free(integers[1]);
  }
  if (in != NULL) {
    PyMem_Free(in);
    PyMem_Free(integers[0]);
  }
  return done;
}

static void release_hold(PyObject* capsule) {
  mankai_gate_hold* hold = PyCapsule_GetPointer(capsule, "mankai_gate_hold");
  if (hold != NULL && PyCapsule_GetContext(capsule) == NULL) {
    mankai_gate_release(hold);
  }
}

static PyObject* gate_hold(PyObject* self, PyObject* object) {
  mankai_gate_hold* hold = NULL;
  ONE_KEY(self, object, mankai_gate_hold_key(pointer, key.data, key.bytes, &hold))
  PyObject* capsule = PyCapsule_New(hold, "mankai_gate_hold", release_hold);
  if (capsule == NULL) {
    mankai_gate_release(hold);
  }
  return capsule;
}

static PyObject* gate_release(PyObject* self, PyObject* capsule) {
  (void)self;
  mankai_gate_hold* hold = PyCapsule_GetPointer(capsule, "mankai_gate_hold");
  if (hold == NULL) {
    return NULL;
  }
  if (PyCapsule_GetContext(capsule) == NULL) {
    PyCapsule_SetContext(capsule, hold);
    mankai_gate_release(hold);
  }
  Py_RETURN_NONE;
}

static PyObject* gate_source(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_texts* texts = NULL;
  mankai_gate* gate = pointer_of(self);
  if (gate == NULL) {
    return NULL;
  }
  const int code = mankai_gate_source(gate, &texts);
  return code == MANKAI_OK ? mankai_take_texts(texts) : mankai_raise(code);
}

WHOLE(gate_sync, mankai_gate_sync(pointer))

static PyMethodDef gate_methods[] = {
    QUERY_METHODS(gate),
    {"_create", gate_create, METH_VARARGS | METH_CLASS, NULL},
    {"_open", gate_open, METH_VARARGS | METH_CLASS, NULL},
    {"_save", gate_save, METH_VARARGS, NULL},
    {"_apply", gate_apply, METH_VARARGS, NULL},
    {"_hold", gate_hold, METH_O, NULL},
    {"_release", gate_release, METH_O, NULL},
    {"_source", gate_source, METH_NOARGS, NULL},
    {"sync", gate_sync, METH_NOARGS,
     "sync($self, /)\n--\n\nReturns when everything applied survives power loss. No effect in memory."},
    {NULL, NULL, 0, NULL}};

/* ---- GateFollower ---- */

static PyObject* follower_open(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  unsigned long long memo_bytes = 0;
  int ignores_reports = 0;
  mankai_gate_follower* follower = NULL;
  if (!mankai_parse(arguments, "O&O&p", PyUnicode_FSConverter, &path, mankai_uint64, &memo_bytes, &ignores_reports)) {
    return NULL;
  }
  const mankai_gate_options options = options_of(memo_bytes, ignores_reports);
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = mankai_gate_follower_open(PyBytes_AsString(path), &options, &follower);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, follower, close_follower, false)
                           : mankai_raise(code);
}

REFRESH(follower_refresh, mankai_gate_follower_refresh)

static PyMethodDef follower_methods[] = {
    QUERY_METHODS(gate_follower),
    {"_open", follower_open, METH_VARARGS | METH_CLASS, NULL},
    {"refresh", follower_refresh, METH_NOARGS,
     "refresh($self, /)\n--\n\nReads the file again if it has changed. Returns whether it has."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot gate_slots[] = {
    {Py_tp_methods, gate_methods}, {Py_tp_doc, "The part of mankai.Gate that is in C."}, {0, NULL}};
static PyType_Slot follower_slots[] = {
    {Py_tp_methods, follower_methods}, {Py_tp_doc, "The part of mankai.GateFollower that is in C."}, {0, NULL}};

static PyType_Spec gate_spec = {.name = "mankai._core.Gate",
                                .basicsize = sizeof(Handle),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = gate_slots};
static PyType_Spec follower_spec = {
    .name = "mankai._core.GateFollower",
    .basicsize = sizeof(Handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = follower_slots};

int mankai_add_gate(PyObject* module) {
  maybe_type = (PyTypeObject*)PyType_FromSpec(&maybe_spec);
  if (maybe_type == NULL || PyModule_AddObjectRef(module, "Maybe", (PyObject*)maybe_type) != 0) {
    return -1;
  }
  return mankai_add_type(module, &gate_spec) == 0 ? mankai_add_type(module, &follower_spec) : -1;
}
