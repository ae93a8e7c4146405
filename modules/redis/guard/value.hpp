#pragma once

/// What a key of rules holds: a guard, or the bytes of one that have not all come.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mankai/guard/guard.hpp"

namespace mankai::redis {

/// The most bytes that a command, or a string of a file, carries of a guard.
inline constexpr std::size_t kGuardPieceBytes = std::size_t{16} << 20;
inline constexpr std::uint64_t kMaxGuardBytes = std::uint64_t{1} << 40;

/// The bytes of a guard as they come.
struct LoadingGuard {
  std::uint64_t total_bytes = 0;
  std::vector<std::byte> bytes;

  [[nodiscard]] bool is_complete() const noexcept { return bytes.size() == total_bytes; }
};

class GuardValue {
 public:
  explicit GuardValue(Guard guard);
  explicit GuardValue(LoadingGuard loading) noexcept;
  GuardValue(const GuardValue&) = delete;
  GuardValue& operator=(const GuardValue&) = delete;
  ~GuardValue();

  /// Null while bytes are missing.
  [[nodiscard]] Guard* guard() noexcept { return guard_.get(); }
  [[nodiscard]] const Guard* guard() const noexcept { return guard_.get(); }
  /// Null when it is a guard.
  [[nodiscard]] LoadingGuard* loading() noexcept { return guard_ ? nullptr : &loading_; }

  /// How many bytes it is made of, and those of them that are here. Cost: a guard is written down.
  /// Errors: std::bad_alloc.
  [[nodiscard]] LoadingGuard image() const;
  /// Makes the guard when all bytes have come. Errors: corrupt, unsupported_version, out_of_space, after which the key
  /// must go.
  [[nodiscard]] Result<void> finish_if_complete();

  /// What it takes from the engine, as far as allocators' sizes can be known. Cost: a few sums.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  /// How many there are. Threads: safe.
  [[nodiscard]] static std::uint64_t alive() noexcept;

 private:
  std::unique_ptr<Guard> guard_;  ///< not here: the engine may move these bytes, and some containers point into theirs
  LoadingGuard loading_;          ///< where there is no guard
};

}  // namespace mankai::redis
