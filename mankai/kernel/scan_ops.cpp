#include "mankai/kernel/scan_ops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/count_ops.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/scan_ops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef MANKAI_KERNEL_SCAN_OPS_ONCE
#define MANKAI_KERNEL_SCAN_OPS_ONCE
namespace mankai::kernel {
namespace {

constexpr std::uint64_t kLowestBits = 0x1111111111111111U;
constexpr std::uint64_t kEvenCounters = 0x0f0f0f0f0f0f0f0fU;

/// The product of eight counts up to 64 is at most 2^48, so the sum of this many fits 64 bits.
constexpr std::uint64_t kBlocksPerSum = std::uint64_t{1} << 15;

/// ThreadSanitizer builds scan word by word, with atomic reads.
#ifdef MANKAI_THREAD_SANITIZER
constexpr bool kHasVectors = false;
#else
constexpr bool kHasVectors = true;
#endif

// The sum of all blocks' products in 128 bits: exact for any filter, where 2^32 additions of doubles would drift.
class ExactSum {
 public:
  void add(std::uint64_t part) noexcept {
    low_ += part;
    high_ += static_cast<std::uint64_t>(low_ < part);
  }
  [[nodiscard]] double divided_by_power(int exponent) const noexcept {
    return std::ldexp(static_cast<double>(high_), 64 - exponent) + std::ldexp(static_cast<double>(low_), -exponent);
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

// The mean of the blocks' products, in shares of 2^product_bits; `sum_products(words, blocks)` sums some of them.
template <class SumProducts>
double mean_of_products(const std::uint64_t* words, std::uint64_t block_count, int product_bits,
                        const SumProducts& sum_products) {
  ExactSum sum;
  for (std::uint64_t first = 0; first < block_count; first += kBlocksPerSum) {
    sum.add(sum_products(words + first * probes::kBlockLanes, std::min(kBlocksPerSum, block_count - first)));
  }
  return sum.divided_by_power(product_bits) / static_cast<double>(block_count);
}

std::uint64_t count_ones_in(std::uint64_t word) noexcept { return static_cast<std::uint64_t>(std::popcount(word)); }

std::uint64_t count_nonzero_in(std::uint64_t word) noexcept {
  const std::uint64_t pairs = word | (word >> 1);
  return count_ones_in((pairs | (pairs >> 2)) & kLowestBits);
}

std::uint64_t count_stuck_in(std::uint64_t word) noexcept {
  const std::uint64_t pairs = word & (word >> 1);
  return count_ones_in(pairs & (pairs >> 2) & kLowestBits);
}

// Masks of a word's counters from number `first` on, and before `end`; 0 <= first, end <= 16.
std::uint64_t counters_from(std::uint64_t first) noexcept {
  return first == probes::kLaneCounters ? 0 : ~std::uint64_t{0} << (first * probes::kCounterBits);
}
std::uint64_t counters_before(std::uint64_t end) noexcept { return ~counters_from(end); }

// Counts in a range that may begin and end within a word; `count_words(words, count)` counts whole words.
template <class CountWords>
std::uint64_t count_nonzero_range(const std::uint64_t* words, std::uint64_t first, std::uint64_t count,
                                  const CountWords& count_words) {
  constexpr std::uint64_t kCounters = probes::kLaneCounters;
  const std::uint64_t end = first + count;
  const std::uint64_t first_word = first / kCounters;
  const std::uint64_t last_word = end / kCounters;  // the word of the end, unless that begins a word
  const std::uint64_t after_first = counters_from(first % kCounters);
  const std::uint64_t before_end = counters_before(end % kCounters);
  if (first_word == last_word) {
    return count == 0 ? 0 : count_nonzero_in(load_word(words + first_word) & after_first & before_end);
  }
  std::uint64_t nonzero = count_nonzero_in(load_word(words + first_word) & after_first);
  nonzero += count_words(words + first_word + 1, last_word - first_word - 1);
  if (end % kCounters != 0) {
    nonzero += count_nonzero_in(load_word(words + last_word) & before_end);
  }
  return nonzero;
}

// Adds two words of counters; a sum above 15 is stuck.
std::uint64_t add_counters(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sums = 0;
  for (unsigned shift = 0; shift < probes::kLaneBits; shift += probes::kCounterBits) {
    sums |= std::min(((a >> shift) & kStuckCounter) + ((b >> shift) & kStuckCounter), kStuckCounter) << shift;
  }
  return sums;
}

}  // namespace
}  // namespace mankai::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The number of lanes must be a compile-time constant: the width of every machine of the target.
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
constexpr std::size_t kLanes = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr std::size_t kLanes = 4;
#elif HWY_TARGET == HWY_SCALAR
constexpr std::size_t kLanes = 1;
#else
constexpr std::size_t kLanes = 2;
#endif
using ScanTag = hn::FixedTag<std::uint64_t, kLanes>;
using ScanVector = hn::Vec<ScanTag>;

// Counters of each word, in vectors and one by one.
struct Ones {
  HWY_INLINE ScanVector operator()(ScanTag /*d*/, ScanVector words) const { return hn::PopulationCount(words); }
  HWY_INLINE std::uint64_t operator()(std::uint64_t word) const { return count_ones_in(word); }
};

struct Nonzero {
  HWY_INLINE ScanVector operator()(ScanTag d, ScanVector words) const {
    const ScanVector pairs = hn::Or(words, hn::ShiftRight<1>(words));
    return hn::PopulationCount(hn::And(hn::Or(pairs, hn::ShiftRight<2>(pairs)), hn::Set(d, kLowestBits)));
  }
  HWY_INLINE std::uint64_t operator()(std::uint64_t word) const { return count_nonzero_in(word); }
};

HWY_INLINE ScanVector count_stuck_lanes(ScanTag d, ScanVector words) {
  const ScanVector pairs = hn::And(words, hn::ShiftRight<1>(words));
  return hn::PopulationCount(hn::And(hn::And(pairs, hn::ShiftRight<2>(pairs)), hn::Set(d, kLowestBits)));
}

template <class Count>
std::uint64_t count_in_words(const std::uint64_t* words, std::size_t count) {
  const ScanTag d;
  const Count counted;
  ScanVector even = hn::Zero(d);
  ScanVector odd = hn::Zero(d);
  std::size_t i = 0;
  for (; kHasVectors && i + 2 * kLanes <= count; i += 2 * kLanes) {
    even = hn::Add(even, counted(d, hn::LoadU(d, words + i)));
    odd = hn::Add(odd, counted(d, hn::LoadU(d, words + i + kLanes)));
  }
  std::uint64_t sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < count; ++i) {
    sum += counted(load_word(words + i));
  }
  return sum;
}

void merge_or_words(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  const ScanTag d;
  std::size_t i = 0;
  for (; kHasVectors && i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Or(hn::LoadU(d, into + i), hn::LoadU(d, from + i)), d, into + i);
  }
  for (; i < count; ++i) {
    store_word(into + i, load_word(into + i) | load_word(from + i));
  }
}

