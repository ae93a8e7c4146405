/* mankai._core.Seen, ConfirmedSeen and Hot. */
#include "core.h"

/* ---- Seen ---- */

static int close_seen(void* pointer) { return mankai_seen_close(pointer); }

static PyObject* seen_open(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  unsigned durability = 0;
  unsigned sharing = 0;
  unsigned long long interval_us = 0;
  unsigned long long keys = 0;
  unsigned long long window_us = 0;
  int canonical = 0;
  mankai_seen_request request = {.size = sizeof request};
  mankai_seen* seen = NULL;
  if (!mankai_parse(arguments, "O&zO&dzzO&iIO&I", mankai_path_or_none, &path, &request.kind, mankai_uint64, &keys,
                    &request.fpr, &request.hash, &request.seed, mankai_uint64, &window_us, &canonical, &durability,
                    mankai_uint64, &interval_us, &sharing)) {
    return NULL;
  }
  request.keys = keys;
  request.window_us = window_us;
  request.canonical = (uint32_t)canonical;
  mankai_file_options options = mankai_options(durability, interval_us, 0);
  options.sharing = sharing;
  if (sharing != MANKAI_SHARING_ONE_WRITER) {
    options.checkpoint_interval_us = interval_us; /* there is no journal to synchronize */
  }
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code =
      mankai_seen_open(path != NULL ? PyBytes_AsString(path) : NULL, &request, &options, &seen);
  Py_END_ALLOW_THREADS Py_XDECREF(path);
  return code == MANKAI_OK
             ? mankai_new_handle((PyTypeObject*)type, seen, close_seen, durability == MANKAI_DURABILITY_ALWAYS)
             : mankai_raise(code);
}

static int seen_contains(PyObject* self, PyObject* object) {
  bool outcome = false;
  ASK_KEY(self, object, mankai_seen_may_contain_one(pointer, key.data, key.bytes, &outcome))
  return outcome;
}

static PyObject* seen_observe_alone(PyObject* self, PyObject* object) {
  bool is_repeat = false;
  ONE_KEY(self, object,
          ((Handle*)self)->follows_clock
              ? mankai_seen_observe_one_at(pointer, key.data, key.bytes, mankai_now_us(), &is_repeat)
              : mankai_seen_observe_one(pointer, key.data, key.bytes, &is_repeat))
  return PyBool_FromLong(is_repeat);
}

static PyObject* seen_observe(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_with_options(self, arguments, count, options, seen_observe_alone, "_observe");
}

static PyObject* seen_observe_at(PyObject* self, PyObject* arguments) {
  PyObject* object = NULL;
  long long time_us = 0;
  bool is_repeat = false;
  if (!mankai_parse(arguments, "OL", &object, &time_us)) {
    return NULL;
  }
  ONE_KEY(self, object, mankai_seen_observe_one_at(pointer, key.data, key.bytes, time_us, &is_repeat))
  return PyBool_FromLong(is_repeat);
}

static int seen_observe_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_seen_observe(many->pointer, keys, many->times != NULL ? many->times + first : NULL, count,
                             (bool*)many->results + first);
}

static int seen_observe_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_seen_observe_packed(many->pointer, keys, many->times != NULL ? many->times + first : NULL,
                                    (bool*)many->results + first);
}

static int seen_contains_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_seen_may_contain(many->pointer, keys, count, (bool*)many->results + first);
}

static int seen_contains_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_seen_may_contain_packed(many->pointer, keys, (bool*)many->results + first);
}

static int seen_forget_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_seen_forget(many->pointer, keys, count, (mankai_erase_result*)many->results + first);
}

static int seen_forget_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_seen_forget_packed(many->pointer, keys, (mankai_erase_result*)many->results + first);
}

static PyObject* seen_observe_keys_at(PyObject* self, PyObject* keys, PyObject* times) {
  Many many = {.pointer = pointer_of(self), .keys = seen_observe_keys, .packed = seen_observe_packed};
  return many.pointer != NULL ? mankai_many_bools(self, &many, keys, times) : NULL;
}

static PyObject* seen_observe_keys_of(PyObject* self, PyObject* arguments) {
  PyObject* keys = NULL;
  PyObject* times = Py_None;
  return mankai_parse(arguments, "OO", &keys, &times) ? seen_observe_keys_at(self, keys, times) : NULL;
}

static PyObject* seen_observe_list(PyObject* self, PyObject* keys) { return seen_observe_keys_at(self, keys, NULL); }

static PyObject* seen_observe_many(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_many_with_options(self, arguments, count, options,
                                  ((Handle*)self)->follows_clock ? NULL : seen_observe_list, "_observe_many");
}

