/* mankai._core.Filter: a filter of any kind. */
#include "core.h"

static PyTypeObject* filter_type = NULL;

static int close_filter(void* pointer) { return mankai_close(pointer); }

static bool waits(unsigned durability) { return durability == MANKAI_DURABILITY_ALWAYS; }

/* Makes the object of a class method, or raises. */
static PyObject* wrap(PyObject* type, int code, mankai_filter* filter, bool is_waiting) {
  return code == MANKAI_OK ? mankai_new_handle((PyTypeObject*)type, filter, close_filter, is_waiting)
                           : mankai_raise(code);
}

/* ---- Making, opening, saving ---- */

static PyObject* from_spec(PyObject* type, PyObject* arguments) {
  const char* spec = NULL;
  mankai_filter* filter = NULL;
  if (!mankai_parse(arguments, "s", &spec)) {
    return NULL;
  }
  const int code = mankai_create(spec, &filter);
  return wrap(type, code, filter, false);
}

static PyObject* create_file(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  const char* spec = NULL;
  unsigned durability = 0;
  unsigned long long interval_us = 0;
  int replace = 0;
  mankai_filter* filter = NULL;
  if (!mankai_parse(arguments, "O&sIO&p", PyUnicode_FSConverter, &path, &spec, &durability, mankai_uint64, &interval_us,
                    &replace)) {
    return NULL;
  }
  const mankai_file_options options = mankai_options(durability, interval_us, replace);
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = mankai_create_file(PyBytes_AsString(path), spec, &options, &filter);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return wrap(type, code, filter, waits(durability));
}

static PyObject* open_file(PyObject* type, PyObject* arguments) {
  PyObject* path = NULL;
  int is_writable = 0;
  int trusts = 0;
  unsigned durability = 0;
  unsigned long long interval_us = 0;
  mankai_filter* filter = NULL;
  if (!mankai_parse(arguments, "O&pIO&p", PyUnicode_FSConverter, &path, &is_writable, &durability, mankai_uint64,
                    &interval_us, &trusts)) {
    return NULL;
  }
  mankai_file_options options = mankai_options(durability, interval_us, 0);
  options.trust_cells = trusts != 0 ? 1U : 0U;
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = is_writable != 0 ? mankai_open_file(PyBytes_AsString(path), &options, &filter)
                                                 : mankai_open_file_read(PyBytes_AsString(path), &options, &filter);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return wrap(type, code, filter, waits(durability));
}

static PyObject* from_bytes(PyObject* type, PyObject* arguments) {
  Py_buffer image;
  mankai_filter* filter = NULL;
  if (!mankai_parse(arguments, "y*", &image)) {
    return NULL;
  }
  const int code = mankai_from_image(image.buf, (size_t)image.len, &filter);
  PyBuffer_Release(&image);
  return wrap(type, code, filter, false);
}

TO_BYTES(to_bytes, mankai_to_image)
SAVE(save, mankai_save_file)

static PyObject* copy(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_filter* made = NULL;
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  const int code = mankai_copy(filter, &made);
  return wrap((PyObject*)Py_TYPE(self), code, made, false);
}

/* ---- Single keys ---- */

static int contains(PyObject* self, PyObject* object) {
  bool outcome = false;
  ASK_KEY(self, object, mankai_may_contain_one(pointer, key.data, key.bytes, &outcome))
  return outcome;
}

static PyObject* add_alone(PyObject* self, PyObject* object) {
  ONE_KEY(self, object, mankai_insert_one(pointer, key.data, key.bytes))
  Py_RETURN_NONE;
}

static PyObject* add(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_with_options(self, arguments, count, options, add_alone, "_add");
}

static PyObject* observe(PyObject* self, PyObject* object) {
  bool is_seen = false;
  ONE_KEY(self, object, mankai_observe_one(pointer, key.data, key.bytes, &is_seen))
  return PyBool_FromLong(is_seen);
}

static PyObject* remove_one(PyObject* self, PyObject* object) {
  mankai_erase_result result = {0};
  ONE_KEY(self, object, mankai_erase_one(pointer, key.data, key.bytes, &result))
  return PyLong_FromLong((long)result);
}

