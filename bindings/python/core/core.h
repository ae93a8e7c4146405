/* What the files of the extension share. Everything is over mankai/c/mankai.h and CPython's limited API of 3.11. */
#ifndef MANKAI_PYTHON_CORE_H
#define MANKAI_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <structmember.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mankai/c/mankai.h"

/* ---- Errors (errors.c) ---- */

/* Raises the exception of a code with the message of the thread's last error. Returns NULL. */
PyObject* mankai_raise(int code);
/* Raises mankai.InvalidArgument. Returns NULL. */
PyObject* mankai_raise_invalid(const char* format, ...);
/* Makes an InvalidArgument of an exception of CPython about a value (ValueError, OverflowError, BufferError), with the
 * text if it is not NULL. A UnicodeError stays what it is. Returns 0. */
int mankai_wrong_value(const char* text);
/* PyArg_ParseTuple with these exceptions. */
int mankai_parse(PyObject* arguments, const char* format, ...);
/* Raise mankai.Closed and mankai.Busy. Return NULL. */
void* mankai_raise_closed(void);
void* mankai_raise_busy(const char* text);
int mankai_add_errors(PyObject* module);

/* Converts the outcome of a call that returns nothing. */
static inline PyObject* none_or_raise(int code) { return code == MANKAI_OK ? Py_NewRef(Py_None) : mankai_raise(code); }

/* A converter of mankai_parse ("O&"): an integer from 0 to 2^64 - 1. "K" would wrap others. */
int mankai_uint64(PyObject* object, void* number);
/* PyUnicode_FSConverter, which leaves the path NULL for None. */
int mankai_path_or_none(PyObject* object, void* path);

/* Converts new memory of the library, freed here, to a str. */
PyObject* mankai_take_text(char* text);
/* Converts new entries of the hottest keys, freed here, to a list of tuples. */
PyObject* mankai_take_top(mankai_top_entry* entries, size_t found);
/* Converts new texts of the library, freed here, to a list of str. */
PyObject* mankai_take_texts(mankai_texts* texts);

/* ---- Handles (handle.c) ---- */

/* Base of all classes with a handle of the library. */
typedef struct Handle {
  PyObject_HEAD void* pointer; /* NULL: closed */
  int (*close)(void*);         /* of the library */
  Py_ssize_t calls;            /* that run without the interpreter's lock; see mankai_calls_of */
  unsigned forks;              /* that led to the process of the calls */
  bool waits;                  /* single changes wait for the disk, so they release the lock */
  bool follows_clock;          /* Seen: keys have times; Hot: so has the latest time that is accepted. Set by Python */
} Handle;

/* Makes an object of a subtype of Handle, which owns the pointer. */
PyObject* mankai_new_handle(PyTypeObject* type, void* pointer, int (*close)(void*), bool waits);
/* Adds a type with Handle as its base to the module. */
int mankai_add_type(PyObject* module, PyType_Spec* spec);
int mankai_add_handle(PyObject* module);

/* The library's handle of an open object; raises and returns NULL if it is closed. */
static inline void* pointer_of(PyObject* self) {
  void* pointer = ((Handle*)self)->pointer;
  return pointer != NULL ? pointer : mankai_raise_closed();
}

/* The calls of this process: threads that were in one at a fork are not in the child. */
Py_ssize_t* mankai_calls_of(PyObject* self);

/* The end of a call, for which close() may wait. */
void mankai_call_ended(PyObject* self);

/* Between these two the interpreter's lock is released, and close() of the object waits. */
#define BEGIN_WAITING(self)            \
  ++*mankai_calls_of((PyObject*)self); \
  Py_BEGIN_ALLOW_THREADS
#define END_WAITING(self) Py_END_ALLOW_THREADS mankai_call_ended((PyObject*)self);

/* ---- Keys (keys.c) ---- */

/* One key, whose bytes belong to an object or to this struct: str as UTF-8, bytes-like, or an int as 8 bytes. */
typedef struct Key {
  const char* data;
  size_t bytes;
  int64_t integer;
  Py_buffer view;
  bool has_view;
} Key;

/* The cases beyond str and bytes of key_of. */
bool mankai_other_key(PyObject* object, Key* key);