static PyObject* seen_contains_keys_of(PyObject* self, PyObject* keys) {
  Many many = {.pointer = pointer_of(self), .keys = seen_contains_keys, .packed = seen_contains_packed};
  return many.pointer != NULL ? mankai_many_bools(self, &many, keys, NULL) : NULL;
}

static PyObject* seen_contains_many(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_many_with_options(self, arguments, count, options, seen_contains_keys_of, "_contains_many");
}

static PyObject* seen_forget_many(PyObject* self, PyObject* keys) {
  Many many = {.pointer = pointer_of(self), .keys = seen_forget_keys, .packed = seen_forget_packed, .result_bytes = 1};
  return many.pointer != NULL ? mankai_many(self, &many, keys, NULL, NULL, NULL) : NULL;
}

WHOLE(seen_begin, mankai_seen_begin(pointer))
WHOLE(seen_sync, mankai_seen_sync(pointer))

/* commit and position of a handle, whose functions have the same shapes for Seen and Hot. */
#define COMMIT_AND_POSITION(name)                                                                         \
  static PyObject* name##_commit(PyObject* self, PyObject* arguments) {                                   \
    const char* position = NULL;                                                                          \
    Py_ssize_t bytes = 0;                                                                                 \
    void* pointer = pointer_of(self);                                                                     \
    if (pointer == NULL || !mankai_parse(arguments, "y#", &position, &bytes)) {                           \
      return NULL;                                                                                        \
    }                                                                                                     \
    int code = MANKAI_OK;                                                                                 \
    BEGIN_WAITING(self)                                                                                   \
    code = mankai_##name##_commit(pointer, position, (size_t)bytes);                                      \
    END_WAITING(self)                                                                                     \
    return none_or_raise(code);                                                                           \
  }                                                                                                       \
  static PyObject* name##_position(PyObject* self, PyObject* unused) {                                    \
    (void)unused;                                                                                         \
    char bytes[MANKAI_POSITION_BYTES];                                                                    \
    size_t length = 0;                                                                                    \
    void* pointer = pointer_of(self);                                                                     \
    if (pointer == NULL) {                                                                                \
      return NULL;                                                                                        \
    }                                                                                                     \
    const int code = mankai_##name##_position(pointer, bytes, &length);                                   \
    return code == MANKAI_OK ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)length) : mankai_raise(code); \
  }
COMMIT_AND_POSITION(seen)
COMMIT_AND_POSITION(hot)

static PyObject* seen_facts(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_seen_facts f = {.size = sizeof f};
  mankai_seen* seen = pointer_of(self);
  if (seen == NULL) {
    return NULL;
  }
  const int code = mankai_seen_get_facts(seen, &f);
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return Py_BuildValue("{ss sK sK sK sd sL sL sL sK sK sO sO sO}", "kind", f.kind, "keys_inserted",
                       (unsigned long long)f.keys_inserted, "capacity_keys", (unsigned long long)f.capacity_keys,
                       "image_bytes", (unsigned long long)f.image_bytes, "fpr_target", f.fpr_target, "window_us",
                       (long long)f.window_us, "forgets_after_us", (long long)f.forgets_after_us, "time_us",
                       (long long)f.time_us, "sequence", (unsigned long long)f.sequence, "durable_sequence",
                       (unsigned long long)f.durable_sequence, "is_in_file", FLAG(f.is_in_file), "is_over_capacity",
                       FLAG(f.is_over_capacity), "is_overfull", FLAG(f.is_overfull));
}

static Py_ssize_t seen_length(PyObject* self) {
  mankai_seen_facts facts = {.size = sizeof facts};
  mankai_seen* seen = pointer_of(self);
  if (seen == NULL) {
    return -1;
  }
  const int code = mankai_seen_get_facts(seen, &facts);
  if (code != MANKAI_OK) {
    mankai_raise(code);
    return -1;
  }
  return facts.keys_inserted < PY_SSIZE_T_MAX ? (Py_ssize_t)facts.keys_inserted : PY_SSIZE_T_MAX;
}

static int is_true(PyObject* self) {
  (void)self;
  return 1;
}

