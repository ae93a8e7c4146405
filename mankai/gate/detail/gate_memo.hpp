#pragma once

/// Absent keys that a gate's filter answers "maybe" and of whom somebody reported that there is nothing: an exact memo.
///
/// A set is a cache line of eight words: a state, and the hashes of up to seven keys, the latest first, 0 for none.
///
///     | version · 40 bits, holds · 24 bits | hash | hash | hash | hash | hash | hash | hash |
///
/// A key's digest chooses its set. The hash is another one, of the key's bytes with a seed of its own: two keys that
/// share it are taken for one, with probability 2^-64, and whoever chooses keys cannot find such two.
///
/// The version goes up whenever a key of the set is inserted or held. An answer carries the state as it was before the
/// filter was asked, and a report goes in only while it is the same: so a key that was inserted after the answer is
/// never entered, and one that was inserted before had been seen by the query that the report is of.
///
/// Threads: any. Looking takes no lock; what changes a set takes one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "mankai/hash/hasher.hpp"

namespace mankai::detail {

class GateMemo {
 public:
  /// At least one set, also for 0 bytes; then nothing is entered.
  explicit GateMemo(std::size_t bytes);

  /// Of the key's set. Asked before the filter is.
  [[nodiscard]] std::uint64_t state(Digest digest) const noexcept {
    return set_of(digest).words[0].load(std::memory_order_acquire);
  }
  [[nodiscard]] static bool is_held(std::uint64_t state) noexcept { return (state & kHoldMask) != 0; }

  /// Whether a report said that there is nothing.
  [[nodiscard]] bool knows(Digest digest, std::string_view key) noexcept;
  /// Enters a report. Returns false, and enters nothing, if the set is held or its state is not what it was.
  bool enter(Digest digest, std::string_view key, std::uint64_t state) noexcept;
  /// The key was inserted: what is known of it is dropped, and what is on its way is not believed.
  void drop(Digest digest, std::string_view key) noexcept;
  /// Any key may have been inserted.
  void drop_all() noexcept;
  void hold(Digest digest) noexcept;
  void release(Digest digest) noexcept;

  /// Bytes of the sets.
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * sizeof(Set); }

 private:
  static constexpr std::size_t kWords = 8;
  static constexpr unsigned kHoldBits = 24;
  static constexpr std::uint64_t kHoldMask = (std::uint64_t{1} << kHoldBits) - 1;
  static constexpr std::uint64_t kVersionStep = kHoldMask + 1;

  struct alignas(kWords * sizeof(std::uint64_t)) Set {
    std::atomic<std::uint64_t> words[kWords];
  };

  [[nodiscard]] Set& set_of(Digest digest) const noexcept;
  [[nodiscard]] std::uint64_t hash_of(std::string_view key) const noexcept;
  static void put_first(Set& set, std::uint64_t hash) noexcept;
  static void add_to_state(Set& set, std::uint64_t amount) noexcept;

  Hasher hasher_;
  std::size_t count_;
  bool is_on_;
  std::unique_ptr<Set[]> sets_;
  std::mutex changing_;
};

}  // namespace mankai::detail
