/* Keys: one at a time, and many at once from lists, buffers and Arrow arrays. */
#include "core.h"

/* ---- One key ---- */

static int raise_key_type(PyObject* object) {
  PyObject* name = PyType_GetName(Py_TYPE(object));
  PyErr_Format(
      PyExc_TypeError, "a key is str, bytes, a buffer of bytes, or an int of 64 bits, not %U%s", name,
      PyList_Check(object) || PyTuple_Check(object) ? "; for many keys use the method that ends in _many" : "");
  Py_XDECREF(name);
  return false;
}

static const char kIntegerKeys[] = "an integer key is below -2^63 or above 2^63 - 1";

static bool integer_key(PyObject* object, Key* key) {
  key->integer = PyLong_AsLongLong(object);
  key->data = (const char*)&key->integer;
  key->bytes = sizeof key->integer;
  return key->integer != -1 || PyErr_Occurred() == NULL || mankai_wrong_value(kIntegerKeys) != 0;
}

bool mankai_other_key(PyObject* object, Key* key) {
  if (PyLong_CheckExact(object)) { /* checks that include subclasses are calls */
    return integer_key(object, key);
  }
  if (PyBytes_CheckExact(object) || PyBytes_Check(object)) {
    char* data = NULL;
    Py_ssize_t bytes = 0;
    const bool is_read = PyBytes_AsStringAndSize(object, &data, &bytes) == 0;
    key->data = data;
    key->bytes = (size_t)bytes;
    return is_read;
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t bytes = 0;
    key->data = PyUnicode_AsUTF8AndSize(object, &bytes);
    key->bytes = (size_t)bytes;
    return key->data != NULL;
  }
  if (PyLong_Check(object) && !PyBool_Check(object)) {
    return integer_key(object, key);
  }
  if (PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &key->view, PyBUF_ND) != 0) {
      return mankai_wrong_value(NULL) != 0;
    }
    if (key->view.ndim == 0) { /* a number of numpy: an integer is the same key whatever its size */
      PyBuffer_Release(&key->view);
      return PyIndex_Check(object) ? integer_key(object, key) : raise_key_type(object);
    }
    key->has_view = true;
    key->data = key->view.buf;
    key->bytes = (size_t)key->view.len;
    return true;
  }
  return raise_key_type(object);
}

/* ---- Arrow's C data interface, as its specification defines the two structs ---- */

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

/* ---- Many keys ---- */

typedef struct Call {
  Handle* self;
  Many* many;
  PyObject* results; /* bytearray, or NULL */
  Py_buffer views[3];
  bool has_view[3];
  bool is_part; /* of the keys: more may follow */
} Call;

static bool make_results(Call* call, size_t count) {
  if (call->many->result_bytes == 0) {
    return true;
  }
  const size_t old = call->many->count;
  const Py_ssize_t bytes = (Py_ssize_t)((old + count) * call->many->result_bytes);
  if (call->results == NULL) {
    call->results = PyByteArray_FromStringAndSize(NULL, bytes);
    if (call->results != NULL) {
      memset(PyByteArray_AsString(call->results), 0, (size_t)bytes);
    }
  } else if (PyByteArray_Resize(call->results, bytes) != 0) {
    Py_CLEAR(call->results);
  }
  if (call->results == NULL) {
    return false;
  }
  call->many->results = PyByteArray_AsString(call->results);
  return true;
}

static bool check_arrays(const Call* call, size_t count) {
  for (int i = 0; i < 3; ++i) {
    const size_t width = i == 2 ? sizeof(uint32_t) : sizeof(uint64_t);
    const size_t found = (size_t)call->views[i].len / width;
    const size_t needed = call->many->count + count;
    if (call->has_view[i] &&
        ((size_t)call->views[i].len % width != 0 || found < needed || (found > needed && !call->is_part))) {
      mankai_raise_invalid("%zu keys, but %zu %s", needed, found, i == 0 ? "times" : i == 1 ? "ids" : "values");
      return false;
    }
  }
  return true;
}