static PyObject* count(PyObject* self, PyObject* object) {
  mankai_count result = {0};
  ONE_KEY(self, object, mankai_count_one(pointer, key.data, key.bytes, &result))
  return Py_BuildValue("(IO)", result.value, result.is_saturated ? Py_True : Py_False);
}

static PyObject* lately(PyObject* self, PyObject* object) {
  mankai_lately result = {0};
  ONE_KEY(self, object, mankai_count_one_lately(pointer, key.data, key.bytes, &result))
  return Py_BuildValue("(ddO)", result.raw, result.rate, result.is_saturated ? Py_True : Py_False);
}

static PyObject* recall(PyObject* self, PyObject* arguments) {
  enum { kRoom = 64 };
  PyObject* object = NULL;
  unsigned long long min_matches = 2;
  mankai_value values[kRoom];
  size_t found = 0;
  if (!mankai_parse(arguments, "O|O&", &object, mankai_uint64, &min_matches)) {
    return NULL;
  }
  ONE_KEY(self, object,
          mankai_recall(pointer, key.data, key.bytes, min_matches < UINT32_MAX ? (uint32_t)min_matches : UINT32_MAX,
                        values, kRoom, &found))
  PyObject* list = PyList_New((Py_ssize_t)found);
  for (size_t i = 0; list != NULL && i < found; ++i) {
    PyList_SetItem(list, (Py_ssize_t)i, Py_BuildValue("(II)", values[i].value, values[i].matches));
  }
  return list;
}

/* ---- Many keys ---- */

static int insert_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  if (many->times != NULL) {
    return mankai_insert_at(many->pointer, keys, many->times + first, count);
  }
  return many->ids != NULL ? mankai_insert_with_ids(many->pointer, keys, many->ids + first, count)
                           : mankai_insert(many->pointer, keys, count);
}

static int insert_packed(Many* many, const mankai_packed* keys, size_t first) {
  if (many->times != NULL) {
    return mankai_insert_packed_at(many->pointer, keys, many->times + first);
  }
  return many->ids != NULL ? mankai_insert_packed_with_ids(many->pointer, keys, many->ids + first)
                           : mankai_insert_packed(many->pointer, keys);
}

static int put_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_put(many->pointer, keys, many->values + first, count, many->strength);
}

static int observe_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_observe(many->pointer, keys, count, (bool*)many->results + first);
}

static int observe_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_observe_packed(many->pointer, keys, (bool*)many->results + first);
}

static int contains_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_may_contain(many->pointer, keys, count, (bool*)many->results + first);
}

static int contains_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_may_contain_packed(many->pointer, keys, (bool*)many->results + first);
}

static int erase_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  mankai_erase_result* results = (mankai_erase_result*)many->results + first;
  return many->ids != NULL ? mankai_erase_with_ids(many->pointer, keys, many->ids + first, count, results)
                           : mankai_erase(many->pointer, keys, count, results);
}

static int erase_packed(Many* many, const mankai_packed* keys, size_t first) {
  mankai_erase_result* results = (mankai_erase_result*)many->results + first;
  return many->ids != NULL ? mankai_erase_packed_with_ids(many->pointer, keys, many->ids + first, results)
                           : mankai_erase_packed(many->pointer, keys, results);
}

static int counts_keys(Many* many, const mankai_key* keys, size_t first, size_t count) {
  return mankai_counts(many->pointer, keys, count, (mankai_count*)many->results + first);
}

static int counts_packed(Many* many, const mankai_packed* keys, size_t first) {
  return mankai_counts_packed(many->pointer, keys, (mankai_count*)many->results + first);
}

static int no_packed(Many* many, const mankai_packed* keys, size_t first) {
  (void)many;
  (void)keys;
  (void)first;
  return -1;
}

