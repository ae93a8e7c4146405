#pragma once

/// Functions of handles with a `body` that is in memory or in a file, and a `mutex`.

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "mankai/c/detail/handle.hpp"
#include "mankai/store/store.hpp"

namespace mankai::c {

/// Runs `use(body)`, which returns a Result<void>, without other calls.
template <class Handle, class Use>
[[nodiscard]] int change_alone(Handle* handle, const Use& use) noexcept {
  return with_handle(handle, [&](Handle& found) -> Result<void> {
    const std::scoped_lock alone(found.mutex);
    return use(found.body);
  });
}

/// Runs `use(body)`, which returns a Result<void>, beside other queries.
template <class Handle, class Use>
[[nodiscard]] int read_shared(const Handle* handle, const Use& use) noexcept {
  return with_handle(handle, [&](const Handle& found) -> Result<void> {
    const std::shared_lock shared(found.mutex);
    return use(found.body);
  });
}

template <class Handle>
[[nodiscard]] int begin_stored(Handle* handle) noexcept {
  return change_alone(handle, [](auto& body) {
    body.begin();
    return Result<void>();
  });
}

template <class Handle>
[[nodiscard]] int commit_stored(Handle* handle, const void* position, std::size_t bytes) noexcept {
  return change_alone(handle, [&](auto& body) -> Result<void> {
    MANKAI_TRY(check_array(position, bytes, "position"));
    return body.commit({static_cast<const char*>(position), bytes});
  });
}

/// No bytes without a store.
[[nodiscard]] inline Result<void> write_position(const Store* store, void* position, std::size_t* bytes) {
  MANKAI_TRY(check_given(position, "position"));
  MANKAI_TRY(check_given(bytes, "bytes"));
  const SourcePosition current = store == nullptr ? SourcePosition() : store->position();
  std::ranges::copy(current.view(), static_cast<char*>(position));
  *bytes = current.view().size();
  return {};
}

[[nodiscard]] inline std::uint64_t sequence_of(const Store* store) noexcept {
  return store == nullptr ? 0 : store->sequence();
}
[[nodiscard]] inline std::uint64_t durable_sequence_of(const Store* store) noexcept {
  return store == nullptr ? 0 : store->durable_sequence();
}

}  // namespace mankai::c