/* From this number of keys on, a call releases the interpreter's lock. */
enum { kManyKeys = 256 };

static bool finish(Call* call, int code, size_t count) {
  call->many->count += count;
  if (code != MANKAI_OK) {
    mankai_raise(code);
  }
  return code == MANKAI_OK;
}

static bool begin(Call* call, size_t count) {
  if (!check_arrays(call, count) || !make_results(call, count)) {
    return false;
  }
  call->many->pointer = pointer_of((PyObject*)call->self);
  return call->many->pointer != NULL;
}

static bool run_keys(Call* call, const mankai_key* keys, size_t count) {
  if (!begin(call, count)) {
    return false;
  }
  int code = MANKAI_OK;
  Many* many = call->many;
  if (count < kManyKeys && !call->self->waits && !many->waits) {
    code = many->keys(many, keys, many->count, count);
  } else {
    BEGIN_WAITING(call->self)
    code = many->keys(many, keys, many->count, count);
    END_WAITING(call->self)
  }
  return finish(call, code, count);
}

static bool run_packed(Call* call, const mankai_packed* keys) {
  if (!begin(call, keys->count)) {
    return false;
  }
  int code = MANKAI_OK;
  Many* many = call->many;
  BEGIN_WAITING(call->self)
  code = many->packed(many, keys, many->count);
  END_WAITING(call->self)
  return finish(call, code, keys->count);
}

/* Keys of a list or a tuple. The objects are held by a tuple of ours, since another thread may change a list. */
static bool run_objects(Call* call, PyObject* keys) {
  PyObject* held = PySequence_Tuple(keys);
  if (held == NULL) {
    return false;
  }
  const Py_ssize_t count = PyTuple_Size(held);
  mankai_key* array = PyMem_Malloc((size_t)(count + 1) * sizeof *array);
  int64_t* integers = NULL;
  PyObject* copies = NULL; /* of buffers that are not bytes */
  bool is_read = array != NULL;
  if (!is_read) {
    PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; is_read && i < count; ++i) {
    PyObject* object = PyTuple_GetItem(held, i);
    Key key;
    is_read = key_of(object, &key);
    if (!is_read) {
      break;
    }
    if (key.data == (const char*)&key.integer) {
      if (integers == NULL) {
        integers = PyMem_Malloc((size_t)count * sizeof *integers);
      }
      is_read = integers != NULL;
      if (is_read) {
        integers[i] = key.integer;
        key.data = (const char*)&integers[i];
      } else {
        PyErr_NoMemory();
      }
    } else if (key.has_view) {
      PyObject* copy = PyBytes_FromStringAndSize(key.data, (Py_ssize_t)key.bytes);
      if (copies == NULL) {
        copies = PyList_New(0);
      }
      is_read = copy != NULL && copies != NULL && PyList_Append(copies, copy) == 0;
      key.data = copy != NULL ? PyBytes_AsString(copy) : NULL;
      Py_XDECREF(copy);
    }
    array[i].data = key.data;
    array[i].bytes = key.bytes;
    release_key(&key);
  }
  const bool is_done = is_read && run_keys(call, array, (size_t)count);
  PyMem_Free(array);
  PyMem_Free(integers);
  Py_XDECREF(copies);
  Py_DECREF(held);
  return is_done;
}

/* ---- Buffers: arrays of numpy and of the array module ---- */

