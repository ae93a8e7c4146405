#include <algorithm>
#include <bit>

#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/count_ops.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/count_blocked.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/block_window-inl.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

struct Incremented {
  bool was_absent;
  unsigned stuck;
};

// Without per-lane shifts or vectors: one lane after the other.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4

HWY_INLINE std::uint64_t counter_of(const std::uint64_t* block, std::uint64_t fields, unsigned lane) {
  return (MANKAI_SHARED(block[lane]) >> probes::counter_shift(fields, lane)) & kStuckCounter;
}

HWY_INLINE std::uint8_t smallest_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  std::uint64_t smallest = kStuckCounter;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    smallest = std::min(smallest, counter_of(block, fields, lane));
  }
  return static_cast<std::uint8_t>(smallest);
}

HWY_INLINE bool lacks_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  bool lacks = false;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    lacks |= counter_of(block, fields, lane) == 0;
  }
  return lacks;
}

HWY_INLINE Incremented increment_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  Incremented done{.was_absent = false, .stuck = 0};
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const std::uint64_t before = counter_of(block, fields, lane);
    done.was_absent |= before == 0;
    done.stuck += static_cast<unsigned>(before == kStuckCounter - 1);
    MANKAI_SHARED(block[lane]) += static_cast<std::uint64_t>(before != kStuckCounter)
                                  << probes::counter_shift(fields, lane);
  }
  return done;
}

HWY_INLINE bool decrement_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  if (lacks_in_block(block, fields)) {
    return false;
  }
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const std::uint64_t before = counter_of(block, fields, lane);
    MANKAI_SHARED(block[lane]) -= static_cast<std::uint64_t>(before != kStuckCounter)
                                  << probes::counter_shift(fields, lane);
  }
  return true;
}

#else

// With its lower two bits cleared, a field is its counter's lowest bit.
constexpr std::uint64_t kCounterStarts = probes::kLaneBits - probes::kCounterBits;

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3

// Intrinsics that Highway lacks, as in block_ops.cpp.
HWY_INLINE __m512i counter_starts(std::uint64_t fields) {
  return _mm512_and_si512(lane_fields(fields), _mm512_set1_epi64(kCounterStarts));
}

// `value` at each of the key's counters.
HWY_INLINE __m512i at_counters(std::uint64_t value, __m512i starts) {
  return _mm512_rolv_epi64(_mm512_set1_epi64(static_cast<long long>(value)), starts);
}

HWY_INLINE std::uint8_t smallest_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const __m512i counters = _mm512_and_si512(_mm512_rorv_epi64(_mm512_load_si512(block), counter_starts(fields)),
                                            _mm512_set1_epi64(kStuckCounter));
  return static_cast<std::uint8_t>(_mm512_reduce_min_epu64(counters));
}

HWY_INLINE bool lacks_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const __m512i all = at_counters(kStuckCounter, counter_starts(fields));
  return _mm512_testn_epi64_mask(_mm512_load_si512(block), all) != 0;
}

HWY_INLINE Incremented increment_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const __m512i before = _mm512_load_si512(block);
  const __m512i starts = counter_starts(fields);
  const __m512i all = at_counters(kStuckCounter, starts);
  const __m512i found = _mm512_and_si512(before, all);
  const __mmask8 is_open = _mm512_cmpneq_epi64_mask(found, all);
  _mm512_store_si512(block, _mm512_mask_add_epi64(before, is_open, before, at_counters(1, starts)));
  const __mmask8 stuck = _mm512_cmpeq_epi64_mask(found, at_counters(kStuckCounter - 1, starts));
  return {.was_absent = _mm512_testn_epi64_mask(before, all) != 0,
          .stuck = static_cast<unsigned>(std::popcount(static_cast<unsigned>(stuck)))};
}

