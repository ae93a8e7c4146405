/* The library's codes as exceptions. */
#include <errno.h>
#include <stdarg.h>

#include "core.h"

static PyObject* base_error = NULL;
static PyObject* closed_error = NULL;
static PyObject* busy_error = NULL;
static PyObject* errors[16] = {NULL};

/* The errno of an OSError; codes whose cause is not a system call have one, too. */
static int errno_of(int code, int os_error) {
  return os_error != 0                 ? os_error
         : code == MANKAI_NOT_FOUND    ? ENOENT
         : code == MANKAI_OUT_OF_SPACE ? ENOMEM
         : code == MANKAI_LOCKED       ? EWOULDBLOCK
                                       : EIO;
}

/* Takes the message; NULL: the exception of what failed is set. */
static PyObject* raise_error(int code, PyObject* message, int os_error) {
  PyObject* type = code > 0 && code < 16 && errors[code] != NULL ? errors[code] : base_error;
  PyObject* error = message != NULL ? PyObject_CallFunctionObjArgs(type, message, NULL) : NULL;
  Py_XDECREF(message);
  if (error == NULL) {
    return NULL;
  }
  PyObject* number = PyLong_FromLong(os_error);
  PyObject* system_number = PyLong_FromLong(errno_of(code, os_error));
  if (number != NULL && system_number != NULL && PyObject_SetAttrString(error, "os_error", number) == 0 &&
      (!PyErr_GivenExceptionMatches(error, PyExc_OSError) ||
       PyObject_SetAttrString(error, "errno", system_number) == 0)) {
    PyErr_SetObject(type, error);
  }
  Py_XDECREF(number);
  Py_XDECREF(system_number);
  Py_DECREF(error);
  return NULL;
}

PyObject* mankai_raise(int code) {
  const char* text = mankai_last_error();
  return raise_error(code, PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"), mankai_last_os_error());
}

PyObject* mankai_raise_invalid(const char* format, ...) {
  va_list values;
  va_start(values, format);
  PyObject* message = PyUnicode_FromFormatV(format, values);
  va_end(values);
  return raise_error(MANKAI_INVALID_ARGUMENT, message, 0);
}

int mankai_wrong_value(const char* text) {
  PyObject* error[3];
  if (PyErr_ExceptionMatches(base_error) || PyErr_ExceptionMatches(PyExc_UnicodeError) ||
      !(PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_OverflowError) ||
        PyErr_ExceptionMatches(PyExc_BufferError))) {
    return 0;
  }
  PyErr_Fetch(&error[0], &error[1], &error[2]);
  if (text != NULL) {
    mankai_raise_invalid("%s", text);
  } else {
    mankai_raise_invalid("%S", error[1] != NULL ? error[1] : error[0]);
  }
  for (int i = 0; i < 3; ++i) {
    Py_XDECREF(error[i]);
  }
  return 0;
}

int mankai_parse(PyObject* arguments, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int is_parsed = PyArg_VaParse(arguments, format, values);
  va_end(values);
  return is_parsed != 0 ? is_parsed : mankai_wrong_value(NULL);
}

int mankai_uint64(PyObject* object, void* number) {
  PyObject* integer = PyNumber_Index(object);
  if (integer == NULL) {
    return 0;
  }
  *(unsigned long long*)number = PyLong_AsUnsignedLongLong(integer);
  Py_DECREF(integer);
  return PyErr_Occurred() == NULL ? 1 : mankai_wrong_value("a number is negative or above 2^64 - 1");
}

int mankai_path_or_none(PyObject* object, void* path) {
  return object == Py_None ? 1 : PyUnicode_FSConverter(object, path);
}

void* mankai_raise_closed(void) {
  PyErr_SetString(closed_error, "the object is closed; open the file again");
  return NULL;
}

void* mankai_raise_busy(const char* text) {
  PyErr_SetString(busy_error, text);
  return NULL;
}

PyObject* mankai_take_text(char* text) {
  PyObject* taken = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  mankai_free(text);
  return taken;
}

PyObject* mankai_take_texts(mankai_texts* texts) {
  PyObject* list = PyList_New((Py_ssize_t)texts->count);
  for (size_t i = 0; list != NULL && i < texts->count; ++i) {
    PyObject* text = PyUnicode_DecodeUTF8(texts->data + texts->offsets[i],
                                          (Py_ssize_t)(texts->offsets[i + 1] - texts->offsets[i]), "surrogateescape");
    if (text == NULL || PyList_SetItem(list, (Py_ssize_t)i, text) != 0) {
      Py_CLEAR(list);
    }
  }
  mankai_free(texts);
  return list;
}

/* Makes one exception: a subclass of mankai.Error and of what people catch already. */
static PyObject* make_error(PyObject* module, const char* name, const char* code, PyObject* builtin, const char* text) {
  char full[64];
  PyOS_snprintf(full, sizeof full, "mankai.%s", name);
  PyObject* bases = base_error == NULL ? Py_NewRef(PyExc_Exception)
                    : builtin != NULL  ? PyTuple_Pack(2, base_error, builtin)
                                       : PyTuple_Pack(1, base_error);
  PyObject* members = Py_BuildValue("{sz si}", "code", code, "os_error", 0);
  PyObject* error = bases != NULL && members != NULL ? PyErr_NewExceptionWithDoc(full, text, bases, members) : NULL;
  Py_XDECREF(bases);
  Py_XDECREF(members);
  if (error != NULL && PyModule_AddObjectRef(module, name, error) != 0) {
    Py_CLEAR(error);
  }
  return error;
}

int mankai_add_errors(PyObject* module) {
  base_error = make_error(module, "Error", NULL, NULL,
                          "Base of all errors. code: name such as \"corrupt\"; os_error: errno, or 0.");
  if (base_error == NULL) {
    return -1;
  }
  const struct {
    int code;
    const char* name;
    PyObject* builtin;
    const char* text;
  } all[] = {
      {MANKAI_INVALID_ARGUMENT, "InvalidArgument", PyExc_ValueError, "An impossible or contradictory request."},
      {MANKAI_NOT_FOUND, "NotFound", PyExc_FileNotFoundError, "A file, kind or option that does not exist."},
      {MANKAI_IO, "DiskError", PyExc_OSError, "The operating system refused; os_error has the errno."},
      {MANKAI_CORRUPT, "Corrupt", PyExc_ValueError, "Truncated or altered bytes."},
      {MANKAI_UNSUPPORTED_VERSION, "UnsupportedVersion", NULL, "A format that is newer than this package."},
      {MANKAI_OUT_OF_SPACE, "OutOfSpace", PyExc_OSError, "Memory or disk exhausted."},
      {MANKAI_LOCKED, "Locked", PyExc_BlockingIOError, "Another process is changing the file."},
      {MANKAI_FORKED, "Forked", PyExc_RuntimeError,
       "The object was opened before a fork, and belongs to the parent process."},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    errors[all[i].code] = make_error(module, all[i].name, mankai_code_name(all[i].code), all[i].builtin, all[i].text);
    if (errors[all[i].code] == NULL) {
      return -1;
    }
  }
  closed_error = make_error(module, "Closed", "closed", PyExc_ValueError, "The object was closed.");
  busy_error = make_error(module, "Busy", "busy", PyExc_RuntimeError, "A batch of the object is open.");
  return closed_error != NULL && busy_error != NULL ? 0 : -1;
}