static size_t put_utf8(char* to, uint32_t character) {
  if (character < 0x80) {
    to[0] = (char)character;
    return 1;
  }
  if (character < 0x800) {
    to[0] = (char)(0xc0 | (character >> 6));
    to[1] = (char)(0x80 | (character & 0x3f));
    return 2;
  }
  if (character < 0x10000) {
    to[0] = (char)(0xe0 | (character >> 12));
    to[1] = (char)(0x80 | ((character >> 6) & 0x3f));
    to[2] = (char)(0x80 | (character & 0x3f));
    return 3;
  }
  to[0] = (char)(0xf0 | (character >> 18));
  to[1] = (char)(0x80 | ((character >> 12) & 0x3f));
  to[2] = (char)(0x80 | ((character >> 6) & 0x3f));
  to[3] = (char)(0x80 | (character & 0x3f));
  return 4;
}

/* Whether an array of texts has no gaps and no text that zeros fill up, so that its keys are of one width. */
static bool is_full(const Py_buffer* view, size_t count, ptrdiff_t step) {
  const size_t width = (size_t)view->itemsize;
  if (step < 0 || (size_t)step != width || width == 0 || width > UINT32_MAX) {
    return false;
  }
  const char* last = (const char*)view->buf + width - 1;
  for (size_t i = 0; i < count; ++i) {
    if (last[i * width] == '\0') {
      return false;
    }
  }
  return true;
}

/* Bytes of a text without the zeros that fill it up. Looks at every word instead of searching from the end: how many
 * zeros there are is not predictable, and a mispredicted branch takes longer than ten words. */
static size_t text_bytes(const char* text, size_t width) {
  uint64_t word;
  size_t end = 0;
  if (width < sizeof word) {
    for (end = width; end > 0 && text[end - 1] == '\0'; --end) {
    }
    return end;
  }
  for (size_t at = 0; at < width; at += sizeof word) {
    const size_t from = at <= width - sizeof word ? at : width - sizeof word;
    memcpy(&word, text + from, sizeof word);
    const size_t here = from + sizeof word - (size_t)__builtin_clzll(word | 1) / 8;
    end += (here - end) & (0 - (size_t)(word != 0)); /* compilers make a branch of ?: */
  }
  return end;
}

/* numpy's fixed-width texts: they end before the zeros that fill them up, as they do in Python. */
static bool run_texts(Call* call, const Py_buffer* view, size_t count, ptrdiff_t step, bool is_ucs4) {
  const size_t width = (size_t)view->itemsize;
  if (!is_ucs4 && is_full(view, count, step)) {
    const mankai_packed packed = {.size = sizeof packed,
                                  .data = view->buf,
                                  .data_bytes = count * width,
                                  .width = (uint32_t)width,
                                  .count = count};
    return run_packed(call, &packed);
  }
  mankai_key* keys = PyMem_Malloc((count + 1) * sizeof *keys);
  char* text = is_ucs4 ? PyMem_Malloc(count * width + 1) : NULL;
  if (keys == NULL || (is_ucs4 && text == NULL)) {
    PyMem_Free(keys);
    PyMem_Free(text);
    PyErr_NoMemory();
    return false;
  }
  bool is_valid = true;
  char* end = text;
  for (size_t i = 0; is_valid && i < count; ++i) {
    const char* item = (const char*)view->buf + (ptrdiff_t)i * step;
    size_t bytes = text_bytes(item, width);
    keys[i].data = item;
    if (is_ucs4) {
      keys[i].data = end;
      for (size_t c = 0; c < (bytes + 3) / 4; ++c) {
        uint32_t character;
        memcpy(&character, item + 4 * c, sizeof character);
        is_valid = is_valid && character < 0x110000 && (character < 0xd800 || character > 0xdfff);
        end += is_valid ? put_utf8(end, character) : 0;
      }
      bytes = (size_t)(end - (const char*)keys[i].data);
    }
    keys[i].bytes = bytes;
  }
  if (!is_valid) {
    mankai_raise_invalid("a text has a character that UTF-8 cannot encode, such as a lone surrogate");
  }
  const bool is_done = is_valid && run_keys(call, keys, count);
  PyMem_Free(keys);
  PyMem_Free(text);
  return is_done;
}

