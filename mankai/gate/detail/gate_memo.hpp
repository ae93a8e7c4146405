#pragma once

/// An exact memo of absent keys that a gate's filter answers "maybe" and a report has shown to be absent.
///
/// A set is a cache line of eight words: a state, and the hashes of up to seven keys, the most recent first, 0 for
/// none.
///
///     | version · 40 bits, holds · 24 bits | hash | hash | hash | hash | hash | hash | hash |
///
/// A key's digest chooses its set. The hash is of the key's bytes with another random seed: two keys share it with
/// probability 2^-64, and a client that chooses keys cannot find such a pair.
///
/// The version goes up whenever a key of the set is inserted or held. An answer has the state from before the filter
/// was asked, and a report is accepted only while the state is the same. So a key that was inserted after the answer is
/// never entered, and the query behind the report saw every key that was inserted before.
///
/// Threads: any. Lookups take no lock; changes of a set take one.

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
  /// Has at least one set, also for 0 bytes; then nothing is entered.
  explicit GateMemo(std::size_t bytes);

  /// Returns the state of the key's set; to be read before the filter.
  [[nodiscard]] std::uint64_t state(Digest digest) const noexcept {
    return set_of(digest).words[0].load(std::memory_order_acquire);
  }
  [[nodiscard]] static bool is_held(std::uint64_t state) noexcept { return (state & kHoldMask) != 0; }

  /// Returns whether the key was reported as absent.
  [[nodiscard]] bool knows(Digest digest, std::string_view key) noexcept;
  /// Enters a report. Returns false, and enters nothing, if the set is held or its state is not what it was.
  bool enter(Digest digest, std::string_view key, std::uint64_t state) noexcept;
  /// The key was inserted: removes it, and makes earlier answers' reports invalid.
  void drop(Digest digest, std::string_view key) noexcept;
  /// Any key may have been inserted.
  void drop_all() noexcept;
  void hold(Digest digest) noexcept;
  void release(Digest digest) noexcept;

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
