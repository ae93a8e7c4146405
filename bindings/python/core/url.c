/* Functions of mankai.url. */
#include "core.h"

/* canonical(url, rules): the canonical form, and where its parts are. */
static PyObject* canonical(PyObject* module, PyObject* arguments) {
  (void)module;
  enum { kRoom = 2048 };
  char buffer[kRoom];
  char* text = buffer;
  size_t room = kRoom;
  size_t needed = 0;
  PyObject* object = NULL;
  unsigned rules = 0;
  Key key;
  mankai_url_parts parts = {.size = sizeof parts};
  if (!mankai_parse(arguments, "OI", &object, &rules) || !key_of(object, &key)) {
    return NULL;
  }
  int code = mankai_url_canonicalize(key.data, key.bytes, rules, text, room, &needed, &parts);
  if (code == MANKAI_OK && needed > room) {
    room = needed;
    text = PyMem_Malloc(room);
    if (text != NULL) {
      code = mankai_url_canonicalize(key.data, key.bytes, rules, text, room, &needed, &parts);
    }
  }
  release_key(&key);
  PyObject* result = NULL;
  if (text == NULL) {
    PyErr_NoMemory();
  } else if (code != MANKAI_OK) {
    mankai_raise(code);
  } else {
    result = Py_BuildValue("(s#nnnnnO)", text, (Py_ssize_t)needed, (Py_ssize_t)parts.scheme_end,
                           (Py_ssize_t)parts.host_begin, (Py_ssize_t)parts.host_end, (Py_ssize_t)parts.authority_end,
                           (Py_ssize_t)parts.path_end, parts.is_ip ? Py_True : Py_False);
  }
  if (text != buffer) {
    PyMem_Free(text);
  }
  return result;
}

/* registrable_domain(canonical host): where it begins. */
static PyObject* registrable_domain(PyObject* module, PyObject* object) {
  (void)module;
  Key key;
  size_t begin = 0;
  if (!key_of(object, &key)) {
    return NULL;
  }
  const int code = mankai_url_registrable_domain(key.data, key.bytes, &begin);
  release_key(&key);
  return code == MANKAI_OK ? PyLong_FromSize_t(begin) : mankai_raise(code);
}

/* ladder(url, rules, ladder, of paths) */
static PyObject* ladder(PyObject* module, PyObject* arguments) {
  (void)module;
  PyObject* object = NULL;
  unsigned rules = 0;
  unsigned which = 0;
  int of_paths = 0;
  mankai_texts* texts = NULL;
  Key key;
  if (!mankai_parse(arguments, "OIIp", &object, &rules, &which, &of_paths) || !key_of(object, &key)) {
    return NULL;
  }
  const int code = of_paths != 0 ? mankai_url_paths(key.data, key.bytes, rules, which, &texts)
                                 : mankai_url_hosts(key.data, key.bytes, rules, which, &texts);
  release_key(&key);
  return code == MANKAI_OK ? mankai_take_texts(texts) : mankai_raise(code);
}

static PyObject* version(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return PyLong_FromUnsignedLong(mankai_url_version());
}

PyMethodDef mankai_url_functions[] = {{"url_canonical", canonical, METH_VARARGS, NULL},
                                      {"url_registrable_domain", registrable_domain, METH_O, NULL},
                                      {"url_ladder", ladder, METH_VARARGS, NULL},
                                      {"url_version", version, METH_NOARGS, NULL},
                                      {NULL, NULL, 0, NULL}};