static PyObject* add_keys(PyObject* self, PyObject* keys, PyObject* times, PyObject* ids) {
  Many many = {.pointer = pointer_of(self), .keys = insert_keys, .packed = insert_packed};
  PyObject* none = many.pointer != NULL ? mankai_many(self, &many, keys, times, ids, NULL) : NULL;
  Py_XDECREF(none);
  return none != NULL ? PyLong_FromSize_t(many.count) : NULL;
}

static PyObject* add_many(PyObject* self, PyObject* arguments) {
  PyObject* keys = NULL;
  PyObject* times = Py_None;
  PyObject* ids = Py_None;
  return mankai_parse(arguments, "OOO", &keys, &times, &ids) ? add_keys(self, keys, times, ids) : NULL;
}

static PyObject* add_list(PyObject* self, PyObject* keys) { return add_keys(self, keys, NULL, NULL); }

static PyObject* update(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_many_with_options(self, arguments, count, options, add_list, "_update");
}

static PyObject* put_many(PyObject* self, PyObject* arguments) {
  PyObject* keys = NULL;
  PyObject* values = NULL;
  Many many = {.pointer = pointer_of(self), .keys = put_keys, .packed = no_packed};
  if (many.pointer == NULL || !mankai_parse(arguments, "O!Od", &PyList_Type, &keys, &values, &many.strength)) {
    return NULL;
  }
  return mankai_many(self, &many, keys, NULL, NULL, values);
}

static PyObject* observe_keys_of(PyObject* self, PyObject* keys) {
  Many many = {.pointer = pointer_of(self), .keys = observe_keys, .packed = observe_packed};
  return many.pointer != NULL ? mankai_many_bools(self, &many, keys, NULL) : NULL;
}

static PyObject* contains_keys_of(PyObject* self, PyObject* keys) {
  Many many = {.pointer = pointer_of(self), .keys = contains_keys, .packed = contains_packed};
  return many.pointer != NULL ? mankai_many_bools(self, &many, keys, NULL) : NULL;
}

static PyObject* observe_many(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_many_with_options(self, arguments, count, options, observe_keys_of, "_observe_many");
}

static PyObject* contains_many(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options) {
  return mankai_many_with_options(self, arguments, count, options, contains_keys_of, "_contains_many");
}

static PyObject* remove_many(PyObject* self, PyObject* arguments) {
  PyObject* keys = NULL;
  PyObject* ids = Py_None;
  Many many = {.pointer = pointer_of(self), .keys = erase_keys, .packed = erase_packed, .result_bytes = 1};
  if (many.pointer == NULL || !mankai_parse(arguments, "OO", &keys, &ids)) {
    return NULL;
  }
  return mankai_many(self, &many, keys, NULL, ids, NULL);
}

/* Returns the counts as a bytearray of 32-bit integers: saturated counts are as they are. */
static PyObject* counts(PyObject* self, PyObject* keys) {
  Many many = {
      .pointer = pointer_of(self), .keys = counts_keys, .packed = counts_packed, .result_bytes = sizeof(mankai_count)};
  PyObject* found = many.pointer != NULL ? mankai_many(self, &many, keys, NULL, NULL, NULL) : NULL;
  if (found == NULL) {
    return NULL;
  }
  char* bytes = PyByteArray_AsString(found);
  for (size_t i = 0; i < many.count; ++i) {
    mankai_count one;
    memcpy(&one, bytes + i * sizeof one, sizeof one);
    memcpy(bytes + i * sizeof one.value, &one.value, sizeof one.value);
  }
  if (PyByteArray_Resize(found, (Py_ssize_t)(many.count * sizeof(uint32_t))) != 0) {
    Py_CLEAR(found);
  }
  return found;
}

/* ---- The whole filter ---- */

static PyObject* advance(PyObject* self, PyObject* object) {
  int64_t time_us = 0;
  mankai_filter* filter = mankai_time_of(object, &time_us) ? pointer_of(self) : NULL;
  return filter != NULL ? none_or_raise(mankai_advance(filter, time_us)) : NULL;
}