// Adds every other counter, with room of two: bit 4 is set if a sum exceeds 15.
HWY_INLINE ScanVector add_even_counters(ScanTag d, ScanVector a, ScanVector b) {
  const ScanVector even = hn::Set(d, kEvenCounters);
  const ScanVector sums = hn::Add(hn::And(a, even), hn::And(b, even));
  const ScanVector above = hn::AndNot(even, sums);
  return hn::And(hn::Or(sums, hn::Sub(above, hn::ShiftRight<4>(above))), even);
}

HWY_INLINE ScanVector add_counter_lanes(ScanTag d, ScanVector a, ScanVector b) {
  const ScanVector odd = add_even_counters(d, hn::ShiftRight<4>(a), hn::ShiftRight<4>(b));
  return hn::Or(add_even_counters(d, a, b), hn::ShiftLeft<4>(odd));
}

std::uint64_t merge_counter_words(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  const ScanTag d;
  ScanVector stuck = hn::Zero(d);
  std::size_t i = 0;
  for (; kHasVectors && i + kLanes <= count; i += kLanes) {
    const ScanVector sums = add_counter_lanes(d, hn::LoadU(d, into + i), hn::LoadU(d, from + i));
    hn::StoreU(sums, d, into + i);
    stuck = hn::Add(stuck, count_stuck_lanes(d, sums));
  }
  std::uint64_t all = hn::GetLane(hn::SumOfLanes(d, stuck));
  for (; i < count; ++i) {
    store_word(into + i, add_counters(load_word(into + i), load_word(from + i)));
    all += count_stuck_in(load_word(into + i));
  }
  return all;
}