HWY_INLINE bool decrement_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const __m512i before = _mm512_load_si512(block);
  const __m512i starts = counter_starts(fields);
  const __m512i all = at_counters(kStuckCounter, starts);
  const bool is_present = _mm512_testn_epi64_mask(before, all) == 0;
  const __mmask8 is_open = _mm512_cmpneq_epi64_mask(_mm512_and_si512(before, all), all);
  // Stores unconditionally: a branch would mispredict on every other absent key.
  const auto changed = static_cast<__mmask8>(is_present ? is_open : 0);
  _mm512_store_si512(block, _mm512_mask_sub_epi64(before, changed, before, at_counters(1, starts)));
  return is_present;
}

#else

using CountTag = hn::CappedTag<std::uint64_t, kBlockLanes>;
using CountVector = hn::Vec<CountTag>;

HWY_INLINE CountVector counter_starts(CountTag d, std::uint64_t fields, std::size_t lane) {
  return hn::And(hn::Shr(hn::Set(d, fields), hn::Load(d, probes::kLaneShifts + lane)), hn::Set(d, kCounterStarts));
}

HWY_INLINE CountVector at_counters(CountTag d, std::uint64_t value, CountVector starts) {
  return hn::Shl(hn::Set(d, value), starts);
}

HWY_INLINE std::uint8_t smallest_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const CountTag d;
  CountVector smallest = hn::Set(d, kStuckCounter);
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector shifted = hn::Shr(hn::Load(d, block + lane), counter_starts(d, fields, lane));
    smallest = hn::Min(smallest, hn::And(shifted, hn::Set(d, kStuckCounter)));
  }
  HWY_ALIGN std::uint64_t lanes[kBlockLanes];
  hn::Store(smallest, d, lanes);
  return static_cast<std::uint8_t>(*std::min_element(lanes, lanes + hn::Lanes(d)));
}

HWY_INLINE bool lacks_in_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const CountTag d;
  bool lacks = false;
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector all = at_counters(d, kStuckCounter, counter_starts(d, fields, lane));
    lacks |= !hn::AllFalse(d, hn::Eq(hn::And(hn::Load(d, block + lane), all), hn::Zero(d)));
  }
  return lacks;
}

HWY_INLINE Incremented increment_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const CountTag d;
  Incremented done{.was_absent = false, .stuck = 0};
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector before = hn::Load(d, block + lane);
    const CountVector starts = counter_starts(d, fields, lane);
    const CountVector all = at_counters(d, kStuckCounter, starts);
    const CountVector found = hn::And(before, all);
    const CountVector one = hn::IfThenZeroElse(hn::Eq(found, all), at_counters(d, 1, starts));
    hn::Store(hn::Add(before, one), d, block + lane);
    done.was_absent |= !hn::AllFalse(d, hn::Eq(found, hn::Zero(d)));
    done.stuck += static_cast<unsigned>(hn::CountTrue(d, hn::Eq(found, at_counters(d, kStuckCounter - 1, starts))));
  }
  return done;
}

HWY_INLINE bool decrement_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  if (lacks_in_block(block, fields)) {
    return false;
  }
  const CountTag d;
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const CountVector before = hn::Load(d, block + lane);
    const CountVector starts = counter_starts(d, fields, lane);
    const CountVector all = at_counters(d, kStuckCounter, starts);
    const CountVector one = hn::IfThenZeroElse(hn::Eq(hn::And(before, all), all), at_counters(d, 1, starts));
    hn::Store(hn::Sub(before, one), d, block + lane);
  }
  return true;
}

#endif  // AVX-512
#endif  // lanes or vectors

struct TestCounters {
  HWY_INLINE Outcome operator()(const std::uint64_t* block, std::uint64_t fields) const {
    return static_cast<Outcome>(lacks_in_block(block, fields));
  }
};

struct TakeSmallest {
  HWY_INLINE Outcome operator()(const std::uint64_t* block, std::uint64_t fields) const {
    return smallest_in_block(block, fields);
  }
};

struct Increment {
  std::uint64_t* stuck;

  HWY_INLINE Outcome operator()(std::uint64_t* block, std::uint64_t fields) const {
    const Incremented done = increment_block(block, fields);
    // Rare; updating a sum in memory for each key would cost more.
    if (done.stuck != 0) [[unlikely]] {
      *stuck += done.stuck;
    }
    return static_cast<Outcome>(done.was_absent);
  }
};