/* The native letter for integers of an array, since a letter means another size after '=' and '<'; 0 if there is none.
 */
static char native_format(char format, Py_ssize_t bytes) {
  const bool is_signed = strchr("hilq", format) != NULL;
  switch (bytes) {
    case 2: return is_signed ? 'h' : 'H';
    case 4: return is_signed ? 'i' : 'I';
    case 8: return is_signed ? 'q' : 'Q';
    default: return '\0';
  }
}

static bool read_integer(const char* item, char format, int64_t* integer) {
  switch (format) {
#define READ(code, type)                \
  case code: {                          \
    type value;                         \
    memcpy(&value, item, sizeof value); \
    *integer = (int64_t)value;          \
    return true;                        \
  }
    READ('h', short)
    READ('H', unsigned short)
    READ('i', int)
    READ('I', unsigned)
    READ('q', long long)
#undef READ
    case 'Q': {
      uint64_t value;
      memcpy(&value, item, sizeof value);
      *integer = (int64_t)value;
      return value <= INT64_MAX;
    }
    default: return false;
  }
}

static bool run_integers(Call* call, const Py_buffer* view, size_t count, ptrdiff_t step, char format) {
  if (format == 'q' && step == 8) {
    const mankai_packed packed = {
        .size = sizeof packed, .data = view->buf, .data_bytes = count * 8, .width = 8, .count = count};
    return run_packed(call, &packed);
  }
  int64_t* integers = PyMem_Malloc((count + 1) * sizeof *integers);
  if (integers == NULL) {
    PyErr_NoMemory();
    return false;
  }
  bool is_done = true;
  for (size_t i = 0; is_done && i < count; ++i) {
    is_done = read_integer((const char*)view->buf + (ptrdiff_t)i * step, format, &integers[i]);
  }
  if (!is_done) {
    mankai_raise_invalid("%s", kIntegerKeys);
  } else {
    const mankai_packed packed = {
        .size = sizeof packed, .data = integers, .data_bytes = count * 8, .width = 8, .count = count};
    is_done = run_packed(call, &packed);
  }
  PyMem_Free(integers);
  return is_done;
}

static bool run_object_array(Call* call, const Py_buffer* view, size_t count, ptrdiff_t step) {
  PyObject* list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject* object;
    memcpy(&object, (const char*)view->buf + (ptrdiff_t)i * step, sizeof object);
    if (PyList_SetItem(list, (Py_ssize_t)i, Py_NewRef(object != NULL ? object : Py_None)) != 0) {
      Py_CLEAR(list);
    }
  }
  const bool is_done = list != NULL && run_objects(call, list);
  Py_XDECREF(list);
  return is_done;
}

/* Most keys of an array: one item that is repeated (a stride of 0) has any length, and sizes must not overflow. */
static const size_t kMostKeys = SIZE_MAX / 64;

static bool run_buffer(Call* call, PyObject* keys) {
  Py_buffer view;
  if (PyObject_GetBuffer(keys, &view, PyBUF_RECORDS_RO) != 0) {
    return false;
  }
  const char* format = view.format != NULL ? view.format : "B";
  if (*format == '<' || *format == '@' || *format == '=') {
    ++format;
  }
  const bool is_swapped = *format == '>' || *format == '!';
  const char last = format[0] != '\0' && !is_swapped ? format[strlen(format) - 1] : '\0';
  bool is_done = false;
  if (view.ndim != 1) {
    mankai_raise_invalid("keys are an array of one dimension, not of %d", view.ndim);
  } else {
    const size_t count = (size_t)view.shape[0];
    const ptrdiff_t step = view.strides != NULL ? view.strides[0] : view.itemsize; /* NULL: arrays of ctypes */
    const bool is_integer = last != '\0' && strchr("hHiIlLqQ", last) != NULL && format[1] == '\0';
    const char integer = is_integer ? native_format(last, view.itemsize) : '\0';
    if (count > kMostKeys) {
      PyErr_NoMemory();
    } else if (integer != '\0') {
      is_done = run_integers(call, &view, count, step, integer);
    } else if (last == 's' || last == 'w') {
      is_done = run_texts(call, &view, count, step, last == 'w');
    } else if (last == 'O' && format[1] == '\0') {
      is_done = run_object_array(call, &view, count, step);
    } else {
      PyErr_Format(PyExc_TypeError,
                   "an array of keys has texts, bytes, objects or integers of 16 to 64 bits, not the format \"%s\"; "
                   "one key is not an array of keys",
                   format);
    }
  }
  PyBuffer_Release(&view);
  return is_done;
}

