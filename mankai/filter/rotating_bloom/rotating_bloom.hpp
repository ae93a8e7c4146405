#pragma once

/// A Bloom filter whose keys expire after a window of time: have I seen it in the last seven days?
///
/// Time is divided into epochs of window / (g - 1). Each of g generations is an array of blocks like blocked-bloom's
/// with the keys of one epoch: generation t mod g is that of tick t. Keys are inserted into the newest one; when a new
/// epoch begins, the oldest one is cleared and becomes the newest. A key may be present if any generation answers yes.
///
///     cells: | generation 0: blocks of 64 bytes | generation 1 | … | generation g - 1 |
///
///     tick 9, g = 4:   | tick 8 | tick 9 | tick 6 | tick 7 |
///                                 ▲ keys are inserted here    the next one cleared is that of tick 6
///
/// Inserting a key again inserts it into the newest generation, so its last insertion counts: the key is found for at
/// least the window after that, and expires at most an epoch later, after window · g / (g - 1) in all.
///
/// Source:  [Yoon2010] two buffers in turn; [Shtul2020] with more of them. Differs: blocks of a line; generations are
///          rotated by time and not by fill, so the window is guaranteed and the rate is not.
/// Formula: false-positive rate 1 - Π (1 - f(n_j)), n_j the keys of generation j and f blocked-bloom's. Each is sized
///          for keys / (g - 1) at 1 - (1 - rate)^(1/g), so that g full ones have the rate. 17.7 bits per key of the
///          window at 1 % with g of 4, where blocked-bloom, whose keys never expire, takes 10.1.
/// Cannot:  keep the rate if an epoch has more keys than its share: is_full() tells. A key that is inserted in several
///          epochs counts in each.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/block_ops_inline.hpp"

namespace mankai {

/// See the top of this file. Cost: one cache line an insert, up to g a query.
/// Threads: any number of readers beside one writer. `advance`, `seal`, `clear`, `merge` and moving need the filter
///          alone.
class RotatingBloom : public FlatFilter<RotatingBloom> {
 public:
  static constexpr std::uint16_t kKind = 12;
  static constexpr std::string_view kName = "rotating-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  static constexpr std::uint32_t kMostGenerations = 64;

  /// Stored in the image.
  struct Params {
    std::uint64_t block_count;  ///< of a generation
    std::uint64_t epoch_us;
    std::uint32_t generations;
    std::uint32_t reserved;  ///< 0
  };

  /// What to create: sized for so many keys in a window, at such a false positive rate over all generations.
  struct Options {
    std::uint64_t keys = 0;  ///< that come in a window, spread evenly; one that comes in several epochs counts in each
    double fpr = 0.01;
    Duration window{};              ///< how long a key is found for sure
    std::uint32_t generations = 4;  ///< 2 to 64: more of them forget sooner after the window, and cost more to ask
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<RotatingBloom> create(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt.
  [[nodiscard]] static Result<RotatingBloom> from_image(Image source);

  /// Returns the blocks of one generation for so many keys a window. Errors: as create's.
  [[nodiscard]] static Result<std::uint64_t> blocks_for(std::uint64_t keys, double fpr, std::uint32_t generations);

  // Single calls compile to what their caller's flags allow: see BitFilter.

  /// Inserts at the filter's tick. Never fails; past the epoch's share the false positive rate rises.
  [[gnu::always_inline]] void insert(Digest digest) noexcept {
    const bool is_fresh = !kernel::observe_single(*ops_, newest_, block_count_, digest);
    count(1, static_cast<std::uint64_t>(is_fresh));
  }
  /// Inserts, and returns whether the key had been seen before and not been forgotten, as far as the filter can tell.
  [[gnu::always_inline]] bool observe(Digest digest) noexcept {
    if (kernel::observe_single(*ops_, newest_, block_count_, digest)) {
      count(1, 0);
      return true;
    }
    count(1, 1);
    return is_in_older(digest);
  }
  /// Returns whether the key may have been seen: always true within the window after it was.
  [[nodiscard, gnu::always_inline]] bool may_contain(Digest digest) const noexcept {
    return kernel::may_contain_single(*ops_, newest_, block_count_, digest) || is_in_older(digest);
  }

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], outcomes[c]; may be empty; must not overlap.
  /// Integer keys are hashed in the same pass, as `hasher()` would.
  void insert(std::span<const Digest> digests) noexcept;
  void insert(std::span<const std::uint64_t> keys) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;