// Pre: lanes below 2^32.
HWY_INLINE ScanVector multiply_small([[maybe_unused]] ScanTag d, ScanVector a, ScanVector b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Mul(a, b);
#else
  const hn::Repartition<std::uint32_t, ScanTag> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
#endif
}

// The product of a block's eight counts, in every lane: multiplies vectors, then across lanes.
template <class Count>
HWY_INLINE ScanVector block_product(ScanTag d, const std::uint64_t* block) {
  ScanVector product = Count{}(d, hn::LoadU(d, block));
  for (std::size_t lane = kLanes; lane < probes::kBlockLanes; lane += kLanes) {
    product = multiply_small(d, product, Count{}(d, hn::LoadU(d, block + lane)));
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes == 8) {
    product = multiply_small(d, product, hn::Reverse8(d, product));
  }
  if constexpr (kLanes >= 4) {
    product = multiply_small(d, product, hn::Reverse4(d, product));
  }
  product = multiply_small(d, product, hn::Reverse2(d, product));
#endif
  return product;
}

template <class Count>
std::uint64_t sum_products(const std::uint64_t* words, std::uint64_t blocks) {
  const ScanTag d;
  ScanVector vectors = hn::Zero(d);
  std::uint64_t sum = 0;
  for (std::uint64_t block = 0; block < blocks; ++block, words += probes::kBlockLanes) {
    if constexpr (kHasVectors) {
      vectors = hn::Add(vectors, block_product<Count>(d, words));
    } else {
      std::uint64_t product = 1;
      for (std::uint64_t lane = 0; lane < probes::kBlockLanes; ++lane) {
        product *= Count{}(load_word(words + lane));
      }
      sum += product;
    }
  }
  return sum + hn::GetLane(vectors);
}

}  // namespace

// Highway's table needs names with external linkage.
std::uint64_t scan_count_ones(const std::uint64_t* words, std::size_t count) {
  return count_in_words<Ones>(words, count);
}

void scan_merge_or(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  merge_or_words(into, from, count);
}

double scan_mean_block_fpr(const std::uint64_t* words, std::uint64_t block_count) {
  return mean_of_products(words, block_count, 6 * probes::kBlockLanes, sum_products<Ones>);
}

std::uint64_t scan_count_nonzero(const std::uint64_t* words, std::uint64_t first, std::uint64_t count) {
  return count_nonzero_range(words, first, count, count_in_words<Nonzero>);
}

std::uint64_t scan_merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  return merge_counter_words(into, from, count);
}

double scan_mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) {
  return mean_of_products(words, block_count, probes::kCounterBits * probes::kBlockLanes, sum_products<Nonzero>);
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {
namespace {

HWY_EXPORT(scan_count_ones);
HWY_EXPORT(scan_merge_or);
HWY_EXPORT(scan_mean_block_fpr);
HWY_EXPORT(scan_count_nonzero);
HWY_EXPORT(scan_merge_counters);
HWY_EXPORT(scan_mean_counting_block_fpr);

}  // namespace

std::uint64_t count_ones(const std::uint64_t* words, std::size_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_count_ones)(words, count);
}

void merge_or(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(scan_merge_or)(into, from, count);
}

double mean_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_mean_block_fpr)(words, block_count);
}

std::uint64_t count_nonzero(const std::uint64_t* words, std::uint64_t first, std::uint64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_count_nonzero)(words, first, count);
}

// Called once per imported filter, so not vectorized.
std::uint64_t count_stuck(const std::uint64_t* words, std::size_t count) noexcept {
  std::uint64_t stuck = 0;
  for (std::size_t i = 0; i < count; ++i) {
    stuck += count_stuck_in(load_word(words + i));
  }
  return stuck;
}

std::uint64_t merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_merge_counters)(into, from, count);
}

double mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_mean_counting_block_fpr)(words, block_count);
}

}  // namespace mankai::kernel
#endif  // HWY_ONCE
