#pragma once

#include "mankai/base/error.hpp"

namespace mankai::c {

/// Keeps an error for mankai_last_error, without allocating, and returns its code.
[[nodiscard]] int note(const Error& error) noexcept;
/// The same for the exception that is being handled.
[[nodiscard]] int note_exception() noexcept;

/// What was kept last in this thread.
[[nodiscard]] const char* last_text() noexcept;
[[nodiscard]] int last_os_error() noexcept;

/// Runs the body of a function of the C interface: `body()` returns a Result<void>. Nothing is thrown out of it.
template <class Body>
[[nodiscard]] int guarded(const Body& body) noexcept {
  try {
    const Result<void> outcome = body();
    return outcome ? 0 : note(outcome.error());
  } catch (...) {
    return note_exception();
  }
}

/// The failure of a pointer that must not be NULL.
[[nodiscard]] inline std::unexpected<Error> missing(const char* argument) {
  return fail(ErrorCode::invalid_argument, std::string(argument) + " is NULL");
}

}  // namespace mankai::c
