#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai {

/// An allocator. `allocate` returns zeroed bytes aligned to 64, or nullptr; must not throw. `release` gets the same
/// size. Threads: as its functions; `system_memory` is thread-safe.
struct Memory {
  void* (*allocate)(void* context, std::size_t bytes) noexcept;
  void (*release)(void* context, void* data, std::size_t bytes) noexcept;
  void* context;
};

/// The process's memory. Regions of 2 MiB and more are mapped separately, aligned to 2 MiB and advised to use huge
/// pages: random accesses cost 1.1 to 1.5 times less there.
[[nodiscard]] Memory system_memory() noexcept;

/// Moves memory, as a defragmenting allocator does. `move` returns the new or unchanged address of the bytes, aligned
/// to 64 and released as before.
struct Mover {
  std::byte* (*move)(void* context, std::span<std::byte> bytes) noexcept;
  void* context;
};

/// Owns bytes through a release function, for heap, mapped and borrowed memory alike. Movable. An empty Region has no
/// data.
class Region {
 public:
  using Release = void (*)(void* context, void* data, std::size_t bytes) noexcept;

  Region() noexcept = default;
  /// Takes ownership of `bytes`; `release(context, data, size)` frees them.
  Region(std::span<std::byte> bytes, Release release, void* context) noexcept
      : bytes_(bytes), release_(release), context_(context) {}
  Region(Region&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), release_(other.release_), context_(other.context_) {}
  Region& operator=(Region&& other) noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    // Most Regions are moved from when destroyed.
    if (bytes_.data() != nullptr) {
      reset();
    }
  }

  /// Allocates zeroed bytes aligned to 64. Errors: out_of_space.
  [[nodiscard]] static Result<Region> allocate(const Memory& memory, std::size_t bytes);
  /// Refers to bytes without owning them. Pre: they outlive the Region.
  [[nodiscard]] static Region borrow(std::span<std::byte> bytes) noexcept;

  [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

  /// Lets the bytes move, which invalidates pointers into them.
  void relocate(const Mover& mover) noexcept { bytes_ = {mover.move(mover.context, bytes_), bytes_.size()}; }

 private:
  void reset() noexcept;

  std::span<std::byte> bytes_;
  Release release_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace mankai