static PyMethodDef seen_methods[] = {
    {"_open", seen_open, METH_VARARGS | METH_CLASS, NULL},
    {"observe", METHOD(seen_observe), METH_FASTCALL | METH_KEYWORDS,
     "observe($self, key, /, at=None)\n--\n\n"
     "Adds a key, and returns whether it was seen before. at: its time, with a window [default: now]."},
    {"_observe_at", seen_observe_at, METH_VARARGS, NULL},
    {"observe_many", METHOD(seen_observe_many), METH_FASTCALL | METH_KEYWORDS,
     "observe_many($self, keys, at=None, *, out=None)\n--\n\n"
     "Adds keys in order, and returns per key whether it was seen before, also earlier in the call.\n\n"
     "A list for lists and iterables, else a bool array of shape (n,). at: one time, or one per key."},
    {"_observe_keys", seen_observe_keys_of, METH_VARARGS, NULL},
    {"contains_many", METHOD(seen_contains_many), METH_FASTCALL | METH_KEYWORDS,
     "contains_many($self, keys, *, out=None)\n--\n\nReturns per key whether it was seen, without adding it."},
    {"_contains_keys", seen_contains_keys_of, METH_O, NULL},
    {"_forget_many", seen_forget_many, METH_O, NULL},
    {"_begin", seen_begin, METH_NOARGS, NULL},
    {"_commit", seen_commit, METH_VARARGS, NULL},
    {"_position", seen_position, METH_NOARGS, NULL},
    {"sync", seen_sync, METH_NOARGS,
     "sync($self, /)\n--\n\nReturns when all keys so far survive power loss. No effect in memory."},
    {"_facts", seen_facts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot seen_slots[] = {{Py_tp_methods, seen_methods},
                                   {Py_tp_members, mankai_clock_members},
                                   {Py_sq_contains, seen_contains},
                                   {Py_sq_length, seen_length},
                                   {Py_nb_bool, is_true},
                                   {Py_tp_doc, "The part of mankai.Seen that is in C."},
                                   {0, NULL}};

/* ---- ConfirmedSeen ---- */

static int close_confirmed(void* pointer) { return mankai_confirmed_close(pointer); }

static PyObject* confirmed_open(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  unsigned long long keys = 0;
  int canonical = 0;
  mankai_confirmed_request request = {.size = sizeof request};
  mankai_confirmed* confirmed = NULL;
  if (!mankai_parse(arguments, "O&O&dzzi", PyUnicode_FSConverter, &path, mankai_uint64, &keys, &request.fpr,
                    &request.hash, &request.seed, &canonical)) {
    return NULL;
  }
  request.keys = keys;
  request.canonical = (uint32_t)canonical;
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = mankai_confirmed_open(PyBytes_AsString(path), &request, &confirmed);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, confirmed, close_confirmed, false)
                           : mankai_raise(code);
}

static PyObject* confirmed_observe(PyObject* self, PyObject* object) {
  mankai_confirmed_answer answer = 0;
  ONE_KEY(self, object, mankai_confirmed_observe_one(pointer, key.data, key.bytes, &answer))
  return PyBool_FromLong(answer == MANKAI_CONFIRMED_REPEAT);
}

static int confirmed_observe_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_confirmed_observe(many->pointer, keys, count, (mankai_confirmed_answer*)many->results + first);
}

static int confirmed_observe_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_confirmed_observe_packed(many->pointer, keys, (mankai_confirmed_answer*)many->results + first);
}

/* Returns a bytearray with a mankai_confirmed_answer per key. */
static PyObject* confirmed_observe_many(PyObject* self, PyObject* keys) {
  Many many = {.pointer = pointer_of(self),
               .keys = confirmed_observe_keys,
               .packed = confirmed_observe_packed,
               .result_bytes = 1};
  return many.pointer != NULL ? mankai_many(self, &many, keys, NULL, NULL, NULL) : NULL;
}

WHOLE(confirmed_commit, mankai_confirmed_commit(pointer))
WHOLE(confirmed_sync, mankai_confirmed_sync(pointer))

static PyObject* confirmed_facts(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_confirmed_facts f = {.size = sizeof f};
  mankai_confirmed* confirmed = pointer_of(self);
  if (confirmed == NULL) {
    return NULL;
  }
  const int code = mankai_confirmed_get_facts(confirmed, &f);
  return code == MANKAI_OK
             ? Py_BuildValue("{sK sK sK sK}", "keys", (unsigned long long)f.keys, "file_bytes",
                             (unsigned long long)f.file_bytes, "memory_bytes", (unsigned long long)f.memory_bytes,
                             "dropped_bytes", (unsigned long long)f.dropped_bytes)
             : mankai_raise(code);
}

