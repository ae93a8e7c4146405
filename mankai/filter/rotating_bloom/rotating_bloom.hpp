#pragma once

/// A Bloom filter whose keys expire after a window of time: was this key seen in the last seven days?
///
/// Time is divided into epochs of window / (g - 1). Each of g generations is a blocked-bloom array with the keys of one
/// epoch: tick t uses generation t mod g. Keys are inserted into the newest generation; when a new epoch begins, the
/// oldest is cleared and becomes the newest. A key may be present if any generation answers yes.
///
///     cells: | generation 0: blocks of 64 bytes | generation 1 | … | generation g - 1 |
///
///     tick 9, g = 4:   | tick 8 | tick 9 | tick 6 | tick 7 |
///                                 ▲ keys are inserted here    tick 6 is cleared next
///
/// Inserting a key again inserts it into the newest generation, so its last insertion counts. The key is found for at
/// least the window after that, and expires at most an epoch later, after window · g / (g - 1) in all.
///
/// Source:  [Yoon2010] two buffers in turn; [Shtul2020] with more of them. Differs: blocks of a cache line; generations
///          rotate by time, not by fill, so the window is guaranteed and the rate is not.
/// Formula: false-positive rate 1 - Π (1 - f(n_j)), n_j the keys of generation j and f blocked-bloom's. Each is sized
///          for keys / (g - 1) at 1 - (1 - rate)^(1/g), so that g full ones have the rate. 17.7 bits per key of the
///          window at 1 % with g = 4, where blocked-bloom, whose keys never expire, takes 10.1.
/// Cannot:  keep the rate if an epoch has more keys than its share (is_full). A key inserted in several epochs counts
///          in each.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/block_ops_inline.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: one cache line per insert, up to g per query.
class RotatingBloom : public FlatFilter<RotatingBloom> {
 public:
  static constexpr std::uint16_t kKind = 12;
  static constexpr std::string_view kName = "rotating-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  static constexpr std::uint32_t kMostGenerations = 64;

  struct Params {
    std::uint64_t block_count;  ///< of a generation
    std::uint64_t epoch_us;
    std::uint32_t generations;
    std::uint32_t reserved;  ///< 0
  };

  struct Options {
    std::uint64_t keys = 0;  ///< per window, spread evenly; one in several epochs counts in each
    double fpr = 0.01;
    Duration window{};              ///< how long a key is found at least
    std::uint32_t generations = 4;  ///< 2 to 64; more expire keys sooner after the window, but cost more per query
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<RotatingBloom> create(const Options& options);
  [[nodiscard]] static Result<RotatingBloom> from_image(Image source);

  /// Blocks of one generation for so many keys per window. Errors: as create's.
  [[nodiscard]] static Result<std::uint64_t> blocks_for(std::uint64_t keys, double fpr, std::uint32_t generations);

  // Single calls compile to the caller's flags: see BitFilter.

  [[gnu::always_inline]] void insert(Digest digest) noexcept {
    const bool is_fresh = !kernel::observe_single(*ops_, newest_, block_count_, digest);
    count(1, static_cast<std::uint64_t>(is_fresh));
  }
  [[gnu::always_inline]] bool observe(Digest digest) noexcept {
    if (kernel::observe_single(*ops_, newest_, block_count_, digest)) {
      count(1, 0);
      return true;
    }
    count(1, 1);
    return is_in_older(digest);
  }
  /// Always true within the window after an insert.
  [[nodiscard, gnu::always_inline]] bool may_contain(Digest digest) const noexcept {
    return kernel::may_contain_single(*ops_, newest_, block_count_, digest) || is_in_older(digest);
  }

  void insert(std::span<const Digest> digests) noexcept;
  void insert(std::span<const std::uint64_t> keys) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;

  /// Clears the generations that a later tick reuses. Cost: a memset of each.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return epoch_; }
  /// How long a key is found at least; not shorter than requested.
  [[nodiscard]] Duration window() const noexcept { return epoch_ * (generations_ - 1); }
  [[nodiscard]] std::uint32_t generations() const noexcept { return generations_; }

  /// The keys keep their ages, at the later tick of the two.
  [[nodiscard]] Result<void> merge(const RotatingBloom& other);

  void clear() noexcept;

  /// Insertions, including those of expired keys.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// Keys inserted for the first time in this epoch, less false positives of its generation.
  [[nodiscard]] std::uint64_t keys_of_epoch() const noexcept { return image().state(kEpochKeys); }
  [[nodiscard]] std::uint64_t epoch_capacity_keys() const noexcept;
  /// Whether the epoch has its share of keys; beyond that the false-positive rate may exceed the target.
  [[nodiscard]] bool is_full() const noexcept { return keys_of_epoch() >= epoch_capacity_keys(); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept {
    return generations_ * block_count_ * std::uint64_t{probes::kBlockBits};
  }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return probes::kBlockLanes; }
  /// Of a query.
  [[nodiscard]] double lines_per_key() const noexcept { return generations_; }

  [[nodiscard]] double fill_ratio() const noexcept;
  /// Summed over generations: a key inserted in several epochs counts in each.
  [[nodiscard]] double keys_estimate() const noexcept;
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// With so many keys per window, spread evenly.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kEpochKeys = 1;
  static constexpr std::size_t kStateWords = 2;

  RotatingBloom(Image source, const Params& params) noexcept;

  void count(std::uint64_t inserted, std::uint64_t fresh) noexcept {
    image().add_keys(inserted);
    // Only a foreign image's count is so high; what is written must be readable.
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

  // Adjacent, so that a query loads one cache line of the object.
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
