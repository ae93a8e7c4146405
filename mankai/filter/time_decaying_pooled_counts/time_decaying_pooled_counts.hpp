#pragma once

/// Decayed counts of keys, as time-decaying-counts does, in counters that are as long as their counts.
///
/// Most keys are seldom, so most counters are small: each has 4 bits, its first digit. One that grows beyond 15 takes
/// another digit from a pool, and gives it back when it has faded: value = Σ d_i · 16^i. A lookup table says which
/// digits belong to which counter. The paper's example, with two extra digits 2 and 1: 1 · 256 + 2 · 16 + 0 = 288.
///
///     cells: | ledger 64 B | first digits: k partitions of 4-bit counters | gate | pool and lookup table | zeros |
///
/// With equally many, a key's are where time-decaying-counts has its cells, and with the default rules they have the
/// values that its cells have with the floor policy and 32 bits: estimates are equal, bit for bit (tests).
///
/// Choices, each for a reason to be measured (`mankai lab web-profiling`):
///   - lookup: `hash`, digits in one array sorted by counter with gaps, no links (default); `links`, the paper's
///   two-way
///     links; `array`, one link for every counter. Same answers.
///     mankai/filter/time_decaying_pooled_counts/digit_pool.hpp draws them.
///   - overflow: `per_counter`, each counter carries for itself (§4.2); `all` (§4.1): a counter below its ceiling, the
///     largest value of its digits, counts; one that stands at it waits until all k counters of the key that comes have
///     reached it. It never undercounts: some counter v of the key is below the ceiling, so the key came at most v
///     times; with this one, v + 1, which is no more than the ceiling. It needs no more digits, and counts fewer
///     collisions.
///   - when the pool is empty: `grow`, the image is built anew with half as many digits more; `saturate`, the counter
///     keeps the largest value of the digits it has, which is counted, and estimates that it may have made too low say
///     so.
///   - gate: the paper's first Bloom filter, as many bits as counters. A key that is not in it has no count. It never
///     fades, as in the paper: it fills up, and lets all keys through after as many distinct keys as there are
///     counters.
///
/// Source:  [Cheng2005] §4, the optimized time-decaying Bloom filter. Differs: partitions, and λ is a multiple of
/// 2^-32,
///          as in time-decaying-counts; what happens when the pool is empty, and how the table is searched, is left
///          open there. Its pool of m / 2 digits is 5 to 70 times too large on Zipf streams that fade: give a smaller
///          pool_share, and let it grow.
/// Formula: false positives and counts as time-decaying-counts. With hash, bits: 4 a counter, and for each digit of
///          the pool 9/8 · (4 + ⌈log2(counters + 1)⌉).
/// Cannot:  be read beside a writer: digits move. Be strict: rounding down loses up to 1 / (1 - λ); with ceil it never
///          undercounts, but counts below that never fade.
/// Tried:   a hash table with a mixed hash and deletions: fading is then m lookups, or needs a bit a counter to know
///          who has digits. Sorted by counter it is one merge.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/cut_cells.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/filter/time_decaying_pooled_counts/digit_pool.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {

/// How the digits of a counter are found. The values of these are part of the image format.
enum class PoolLookup : std::uint8_t { hash = 0, links = 1, array = 2 };
/// Who takes another digit.
enum class OverflowRule : std::uint8_t { per_counter = 0, all = 1 };
/// What happens when there is none.
enum class EmptyPool : std::uint8_t { grow = 0, saturate = 1 };

/// Return the names used in specs.
[[nodiscard]] std::string_view name(PoolLookup lookup) noexcept;
[[nodiscard]] std::string_view name(OverflowRule rule) noexcept;
[[nodiscard]] std::string_view name(EmptyPool policy) noexcept;

/// See the top of this file. Cost: k cache lines per key, and one more for each counter that is looked up; `advance` a
/// pass over the cells. Threads: any number of readers, or one writer alone.
class TimeDecayingPooledCounts : public FlatFilter<TimeDecayingPooledCounts> {
 public:
  static constexpr std::uint16_t kKind = 8;
  static constexpr std::string_view kName = "time-decaying-pooled-counts";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// Stored in the image.
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

  /// What to create: sized for so many distinct keys at such a false positive rate, or by its counters.
  struct Options {
    std::uint64_t keys = 0;  ///< with counters: 0 for as many as they hold at the rate
    double fpr = 0.01;
    std::uint64_t counters = 0;  ///< so many first digits, less what k does not divide; 0: what the keys need
    std::uint32_t k = 0;         ///< counters per key, at most 64; 0 for ceil(log2(1 / fpr)), with counters 4
    double pool_share = 0.5;     ///< digits in the pool for each counter, at most 7
    Decay decay;
    DecayPolicy policy = DecayPolicy::floor;  ///< or ceil
    PoolLookup lookup = PoolLookup::hash;
    OverflowRule overflow = OverflowRule::per_counter;
    EmptyPool when_empty = EmptyPool::grow;
    bool gate = false;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();  ///< also for growing; a filter from an image grows in the system's
  };

