#include "mankai/kernel/count_scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/count_ops.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/count_scan.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef MANKAI_KERNEL_COUNT_SCAN_ONCE
#define MANKAI_KERNEL_COUNT_SCAN_ONCE
namespace mankai::kernel {
namespace {

constexpr std::uint64_t kLowestBits = 0x1111111111111111U;
constexpr std::uint64_t kEvenCounters = 0x0f0f0f0f0f0f0f0fU;
/// A block's product of eight counts up to 16 stays within 2^32, so the sum of this many is exact in a double.
constexpr std::uint64_t kBlocksPerSum = std::uint64_t{1} << 20;

// One bit for each counter that is not 0, and for each that is stuck.
std::uint64_t nonzero_bits(std::uint64_t word) noexcept {
  const std::uint64_t pairs = word | (word >> 1);
  return (pairs | (pairs >> 2)) & kLowestBits;
}

std::uint64_t count_nonzero_in(std::uint64_t word) noexcept {
  return static_cast<std::uint64_t>(std::popcount(nonzero_bits(word)));
}

// The counters of a word from number `first` on, and those below `end`; 0 <= first, end <= 16.
std::uint64_t counters_from(std::uint64_t first) noexcept {
  return first == probes::kLaneCounters ? 0 : ~std::uint64_t{0} << (first * probes::kCounterBits);
}
std::uint64_t counters_below(std::uint64_t end) noexcept { return ~counters_from(end); }

// Counts in a range that need not begin or end with a word; `count_words(words, count)` does the whole ones.
template <class CountWords>
std::uint64_t count_nonzero_range(const std::uint64_t* words, std::uint64_t first, std::uint64_t count,
                                  const CountWords& count_words) {
  constexpr std::uint64_t kCounters = probes::kLaneCounters;
  const std::uint64_t end = first + count;
  const std::uint64_t first_word = first / kCounters;
  const std::uint64_t last_word = end / kCounters;  // the one that holds the end, if it is not a word's beginning
  const std::uint64_t behind_first = counters_from(first % kCounters);
  const std::uint64_t before_end = counters_below(end % kCounters);
  if (first_word == last_word) {
    return count == 0 ? 0 : count_nonzero_in(load_word(words + first_word) & behind_first & before_end);
  }
  std::uint64_t nonzero = count_nonzero_in(load_word(words + first_word) & behind_first);
  nonzero += count_words(words + first_word + 1, last_word - first_word - 1);
  if (end % kCounters != 0) {
    nonzero += count_nonzero_in(load_word(words + last_word) & before_end);
  }
  return nonzero;
}

// The sums of two words of counters; stuck where a sum would be more than 15.
std::uint64_t add_counters(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sums = 0;
  for (unsigned shift = 0; shift < probes::kLaneBits; shift += probes::kCounterBits) {
    sums |= std::min(((a >> shift) & kStuckCounter) + ((b >> shift) & kStuckCounter), kStuckCounter) << shift;
  }
  return sums;
}

std::uint64_t count_stuck_in(std::uint64_t word) noexcept {
  const std::uint64_t pairs = word & (word >> 1);
  return static_cast<std::uint64_t>(std::popcount(pairs & (pairs >> 2) & kLowestBits));
}

// Adds the products of all blocks, a sum of `sum_products(words, blocks)` at a time, and takes the mean.
template <class SumProducts>
double mean_of_counting_products(const std::uint64_t* words, std::uint64_t block_count,
                                 const SumProducts& sum_products) {
  double sum = 0;
  for (std::uint64_t first = 0; first < block_count; first += kBlocksPerSum) {
    sum += static_cast<double>(
        sum_products(words + first * probes::kBlockLanes, std::min(kBlocksPerSum, block_count - first)));
  }
  constexpr int kProductBits = probes::kCounterBits * probes::kBlockLanes;
  return std::ldexp(sum, -kProductBits) / static_cast<double>(block_count);
}

}  // namespace
}  // namespace mankai::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using WordTag = hn::CappedTag<std::uint64_t, probes::kBlockLanes>;
using WordVector = hn::Vec<WordTag>;

// How many counters of each word are not 0.
HWY_INLINE WordVector count_nonzero_lanes(WordTag d, WordVector words) {
  const WordVector pairs = hn::Or(words, hn::ShiftRight<1>(words));
  const WordVector bits = hn::And(hn::Or(pairs, hn::ShiftRight<2>(pairs)), hn::Set(d, kLowestBits));
  return hn::PopulationCount(bits);
}

HWY_INLINE WordVector count_stuck_lanes(WordTag d, WordVector words) {
  const WordVector pairs = hn::And(words, hn::ShiftRight<1>(words));
  return hn::PopulationCount(hn::And(hn::And(pairs, hn::ShiftRight<2>(pairs)), hn::Set(d, kLowestBits)));
}

