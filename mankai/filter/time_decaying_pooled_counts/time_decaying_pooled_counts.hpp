#pragma once

/// Decayed counts of keys as in time-decaying-counts, in counters as long as their counts.
///
/// Most keys are rare, so most counters are small: each has 4 bits, its first digit. A counter that exceeds 15 takes
/// another digit from a pool, and returns it after decay: value = Σ d_i · 16^i. A lookup table maps counters to their
/// digits. The paper's example, with two extra digits 2 and 1: 1 · 256 + 2 · 16 + 0 = 288.
///
///     cells: | ledger 64 B | first digits: k partitions of 4-bit counters | gate | pool and lookup table | zeros |
///
/// With equally many counters, a key's counters are those of time-decaying-counts. With the default rules their values
/// equal its cells with the floor policy and 32 bits, so estimates are equal bit for bit (tests).
///
/// Choices, each with a measurable effect (`mankai lab web-profiling`):
///   - lookup: `hash` (default), the paper's two-way `links`, or an `array` of links; see digit_pool.hpp. Same answers.
///   - overflow: `per_counter`, each counter carries independently (§4.2); `all` (§4.1): a counter below its ceiling,
///     the largest value of its digits, counts; one at its ceiling carries only when all k counters of an inserted key
///     are at theirs. It never undercounts: while a counter v of the key is below its ceiling, the key was inserted at
///     most v times; with this insertion v + 1, which is within the ceiling. It needs no more digits, and counts fewer
///     collisions.
///   - when the pool is empty: `grow` rebuilds the image with half as many digits more; `saturate` keeps the counter at
///     the largest value of its digits, and estimates that may be too low are reported as saturated.
///   - gate: the paper's first Bloom filter, with as many bits as counters. A key absent from it has no count. It never
///     decays, as in the paper: after as many distinct keys as there are counters it passes all keys.
///
/// Source:  [Cheng2005] §4, the optimized time-decaying Bloom filter. Differs: partitions; λ is a multiple of 2^-32, as
///          in time-decaying-counts. The paper does not specify what happens when the pool is empty, nor how the table
///          is searched. Its pool of m / 2 digits is 5 to 70 times too large on decaying Zipf streams: use a smaller
///          pool_share and `grow`.
/// Formula: false positives and counts as time-decaying-counts. Bits with hash: 4 per counter, and 9/8 · (4 +
///          ⌈log2(counters + 1)⌉) per digit of the pool.
/// Cannot:  be read beside a writer, since digits move. Be exact: rounding down loses up to 1 / (1 - λ); with ceil it
///          never undercounts, but counts below that never decay.
/// Tried:   a hash table with a mixed hash and deletions: decay then needs m lookups, or a bit per counter. Sorted by
///          counter, decay is one merge.

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/decaying_counts.hpp"
#include "mankai/filter/time_decaying_pooled_counts/digit_pool.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {

/// How to find a counter's digits. The values of these enumerations are part of the image format.
enum class PoolLookup : std::uint8_t { hash = 0, links = 1, array = 2 };
/// Which counters take another digit.
enum class OverflowRule : std::uint8_t { per_counter = 0, all = 1 };
/// What happens when the pool is empty.
enum class EmptyPool : std::uint8_t { grow = 0, saturate = 1 };

/// The names used in specs.
[[nodiscard]] constexpr std::string_view name(PoolLookup lookup) noexcept {
  return lookup == PoolLookup::hash ? "hash" : lookup == PoolLookup::links ? "links" : "array";
}
[[nodiscard]] constexpr std::string_view name(OverflowRule rule) noexcept {
  return rule == OverflowRule::all ? "all" : "per-counter";
}
[[nodiscard]] constexpr std::string_view name(EmptyPool policy) noexcept {
  return policy == EmptyPool::grow ? "grow" : "saturate";
}

