#pragma once

#include "mankai/base/error.hpp"

namespace mankai::c {

/// As note, for a handle that belongs to the parent process.
[[nodiscard]] int note_forked() noexcept;

/// Stores an error for mankai_last_error without allocating; returns its code.
[[nodiscard]] int note(const Error& error) noexcept;
/// As note, for the exception being handled.
[[nodiscard]] int note_exception() noexcept;

/// Runs the body of a C function, which returns a Result<void>; returns the code of its outcome.
template <class Body>
[[nodiscard]] int guarded(const Body& body) noexcept {
  try {
    const Result<void> outcome = body();
    return outcome ? 0 : note(outcome.error());
  } catch (...) {
    return note_exception();
  }
}

/// The error of an argument that is NULL.
[[nodiscard, gnu::cold]] std::unexpected<Error> missing(const char* argument);

/// Errors: invalid_argument for an array that is NULL and has elements.
[[nodiscard]] inline Result<void> check_array(const void* array, std::size_t count, const char* argument) {
  if (array == nullptr && count != 0) [[unlikely]] {
    return missing(argument);
  }
  return {};
}
[[nodiscard]] inline Result<void> check_given(const void* pointer, const char* argument) {
  return check_array(pointer, 1, argument);
}

}  // namespace mankai::c