  /// Bytes and digits: what was allocated, and what of it is used.
  struct Use {
    std::uint64_t counters_bytes = 0;  ///< first digits
    std::uint64_t gate_bytes = 0;
    std::uint64_t digits_bytes = 0;  ///< the pool's digits
    std::uint64_t lookup_bytes = 0;  ///< keys or links
    std::uint64_t digits_bytes_used = 0;
    std::uint64_t lookup_bytes_used = 0;
    std::uint64_t digits = 0;         ///< in the pool
    std::uint64_t digits_in_use = 0;  ///< that belong to counters
    std::uint64_t digits_peak = 0;    ///< the most there ever were since it was created, cleared or last grown
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<TimeDecayingPooledCounts> create(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt; unsupported_version for an unknown choice.
  [[nodiscard]] static Result<TimeDecayingPooledCounts> from_image(Image source);
  /// Makes an empty filter like this one, its pool as large as it has grown. Errors: out_of_space.
  [[nodiscard]] Result<TimeDecayingPooledCounts> create_like(const Memory& memory = system_memory()) const;

  /// Goes on to a later tick: every counter fades by as many epochs. An earlier tick changes nothing.
  /// Cost: one pass over the cells, however many epochs.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return decay().epoch; }
  [[nodiscard]] Decay decay() const noexcept;

  /// Every insert counts, also of a key that is in. Throws bad_alloc, having changed nothing, when the pool must grow
  /// and cannot. A filter that grows leaves the bytes that it was attached to behind.
  void insert(Digest digest);
  /// Inserts, and returns whether anything of the key was left before, as far as the filter can tell.
  bool observe(Digest digest);
  /// Returns whether anything of the key may be left.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return smallest(digest) != 0; }
  /// Returns the decayed count of the key.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept { return count_of(smallest(digest)); }

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], and an outcome for each; may be empty; must not
  /// overlap. Integer keys are hashed as `hasher()` would. Where growing throws, the keys before are in.
  void insert(std::span<const Digest> digests);
  void insert(std::span<const std::uint64_t> keys);
  void observe(std::span<const Digest> digests, std::span<bool> seen);
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;
  void estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept;

  /// Forgets every key, and goes on at its tick. The pool stays as large as it is.
  void clear() noexcept;

  /// How many times a key was inserted.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// How often a counter was not raised for want of a digit, or because it had reached 2^32 - 1. Estimates that this
  /// may have made too low are saturated, and others as high, until what was lost has faded (CutCells).
  [[nodiscard]] std::uint64_t saturations() const noexcept { return image().state(kSaturations); }
  /// Cost: none to speak of.
  [[nodiscard]] Use use() const noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] DecayPolicy policy() const noexcept { return static_cast<DecayPolicy>(params().policy); }
  [[nodiscard]] PoolLookup lookup() const noexcept { return lookup_; }
  [[nodiscard]] OverflowRule overflow() const noexcept { return overflow_; }
  [[nodiscard]] EmptyPool when_empty() const noexcept { return when_empty_; }
  [[nodiscard]] bool has_gate() const noexcept { return has_gate_; }
  /// First digits.
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return cells_per_probe_ * k_; }
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept { return cells_per_probe_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return k_; }
  /// The cache lines that an operation touches: first digits, gate, and the pool at each of them.
  [[nodiscard]] double lines_per_key() const noexcept { return (has_gate_ ? 3.0 : 2.0) * k_; }

  /// Counters that are not 0 over all. Cost: a pass over the cells; also of those below.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many distinct keys have not faded to nothing, from the fill. Infinite when no counter is 0.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that a key that is not in has a count, from the cells as they are: the product of the partitions'
  /// fills, and of the gate's.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The rate that the formula gives for so many distinct keys, without the gate.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  // The words of the image's state.
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kSaturations = 1;
  static constexpr std::size_t kCutCells = 2;
  static constexpr std::size_t kStateWords = 3;

  // What the cells begin with: a line, so that first digits begin at one.
  struct Head {
    std::uint64_t cells_per_probe;
    std::uint64_t pool_digits;
    pool::Ledger ledger;
    std::array<std::uint64_t, 3> reserved;  // zero
  };
  static_assert(sizeof(Head) == kCacheLineBytes);

  // Where everything begins, in words.
  struct Layout {
    std::uint64_t gate = 0;
    std::uint64_t pool = 0;
    std::uint64_t end = 0;
  };

  /// The counters of a key that carry when it comes: where they are, and their extra digits before.
  struct Carries {
    std::array<std::uint64_t, kernel::kMaxProbes> counters;
    std::array<std::uint64_t, kernel::kMaxProbes> highs;
    unsigned count = 0;
    unsigned digits = 0;  // that they take from the pool
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
  /// The same, or 0 where the gate is closed.
  [[nodiscard]] std::uint64_t smallest(Digest digest) const noexcept;
  [[nodiscard]] bool passes_gate(Digest digest) const noexcept;
  void open_gate(Digest digest) noexcept;

  [[nodiscard]] Carries find_carries(Digest digest) const noexcept;
  void make_room(unsigned digits);
  void grow(std::uint64_t pool_digits);
  void carry(std::uint64_t counter, std::uint64_t high) noexcept;
  void count_cut(std::uint64_t counter_value) noexcept;
  void prefetch(Digest digest) const noexcept;
  template <class Do>
  void for_each_ahead(std::span<const Digest> digests, const Do& act) const;
  [[nodiscard]] CutCells cut_cells() const noexcept { return CutCells::of_word(image().state(kCutCells)); }
  void set_cut_cells(CutCells cells) noexcept { image().set_state(kCutCells, cells.word()); }
  [[nodiscard]] DecayedCount count_of(std::uint64_t value) const noexcept;
  /// Counters that are not 0, by partition.
  [[nodiscard]] std::array<std::uint64_t, kernel::kMaxProbes> count_nonzero() const noexcept;

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

static_assert(BatchFilter<TimeDecayingPooledCounts>);
static_assert(DecayedFrequencyFilter<TimeDecayingPooledCounts>);

}  // namespace mankai
