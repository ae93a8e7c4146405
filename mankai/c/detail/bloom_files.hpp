#pragma once

/// What the drop-in for dablooms does with files and with failures.

#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "mankai/store/store.hpp"

namespace mankai::c {

/// What the makers of blooms are given.
struct BloomRequest {
  Kind kind;
  unsigned int capacity;
  double error_rate;
  const char* filename;
};

/// Makes a bloom's file, in place of one that is there. Changes are journaled at once and on the disk when the caller
/// says so, as callers of dablooms expect. Errors: Store's.
[[nodiscard]] Result<Store> create_bloom(const BloomRequest& request);
/// Errors: Store's; invalid_argument for a file of another kind, capacity or rate, or whose keys are URLs.
[[nodiscard]] Result<Store> open_bloom(const BloomRequest& request);

/// Sets errno to what an error means in C.
void set_errno(const Error& error) noexcept;
/// The same, and says what went wrong on stderr.
void complain(const Error& error) noexcept;

/// Runs `body()`, which returns a Result, and makes an Error of what it throws.
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

/// The same, for what a bloom does again and again: complains the first time only.
class Complaints {
 public:
  /// Returns whether all is well.
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
