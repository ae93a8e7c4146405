#include "mankai/kernel/scan_ops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"

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

// A block's product of eight counts up to 64 stays within 2^48, so this many fit a 64-bit sum.
constexpr std::uint64_t kBlocksPerSum = std::uint64_t{1} << 15;

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

// Adds the products of all blocks, a sum of `sum_products(words, blocks)` at a time, and takes the mean.
template <class SumProducts>
double mean_of_products(const std::uint64_t* words, std::uint64_t block_count, const SumProducts& sum_products) {
  ExactSum sum;
  for (std::uint64_t first = 0; first < block_count; first += kBlocksPerSum) {
    sum.add(sum_products(words + first * probes::kBlockLanes, std::min(kBlocksPerSum, block_count - first)));
  }
  constexpr int kProductBits = 6 * probes::kBlockLanes;
  return sum.divided_by_power(kProductBits) / static_cast<double>(block_count);
}

}  // namespace
}  // namespace mankai::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many lanes as a block's product needs to know at compile time: the width every machine of the target has.
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

HWY_INLINE ScanVector load_ones(ScanTag d, const std::uint64_t* words) {
  return hn::PopulationCount(hn::LoadU(d, words));
}

std::uint64_t count_ones_vectors(const std::uint64_t* words, std::size_t count) {
  const ScanTag d;
  ScanVector even = hn::Zero(d);
  ScanVector odd = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    even = hn::Add(even, load_ones(d, words + i));
    odd = hn::Add(odd, load_ones(d, words + i + kLanes));
  }
  std::uint64_t ones = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < count; ++i) {
    ones += static_cast<std::uint64_t>(std::popcount(words[i]));
  }
  return ones;
}

void merge_or_vectors(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  const ScanTag d;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Or(hn::LoadU(d, into + i), hn::LoadU(d, from + i)), d, into + i);
  }
  for (; i < count; ++i) {
    into[i] |= from[i];
  }
}

// Lanes below 2^32, multiplied.
HWY_INLINE ScanVector multiply_small([[maybe_unused]] ScanTag d, ScanVector a, ScanVector b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Mul(a, b);
#else
  const hn::Repartition<std::uint32_t, ScanTag> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
#endif
}

// The product of a block's eight counts, in every lane: halves are multiplied across until one product is left.
HWY_INLINE ScanVector block_product(ScanTag d, const std::uint64_t* block) {
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
  ScanVector product = load_ones(d, block);
  product = multiply_small(d, product, hn::Reverse8(d, product));
  product = multiply_small(d, product, hn::Reverse4(d, product));
  return multiply_small(d, product, hn::Reverse2(d, product));
#elif HWY_TARGET == HWY_AVX2
  ScanVector product = multiply_small(d, load_ones(d, block), load_ones(d, block + 4));
  product = multiply_small(d, product, hn::Reverse4(d, product));
  return multiply_small(d, product, hn::Reverse2(d, product));
#elif HWY_TARGET == HWY_SCALAR
  ScanVector product = load_ones(d, block);
  for (std::size_t lane = 1; lane < probes::kBlockLanes; ++lane) {
    product = multiply_small(d, product, load_ones(d, block + lane));
  }
  return product;
#else
  const ScanVector first = multiply_small(d, load_ones(d, block), load_ones(d, block + 2));
  const ScanVector second = multiply_small(d, load_ones(d, block + 4), load_ones(d, block + 6));
  const ScanVector product = multiply_small(d, first, second);
  return multiply_small(d, product, hn::Reverse2(d, product));
#endif
}

std::uint64_t sum_products(const std::uint64_t* words, std::uint64_t blocks) {
  const ScanTag d;
  ScanVector sum = hn::Zero(d);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    sum = hn::Add(sum, block_product(d, words + block * probes::kBlockLanes));
  }
  return hn::GetLane(sum);
}

}  // namespace

// Highway's table needs names with external linkage.
std::uint64_t scan_count_ones(const std::uint64_t* words, std::size_t count) {
  return count_ones_vectors(words, count);
}

void scan_merge_or(std::uint64_t* into, const std::uint64_t* from, std::size_t count) {
  merge_or_vectors(into, from, count);
}

double scan_mean_block_fpr(const std::uint64_t* words, std::uint64_t block_count) {
  return mean_of_products(words, block_count, sum_products);
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

#ifdef MANKAI_THREAD_SANITIZER

std::uint64_t count_ones(const std::uint64_t* words, std::size_t count) noexcept {
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ones += static_cast<std::uint64_t>(std::popcount(load_word(words + i)));
  }
  return ones;
}

void merge_or(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    store_word(into + i, load_word(into + i) | load_word(from + i));
  }
}

double mean_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept {
  return mean_of_products(words, block_count, [](const std::uint64_t* first, std::uint64_t blocks) {
    std::uint64_t sum = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      std::uint64_t product = 1;
      for (std::uint64_t lane = 0; lane < probes::kBlockLanes; ++lane) {
        product *= count_ones(first + block * probes::kBlockLanes + lane, 1);
      }
      sum += product;
    }
    return sum;
  });
}

#else

namespace {

HWY_EXPORT(scan_count_ones);
HWY_EXPORT(scan_merge_or);
HWY_EXPORT(scan_mean_block_fpr);

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

#endif

}  // namespace mankai::kernel
#endif  // HWY_ONCE
