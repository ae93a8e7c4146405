#pragma once

/// The hash of a command's only item, computed before the engine opens the key.
///
/// Opening a key takes about as long as memory takes for a cache line. So the module keeps, by the names of the keys
/// that were used last, how their filters hash and where the cells are: it hashes the item and requests its lines, then
/// opens the key. What is kept may be out of date, for instance after DEL. That costs time only: nothing is read from
/// those cells, and a filter that hashes differently does not use the digest.
///
/// Threads: the engine's main thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"

namespace mankai::redis {

class EarlyHash {
 public:
  /// Of no item.
  EarlyHash() noexcept = default;
  /// Of a command's item on a key; of none if there are several.
  EarlyHash(std::string_view key, std::span<const std::string_view> items) noexcept;

  [[nodiscard, gnu::always_inline]] Digest digest(const Hasher& hasher, std::string_view item) const noexcept {
    return is_made_ && spec_ == hasher.spec() ? digest_ : hasher(item);
  }
  /// Keeps what the next command on the key needs.
  void keep(const ScalableBloom& filter) const noexcept;

 private:
  struct Place;

  Place* place_ = nullptr;
  bool is_made_ = false;
  std::uint64_t name_;  // these have values if there is a place, or if the hash is made
  HashSpec spec_;
  Digest digest_;
};

}  // namespace mankai::redis