  /// Goes on to a later tick and empties the generations that restart. Cost: a memset of each of those.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return epoch_; }
  /// How long a key is found for sure: at least what was asked for.
  [[nodiscard]] Duration window() const noexcept { return epoch_ * (generations_ - 1); }
  [[nodiscard]] std::uint32_t generations() const noexcept { return generations_; }

  /// Adds the other filter's keys, each as old as it is there, at the later tick of the two. Errors: invalid_argument
  /// when size, shape, window or seed differ.
  [[nodiscard]] Result<void> merge(const RotatingBloom& other);

  /// Forgets every key; the tick stays.
  void clear() noexcept;

  /// Insertions, those of forgotten keys included.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// Keys that came first in this epoch, less those that were false positives of its generation when they came.
  [[nodiscard]] std::uint64_t keys_of_epoch() const noexcept { return image().state(kEpochKeys); }
  /// How many of those a generation is made for.
  [[nodiscard]] std::uint64_t epoch_capacity_keys() const noexcept;
  /// Past this epoch's share, the false positive rate may go beyond the target.
  [[nodiscard]] bool is_full() const noexcept { return keys_of_epoch() >= epoch_capacity_keys(); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept {
    return generations_ * block_count_ * std::uint64_t{probes::kBlockBits};
  }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return probes::kBlockLanes; }
  /// The cache lines that a query touches, at most.
  [[nodiscard]] double lines_per_key() const noexcept { return generations_; }

  /// Set cells over all cells. Cost: a pass over the cells.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many keys there are, from the fill, one that came in several epochs counted in each. Infinite when every cell
  /// of a generation is set. Cost: a pass over the cells.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that a key that never came is answered yes, from the cells as they are. Cost: a pass over the
  /// cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The rate that the formula gives with all generations as full as so many keys a window, spread evenly, make them.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  // The words of the image's state.
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kEpochKeys = 1;
  static constexpr std::size_t kStateWords = 2;

  RotatingBloom(Image source, const Params& params) noexcept;

  void count(std::uint64_t inserted, std::uint64_t fresh) noexcept {
    image().add_keys(inserted);
    // Only a count that came from outside gets so far; what is written must be readable.
    image().set_state(kEpochKeys, std::min(keys_of_epoch() + fresh, kMaxKeysInserted));
  }
  [[gnu::always_inline]] bool is_in_older(Digest digest) const noexcept {
    const std::uint64_t step = generation_words();
    for (const std::uint64_t* words = first_; words != end_; words += step) {
      if (words != newest_ && kernel::may_contain_single(*ops_, words, block_count_, digest)) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::uint64_t generation_words() const noexcept { return block_count_ * probes::kBlockLanes; }
  [[nodiscard]] std::uint64_t* generation_of(std::uint64_t tick) noexcept {
    return first_ + tick % generations_ * generation_words();
  }
  [[nodiscard]] const std::uint64_t* generation_of(std::uint64_t tick) const noexcept {
    return first_ + tick % generations_ * generation_words();
  }
  template <class Use>
  void for_each_generation(const Use& use) const;
  template <class Key, class Ask>
  void ask_older(std::span<const Key> keys, std::span<bool> outcomes, const Ask& ask) const noexcept;
  [[nodiscard]] double keys_in(const std::uint64_t* generation) const noexcept;
  void take_tick(std::uint64_t tick) noexcept;

  // Kept beside each other, so that a query loads one line of the filter's own.
  std::uint64_t* first_;
  std::uint64_t* end_;
  std::uint64_t* newest_;
  std::uint64_t block_count_;
  const kernel::BlockOps* ops_;
  std::uint32_t generations_;
  Duration epoch_;
};

static_assert(BatchFilter<RotatingBloom>);
static_assert(DecayingFilter<RotatingBloom>);
static_assert(MergeableFilter<RotatingBloom>);

}  // namespace mankai
