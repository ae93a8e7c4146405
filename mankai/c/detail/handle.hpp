#pragma once

/// What all handles of the C interface share: their type, the process that they belong to, and how functions use, open
/// and close them.

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "mankai/c/detail/errors.hpp"
#include "mankai/c/detail/forks.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {

enum class HandleType : std::uint32_t {
  filter = 0x6d6b6631,
  seen,
  confirmed,
  hot,
  guard,
  guard_builder,
  gate,
  gate_hold,
  gate_follower
};

/// Base of all handles, which never move.
class AnyHandle {
 public:
  AnyHandle(const AnyHandle&) = delete;
  AnyHandle& operator=(const AnyHandle&) = delete;
  AnyHandle(AnyHandle&&) = delete;
  AnyHandle& operator=(AnyHandle&&) = delete;

  [[nodiscard]] bool is_of(HandleType type) const noexcept { return type_ == type; }
  /// False in a child process for a handle that changes a file.
  [[nodiscard]] bool is_of_this_process() const noexcept {
    return forks_ == kAnyProcess || forks_ == fork_count.load(std::memory_order_relaxed);
  }

 protected:
  AnyHandle(HandleType type, bool changes_file) noexcept
      : type_(type), forks_(changes_file ? fork_count.load(std::memory_order_relaxed) : kAnyProcess) {}
  ~AnyHandle() = default;

 private:
  static constexpr std::uint32_t kAnyProcess = ~std::uint32_t{0};

  HandleType type_;
  std::uint32_t forks_;
};

template <HandleType kTypeOfHandle>
class HandleOf : public AnyHandle {
 public:
  static constexpr HandleType kType = kTypeOfHandle;

 protected:
  explicit HandleOf(bool changes_file) noexcept : AnyHandle(kType, changes_file) {}
  ~HandleOf() = default;
};

/// Stores and returns the error of a handle that is NULL, of another type, or of another process.
[[nodiscard, gnu::cold]] int refuse_handle(const AnyHandle* handle, HandleType type) noexcept;

template <class Handle>
[[nodiscard]] bool is_usable(const Handle* handle) noexcept {
  return handle != nullptr && handle->is_of(Handle::kType) && handle->is_of_this_process();
}

/// Runs the body of a function of a handle: `use(*handle)` returns a Result<void>.
template <class Handle, class Use>
[[nodiscard]] int with_handle(Handle* handle, const Use& use) noexcept {
  if (!is_usable(handle)) [[unlikely]] {
    return refuse_handle(handle, std::remove_const_t<Handle>::kType);
  }
  return guarded([&]() -> Result<void> { return use(*handle); });
}

/// For a function of a handle that makes another one: after any error the caller has NULL, which it may close.
template <class Handle>
void set_null(Handle** made) noexcept {
  if (made != nullptr) {
    *made = nullptr;
  }
}

/// Runs the body of a function that makes a handle: `make()` returns a Result<std::unique_ptr<Handle>>.
template <class Handle, class Make>
[[nodiscard]] int open_handle(Handle** handle, const char* argument, const Make& make) noexcept {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(handle), argument));
    *handle = nullptr;
    MANKAI_ASSIGN(std::unique_ptr<Handle> made, make());
    *handle = made.release();
    return {};
  });
}

/// Frees a handle after `close(*handle)`, which returns a Result<void>. In a child process, a handle that changes a
/// file is left alone: its locks and threads are the parent's.
template <class Handle, class Close>
[[nodiscard]] int close_handle(Handle* handle, const Close& close) noexcept {
  if (handle == nullptr || (handle->is_of(Handle::kType) && !handle->is_of_this_process())) {
    return MANKAI_OK;
  }
  if (!is_usable(handle)) {
    return refuse_handle(handle, Handle::kType);
  }
  const int code = guarded([&]() -> Result<void> { return close(*handle); });
  delete handle;
  return code;
}
template <class Handle>
[[nodiscard]] int close_handle(Handle* handle) noexcept {
  return close_handle(handle, [](Handle&) { return Result<void>(); });
}

}  // namespace mankai::c
