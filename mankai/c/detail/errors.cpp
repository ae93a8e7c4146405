#include "mankai/c/detail/errors.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "mankai/c/mankai.h"

namespace mankai::c {
namespace {

/// The longest path, and some words.
constexpr std::size_t kMostText = 4096 + 512;

/// The last error of a thread. The text is not allocated, because memory may be exhausted.
struct LastError {
  std::array<char, kMostText> text{};
  int os_error = 0;
};

thread_local LastError last_error;

int keep(int code, std::string_view text, int os_error) noexcept {
  const std::string_view kept = text.substr(0, kMostText - 1);
  std::ranges::copy(kept, last_error.text.begin());
  last_error.text[kept.size()] = '\0';
  last_error.os_error = os_error;
  return code;
}

int keep(ErrorCode code, std::string_view text, int os_error) noexcept {
  return keep(static_cast<int>(code), text, os_error);
}

}  // namespace

int note(const Error& error) noexcept {
  try {
    return keep(error.code, error.message(), error.os_error);
  } catch (...) {
    return keep(error.code, error.detail, error.os_error);  // without the system's message
  }
}

int note_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return keep(ErrorCode::out_of_space, "not enough memory", 0);
  } catch (const std::length_error&) {
    return keep(ErrorCode::out_of_space, "too many elements for memory", 0);
  } catch (const std::system_error& error) {
    return keep(ErrorCode::io, error.what(), error.code().value());
  } catch (const std::exception& error) {
    return keep(ErrorCode::io, error.what(), 0);
  } catch (...) {
    return keep(ErrorCode::io, "an exception of an unknown type", 0);
  }
}

std::unexpected<Error> missing(const char* argument) {
  return fail(ErrorCode::invalid_argument, std::string(argument) + " is NULL");
}

int note_forked() noexcept {
  return keep(MANKAI_FORKED,
              "the handle changes a file and belongs to the parent process; open the file again in this process after "
              "the parent has closed it, or for queries",
              0);
}

}  // namespace mankai::c

uint32_t mankai_abi_version() { return MANKAI_ABI_VERSION; }

const char* mankai_version() { return MANKAI_VERSION; }

const char* mankai_last_error() { return mankai::c::last_error.text.data(); }

int mankai_last_os_error() { return mankai::c::last_error.os_error; }

const char* mankai_code_name(int code) {
  if (code == MANKAI_OK) {
    return "ok";
  }
  if (code == MANKAI_FORKED) {
    return "forked";
  }
  const bool is_code = code > MANKAI_OK && code <= MANKAI_LOCKED;
  // The names are zero-terminated literals.
  return mankai::name(is_code ? static_cast<mankai::ErrorCode>(code) : mankai::ErrorCode{}).data();
}

void mankai_free(void* memory) { std::free(memory); }
