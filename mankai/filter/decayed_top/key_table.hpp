#pragma once

/// The keys of a decayed-top with the highest scores, with their bytes.
///
///     | buckets of 448 bytes | arena |
///
///     bucket: | 16 digests | 16 scores, 64 bits | 16 times | 16 records, 32 bits |    seven cache lines
///                   ▲ a key's bucket is high(remixed digest × buckets); it may be in any of the 16 slots
///
///     arena: | record | record | … | free      record: | u32 slot | u32 length and flags | bytes, padded to 8 |

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// See the top of this file. A view. Scores are multiples of 2^-28, so that thousands of events that count almost
/// nothing stay negligible. Threads: const calls are safe together; changes need the table alone.
class KeyTable {
 public:
  static constexpr std::uint32_t kWays = 16;
  static constexpr std::uint32_t kScoreBits = 28;
  static constexpr std::uint64_t kOneScore = std::uint64_t{1} << kScoreBits;
  /// The highest score; two of them can be added.
  static constexpr std::uint64_t kMostScore = std::uint64_t{1} << 62;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  static constexpr std::uint64_t kUnitBytes = sizeof(std::uint64_t);
  static constexpr std::size_t kMostKeyBytes = 1024;
  /// Slots, arena units and buckets are numbered with 32 bits.
  static constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 27;
  static constexpr std::uint64_t kMostArenaUnits = 0xffff'fffe;

  /// State stored outside the table.
  struct State {
    std::uint64_t arena_used;  ///< units from the arena's start to the end of its last record
    std::uint64_t bar;         ///< highest score evicted for lack of arena space; only higher scores enter
  };

  /// Unused slots are zero throughout.
  struct Bucket {
    std::array<std::uint64_t, kWays> digests;
    std::array<std::uint64_t, kWays> scores;
    std::array<std::uint64_t, kWays> last_seen;  ///< microseconds since 1970
    std::array<std::uint32_t, kWays> records;    ///< 1 + the arena unit of its record; 0: unused
  };
  static_assert(sizeof(Bucket) == std::size_t{kWays} * 28);

  struct Candidate {
    Digest digest;
    std::string_view key;  ///< at most most_key_bytes()
    std::uint64_t score;
    std::uint64_t last_seen;
    bool is_cut;  ///< `key` is only a prefix of the key
  };
  /// Called with the score of each evicted key.
  using Evicted = std::function<void(Digest, std::uint64_t score)>;

  struct Wrong {
    const void* place;
    std::string what;
  };

  static constexpr std::uint64_t units_of_key(std::size_t key_bytes) noexcept {
    return 1 + divide_up<std::uint64_t>(key_bytes, kUnitBytes);
  }
  static constexpr std::uint64_t bytes_of(std::uint64_t buckets, std::uint64_t key_units) noexcept {
    return buckets * (sizeof(Bucket) + std::uint64_t{kWays} * key_units * kUnitBytes);
  }
  /// A score after `epochs`, rounded up in each.
  static std::uint64_t faded(std::uint64_t score, std::uint64_t lambda_q32, std::uint64_t epochs) noexcept;

  /// Shape: words[bytes_of(buckets, key_units) / 8]. Pre: words and state outlive the table.
  KeyTable(State& state, std::span<std::uint64_t> words, std::uint32_t buckets, std::uint64_t key_units) noexcept;
  /// Call after the words have moved.
  void move_to(State& state, std::uint64_t* words) noexcept;
  /// Call after the words have been zeroed.
  void forget_all() noexcept { live_units_ = 0; }

  [[nodiscard]] std::uint32_t find(Digest digest) const noexcept;
  [[nodiscard]] Digest digest(std::uint32_t slot) const noexcept { return {bucket(slot).digests[slot % kWays]}; }
  [[nodiscard]] std::uint64_t& score(std::uint32_t slot) noexcept { return bucket(slot).scores[slot % kWays]; }
  [[nodiscard]] std::uint64_t score(std::uint32_t slot) const noexcept { return bucket(slot).scores[slot % kWays]; }
  [[nodiscard]] std::uint64_t last_seen(std::uint32_t slot) const noexcept {
    return bucket(slot).last_seen[slot % kWays];
  }
  void note_seen(std::uint32_t slot, std::uint64_t at) noexcept;
  /// Pre: the slot is in use. The key's bytes are valid until the table changes.
  [[nodiscard]] Candidate at(std::uint32_t slot) const noexcept;

  /// The slot for a key, or kNoSlot unless its score exceeds the lowest in its bucket and all that were evicted for
  /// lack of arena space. Pre: the key is not in the table.
  [[nodiscard]] std::uint32_t slot_for(Digest digest, std::uint64_t score) const noexcept;
  /// Stores the key and evicts the slot's previous one. Pre: slot_for returned the slot.
  void enter(std::uint32_t slot, const Candidate& candidate, const Evicted& evicted) noexcept;
  /// Decays all scores and the bar. Cost: a pass over the buckets.
  void fade(std::uint64_t lambda_q32, std::uint64_t epochs) noexcept;

  /// Slots of the keys whose score is at least `least_score`, highest first, equal ones sorted by bytes: at most `most`
  /// after the first `skip`. Cost: a pass over the table and a sort of those that are returned. Throws bad_alloc.
  [[nodiscard]] std::vector<std::uint32_t> hottest(std::uint64_t least_score, std::size_t skip, std::size_t most) const;
  template <class Use>
  void for_each(const Use& use) const {
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
      if (bucket(slot).records[slot % kWays] != 0) {
        use(slot);
      }
    }
  }

  [[nodiscard]] std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(buckets_.size()) * kWays; }
  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] std::uint32_t most_key_bytes() const noexcept { return most_key_bytes_; }

  /// Checks an untrusted image and counts live units. `newest` is the time of the newest event.
  [[nodiscard]] std::optional<Wrong> check(const Hasher& hasher, std::uint64_t newest) noexcept;

 private:
  struct Record {
    std::uint32_t slot;
    std::uint32_t length;
    std::uint32_t flags;
  };

  [[nodiscard]] Bucket& bucket(std::uint32_t slot) noexcept { return buckets_[slot / kWays]; }
  [[nodiscard]] const Bucket& bucket(std::uint32_t slot) const noexcept { return buckets_[slot / kWays]; }
  [[nodiscard]] std::uint32_t bucket_index(Digest digest) const noexcept;
  void evict(std::uint32_t slot, const Evicted& evicted) noexcept;

  [[nodiscard]] Record record_at(std::uint64_t unit) const noexcept;
  [[nodiscard]] std::string_view key_at(std::uint64_t unit) const noexcept;
  [[nodiscard]] bool is_live(const Record& record, std::uint64_t unit) const noexcept;
  template <class Use>
  void for_each_live(const Use& use) const;
  void make_room(std::uint64_t units, const Evicted& evicted) noexcept;
  void evict_coldest(std::uint64_t units, const Evicted& evicted) noexcept;
  void compact() noexcept;

  [[nodiscard]] std::optional<Wrong> check_slot(std::uint32_t slot, std::uint64_t newest) const;
  [[nodiscard]] std::optional<Wrong> check_record(std::uint64_t unit, const Hasher& hasher) const;
  [[nodiscard]] std::optional<Wrong> check_arena(const Hasher& hasher) const;

  State* state_;
  std::span<Bucket> buckets_;
  std::span<std::uint64_t> arena_;
  std::uint32_t most_key_bytes_;
  std::uint64_t live_units_ = 0;  ///< arena units of the keys in the table
};

}  // namespace mankai