static PyObject* merge(PyObject* self, PyObject* other) {
  if (!PyObject_TypeCheck(other, filter_type)) {
    PyErr_SetString(PyExc_TypeError, "a Filter is merged with a Filter");
    return NULL;
  }
  mankai_filter* filter = pointer_of(self);
  mankai_filter* added = filter != NULL ? pointer_of(other) : NULL;
  if (added == NULL) {
    return NULL;
  }
  int code = MANKAI_OK;
  ++*mankai_calls_of(other); /* close() of the other waits, too */
  BEGIN_WAITING(self)
  code = mankai_merge(filter, added);
  END_WAITING(self)
  mankai_call_ended(other);
  return none_or_raise(code);
}

WHOLE(clear, mankai_clear(pointer))
WHOLE(begin, mankai_begin(pointer))
WHOLE(sync_all, mankai_sync(pointer))
WHOLE(checkpoint, mankai_checkpoint(pointer))

static PyObject* commit(PyObject* self, PyObject* arguments) {
  const char* position = NULL;
  Py_ssize_t bytes = 0;
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL || !mankai_parse(arguments, "y#", &position, &bytes)) {
    return NULL;
  }
  int code = MANKAI_OK;
  BEGIN_WAITING(self)
  code = mankai_commit(filter, position, (size_t)bytes);
  END_WAITING(self)
  return none_or_raise(code);
}

REFRESH(refresh, mankai_refresh)

static PyObject* position(PyObject* self, PyObject* unused) {
  (void)unused;
  char bytes[MANKAI_POSITION_BYTES];
  size_t length = 0;
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  const int code = mankai_position(filter, bytes, &length);
  return code == MANKAI_OK ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)length) : mankai_raise(code);
}

static PyObject* sequences(PyObject* self, PyObject* unused) {
  (void)unused;
  uint64_t all = 0;
  uint64_t durable = 0;
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  int code = mankai_sequence(filter, &all);
  code = code == MANKAI_OK ? mankai_durable_sequence(filter, &durable) : code;
  return code == MANKAI_OK ? Py_BuildValue("(KK)", (unsigned long long)all, (unsigned long long)durable)
                           : mankai_raise(code);
}

static PyObject* recovery(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_recovery_report report = {.size = sizeof report};
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  const int code = mankai_recovery(filter, &report);
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return Py_BuildValue("{sK sK sK sK ss sO}", "records_replayed", (unsigned long long)report.records_replayed,
                       "changes_replayed", (unsigned long long)report.changes_replayed, "bytes_dropped",
                       (unsigned long long)report.bytes_dropped, "sequence", (unsigned long long)report.sequence,
                       "reason", report.reason, "was_closed", report.was_closed ? Py_True : Py_False);
}

static Py_ssize_t length(PyObject* self) {
  mankai_info info = {.size = sizeof info};
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return -1;
  }
  const int code = mankai_get_info(filter, &info);
  if (code != MANKAI_OK) {
    mankai_raise(code);
    return -1;
  }
  return info.keys_inserted < PY_SSIZE_T_MAX ? (Py_ssize_t)info.keys_inserted : PY_SSIZE_T_MAX;
}

static int is_true(PyObject* self) {
  (void)self;
  return 1;
}

static PyObject* info(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_info i = {.size = sizeof i};
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  const int code = mankai_get_info(filter, &i);
  if (code != MANKAI_OK) {
    return mankai_raise(code);
  }
  return Py_BuildValue("{ss sK sK sK sd sL sO sO sO sO sO sO sO sI ss}", "kind", i.kind, "capacity_keys",
                       (unsigned long long)i.capacity_keys, "keys_inserted", (unsigned long long)i.keys_inserted,
                       "image_bytes", (unsigned long long)i.image_bytes, "fpr_target", i.fpr_target, "time_us",
                       (long long)i.time_us, "is_in_file", FLAG(i.is_in_file), "has_time", FLAG(i.has_time),
                       "can_remove", FLAG(i.can_erase), "can_count", FLAG(i.can_count), "takes_ids", FLAG(i.takes_ids),
                       "takes_values", FLAG(i.takes_values), "can_grow", FLAG(i.can_grow), "canonical_version",
                       i.canonical_version, "hash", i.hash);
}