/* Reads a key; raises TypeError and returns false for other objects. A key is released by release_key. */
static inline bool key_of(PyObject* object, Key* key) {
  key->has_view = false;
  if (PyUnicode_CheckExact(object)) {
    Py_ssize_t bytes = 0;
    key->data = PyUnicode_AsUTF8AndSize(object, &bytes);
    key->bytes = (size_t)bytes;
    return key->data != NULL;
  }
  return mankai_other_key(object, key);
}

static inline void release_key(Key* key) {
  if (key->has_view) {
    PyBuffer_Release(&key->view);
  }
}

/* Reads a key, and then the library's handle, since reading a key may run code that closes the object. Raises and
 * returns NULL after an error. */
static inline void* pointer_and_key(PyObject* self, PyObject* object, Key* key) {
  if (!key_of(object, key)) {
    return NULL;
  }
  void* pointer = pointer_of(self);
  if (pointer == NULL) {
    release_key(key);
  }
  return pointer;
}

/* Runs `call`, an expression with `pointer` (the library's handle) and `key` whose value is a code, for one key;
 * returns from the function after an error. */
#define ONE_KEY(self, object, call)                    \
  Key key;                                             \
  void* pointer = pointer_and_key(self, object, &key); \
  if (pointer == NULL) {                               \
    return NULL;                                       \
  }                                                    \
  int code = MANKAI_OK;                                \
  if (((Handle*)(self))->waits) {                      \
    BEGIN_WAITING(self)                                \
    code = (call);                                     \
    END_WAITING(self)                                  \
  } else {                                             \
    code = (call);                                     \
  }                                                    \
  release_key(&key);                                   \
  if (code != MANKAI_OK) {                             \
    return mankai_raise(code);                         \
  }

/* Runs `call`, as in ONE_KEY, for a query that never waits, in a function that returns -1 after an error. */
#define ASK_KEY(self, object, call)                    \
  Key key;                                             \
  void* pointer = pointer_and_key(self, object, &key); \
  if (pointer == NULL) {                               \
    return -1;                                         \
  }                                                    \
  const int code = (call);                             \
  release_key(&key);                                   \
  if (code != MANKAI_OK) {                             \
    mankai_raise(code);                                \
    return -1;                                         \
  }

/* A method of one key with options, which most calls do not give: those call `alone`, without the time of a Python
 * function; all others call the method `name`, which Python has. */
PyObject* mankai_with_options(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* options,
                              PyCFunction alone, const char* name);

/* The same for a method of many keys: `alone` takes a list or a tuple. */
static inline PyObject* mankai_many_with_options(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                                                 PyObject* options, PyCFunction alone, const char* name) {
  const bool is_list = count >= 1 && (PyList_CheckExact(arguments[0]) || PyTuple_CheckExact(arguments[0]));
  return mankai_with_options(self, arguments, count, options, is_list ? alone : NULL, name);
}

/* Now, in microseconds since 1970. */
int64_t mankai_now_us(void);

/* A function of a whole object that may wait for the disk. */
#define WHOLE(name, call)                                   \
  static PyObject* name(PyObject* self, PyObject* unused) { \
    (void)unused;                                           \
    void* pointer = pointer_of(self);                       \
    if (pointer == NULL) {                                  \
      return NULL;                                          \
    }                                                       \
    int code = MANKAI_OK;                                   \
    BEGIN_WAITING(self)                                     \
    code = (call);                                          \
    END_WAITING(self)                                       \
    return none_or_raise(code);                             \
  }

/* A function of a whole object that returns whether its file was read again. */
#define REFRESH(name, function)                                                  \
  static PyObject* name(PyObject* self, PyObject* unused) {                      \
    (void)unused;                                                                \
    bool is_changed = false;                                                     \
    void* pointer = pointer_of(self);                                            \
    if (pointer == NULL) {                                                       \
      return NULL;                                                               \
    }                                                                            \
    int code = MANKAI_OK;                                                        \
    BEGIN_WAITING(self)                                                          \
    code = function(pointer, &is_changed);                                       \
    END_WAITING(self)                                                            \
    return code == MANKAI_OK ? PyBool_FromLong(is_changed) : mankai_raise(code); \
  }

