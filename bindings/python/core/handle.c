/* The base of all classes: open and closed, `with`, and what happens to an object that nobody closed. */
#include <pthread.h>

#include "core.h"

static PyObject* handle_type = NULL;
static unsigned forks = 0;

static void count_fork(void) { ++forks; }

Py_ssize_t* mankai_calls_of(PyObject* self) {
  Handle* handle = (Handle*)self;
  if (handle->forks != forks) {
    handle->forks = forks;
    handle->calls = 0;
  }
  return &handle->calls;
}

PyObject* mankai_new_handle(PyTypeObject* type, void* pointer, int (*close)(void*), bool waits) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Handle* self = (Handle*)allocate(type, 0);
  if (self == NULL) {
    close(pointer);
    return NULL;
  }
  self->pointer = pointer;
  self->close = close;
  self->waits = waits;
  return (PyObject*)self;
}

static PyObject* handle_close(PyObject* self, PyObject* unused) {
  (void)unused;
  Handle* handle = (Handle*)self;
  if (handle->pointer == NULL) {
    Py_RETURN_NONE;
  }
  if (*mankai_calls_of(self) != 0) {
    return mankai_raise_busy();
  }
  void* pointer = handle->pointer;
  int (*close)(void*) = handle->close;
  handle->pointer = NULL;
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = close(pointer);
  Py_END_ALLOW_THREADS return code == MANKAI_FORKED ? Py_NewRef(Py_None) : none_or_raise(code);
}

static PyObject* handle_closed(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(((Handle*)self)->pointer == NULL);
}

static PyObject* handle_enter(PyObject* self, PyObject* unused) {
  (void)unused;
  return pointer_of(self) != NULL ? Py_NewRef(self) : NULL;
}

static PyObject* handle_exit(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  (void)arguments;
  (void)count;
  return handle_close(self, NULL);
}

static void handle_dealloc(PyObject* self) {
  Handle* handle = (Handle*)self;
  PyTypeObject* type = Py_TYPE(self);
  if (handle->pointer != NULL) {
    void* pointer = handle->pointer;
    handle->pointer = NULL;
    Py_BEGIN_ALLOW_THREADS handle->close(pointer);
    Py_END_ALLOW_THREADS
  }
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"close", handle_close, METH_NOARGS,
     "close($self, /)\n--\n\nMakes all changes of a file durable, unlocks it and frees the memory.\n\n"
     "Errors: Busy while another thread is in a call; DiskError, OutOfSpace: the latest changes are then still in the\n"
     "journal. No effect on a closed object."},
    {"__enter__", handle_enter, METH_NOARGS, NULL},
    {"__exit__", METHOD(handle_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {{"closed", handle_closed, NULL, "Whether close() was called.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, handle_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_tp_doc, "Base of the classes that have a file or memory of the library."},
                              {0, NULL}};

static PyType_Spec spec = {.name = "mankai._core.Handle",
                           .basicsize = sizeof(Handle),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

int mankai_add_handle(PyObject* module) {
  handle_type = PyType_FromSpec(&spec);
  if (pthread_atfork(NULL, NULL, count_fork) != 0) {
    PyErr_NoMemory();
    return -1;
  }
  return handle_type != NULL ? PyModule_AddObjectRef(module, "Handle", handle_type) : -1;
}

int mankai_add_type(PyObject* module, PyType_Spec* type_spec) {
  PyObject* type = PyType_FromSpecWithBases(type_spec, handle_type);
  if (type == NULL) {
    return -1;
  }
  const int outcome = PyModule_AddObjectRef(module, strrchr(type_spec->name, '.') + 1, type);
  Py_DECREF(type);
  return outcome;
}

mankai_file_options mankai_options(unsigned durability, unsigned long long interval_us, int replace) {
  const mankai_file_options options = {
      .size = sizeof options, .durability = durability, .interval_us = interval_us, .replace = replace ? 1U : 0U};
  return options;
}
