#pragma once

/// Files and errors of the drop-in replacement for dablooms.

#include <new>
#include <system_error>
#include <utility>

#include "mankai/store/store.hpp"

namespace mankai::c {

struct BloomRequest {
  Kind kind;
  unsigned int capacity;
  double error_rate;
  const char* filename;
};

/// Creates a bloom's file and replaces an existing one. Changes are journaled at once but synced only when the caller
/// flushes, as callers of dablooms expect. Errors: those of Store.
[[nodiscard]] Result<Store> create_bloom(const BloomRequest& request);
/// Errors: those of Store; invalid_argument for a file of another kind, capacity or rate, or whose keys are URLs.
[[nodiscard]] Result<Store> open_bloom(const BloomRequest& request);

void set_errno(const Error& error) noexcept;
/// Sets errno and prints the error on stderr.
void complain(const Error& error) noexcept;

/// Returns whether a call succeeded; complains if not.
template <class T>
[[nodiscard]] bool is_fine(const Result<T>& outcome) noexcept {
  if (!outcome) {
    complain(outcome.error());
  }
  return outcome.has_value();
}

/// Runs `body()`, which returns a Result, and converts exceptions to Errors.
template <class Body>
auto caught(const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error{.code = ErrorCode::out_of_space, .os_error = ENOMEM, .detail = {}});
  } catch (const std::system_error& error) {
    return std::unexpected(Error{.code = ErrorCode::io, .os_error = error.code().value(), .detail = {}});
  } catch (...) {
    return std::unexpected(Error{.code = ErrorCode::io, .os_error = 0, .detail = {}});
  }
}

/// Prints the first error of a bloom; later errors only set errno.
class Complaints {
 public:
  bool is_fine(const Result<void>& outcome) noexcept {
    if (outcome) [[likely]] {
      return true;
    }
    if (std::exchange(has_complained_, true)) {
      set_errno(outcome.error());
    } else {
      complain(outcome.error());
    }
    return false;
  }

 private:
  bool has_complained_ = false;
};

}  // namespace mankai::c
