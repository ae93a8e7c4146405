#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai {

/// Who allocates: given at creation; the Region keeps what gives the bytes back.
///
/// `allocate` returns zeroed bytes aligned to 64, or nullptr; it must not throw. `release` gets the same size.
/// Threads: as the functions behind it; `system_memory` is thread-safe.
struct Memory {
  void* (*allocate)(void* context, std::size_t bytes) noexcept;
  void (*release)(void* context, void* data, std::size_t bytes) noexcept;
  void* context;
};

/// The process's own memory. Regions of 2 MiB and more are mapped on their own, aligned to 2 MiB and
/// advised to use huge pages: random touches cost 1.1 to 1.5 times less there.
[[nodiscard]] Memory system_memory() noexcept;

/// Who moves bytes for their owner, as an allocator does that works against fragmentation.
///
/// `move` returns where the bytes are now, aligned to 64 and released as before; where they were if it left them there.
struct Mover {
  std::byte* (*move)(void* context, std::span<std::byte> bytes) noexcept;
  void* context;
};

/// Owns bytes through a release function, so that heap, mapped and borrowed memory look the same.
/// Movable, not copyable. An empty Region has no data.
class Region {
 public:
  using Release = void (*)(void* context, void* data, std::size_t bytes) noexcept;

  Region() noexcept = default;
  /// Takes over `bytes`; `release(context, data, size)` gives them back.
  Region(std::span<std::byte> bytes, Release release, void* context) noexcept
      : bytes_(bytes), release_(release), context_(context) {}
  Region(Region&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), release_(other.release_), context_(other.context_) {}
  Region& operator=(Region&& other) noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    // Most are empty when they go: what they had was moved on.
    if (bytes_.data() != nullptr) {
      reset();
    }
  }

  /// Allocates zeroed bytes aligned to 64. Errors: out_of_space.
  [[nodiscard]] static Result<Region> allocate(const Memory& memory, std::size_t bytes);
  /// Refers to bytes that somebody else owns and keeps alive.
  [[nodiscard]] static Region borrow(std::span<std::byte> bytes) noexcept;

  [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

  /// Lets the bytes be moved. Whoever kept their address must ask for it again.
  void relocate(const Mover& mover) noexcept { bytes_ = {mover.move(mover.context, bytes_), bytes_.size()}; }

 private:
  void reset() noexcept;

  std::span<std::byte> bytes_;
  Release release_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace mankai
