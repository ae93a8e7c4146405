#pragma once

#include <new>
#include <utility>

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Runs what the engine called and lets no exception out of the module; `on_failure` gives the result instead. Nothing
/// but std::bad_alloc is ever thrown, and the rest would be a bug that must not end the server.
template <class Work, class OnFailure>
auto guarded(Work&& work, OnFailure&& on_failure) noexcept -> decltype(std::forward<Work>(work)()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return std::forward<OnFailure>(on_failure)();
  }
}

}  // namespace mankai::redis
