#pragma once

/// An exact memo of absent keys that a gate's filter answers "maybe" and a report has shown to be absent.
///
/// A set is a cache line of eight words: a state, and the hashes of up to seven keys, the most recent first; 0: unused.
///
///     | version · 40 bits, holds · 24 bits | hash | hash | hash | hash | hash | hash | hash |
///
/// A key's digest chooses its set. The hash is of the key's bytes with another random seed: two keys share it with
/// probability 2^-64, and a client that chooses keys cannot find such a pair.
///
/// The version increases when a key of the set is inserted or held. A report is accepted only if the state is as before
/// the answer's filter lookup. So no key inserted after the answer is entered, and the query saw all earlier ones.
///
/// Threads: any. Lookups take no lock; changes take one.

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
  /// Has at least one set even for 0 bytes, but then enters nothing.
  explicit GateMemo(std::size_t bytes);

  /// The state of the key's set. Read it before the filter.
  [[nodiscard]] std::uint64_t state(Digest digest) const noexcept {
    return set_of(digest).words[0].load(std::memory_order_acquire);
  }
  [[nodiscard]] static bool is_held(std::uint64_t state) noexcept { return (state & kHoldMask) != 0; }

  [[nodiscard]] bool knows(Digest digest, std::string_view key) noexcept;
  /// Enters a report. Returns false without entering if the set is held or its state has changed.
  bool enter(Digest digest, std::string_view key, std::uint64_t state) noexcept;
  /// Removes a key that was inserted, and invalidates reports about earlier answers.
  void drop(Digest digest, std::string_view key) noexcept;
  /// As drop, for all keys.
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