/* ---- Arrow ---- */

/* What the interface lets a consumer check: sizes of buffers are not in it. */
static bool is_array_valid(const struct ArrowArray* array, int64_t least_buffers, int64_t most_buffers) {
  const int64_t most = (int64_t)kMostKeys;
  return array->length >= 0 && array->length <= most && array->offset >= 0 && array->offset <= most &&
         array->n_buffers >= least_buffers && array->n_buffers <= most_buffers && array->buffers != NULL &&
         array->null_count >= -1 && array->null_count <= array->length &&
         (array->null_count <= 0 || array->buffers[0] != NULL) && (array->length == 0 || array->buffers[1] != NULL);
}

static bool raise_invalid_array(void) {
  mankai_raise_invalid(
      "an invalid Arrow array: its length, offset, number of nulls or number of buffers is impossible, or a "
      "buffer is missing");
  return false;
}

static size_t read_offset(const void* offsets, size_t index, size_t width) {
  const char* at = (const char*)offsets + index * width;
  uint32_t narrow = 0;
  uint64_t wide = 0;
  if (width == sizeof narrow) {
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
  }
  memcpy(&wide, at, sizeof wide);
  return (size_t)wide;
}

/* Keys of Arrow's views of text: 12 bytes inside the view, or a part of another buffer. The last buffer has the sizes
 * of these. */
static bool run_views(Call* call, const struct ArrowArray* array) {
  const size_t count = (size_t)array->length;
  const char* views = array->buffers[1];
  const uint8_t* validity = array->buffers[0];
  const int64_t parts_count = array->n_buffers - 3;
  const void* sizes = array->buffers[array->n_buffers - 1];
  mankai_key* keys = PyMem_Malloc((count + 1) * sizeof *keys);
  if (keys == NULL) {
    PyErr_NoMemory();
    return false;
  }
  bool is_valid = true;
  for (size_t i = 0; is_valid && i < count; ++i) {
    const size_t at = i + (size_t)array->offset;
    int32_t parts[4];
    memcpy(parts, views + 16 * at, sizeof parts);
    is_valid = parts[0] >= 0 && (validity == NULL || (validity[at / 8] >> (at % 8) & 1) != 0);
    keys[i].bytes = (size_t)parts[0];
    keys[i].data = views + 16 * at + 4;
    if (is_valid && parts[0] > 12) {
      is_valid = parts[2] >= 0 && parts[2] < parts_count && parts[3] >= 0 && sizes != NULL &&
                 array->buffers[2 + parts[2]] != NULL &&
                 (size_t)parts[0] + (size_t)parts[3] <= read_offset(sizes, (size_t)parts[2], sizeof(int64_t));
      keys[i].data = is_valid ? (const char*)array->buffers[2 + parts[2]] + parts[3] : NULL;
    }
  }
  if (!is_valid) {
    mankai_raise_invalid("an array of text views has a null or an invalid view; drop or cast it first");
  }
  const bool is_done = is_valid && run_keys(call, keys, count);
  PyMem_Free(keys);
  return is_done;
}

