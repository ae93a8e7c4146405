/* The base of all classes: open and closed, `with`, and what happens to an object that nobody closed. */
#include <pthread.h>
#include <time.h>

#include "core.h"

static PyObject* handle_type = NULL;
static unsigned forks = 0;

/* What close() waits for: how many calls of closed objects have ended. Written with the interpreter's lock and `lock`,
 * so read with one of them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_has_ended = PTHREAD_COND_INITIALIZER;
static unsigned long ended_calls = 0;

/* In the child of a fork, which has none of the threads that wait. */
static void count_fork(void) {
  ++forks;
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&call_has_ended, NULL);
}

Py_ssize_t* mankai_calls_of(PyObject* self) {
  Handle* handle = (Handle*)self;
  if (handle->forks != forks) {
    handle->forks = forks;
    handle->calls = 0;
  }
  return &handle->calls;
}

void mankai_call_ended(PyObject* self) {
  --*mankai_calls_of(self);
  if (((Handle*)self)->pointer == NULL) {
    pthread_mutex_lock(&lock);
    ++ended_calls;
    pthread_cond_broadcast(&call_has_ended);
    pthread_mutex_unlock(&lock);
  }
}

/* Whether other threads have ended in the middle of their calls, as they do when the interpreter ends. */
static bool is_finalizing(void) {
  PyObject* function = PySys_GetObject("is_finalizing");
  PyObject* answer = function != NULL ? PyObject_CallNoArgs(function) : NULL;
  const bool is_running = answer == Py_False;
  Py_XDECREF(answer);
  return !is_running;
}

/* Waits, without the interpreter's lock, until at most so many calls of a closed object are under way. */
static void wait_for_calls(PyObject* self, Py_ssize_t most) {
  while (*mankai_calls_of(self) > most) {
    const unsigned long before = ended_calls;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&lock);
    while (ended_calls == before) {
      pthread_cond_wait(&call_has_ended, &lock);
    }
    pthread_mutex_unlock(&lock);
    Py_END_ALLOW_THREADS
  }
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
  if (*mankai_calls_of(self) != 0 && is_finalizing()) {
    return mankai_raise_busy("a daemon thread was in a call with this object when the interpreter ended");
  }
  void* pointer = handle->pointer;
  if (pointer == NULL) {
    wait_for_calls(self, 0); /* the first close() is such a call */
    Py_RETURN_NONE;
  }
  handle->pointer = NULL;
  ++*mankai_calls_of(self);
  wait_for_calls(self, 1);
  int code = MANKAI_OK;
  Py_BEGIN_ALLOW_THREADS code = handle->close(pointer);
  Py_END_ALLOW_THREADS mankai_call_ended(self);
  return code == MANKAI_FORKED ? Py_NewRef(Py_None) : none_or_raise(code);
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
     "Waits for calls of other threads; new ones raise Closed. Errors: DiskError, OutOfSpace: the latest changes are "
     "then\n"
     "still in the journal. No effect on a closed object."},
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

PyObject* mankai_with_options(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options,
                              PyCFunction alone, const char* name) {
  const Py_ssize_t named = options != NULL ? PyTuple_Size(options) : 0;
  if (alone != NULL && count == 1 && named == 0) {
    return alone(self, arguments[0]);
  }
  PyObject* result = NULL;
  /* The interpreter's cache of methods holds a name per address, so another string per call would fill it. */
  PyObject* interned = PyUnicode_InternFromString(name);
  PyObject* method = interned != NULL ? PyObject_GetAttr(self, interned) : NULL;
  PyObject* unnamed = PyTuple_New(count);
  PyObject* values = PyDict_New();
  bool is_ready = method != NULL && unnamed != NULL && values != NULL;
  for (Py_ssize_t i = 0; is_ready && i < count; ++i) {
    is_ready = PyTuple_SetItem(unnamed, i, Py_NewRef(arguments[i])) == 0;
  }
  for (Py_ssize_t i = 0; is_ready && i < named; ++i) {
    is_ready = PyDict_SetItem(values, PyTuple_GetItem(options, i), arguments[count + i]) == 0;
  }
  if (is_ready) {
    result = PyObject_Call(method, unnamed, values);
  }
  Py_XDECREF(interned);
  Py_XDECREF(method);
  Py_XDECREF(unnamed);
  Py_XDECREF(values);
  return result;
}

PyMemberDef mankai_clock_members[] = {{"_follows_clock", T_BOOL, offsetof(Handle, follows_clock), 0, NULL},
                                      {NULL, 0, 0, 0, NULL}};

int64_t mankai_now_us(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

mankai_file_options mankai_options(unsigned durability, unsigned long long interval_us, int replace) {
  const mankai_file_options options = {
      .size = sizeof options, .durability = durability, .interval_us = interval_us, .replace = replace ? 1U : 0U};
  return options;
}
