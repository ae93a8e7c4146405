/* mankai._core.ScalingBloom: what mankai.pydablooms is made of. */
#include "mankai/c/dablooms.h"
#include "core.h"

static int close_bloom(void* pointer) { return free_scaling_bloom(pointer) == 0 ? MANKAI_OK : MANKAI_IO; }

/* _open(capacity, error_rate, path, is_loaded) */
static PyObject* bloom_open(PyObject* type, PyObject* arguments) {
  unsigned long long capacity = 0;
  double error_rate = 0;
  PyObject* path = NULL;
  int is_loaded = 0;
  if (!mankai_parse(arguments, "O&dO&p", mankai_uint64, &capacity, &error_rate, PyUnicode_FSConverter, &path,
                    &is_loaded)) {
    return NULL;
  }
  if (capacity > UINT_MAX) {
    Py_DECREF(path);
    return mankai_raise_invalid("a capacity is at most 2^32 - 1");
  }
  scaling_bloom_t* bloom = is_loaded != 0
                               ? new_scaling_bloom_from_file((unsigned)capacity, error_rate, PyBytes_AsString(path))
                               : new_scaling_bloom((unsigned)capacity, error_rate, PyBytes_AsString(path));
  PyObject* made = bloom != NULL ? mankai_new_handle((PyTypeObject*)type, bloom, close_bloom, false)
                                 : PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AsString(path));
  Py_DECREF(path);
  return made;
}

/* Functions of one key and an id that return the library's int. */
#define BLOOM_CHANGE(name)                                                                      \
  static PyObject* bloom_##name(PyObject* self, PyObject* arguments) {                          \
    PyObject* object = NULL;                                                                    \
    unsigned long long id = 0;                                                                  \
    int result = 0;                                                                             \
    if (!mankai_parse(arguments, "OO&", &object, mankai_uint64, &id)) {                         \
      return NULL;                                                                              \
    }                                                                                           \
    ONE_KEY(self, object, (result = scaling_bloom_##name(pointer, key.data, key.bytes, id), 0)) \
    return PyLong_FromLong(result);                                                             \
  }
BLOOM_CHANGE(add)
BLOOM_CHANGE(remove)

static PyObject* bloom_check(PyObject* self, PyObject* object) {
  int result = 0;
  ONE_KEY(self, object, (result = scaling_bloom_check(pointer, key.data, key.bytes), 0))
  return PyLong_FromLong(result);
}

static PyObject* bloom_flush(PyObject* self, PyObject* unused) {
  (void)unused;
  void* pointer = pointer_of(self);
  return pointer != NULL ? PyLong_FromLong(scaling_bloom_flush(pointer)) : NULL;
}

static PyObject* bloom_seqnums(PyObject* self, PyObject* unused) {
  (void)unused;
  void* pointer = pointer_of(self);
  return pointer != NULL ? Py_BuildValue("(KK)", (unsigned long long)scaling_bloom_mem_seqnum(pointer),
                                         (unsigned long long)scaling_bloom_disk_seqnum(pointer))
                         : NULL;
}

static PyMethodDef methods[] = {{"_open", bloom_open, METH_VARARGS | METH_CLASS, NULL},
                                {"_add", bloom_add, METH_VARARGS, NULL},
                                {"_remove", bloom_remove, METH_VARARGS, NULL},
                                {"_check", bloom_check, METH_O, NULL},
                                {"_flush", bloom_flush, METH_NOARGS, NULL},
                                {"_seqnums", bloom_seqnums, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods}, {Py_tp_doc, "The part of mankai.pydablooms that is in C."}, {0, NULL}};

static PyType_Spec spec = {.name = "mankai._core.ScalingBloom",
                           .basicsize = sizeof(Handle),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

int mankai_add_dablooms(PyObject* module) {
  return PyModule_AddStringConstant(module, "DABLOOMS_VERSION", dablooms_version()) == 0
             ? mankai_add_type(module, &spec)
             : -1;
}