static bool run_arrow_array(Call* call, const struct ArrowSchema* schema, const struct ArrowArray* array) {
  const char* format = schema->format != NULL ? schema->format : "";
  const bool is_views = strcmp(format, "vu") == 0 || strcmp(format, "vz") == 0;
  const bool is_texts = format[0] != '\0' && strchr("uzUZ", format[0]) != NULL && format[1] == '\0';
  const unsigned long width = strcmp(format, "l") == 0        ? 8
                              : strncmp(format, "w:", 2) == 0 ? strtoul(format + 2, NULL, 10)
                                                              : 0;
  if (schema->dictionary != NULL) {
    PyErr_SetString(PyExc_TypeError, "a dictionary-encoded array; cast it to its values first");
    return false;
  }
  if (!is_views && !is_texts && (width == 0 || width > UINT32_MAX)) {
    PyErr_Format(PyExc_TypeError, "keys are Arrow arrays of text, binary or int64, not of the format \"%s\"", format);
    return false;
  }
  if (!is_array_valid(array, is_views || is_texts ? 3 : 2, is_views ? INT32_MAX : is_texts ? 3 : 2)) {
    return raise_invalid_array();
  }
  if (array->length == 0) {
    return true;
  }
  if (is_views) {
    return run_views(call, array);
  }
  mankai_packed packed = {.size = sizeof packed, .first = (size_t)array->offset, .count = (size_t)array->length};
  const size_t end = packed.first + packed.count;
  packed.validity = array->null_count != 0 ? array->buffers[0] : NULL;
  if (is_texts) {
    packed.offsets = array->buffers[1];
    packed.offset_bytes = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
    packed.data = array->buffers[2];
    packed.data_bytes = read_offset(packed.offsets, end, packed.offset_bytes); /* the others are checked against it */
    if (packed.data == NULL && packed.data_bytes != 0) {
      return raise_invalid_array();
    }
  } else {
    packed.width = (uint32_t)width;
    packed.data = array->buffers[1];
    packed.data_bytes = end * packed.width;
  }
  return run_packed(call, &packed);
}

static bool run_arrow(Call* call, PyObject* keys) {
  PyObject* pair = PyObject_CallMethod(keys, "__arrow_c_array__", NULL);
  if (pair == NULL) {
    return false;
  }
  bool is_done = false;
  if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
    PyErr_SetString(PyExc_TypeError, "__arrow_c_array__ returns a schema and an array");
  } else {
    const struct ArrowSchema* schema = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
    const struct ArrowArray* array =
        schema != NULL ? PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array") : NULL;
    const bool is_taken = array != NULL && (schema->release == NULL || array->release == NULL);
    if (is_taken) {
      mankai_raise_invalid("the Arrow array was released or moved; export it again");
    }
    is_done = array != NULL && !is_taken && run_arrow_array(call, schema, array);
  }
  Py_DECREF(pair);
  return is_done;
}

/* What releases an array or a schema may be code of Python, which must not run while an exception is set. */
#define RELEASE(name, struct_type)                \
  static void release_##name(struct_type* it) {   \
    PyObject* error[3];                           \
    PyErr_Fetch(&error[0], &error[1], &error[2]); \
    if (it->release != NULL) {                    \
      it->release(it);                            \
    }                                             \
    PyErr_Restore(error[0], error[1], error[2]);  \
  }
RELEASE(array, struct ArrowArray)
RELEASE(schema, struct ArrowSchema)