static PyMethodDef confirmed_methods[] = {
    {"_open", confirmed_open, METH_VARARGS | METH_CLASS, NULL},
    {"observe", confirmed_observe, METH_O,
     "observe($self, key, /)\n--\n\nAdds a key, and returns whether it was seen before. Never wrong.\n\n"
     "The key is in the log after commit()."},
    {"_observe_many", confirmed_observe_many, METH_O, NULL},
    {"commit", confirmed_commit, METH_NOARGS,
     "commit($self, /)\n--\n\nWrites the observed keys to the log, all or none; they then survive a process crash."},
    {"sync", confirmed_sync, METH_NOARGS,
     "sync($self, /)\n--\n\nReturns when everything committed survives power loss."},
    {"_facts", confirmed_facts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot confirmed_slots[] = {
    {Py_tp_methods, confirmed_methods}, {Py_tp_doc, "The part of mankai.ConfirmedSeen that is in C."}, {0, NULL}};

/* ---- Hot ---- */

static int close_hot(void* pointer) { return mankai_hot_close(pointer); }

static PyObject* hot_open(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  unsigned durability = 0;
  unsigned long long interval_us = 0;
  unsigned long long numbers[6] = {0};
  mankai_hot_request request = {.size = sizeof request};
  mankai_hot* hot = NULL;
  if (!mankai_parse(arguments, "O&O&O&O&O&zzO&O&IIO&", mankai_path_or_none, &path, mankai_uint64, &numbers[0],
                    mankai_uint64, &numbers[1], mankai_uint64, &numbers[2], mankai_uint64, &numbers[3], &request.hash,
                    &request.seed, mankai_uint64, &numbers[4], mankai_uint64, &numbers[5], &request.rounding,
                    &durability, mankai_uint64, &interval_us)) {
    return NULL;
  }
  request.half_life_us = numbers[0];
  request.epoch_us = numbers[1];
  request.window_us = numbers[2];
  request.memory_bytes = numbers[3];
  request.keys_tag = numbers[4];
  request.late_tolerance_us = numbers[5];
  const mankai_file_options options = mankai_options(durability, interval_us, 0);
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = mankai_hot_open(path != NULL ? PyBytes_AsString(path) : NULL, &request, &options, &hot);
  Py_END_ALLOW_THREADS Py_XDECREF(path);
  return code == MANKAI_OK
             ? mankai_new_handle((PyTypeObject*)type, hot, close_hot, durability == MANKAI_DURABILITY_ALWAYS)
             : mankai_raise(code);
}

static PyObject* hot_observe_alone(PyObject* self, PyObject* object) {
  ONE_KEY(self, object, mankai_hot_observe_one(pointer, key.data, key.bytes, mankai_now_us()))
  Py_RETURN_NONE;
}

static PyObject* hot_observe(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_with_options(self, arguments, count, options, ((Handle*)self)->follows_clock ? NULL : hot_observe_alone,
                             "_observe");
}

static PyObject* hot_observe_at(PyObject* self, PyObject* arguments) {
  PyObject* object = NULL;
  long long time_us = 0;
  if (!mankai_parse(arguments, "OL", &object, &time_us)) {
    return NULL;
  }
  ONE_KEY(self, object, mankai_hot_observe_one(pointer, key.data, key.bytes, time_us))
  Py_RETURN_NONE;
}

static int hot_observe_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_hot_observe(many->pointer, keys, many->times + first, count);
}

static int hot_observe_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_hot_observe_packed(many->pointer, keys, many->times + first);
}

static PyObject* hot_observe_many(PyObject* self, PyObject* arguments) {
  PyObject* keys = NULL;
  PyObject* times = NULL;
  Many many = {.pointer = pointer_of(self), .keys = hot_observe_keys, .packed = hot_observe_packed};
  if (many.pointer == NULL || !mankai_parse(arguments, "OO", &keys, &times)) {
    return NULL;
  }
  return mankai_many(self, &many, keys, times, NULL, NULL);
}

static PyObject* hot_count(PyObject* self, PyObject* object) {
  mankai_lately count = {0};
  ONE_KEY(self, object, mankai_hot_count_one(pointer, key.data, key.bytes, &count))
  return PyFloat_FromDouble(count.raw);
}

static PyObject* hot_top(PyObject* self, PyObject* object) {
  mankai_top_entry* entries = NULL;
  size_t found = 0;
  unsigned long long most = 0;
  if (!mankai_uint64(object, &most)) {
    return NULL;
  }
  mankai_hot* hot = pointer_of(self);
  if (hot == NULL) {
    return NULL;
  }
  const int code = mankai_hot_top(hot, most, &entries, &found);
  return code == MANKAI_OK ? mankai_take_top(entries, found) : mankai_raise(code);
}