/// See the top of this file, and concepts.hpp for common members. Cost: k cache lines per key, and one more per counter
/// with extra digits; `advance` a pass over the cells. Threads: any number of readers, or one writer alone.
class TimeDecayingPooledCounts : public DecayingCounts<TimeDecayingPooledCounts> {
 public:
  static constexpr std::uint16_t kKind = 8;
  static constexpr std::string_view kName = "time-decaying-pooled-counts";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  struct Params {
    std::uint64_t lambda_q32;  ///< λ · 2^32
    std::uint64_t epoch_us;    ///< microseconds
    std::uint8_t k;            ///< counters per key
    std::uint8_t policy;       ///< DecayPolicy: floor or ceil
    std::uint8_t lookup;       ///< PoolLookup
    std::uint8_t overflow;     ///< OverflowRule
    std::uint8_t when_empty;   ///< EmptyPool
    std::uint8_t has_gate;
    std::uint16_t reserved;  ///< zero
  };

  /// What to create: sized for a number of distinct keys at a false-positive rate, or by its counters.
  struct Options {
    std::uint64_t keys = 0;  ///< with counters: 0 for as many as fit at the rate
    double fpr = 0.01;
    std::uint64_t counters = 0;  ///< first digits, rounded down to a multiple of k; 0: what the keys need
    std::uint32_t k = 0;         ///< counters per key, at most 64; 0 for ceil(log2(1 / fpr)), with counters 4
    double pool_share = 0.5;     ///< digits in the pool per counter, at most 7
    Decay decay;
    DecayPolicy policy = DecayPolicy::floor;  ///< or ceil
    PoolLookup lookup = PoolLookup::hash;
    OverflowRule overflow = OverflowRule::per_counter;
    EmptyPool when_empty = EmptyPool::grow;
    bool gate = false;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();  ///< also for growing; a filter from an image grows in system memory
  };

  /// Bytes and digits, allocated and used.
  struct Use {
    std::uint64_t counters_bytes = 0;  ///< first digits
    std::uint64_t gate_bytes = 0;
    std::uint64_t digits_bytes = 0;  ///< the pool's digits
    std::uint64_t lookup_bytes = 0;  ///< keys or links
    std::uint64_t digits_bytes_used = 0;
    std::uint64_t lookup_bytes_used = 0;
    std::uint64_t digits = 0;         ///< in the pool
    std::uint64_t digits_in_use = 0;  ///< belonging to counters
    std::uint64_t digits_peak = 0;    ///< maximum since creation, `clear` or the last growth
  };

  [[nodiscard]] static Result<TimeDecayingPooledCounts> create(const Options& options);
  [[nodiscard]] static Result<TimeDecayingPooledCounts> from_image(Image source);
  /// The pool is as large as this one has grown. Errors: out_of_space.
  [[nodiscard]] Result<TimeDecayingPooledCounts> create_like(const Memory& memory = system_memory()) const;

