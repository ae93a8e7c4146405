#include "mankai/kernel/block_ops.hpp"

#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/block_ops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/block_window-inl.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

// Zero if every lane of the block has the key's bit. A byte, so that one vector pass turns a step's results into
// bools.
using Missing = std::uint8_t;

// Without per-lane shifts a table of masks is faster than computing them.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4

struct BitTable {
  std::uint64_t bit[probes::kLaneBits];
  constexpr BitTable() : bit() {
    for (unsigned i = 0; i < probes::kLaneBits; ++i) {
      bit[i] = std::uint64_t{1} << i;
    }
  }
};
constexpr BitTable kBits;

HWY_INLINE Missing test_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    missing |= ~MANKAI_SHARED(block[lane]) & kBits.bit[probes::lane_position(fields, lane)];
  }
  return static_cast<Missing>(missing != 0);
}

HWY_INLINE Missing set_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const std::uint64_t bit = kBits.bit[probes::lane_position(fields, lane)];
    missing |= ~MANKAI_SHARED(block[lane]) & bit;
    MANKAI_SHARED(block[lane]) |= bit;
  }
  return static_cast<Missing>(missing != 0);
}

#else

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3

// Intrinsics that Highway lacks: vprolvq ignores all but six bits, vptestnmq tests in memory. On AVX-512 the portable
// code below takes 1.06 of the time.
HWY_INLINE __m512i block_bits(std::uint64_t fields) {
  return _mm512_rolv_epi64(_mm512_set1_epi64(1), lane_fields(fields));
}

HWY_INLINE Missing test_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  return _mm512_testn_epi64_mask(_mm512_load_si512(block), block_bits(fields));
}

HWY_INLINE Missing set_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const __m512i before = _mm512_load_si512(block);
  const __m512i bits = block_bits(fields);
  _mm512_store_si512(block, _mm512_or_si512(before, bits));
  return _mm512_testn_epi64_mask(before, bits);
}

#else

using BlockTag = hn::CappedTag<std::uint64_t, kBlockLanes>;
using BlockVector = hn::Vec<BlockTag>;

// The bits of one key in the lanes from `lane` on.
HWY_INLINE BlockVector lane_bits(BlockTag d, std::uint64_t fields, std::size_t lane) {
  const BlockVector positions = hn::And(hn::Shr(hn::Set(d, fields), hn::Load(d, probes::kLaneShifts + lane)),
                                        hn::Set(d, std::uint64_t{probes::kLaneBits - 1}));
  return hn::Shl(hn::Set(d, std::uint64_t{1}), positions);
}

HWY_INLINE Missing test_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const BlockTag d;
  BlockVector missing = hn::Zero(d);
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    missing = hn::Or(missing, hn::AndNot(hn::Load(d, block + lane), lane_bits(d, fields, lane)));
  }
  return static_cast<Missing>(!hn::AllTrue(d, hn::Eq(missing, hn::Zero(d))));
}

HWY_INLINE Missing set_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t fields) {
  const BlockTag d;
  BlockVector missing = hn::Zero(d);
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const BlockVector before = hn::Load(d, block + lane);
    const BlockVector bits = lane_bits(d, fields, lane);
    missing = hn::Or(missing, hn::AndNot(before, bits));
    hn::Store(hn::Or(before, bits), d, block + lane);
  }
  return static_cast<Missing>(!hn::AllTrue(d, hn::Eq(missing, hn::Zero(d))));
}

#endif  // AVX-512
#endif  // table or vectors

#if HWY_TARGET == HWY_AVX3_DL

// One instruction selects from each lane a bit by each of the eight fields: the byte of lane i is bits 8 i to 8 i + 7,
// and that of the lane's own field is bit 9 i. All 64 are stored, and vectors turn those of eight keys into bools. A
// look-up in cache takes 0.86 of the time, while a kortestq per key would save nothing (Zen 4).
using Selected = std::uint64_t;
constexpr Selected kOwnFields = 0x8040201008040201U;

struct Test {
  HWY_INLINE Selected operator()(const std::uint64_t* block, std::uint64_t fields) const {
    return _mm512_bitshuffle_epi64_mask(_mm512_load_si512(block), _mm512_set1_epi64(static_cast<long long>(fields)));
  }
};

#else

struct Test {
  HWY_INLINE Missing operator()(const std::uint64_t* block, std::uint64_t fields) const {
    return test_block(block, fields);
  }
};