static PyObject* hot_above(PyObject* self, PyObject* object) {
  mankai_top_entry* entries = NULL;
  size_t found = 0;
  const double min_raw = PyFloat_AsDouble(object);
  if (PyErr_Occurred() != NULL) {
    mankai_wrong_value(NULL);
    return NULL;
  }
  mankai_hot* hot = pointer_of(self);
  if (hot == NULL) {
    return NULL;
  }
  const int code = mankai_hot_above(hot, min_raw, &entries, &found);
  return code == MANKAI_OK ? mankai_take_top(entries, found) : mankai_raise(code);
}

static PyObject* hot_advance(PyObject* self, PyObject* object) {
  int64_t time_us = 0;
  mankai_hot* hot = mankai_time_of(object, &time_us) ? pointer_of(self) : NULL;
  return hot != NULL ? none_or_raise(mankai_hot_advance(hot, time_us)) : NULL;
}

static PyObject* hot_accept_until(PyObject* self, PyObject* object) {
  int64_t time_us = 0;
  mankai_hot* hot = mankai_time_of(object, &time_us) ? pointer_of(self) : NULL;
  return hot != NULL ? none_or_raise(mankai_hot_accept_until(hot, time_us)) : NULL;
}

WHOLE(hot_begin, mankai_hot_begin(pointer))
WHOLE(hot_sync, mankai_hot_sync(pointer))

static PyObject* hot_facts(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_hot_facts f = {.size = sizeof f};
  mankai_hot* hot = pointer_of(self);
  if (hot == NULL) {
    return NULL;
  }
  const int code = mankai_hot_get_facts(hot, &f);
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return Py_BuildValue(
      "{sK sK sK sK sL sL sd sL sL sK sK sK sK sO sO}", "records", (unsigned long long)f.records, "late_records",
      (unsigned long long)f.late_records, "records_beyond_tolerance", (unsigned long long)f.records_beyond_tolerance,
      "records_in_future", (unsigned long long)f.records_in_future, "now_us", (long long)f.now_us, "newest_us",
      (long long)f.newest_us, "half_life_us", f.half_life_us, "epoch_us", (long long)f.epoch_us, "window_us",
      (long long)f.window_us, "image_bytes", (unsigned long long)f.image_bytes, "keys_tag",
      (unsigned long long)f.keys_tag, "sequence", (unsigned long long)f.sequence, "durable_sequence",
      (unsigned long long)f.durable_sequence, "is_in_file", FLAG(f.is_in_file), "is_balanced", FLAG(f.is_balanced));
}

static PyMethodDef hot_methods[] = {
    {"_open", hot_open, METH_VARARGS | METH_CLASS, NULL},
    {"observe", METHOD(hot_observe), METH_FASTCALL | METH_KEYWORDS,
     "observe($self, key, /, at=None)\n--\n\nCounts a key once. at: its time [default: now]."},
    {"_observe_at", hot_observe_at, METH_VARARGS, NULL},
    {"_observe_many", hot_observe_many, METH_VARARGS, NULL},
    {"count", hot_count, METH_O,
     "count($self, key, /)\n--\n\nReturns the decayed count of a key, or its count in the window. Never too low with "
     "strict rounding."},
    {"_top", hot_top, METH_O, NULL},
    {"_above", hot_above, METH_O, NULL},
    {"_advance", hot_advance, METH_O, NULL},
    {"_accept_until", hot_accept_until, METH_O, NULL},
    {"_begin", hot_begin, METH_NOARGS, NULL},
    {"_commit", hot_commit, METH_VARARGS, NULL},
    {"_position", hot_position, METH_NOARGS, NULL},
    {"sync", hot_sync, METH_NOARGS,
     "sync($self, /)\n--\n\nReturns when all records so far survive power loss. No effect in memory."},
    {"_facts", hot_facts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot hot_slots[] = {{Py_tp_methods, hot_methods},
                                  {Py_tp_members, mankai_clock_members},
                                  {Py_tp_doc, "The part of mankai.Hot that is in C."},
                                  {0, NULL}};

#define SPEC(class_name, class_slots)                                                     \
  {.name = "mankai._core." class_name,                                                    \
   .basicsize = sizeof(Handle),                                                           \
   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, \
   .slots = class_slots}
static PyType_Spec seen_spec = SPEC("Seen", seen_slots);
static PyType_Spec confirmed_spec = SPEC("ConfirmedSeen", confirmed_slots);
static PyType_Spec hot_spec = SPEC("Hot", hot_slots);

int mankai_add_questions(PyObject* module) {
  if (mankai_add_type(module, &seen_spec) != 0 || mankai_add_type(module, &confirmed_spec) != 0) {
    return -1;
  }
  return mankai_add_type(module, &hot_spec);
}