  /// Every insert counts, also of a present key. Throws bad_alloc, with nothing changed, if the pool cannot grow. A
  /// filter that has grown no longer uses the bytes that it was attached to.
  void insert(Digest digest);
  using DecayingCounts::insert;
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return smallest(digest) != 0; }
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept {
    const std::uint64_t value = smallest(digest);
    return decayed_count(value, decay(), cut_cells().may_concern(value));
  }
  using DecayingCounts::estimate;
  using DecayingCounts::may_contain;

  /// Keeps the tick and the size of the pool.
  void clear() noexcept;

  [[nodiscard]] Use use() const noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] DecayPolicy policy() const noexcept { return static_cast<DecayPolicy>(params().policy); }
  [[nodiscard]] PoolLookup lookup() const noexcept { return lookup_; }
  [[nodiscard]] OverflowRule overflow() const noexcept { return overflow_; }
  [[nodiscard]] EmptyPool when_empty() const noexcept { return when_empty_; }
  [[nodiscard]] bool has_gate() const noexcept { return has_gate_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return cells_per_probe_ * k_; }
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept { return cells_per_probe_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return k_; }
  /// First digits, gate, and the pool for each of them.
  [[nodiscard]] double lines_per_key() const noexcept { return (has_gate_ ? 3.0 : 2.0) * k_; }

  /// The product of the partitions' fills and the gate's fill.
  [[nodiscard]] double fpr_estimate() const noexcept;

 private:
  friend DecayingCounts<TimeDecayingPooledCounts>;
  friend SingleCallFilter<TimeDecayingPooledCounts>;

  // The first line of the cells; first digits start at the next one.
  struct Head {
    std::uint64_t cells_per_probe;
    std::uint64_t pool_digits;
    pool::Ledger ledger;
    std::array<std::uint64_t, 3> reserved;  // zero
  };
  static_assert(sizeof(Head) == kCacheLineBytes);

  // Offsets in words.
  struct Layout {
    std::uint64_t gate = 0;
    std::uint64_t pool = 0;
    std::uint64_t end = 0;
  };

  /// The counters that carry when a key is inserted, and their extra digits before the carry.
  struct Carries {
    std::array<std::uint64_t, kernel::kMaxProbes> counters;
    std::array<std::uint64_t, kernel::kMaxProbes> highs;
    unsigned count = 0;
    unsigned digits = 0;  // taken from the pool
  };

  explicit TimeDecayingPooledCounts(Image source) noexcept;

  [[nodiscard]] static Layout layout_of(const Params& params, std::uint64_t cells_per_probe,
                                        std::uint64_t pool_digits) noexcept;
  [[nodiscard]] static Result<Image> make_image(const FilterSettings& settings, const Params& params,
                                                std::uint64_t cells_per_probe, std::uint64_t pool_digits,
                                                const Memory& memory);
  [[nodiscard]] static Result<void> check_head(const Image& image);
  [[nodiscard]] Result<void> check_cells() const;

  [[nodiscard]] Head& head() noexcept { return *reinterpret_cast<Head*>(image().words().data()); }
  [[nodiscard]] const Head& head() const noexcept { return *reinterpret_cast<const Head*>(image().words().data()); }
  void find_parts() noexcept;

  template <class Visit>
  void for_each_counter(Digest digest, const Visit& visit) const;
  [[nodiscard]] std::uint64_t high(std::uint64_t counter) const noexcept;
  [[nodiscard]] std::uint64_t smallest_counter(Digest digest) const noexcept;
  /// As smallest_counter, but 0 if the gate rejects the key.
  [[nodiscard]] std::uint64_t smallest(Digest digest) const noexcept;
  [[nodiscard]] bool passes_gate(Digest digest) const noexcept;
  void open_gate(Digest digest) noexcept;

  [[nodiscard]] Carries find_carries(Digest digest) const noexcept;
  void make_room(unsigned digits);
  void grow(std::uint64_t pool_digits);
  void carry(std::uint64_t counter, std::uint64_t high) noexcept;
  void count_cut(std::uint64_t counter_value) noexcept;
  void prefetch(Digest digest) const noexcept;
  void decay_cells(std::uint64_t now, std::uint64_t epochs) noexcept;
  [[nodiscard]] PartitionFill partitions() const noexcept;

  Memory memory_ = system_memory();
  std::uint64_t cells_per_probe_ = 0;
  std::uint32_t k_ = 0;
  PoolLookup lookup_{};
  OverflowRule overflow_{};
  EmptyPool when_empty_{};
  bool has_gate_ = false;
  pool::FirstDigits first_;
  std::uint64_t* gate_ = nullptr;
  std::variant<pool::DigitTable, pool::DigitLists> pool_;
};

extern template class SingleCallFilter<TimeDecayingPooledCounts>;

static_assert(BatchFilter<TimeDecayingPooledCounts>);
static_assert(DecayedFrequencyFilter<TimeDecayingPooledCounts>);

}  // namespace mankai