#endif  // AVX3_DL

struct Set {
  HWY_INLINE Missing operator()(std::uint64_t* block, std::uint64_t fields) const { return set_block(block, fields); }
};

struct Report {
  bool* outcomes;

  HWY_INLINE void operator()(std::size_t start, const Missing* missing, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[start + i] = missing[i] == 0;
    }
  }

#if HWY_TARGET == HWY_AVX3_DL
  HWY_INLINE void operator()(std::size_t start, const Selected* selected, std::size_t count) const {
    const __m512i own = _mm512_set1_epi64(static_cast<long long>(kOwnFields));
    std::size_t i = 0;
    for (; i + kBlockLanes <= count; i += kBlockLanes) {
      const __m512i found = _mm512_and_si512(_mm512_load_si512(selected + i), own);
      _mm_storeu_si64(outcomes + start + i, _mm_maskz_set1_epi8(_mm512_cmpeq_epi64_mask(found, own), 1));
    }
    for (; i < count; ++i) {
      outcomes[start + i] = (selected[i] & kOwnFields) == kOwnFields;
    }
  }
#endif
};

struct CountFresh {
  std::uint64_t* fresh;

  HWY_INLINE void operator()(std::size_t /*start*/, const Missing* missing, std::size_t count) const {
    const hn::CappedTag<Missing, kBlockLanes> d;
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      *fresh += hn::CountTrue(d, hn::Ne(hn::Load(d, missing + i), hn::Zero(d)));
    }
    for (; i < count; ++i) {
      *fresh += static_cast<std::uint64_t>(missing[i] != 0);
    }
  }
};

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, std::uint64_t block_count, const Source& source,
                                    std::size_t count) {
  std::uint64_t fresh = 0;
  visit_all(words, block_count, source, count, Set{}, CountFresh{&fresh});
  return fresh;
}

bool may_contain_one(const std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  return test_block(words + probes::block_index(digest, block_count) * kBlockLanes, fields_of(probes::remix(digest))) ==
         0;
}

bool observe_one(std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  return set_block(words + probes::block_index(digest, block_count) * kBlockLanes, fields_of(probes::remix(digest))) ==
         0;
}

void may_contain(const std::uint64_t* words, std::uint64_t block_count, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  visit_all(words, block_count, DigestSource{digests}, count, Test{}, Report{outcomes});
}

void may_contain_integers(const std::uint64_t* words, std::uint64_t block_count, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  visit_all(words, block_count, IntegerSource{keys, seed}, count, Test{}, Report{outcomes});
}

std::uint64_t insert(std::uint64_t* words, std::uint64_t block_count, const Digest* digests,
                     std::size_t count) noexcept {
  return insert_all(words, block_count, DigestSource{digests}, count);
}

std::uint64_t insert_integers(std::uint64_t* words, std::uint64_t block_count, const std::uint64_t* keys,
                              std::uint64_t seed, std::size_t count) noexcept {
  return insert_all(words, block_count, IntegerSource{keys, seed}, count);
}

std::uint64_t observe(std::uint64_t* words, std::uint64_t block_count, const Digest* digests, std::size_t count,
                      bool* seen) noexcept {
  std::uint64_t fresh = 0;
  const Report report{seen};
  const CountFresh count_fresh{&fresh};
  visit_all(words, block_count, DigestSource{digests}, count, Set{},
            [&](std::size_t start, const Missing* missing, std::size_t keys) HWY_ATTR {
              report(start, missing, keys);
              count_fresh(start, missing, keys);
            });
  return fresh;
}

InlineCode machine_inline_code() noexcept {
#if HWY_TARGET == HWY_AVX3_DL
  // Zen 4 multiplies lanes of 64 bits in one step.
  return __builtin_cpu_is("amd") != 0 ? InlineCode::by_factors : InlineCode::by_shifts;
#else
  return InlineCode::none;
#endif
}

}  // namespace

const BlockOps* target_block_ops() {
  static const BlockOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain_one = may_contain_one,
      .observe_one = observe_one,
      .may_contain = may_contain,
      .may_contain_integers = may_contain_integers,
      .insert = insert,
      .insert_integers = insert_integers,
      .observe = observe,
      .inline_code = machine_inline_code(),
  };
  return &kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

MANKAI_EXPORT_TABLES(BlockOps, block_ops)

}  // namespace mankai::kernel
#endif  // HWY_ONCE
