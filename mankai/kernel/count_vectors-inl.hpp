// One key's counters in its block, in vectors: included once per instruction set by kernel sources.

// The toggle is Highway's idiom for headers that are compiled once per target.
#if defined(MANKAI_KERNEL_COUNT_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MANKAI_KERNEL_COUNT_VECTORS_INL_HPP
#undef MANKAI_KERNEL_COUNT_VECTORS_INL_HPP
#else
#define MANKAI_KERNEL_COUNT_VECTORS_INL_HPP
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "mankai/hash/probes.hpp"
#include "mankai/kernel/count_ops.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using probes::kBlockLanes;

// What an insertion found and did: whether a counter was 0, and how many got stuck.
struct Incremented {
  bool was_absent;
  unsigned stuck;
};

// Without shifts that differ by lane, and for machines without vectors: one lane after the other.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4

HWY_INLINE std::uint64_t counter_of(const std::uint64_t* block, std::uint64_t remixed, unsigned lane) {
  return (block[lane] >> probes::counter_shift(remixed, lane)) & kStuckCounter;
}

HWY_INLINE std::uint8_t smallest_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  std::uint64_t smallest = kStuckCounter;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    smallest = std::min(smallest, counter_of(block, remixed, lane));
  }
  return static_cast<std::uint8_t>(smallest);
}

HWY_INLINE bool lacks_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  bool lacks = false;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    lacks |= counter_of(block, remixed, lane) == 0;
  }
  return lacks;
}

HWY_INLINE Incremented increment_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  Incremented done{.was_absent = false, .stuck = 0};
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const std::uint64_t before = counter_of(block, remixed, lane);
    done.was_absent |= before == 0;
    done.stuck += static_cast<unsigned>(before == kStuckCounter - 1);
    block[lane] += static_cast<std::uint64_t>(before != kStuckCounter) << probes::counter_shift(remixed, lane);
  }
  return done;
}

HWY_INLINE bool decrement_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  if (lacks_in_block(block, remixed)) {
    return false;
  }
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const std::uint64_t before = counter_of(block, remixed, lane);
    block[lane] -= static_cast<std::uint64_t>(before != kStuckCounter) << probes::counter_shift(remixed, lane);
  }
  return true;
}

#else

// A key's fields of six bits; with the lower two cleared they are the bits where its counters begin.
alignas(64) constexpr std::uint64_t kFieldShifts[kBlockLanes] = {16, 22, 28, 34, 40, 46, 52, 58};
static_assert(kFieldShifts[0] == probes::kFirstPositionShift);
static_assert(kFieldShifts[kBlockLanes - 1] == probes::kFirstPositionShift + 7 * probes::kPositionBits);
constexpr std::uint64_t kCounterStarts = probes::kLaneBits - probes::kCounterBits;

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3

// Raw instructions where Highway has no name for them, as in block_vectors-inl.hpp.
HWY_INLINE __m512i counter_starts(std::uint64_t remixed) {
  const __m512i spread = _mm512_set1_epi64(static_cast<long long>(remixed));
  const __m512i shifts = _mm512_load_si512(kFieldShifts);
#if HWY_TARGET == HWY_AVX3_DL
  const __m512i fields = _mm512_multishift_epi64_epi8(shifts, spread);
#else
  const __m512i fields = _mm512_srlv_epi64(spread, shifts);
#endif
  return _mm512_and_si512(fields, _mm512_set1_epi64(kCounterStarts));
}

// A value at each of the key's counters.
HWY_INLINE __m512i at_counters(std::uint64_t value, __m512i starts) {
  return _mm512_rolv_epi64(_mm512_set1_epi64(static_cast<long long>(value)), starts);
}

HWY_INLINE std::uint8_t smallest_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const __m512i counters = _mm512_and_si512(_mm512_rorv_epi64(_mm512_load_si512(block), counter_starts(remixed)),
                                            _mm512_set1_epi64(kStuckCounter));
  return static_cast<std::uint8_t>(_mm512_reduce_min_epu64(counters));
}

HWY_INLINE bool lacks_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const __m512i all = at_counters(kStuckCounter, counter_starts(remixed));
  return _mm512_testn_epi64_mask(_mm512_load_si512(block), all) != 0;
}