static PyObject* estimate(PyObject* self, PyObject* unused) {
  (void)unused;
  mankai_estimates e = {.size = sizeof e};
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  int code = MANKAI_OK;
  BEGIN_WAITING(self)
  code = mankai_estimate(filter, &e);
  END_WAITING(self)
  return code == MANKAI_OK ? Py_BuildValue("(ddd)", e.fill_ratio, e.fpr_estimate, e.keys_estimate) : mankai_raise(code);
}

static PyObject* spec_text(PyObject* self, PyObject* unused) {
  (void)unused;
  char* text = NULL;
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  const int code = mankai_spec(filter, &text);
  return code == MANKAI_OK ? mankai_take_text(text) : mankai_raise(code);
}

PyObject* mankai_take_top(mankai_top_entry* entries, size_t found) {
  PyObject* list = PyList_New((Py_ssize_t)found);
  for (size_t i = 0; list != NULL && i < found; ++i) {
    const mankai_top_entry* e = &entries[i];
    PyObject* entry = Py_BuildValue("(y#ddOLO)", e->key, (Py_ssize_t)e->bytes, e->count.raw, e->count.rate,
                                    e->count.is_saturated ? Py_True : Py_False, (long long)e->last_seen_us,
                                    e->is_cut ? Py_True : Py_False);
    if (entry == NULL || PyList_SetItem(list, (Py_ssize_t)i, entry) != 0) {
      Py_CLEAR(list);
    }
  }
  mankai_free(entries);
  return list;
}

static PyObject* top(PyObject* self, PyObject* object) {
  mankai_top_entry* entries = NULL;
  size_t found = 0;
  unsigned long long most = 0;
  if (!mankai_uint64(object, &most)) {
    return NULL;
  }
  mankai_filter* filter = pointer_of(self);
  if (filter == NULL) {
    return NULL;
  }
  const int code = mankai_top(filter, most, &entries, &found);
  return code == MANKAI_OK ? mankai_take_top(entries, found) : mankai_raise(code);
}