/* A function of a whole object that returns its image as bytes. */
#define TO_BYTES(name, function)                                            \
  static PyObject* name(PyObject* self, PyObject* unused) {                 \
    (void)unused;                                                           \
    void* image = NULL;                                                     \
    size_t bytes = 0;                                                       \
    void* pointer = pointer_of(self);                                       \
    if (pointer == NULL) {                                                  \
      return NULL;                                                          \
    }                                                                       \
    const int code = function(pointer, &image, &bytes);                     \
    if (code != MANKAI_OK) {                                                \
      return mankai_raise(code);                                            \
    }                                                                       \
    PyObject* result = PyBytes_FromStringAndSize(image, (Py_ssize_t)bytes); \
    mankai_free(image);                                                     \
    return result;                                                          \
  }

/* A function of a path and `replace` that writes a copy of an object. The handle is read after the path, whose
 * __fspath__ may close it. */
#define SAVE(name, function)                                                       \
  static PyObject* name(PyObject* self, PyObject* arguments) {                     \
    PyObject* path = NULL;                                                         \
    int replace = 0;                                                               \
    if (!mankai_parse(arguments, "O&p", PyUnicode_FSConverter, &path, &replace)) { \
      return NULL;                                                                 \
    }                                                                              \
    void* pointer = pointer_of(self);                                              \
    if (pointer == NULL) {                                                         \
      Py_DECREF(path);                                                             \
      return NULL;                                                                 \
    }                                                                              \
    const mankai_file_options options = mankai_options(0, 0, replace);             \
    int code = MANKAI_OK;                                                          \
    BEGIN_WAITING(self)                                                            \
    code = function(pointer, PyBytes_AsString(path), &options);                    \
    END_WAITING(self)                                                              \
    Py_DECREF(path);                                                               \
    return none_or_raise(code);                                                    \
  }

/* What a call does with many keys: through an array of keys, or packed. Called without the interpreter's lock. */
typedef struct Many Many;
struct Many {
  void* pointer; /* the library's handle; set again before each call, since reading keys may run code that closes it */
  int (*keys)(Many* many, const mankai_key* keys, size_t first, size_t count);
  int (*packed)(Many* many, const mankai_packed* keys, size_t first);
  size_t result_bytes;    /* per key; 0: none */
  char* results;          /* of all keys */
  const int64_t* times;   /* per key, or NULL */
  const uint64_t* ids;    /* per key, or NULL */
  double strength;        /* of put */
  const uint32_t* values; /* of put */
  bool waits;             /* for the disk, so few keys release the lock, too */
  bool scalars;           /* set by mankai_many: the keys were a list or a tuple */
  size_t count;           /* set by mankai_many */
};

/* Runs a call for a list or tuple of keys, an object with the buffer protocol, or one with Arrow's C interface.
 * `times`, `ids` and `values` are objects with the buffer protocol, or None. Returns the results in a new bytearray, or
 * None. Raises and returns NULL after an error. */
PyObject* mankai_many(PyObject* self, Many* many, PyObject* keys, PyObject* times, PyObject* ids, PyObject* values);

/* As mankai_many, with results of one byte per key: a list of bool if the keys were a list or a tuple. */
PyObject* mankai_many_bools(PyObject* self, Many* many, PyObject* keys, PyObject* times);

/* Reads a time in microseconds since 1970. */
bool mankai_time_of(PyObject* object, int64_t* time_us);

/* ---- Files of the extension ---- */

/* Reads the keyword arguments of files: durability (int), interval, checkpoint interval in microseconds. */
mankai_file_options mankai_options(unsigned durability, unsigned long long interval_us, int replace);

/* The attribute `_follows_clock` of Seen and Hot. */
extern PyMemberDef mankai_clock_members[];

int mankai_add_filter(PyObject* module);
int mankai_add_questions(PyObject* module);
int mankai_add_guard(PyObject* module);
int mankai_add_gate(PyObject* module);
int mankai_add_dablooms(PyObject* module);
extern PyMethodDef mankai_url_functions[];
extern PyMethodDef mankai_filter_functions[];

/* A bool as an argument of Py_BuildValue's "O". */
#define FLAG(value) ((value) ? Py_True : Py_False)

/* The method table's view of functions with other arguments. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