std::uint64_t count_nonzero_vectors(const std::uint64_t* words, std::size_t count) {
  const WordTag d;
  WordVector nonzero = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    nonzero = hn::Add(nonzero, count_nonzero_lanes(d, hn::LoadU(d, words + i)));
  }
  std::uint64_t sum = hn::GetLane(hn::SumOfLanes(d, nonzero));
  for (; i < count; ++i) {
    sum += count_nonzero_in(words[i]);
  }
  return sum;
}

// Sums of every other counter, which has the room of two: bit 4 says that a sum is above 15.
HWY_INLINE WordVector add_even_counters(WordTag d, WordVector a, WordVector b) {
  const WordVector even = hn::Set(d, kEvenCounters);
  const WordVector sums = hn::Add(hn::And(a, even), hn::And(b, even));
  const WordVector above = hn::AndNot(even, sums);
  return hn::And(hn::Or(sums, hn::Sub(above, hn::ShiftRight<4>(above))), even);
}

HWY_INLINE WordVector add_counter_lanes(WordTag d, WordVector a, WordVector b) {
  const WordVector odd = add_even_counters(d, hn::ShiftRight<4>(a), hn::ShiftRight<4>(b));
  return hn::Or(add_even_counters(d, a, b), hn::ShiftLeft<4>(odd));
}

std::uint64_t merge_counter_vectors(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  const WordTag d;
  WordVector stuck = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const WordVector sums = add_counter_lanes(d, hn::LoadU(d, into + i), hn::LoadU(d, from + i));
    hn::StoreU(sums, d, into + i);
    stuck = hn::Add(stuck, count_stuck_lanes(d, sums));
  }
  std::uint64_t all = hn::GetLane(hn::SumOfLanes(d, stuck));
  for (; i < count; ++i) {
    into[i] = add_counters(into[i], from[i]);
    all += count_stuck_in(into[i]);
  }
  return all;
}

std::uint64_t sum_counting_products(const std::uint64_t* words, std::uint64_t blocks) {
  const WordTag d;
  HWY_ALIGN std::uint64_t counts[probes::kBlockLanes];
  std::uint64_t sum = 0;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::size_t lane = 0; lane < probes::kBlockLanes; lane += hn::Lanes(d)) {
      hn::Store(count_nonzero_lanes(d, hn::LoadU(d, words + block * probes::kBlockLanes + lane)), d, counts + lane);
    }
    std::uint64_t product = 1;
    for (const std::uint64_t count : counts) {
      product *= count;
    }
    sum += product;
  }
  return sum;
}

}  // namespace

// Highway's table needs names with external linkage.
std::uint64_t scan_count_nonzero(const std::uint64_t* words, std::uint64_t first, std::uint64_t count) {
  return count_nonzero_range(words, first, count, count_nonzero_vectors);
}

std::uint64_t scan_merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  return merge_counter_vectors(into, from, count);
}

double scan_mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) {
  return mean_of_counting_products(words, block_count, sum_counting_products);
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

// Once for filters that are taken over: vectors would not pay for their code.
std::uint64_t count_stuck(const std::uint64_t* words, std::size_t count) noexcept {
  std::uint64_t stuck = 0;
  for (std::size_t i = 0; i < count; ++i) {
    stuck += count_stuck_in(load_word(words + i));
  }
  return stuck;
}

#ifdef MANKAI_THREAD_SANITIZER

namespace {

std::uint64_t count_nonzero_words(const std::uint64_t* words, std::size_t count) {
  std::uint64_t nonzero = 0;
  for (std::size_t i = 0; i < count; ++i) {
    nonzero += count_nonzero_in(load_word(words + i));
  }
  return nonzero;
}

}  // namespace

std::uint64_t count_nonzero(const std::uint64_t* words, std::uint64_t first, std::uint64_t count) noexcept {
  return count_nonzero_range(words, first, count, count_nonzero_words);
}

std::uint64_t merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept {
  std::uint64_t stuck = 0;
  for (std::size_t i = 0; i < count; ++i) {
    store_word(into + i, add_counters(load_word(into + i), load_word(from + i)));
    stuck += count_stuck_in(load_word(into + i));
  }
  return stuck;
}

double mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept {
  return mean_of_counting_products(words, block_count, [](const std::uint64_t* first, std::uint64_t blocks) {
    std::uint64_t sum = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      std::uint64_t product = 1;
      for (std::uint64_t lane = 0; lane < probes::kBlockLanes; ++lane) {
        product *= count_nonzero_in(load_word(first + block * probes::kBlockLanes + lane));
      }
      sum += product;
    }
    return sum;
  });
}

#else

namespace {

HWY_EXPORT(scan_count_nonzero);
HWY_EXPORT(scan_merge_counters);
HWY_EXPORT(scan_mean_counting_block_fpr);

}  // namespace

std::uint64_t count_nonzero(const std::uint64_t* words, std::uint64_t first, std::uint64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_count_nonzero)(words, first, count);
}

std::uint64_t merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_merge_counters)(into, from, count);
}

double mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept {
  return HWY_DYNAMIC_DISPATCH(scan_mean_counting_block_fpr)(words, block_count);
}

#endif

}  // namespace mankai::kernel
#endif  // HWY_ONCE
