#pragma once

#include <utility>

namespace mankai::redis {

/// Runs a callback of the engine and lets no exception escape; `on_failure` returns the result instead. Only
/// std::bad_alloc is expected. Any other exception would be a bug, but must not terminate the server.
template <class Work, class OnFailure>
auto guarded(Work&& work, OnFailure&& on_failure) noexcept -> decltype(std::forward<Work>(work)()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return std::forward<OnFailure>(on_failure)();
  }
}

}  // namespace mankai::redis