static bool run_arrow_stream(Call* call, PyObject* keys) {
  PyObject* capsule = PyObject_CallMethod(keys, "__arrow_c_stream__", NULL);
  struct ArrowArrayStream* stream = capsule != NULL ? PyCapsule_GetPointer(capsule, "arrow_array_stream") : NULL;
  struct ArrowSchema schema = {0};
  if (stream != NULL && stream->release == NULL) {
    mankai_raise_invalid("the Arrow stream was released or moved; export it again");
    stream = NULL;
  }
  bool is_done = stream != NULL && stream->get_schema(stream, &schema) == 0;
  call->is_part = true;
  bool is_more = is_done;
  while (is_more) {
    struct ArrowArray array = {0};
    is_done = stream->get_next(stream, &array) == 0;
    is_more = is_done && array.release != NULL;
    if (is_more) {
      is_done = run_arrow_array(call, &schema, &array);
      release_array(&array);
      is_more = is_done;
    }
  }
  call->is_part = false;
  is_done = is_done && check_arrays(call, 0);
  if (!is_done && PyErr_Occurred() == NULL) {
    const char* text = stream != NULL ? stream->get_last_error(stream) : NULL;
    mankai_raise_invalid("%s", text != NULL ? text : "the Arrow stream failed");
  }
  release_schema(&schema);
  Py_XDECREF(capsule);
  return is_done;
}

static bool run(Call* call, PyObject* keys) {
  if (PyList_Check(keys) || PyTuple_Check(keys)) {
    call->many->scalars = true;
    return run_objects(call, keys);
  }
  if (PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys)) {
    PyErr_SetString(PyExc_TypeError, "one key where many are expected; put it into a list");
    return false;
  }
  if (PyObject_HasAttrString(keys, "__arrow_c_array__")) {
    return run_arrow(call, keys);
  }
  if (PyObject_HasAttrString(keys, "__arrow_c_stream__")) {
    return run_arrow_stream(call, keys);
  }
  if (PyObject_CheckBuffer(keys)) {
    return run_buffer(call, keys);
  }
  PyErr_SetString(PyExc_TypeError, "keys are a list, a tuple, an array with the buffer protocol, or an Arrow array");
  return false;
}

PyObject* mankai_many(PyObject* self, Many* many, PyObject* keys, PyObject* times, PyObject* ids, PyObject* values) {
  Call call = {.self = (Handle*)self, .many = many};
  PyObject* const arrays[3] = {times, ids, values};
  bool is_ready = true;
  for (int i = 0; is_ready && i < 3; ++i) {
    if (arrays[i] != NULL && arrays[i] != Py_None) {
      is_ready = PyObject_GetBuffer(arrays[i], &call.views[i], PyBUF_SIMPLE) == 0;
      call.has_view[i] = is_ready;
    }
  }
  many->times = call.has_view[0] ? call.views[0].buf : NULL;
  many->ids = call.has_view[1] ? call.views[1].buf : NULL;
  many->values = call.has_view[2] ? call.views[2].buf : NULL;
  const bool is_done = is_ready && run(&call, keys);
  for (int i = 0; i < 3; ++i) {
    if (call.has_view[i]) {
      PyBuffer_Release(&call.views[i]);
    }
  }
  if (!is_done) {
    Py_XDECREF(call.results);
    return NULL;
  }
  if (many->result_bytes != 0 && call.results == NULL) {
    return PyByteArray_FromStringAndSize("", 0);
  }
  return call.results != NULL ? call.results : Py_NewRef(Py_None);
}

PyObject* mankai_many_bools(PyObject* self, Many* many, PyObject* keys, PyObject* times) {
  many->result_bytes = 1;
  PyObject* bytes = mankai_many(self, many, keys, times, NULL, NULL);
  if (bytes == NULL || !many->scalars) {
    return bytes;
  }
  const char* results = PyByteArray_AsString(bytes);
  PyObject* list = PyList_New((Py_ssize_t)many->count);
  for (size_t i = 0; list != NULL && i < many->count; ++i) {
    PyList_SetItem(list, (Py_ssize_t)i, Py_NewRef(results[i] != 0 ? Py_True : Py_False));
  }
  Py_DECREF(bytes);
  return list;
}

bool mankai_time_of(PyObject* object, int64_t* time_us) {
  *time_us = PyLong_AsLongLong(object);
  return *time_us != -1 || PyErr_Occurred() == NULL || mankai_wrong_value(NULL) != 0;
}
