/* The extension mankai._core: the C part of the package. */
#include "core.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "The C part of mankai.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
  if (mankai_abi_version() < MANKAI_ABI_VERSION) {
    PyErr_Format(PyExc_ImportError, "the library is of version %s, older than this package; update libmankai0",
                 mankai_version());
    return NULL;
  }
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) {
    return NULL;
  }
  if (mankai_add_errors(module) != 0 || mankai_add_handle(module) != 0 || mankai_add_filter(module) != 0 ||
      mankai_add_questions(module) != 0 || mankai_add_guard(module) != 0 || mankai_add_gate(module) != 0 ||
      mankai_add_dablooms(module) != 0 || PyModule_AddFunctions(module, mankai_filter_functions) != 0 ||
      PyModule_AddFunctions(module, mankai_url_functions) != 0 ||
      PyModule_AddStringConstant(module, "VERSION", mankai_version()) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
