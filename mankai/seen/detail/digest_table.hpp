#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/seen/digest_log_format.hpp"

namespace mankai::detail {

/// Digests in order of insertion, and a hash table to find them, at most half full. A place holds the index of a digest
/// plus 1; 0 is free.
class DigestTable {
 public:
  DigestTable() : places_(kFewest, 0) {}

  [[nodiscard]] std::span<const WideDigest> digests() const noexcept { return digests_; }

  [[nodiscard]] bool contains(WideDigest digest) const noexcept { return places_[place_of(digest)] != 0; }

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return digests_.capacity() * sizeof(WideDigest) + places_.capacity() * sizeof(std::uint32_t);
  }

  /// Pre: the table does not contain the digest.
  void add(WideDigest digest) {
    if ((digests_.size() + 1) * 2 > places_.size()) {
      grow();
    }
    digests_.push_back(digest);
    places_[place_of(digest)] = static_cast<std::uint32_t>(digests_.size());
  }

  void clear() {
    digests_.clear();
    places_.assign(places_.size(), 0);
  }

 private:
  static constexpr std::size_t kFewest = 1024;

  /// Returns the place of a digest, or the free place where it belongs.
  [[nodiscard]] std::size_t place_of(WideDigest digest) const noexcept {
    std::size_t place = digest.second & (places_.size() - 1);
    while (places_[place] != 0 && digests_[places_[place] - 1] != digest) {
      place = (place + 1) & (places_.size() - 1);
    }
    return place;
  }

  void grow() {
    places_.assign(places_.size() * 2, 0);
    for (std::size_t i = 0; i < digests_.size(); ++i) {
      places_[place_of(digests_[i])] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<WideDigest> digests_;
  std::vector<std::uint32_t> places_;  // the size is a power of two
};

}  // namespace mankai::detail