struct Decrement {
  HWY_INLINE Outcome operator()(std::uint64_t* block, std::uint64_t fields) const {
    return static_cast<Outcome>(!decrement_block(block, fields));
  }
};

struct ReportPresent {
  bool* outcomes;

  HWY_INLINE void operator()(std::size_t start, const Outcome* lacks, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[start + i] = lacks[i] == 0;
    }
  }
};

struct ReportBytes {
  std::uint8_t* outcomes;

  HWY_INLINE void operator()(std::size_t start, const Outcome* bytes, std::size_t count) const {
    std::copy_n(bytes, count, outcomes + start);
  }
};

struct ReportNothing {
  HWY_INLINE void operator()(std::size_t /*start*/, const Outcome* /*lacks*/, std::size_t /*count*/) const {}
};

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, const CountShape& shape, const Source& source,
                                    std::size_t count) {
  std::uint64_t stuck = 0;
  visit_all(words, shape.size, source, count, Increment{&stuck}, ReportNothing{});
  return stuck;
}

template <class Words>
HWY_INLINE Words* block_of(Words* words, const CountShape& shape, Digest digest) {
  return words + probes::block_index(digest, shape.size) * kBlockLanes;
}

bool may_contain_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return !lacks_in_block(block_of(words, shape, digest), fields_of(probes::remix(digest)));
}

std::uint32_t estimate_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return smallest_in_block(block_of(words, shape, digest), fields_of(probes::remix(digest)));
}

Counted insert_one(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  const Incremented done = increment_block(block_of(words, shape, digest), fields_of(probes::remix(digest)));
  return {.seen = !done.was_absent, .stuck = static_cast<std::uint16_t>(done.stuck)};
}

bool erase_one(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return decrement_block(block_of(words, shape, digest), fields_of(probes::remix(digest)));
}

void may_contain(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  visit_all(words, shape.size, DigestSource{digests}, count, TestCounters{}, ReportPresent{outcomes});
}

void may_contain_integers(const std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  visit_all(words, shape.size, IntegerSource{keys, seed}, count, TestCounters{}, ReportPresent{outcomes});
}

void estimate(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
              std::uint8_t* smallest) noexcept {
  visit_all(words, shape.size, DigestSource{digests}, count, TakeSmallest{}, ReportBytes{smallest});
}

std::uint64_t insert(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count) noexcept {
  return insert_all(words, shape, DigestSource{digests}, count);
}

std::uint64_t insert_integers(std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                              std::uint64_t seed, std::size_t count) noexcept {
  return insert_all(words, shape, IntegerSource{keys, seed}, count);
}

std::uint64_t observe(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                      bool* seen) noexcept {
  std::uint64_t stuck = 0;
  visit_all(words, shape.size, DigestSource{digests}, count, Increment{&stuck}, ReportPresent{seen});
  return stuck;
}

std::uint64_t erase(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                    std::uint8_t* refused) noexcept {
  std::uint64_t erased = count;
  const ReportBytes report{refused};
  visit_all(words, shape.size, DigestSource{digests}, count, Decrement{},
            [&](std::size_t start, const Outcome* was_refused, std::size_t keys) HWY_ATTR {
              report(start, was_refused, keys);
              for (std::size_t i = 0; i < keys; ++i) {
                erased -= was_refused[i];
              }
            });
  return erased;
}

}  // namespace

const CountOps* target_blocked_count_ops() {
  static const CountOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain_one = may_contain_one,
      .estimate_one = estimate_one,
      .insert_one = insert_one,
      .erase_one = erase_one,
      .may_contain = may_contain,
      .may_contain_integers = may_contain_integers,
      .estimate = estimate,
      .insert = insert,
      .insert_integers = insert_integers,
      .observe = observe,
      .erase = erase,
  };
  return &kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

MANKAI_EXPORT_TABLES(CountOps, blocked_count_ops)

}  // namespace mankai::kernel
#endif  // HWY_ONCE