HWY_INLINE Incremented increment_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const __m512i before = _mm512_load_si512(block);
  const __m512i starts = counter_starts(remixed);
  const __m512i all = at_counters(kStuckCounter, starts);
  const __m512i found = _mm512_and_si512(before, all);
  const __mmask8 is_open = _mm512_cmpneq_epi64_mask(found, all);
  _mm512_store_si512(block, _mm512_mask_add_epi64(before, is_open, before, at_counters(1, starts)));
  const __mmask8 stuck = _mm512_cmpeq_epi64_mask(found, at_counters(kStuckCounter - 1, starts));
  return {.was_absent = _mm512_testn_epi64_mask(before, all) != 0,
          .stuck = static_cast<unsigned>(std::popcount(static_cast<unsigned>(stuck)))};
}

HWY_INLINE bool decrement_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const __m512i before = _mm512_load_si512(block);
  const __m512i starts = counter_starts(remixed);
  const __m512i all = at_counters(kStuckCounter, starts);
  const bool is_present = _mm512_testn_epi64_mask(before, all) == 0;
  const __mmask8 is_open = _mm512_cmpneq_epi64_mask(_mm512_and_si512(before, all), all);
  // Stored in any case: a branch would be mispredicted on every other absent key.
  const auto changed = static_cast<__mmask8>(is_present ? is_open : 0);
  _mm512_store_si512(block, _mm512_mask_sub_epi64(before, changed, before, at_counters(1, starts)));
  return is_present;
}

#else

using CountTag = hn::CappedTag<std::uint64_t, kBlockLanes>;
using CountVector = hn::Vec<CountTag>;

HWY_INLINE CountVector counter_starts(CountTag d, std::uint64_t remixed, std::size_t lane) {
  return hn::And(hn::Shr(hn::Set(d, remixed), hn::Load(d, kFieldShifts + lane)), hn::Set(d, kCounterStarts));
}

HWY_INLINE CountVector at_counters(CountTag d, std::uint64_t value, CountVector starts) {
  return hn::Shl(hn::Set(d, value), starts);
}

HWY_INLINE std::uint8_t smallest_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const CountTag d;
  CountVector smallest = hn::Set(d, kStuckCounter);
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector shifted = hn::Shr(hn::Load(d, block + lane), counter_starts(d, remixed, lane));
    smallest = hn::Min(smallest, hn::And(shifted, hn::Set(d, kStuckCounter)));
  }
  HWY_ALIGN std::uint64_t lanes[kBlockLanes];
  hn::Store(smallest, d, lanes);
  return static_cast<std::uint8_t>(*std::min_element(lanes, lanes + hn::Lanes(d)));
}

HWY_INLINE bool lacks_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const CountTag d;
  bool lacks = false;
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector all = at_counters(d, kStuckCounter, counter_starts(d, remixed, lane));
    lacks |= !hn::AllFalse(d, hn::Eq(hn::And(hn::Load(d, block + lane), all), hn::Zero(d)));
  }
  return lacks;
}

HWY_INLINE Incremented increment_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const CountTag d;
  Incremented done{.was_absent = false, .stuck = 0};
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector before = hn::Load(d, block + lane);
    const CountVector starts = counter_starts(d, remixed, lane);
    const CountVector all = at_counters(d, kStuckCounter, starts);
    const CountVector found = hn::And(before, all);
    const CountVector one = hn::IfThenZeroElse(hn::Eq(found, all), at_counters(d, 1, starts));
    hn::Store(hn::Add(before, one), d, block + lane);
    done.was_absent |= !hn::AllFalse(d, hn::Eq(found, hn::Zero(d)));
    done.stuck += static_cast<unsigned>(hn::CountTrue(d, hn::Eq(found, at_counters(d, kStuckCounter - 1, starts))));
  }
  return done;
}

HWY_INLINE bool decrement_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  if (lacks_in_block(block, remixed)) {
    return false;
  }
  const CountTag d;
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector before = hn::Load(d, block + lane);
    const CountVector starts = counter_starts(d, remixed, lane);
    const CountVector all = at_counters(d, kStuckCounter, starts);
    const CountVector one = hn::IfThenZeroElse(hn::Eq(hn::And(before, all), all), at_counters(d, 1, starts));
    hn::Store(hn::Sub(before, one), d, block + lane);
  }
  return true;
}

#endif  // AVX-512
#endif  // lanes or vectors

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