static PyMethodDef methods[] = {
    {"_from_spec", from_spec, METH_VARARGS | METH_CLASS, NULL},
    {"_create_file", create_file, METH_VARARGS | METH_CLASS, NULL},
    {"_open_file", open_file, METH_VARARGS | METH_CLASS, NULL},
    {"_from_bytes", from_bytes, METH_VARARGS | METH_CLASS, NULL},
    {"_to_bytes", to_bytes, METH_NOARGS, NULL},
    {"_save", save, METH_VARARGS, NULL},
    {"_copy", copy, METH_NOARGS, NULL},
    {"add", METHOD(add), METH_FASTCALL | METH_KEYWORDS,
     "add($self, key, /, *, id=None, at=None)\n--\n\n"
     "Adds a key. id: to remove it by (scalable-counting-bloom). at: its time (decayed-top)."},
    {"observe", observe, METH_O,
     "observe($self, key, /)\n--\n\nAdds a key, and returns whether it was present before.\n\n"
     "True may be wrong with the false-positive rate; False is never wrong, except in kinds whose keys expire or are\n"
     "overwritten by new ones (forgets in kinds())."},
    {"_remove", remove_one, METH_O, NULL},
    {"_count", count, METH_O, NULL},
    {"_lately", lately, METH_O, NULL},
    {"_recall", recall, METH_VARARGS, NULL},
    {"_add_many", add_many, METH_VARARGS, NULL},
    {"_put_many", put_many, METH_VARARGS, NULL},
    {"update", METHOD(update), METH_FASTCALL | METH_KEYWORDS,
     "update($self, keys, *, ids=None, at=None)\n--\n\n"
     "Adds many keys and returns their number. A list or array is one batch: after a crash all or none are in the file.\n\n"
     "Each array of an Arrow stream is a batch, and each 65,536 keys of another iterable; batch() makes one of all. ids:\n"
     "integers from 0 to 2**64 - 1, one per key. at: one time, or one per key."},
    {"observe_many", METHOD(observe_many), METH_FASTCALL | METH_KEYWORDS,
     "observe_many($self, keys, *, out=None)\n--\n\n"
     "Adds keys in order, and returns per key whether it was present before, also earlier in the call."},
    {"_observe_keys", observe_keys_of, METH_O, NULL},
    {"contains_many", METHOD(contains_many), METH_FASTCALL | METH_KEYWORDS,
     "contains_many($self, keys, *, out=None)\n--\n\n"
     "Returns per key whether it may have been added: a list of bool for lists and iterables, else a bool array of shape "
     "(n,).\n\nout: an array of n bytes or bools for the results. Nulls of Arrow arrays are False."},
    {"_contains_keys", contains_keys_of, METH_O, NULL},
    {"_remove_many", remove_many, METH_VARARGS, NULL},
    {"_counts", counts, METH_O, NULL},
    {"_advance", advance, METH_O, NULL},
    {"_merge", merge, METH_O, NULL},
    {"clear", clear, METH_NOARGS, "clear($self, /)\n--\n\nRemoves every key. For a file this is a checkpoint."},
    {"_begin", begin, METH_NOARGS, NULL},
    {"_commit", commit, METH_VARARGS, NULL},
    {"sync", sync_all, METH_NOARGS,
     "sync($self, /)\n--\n\nReturns when all changes so far survive power loss. Only for files opened for changes."},
    {"checkpoint", checkpoint, METH_NOARGS,
     "checkpoint($self, /)\n--\n\nWrites the whole filter and empties its journal; also done automatically."},
    {"refresh", refresh, METH_NOARGS,
     "refresh($self, /)\n--\n\nReads a file that was opened with mode \"r\" again. Returns whether it has changed."},
    {"_position", position, METH_NOARGS, NULL},
    {"_sequences", sequences, METH_NOARGS, NULL},
    {"_recovery", recovery, METH_NOARGS, NULL},
    {"_info", info, METH_NOARGS, NULL},
    {"_estimate", estimate, METH_NOARGS, NULL},
    {"_spec", spec_text, METH_NOARGS, NULL},
    {"_top", top, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_methods, methods},
                              {Py_sq_contains, contains},
                              {Py_sq_length, length},
                              {Py_nb_bool, is_true},
                              {Py_tp_doc, "The part of mankai.Filter that is in C."},
                              {0, NULL}};

static PyType_Spec spec = {.name = "mankai._core.Filter",
                           .basicsize = sizeof(Handle),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

int mankai_add_filter(PyObject* module) {
  const int outcome = mankai_add_type(module, &spec);
  filter_type = outcome == 0 ? (PyTypeObject*)PyObject_GetAttrString(module, "Filter") : NULL;
  return outcome;
}

/* ---- Functions ---- */

static PyObject* kinds(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  char* json = NULL;
  const int code = mankai_kinds(&json);
  return code == MANKAI_OK ? mankai_take_text(json) : mankai_raise(code);
}

static PyObject* plan(PyObject* module, PyObject* arguments) {
  (void)module;
  unsigned long long keys = 0;
  double fpr = 0;
  unsigned long long bytes = 0;
  char* json = NULL;
  if (!mankai_parse(arguments, "O&dO&", mankai_uint64, &keys, &fpr, mankai_uint64, &bytes)) {
    return NULL;
  }
  const int code = mankai_plan(keys, fpr, bytes, &json);
  return code == MANKAI_OK ? mankai_take_text(json) : mankai_raise(code);
}

static PyObject* verify(PyObject* module, PyObject* arguments) {
  (void)module;
  PyObject* path = NULL;
  if (!mankai_parse(arguments, "O&", PyUnicode_FSConverter, &path)) {
    return NULL;
  }
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = mankai_verify_file(PyBytes_AsString(path));
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return none_or_raise(code);
}

PyMethodDef mankai_filter_functions[] = {{"kinds", kinds, METH_NOARGS, NULL},
                                         {"plan", plan, METH_VARARGS, NULL},
                                         {"verify", verify, METH_VARARGS, NULL},
                                         {NULL, NULL, 0, NULL}};
