#include <cstdlib>

#include "mankai/c/detail/errors.hpp"
#include "mankai/c/mankai.h"

const char* mankai_version() { return MANKAI_VERSION; }

const char* mankai_last_error() { return mankai::c::last_text(); }

int mankai_last_os_error() { return mankai::c::last_os_error(); }

const char* mankai_code_name(int code) {
  if (code == MANKAI_OK) {
    return "ok";
  }
  const bool is_code = code > MANKAI_OK && code <= MANKAI_LOCKED;
  // The names are literals, closed by a zero.
  return mankai::name(is_code ? static_cast<mankai::ErrorCode>(code) : mankai::ErrorCode{}).data();
}

void mankai_free(void* memory) { std::free(memory); }
