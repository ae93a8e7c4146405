// One key's block in vectors: included once per instruction set by kernel sources.

// The toggle is Highway's idiom for headers that are compiled once per target.
#if defined(MANKAI_KERNEL_BLOCK_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MANKAI_KERNEL_BLOCK_VECTORS_INL_HPP
#undef MANKAI_KERNEL_BLOCK_VECTORS_INL_HPP
#else
#define MANKAI_KERNEL_BLOCK_VECTORS_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include "mankai/hash/probes.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using probes::kBlockLanes;

// What a key lacks in its block: zero when every lane has the key's bit. Kept as a byte, so that a window's answers are
// turned into bools in one vector pass.
using Missing = std::uint8_t;

// Without shifts that differ by lane a table of masks beats computing them.
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

HWY_INLINE Missing test_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    missing |= ~block[lane] & kBits.bit[probes::lane_position(remixed, lane)];
  }
  return static_cast<Missing>(missing != 0);
}

HWY_INLINE Missing set_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const std::uint64_t bit = kBits.bit[probes::lane_position(remixed, lane)];
    missing |= ~block[lane] & bit;
    block[lane] |= bit;
  }
  return static_cast<Missing>(missing != 0);
}

#else

alignas(64) constexpr std::uint64_t kShifts[kBlockLanes] = {16, 22, 28, 34, 40, 46, 52, 58};
static_assert(kShifts[0] == probes::kFirstPositionShift);
static_assert(kShifts[kBlockLanes - 1] == probes::kFirstPositionShift + 7 * probes::kPositionBits);

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3

// Raw instructions where Highway has no name for them: vpmultishiftqb fetches any eight bits and vprolvq ignores all
// but six, vptestnmq tests in memory. 1.33 ns per key in cache; the portable code below, on AVX-512, 1.41.
HWY_INLINE __m512i block_bits(std::uint64_t remixed) {
  const __m512i spread = _mm512_set1_epi64(static_cast<long long>(remixed));
  const __m512i shifts = _mm512_load_si512(kShifts);
#if HWY_TARGET == HWY_AVX3_DL
  return _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_multishift_epi64_epi8(shifts, spread));
#else
  return _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srlv_epi64(spread, shifts));
#endif
}

HWY_INLINE Missing test_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  return _mm512_testn_epi64_mask(_mm512_load_si512(block), block_bits(remixed));
}

HWY_INLINE Missing set_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const __m512i before = _mm512_load_si512(block);
  const __m512i bits = block_bits(remixed);
  _mm512_store_si512(block, _mm512_or_si512(before, bits));
  return _mm512_testn_epi64_mask(before, bits);
}

#else

using BlockTag = hn::CappedTag<std::uint64_t, kBlockLanes>;
using BlockVector = hn::Vec<BlockTag>;

// The bits of one key in the lanes from `lane` on.
HWY_INLINE BlockVector lane_bits(BlockTag d, std::uint64_t remixed, std::size_t lane) {
  const BlockVector positions = hn::And(hn::Shr(hn::Set(d, remixed), hn::Load(d, kShifts + lane)),
                                        hn::Set(d, std::uint64_t{probes::kLaneBits - 1}));
  return hn::Shl(hn::Set(d, std::uint64_t{1}), positions);
}

HWY_INLINE Missing test_block(const std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const BlockTag d;
  BlockVector missing = hn::Zero(d);
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    missing = hn::Or(missing, hn::AndNot(hn::Load(d, block + lane), lane_bits(d, remixed, lane)));
  }
  return static_cast<Missing>(!hn::AllTrue(d, hn::Eq(missing, hn::Zero(d))));
}

HWY_INLINE Missing set_block(std::uint64_t* HWY_RESTRICT block, std::uint64_t remixed) {
  const BlockTag d;
  BlockVector missing = hn::Zero(d);
  for (std::size_t lane = 0; lane < kBlockLanes; lane += hn::Lanes(d)) {
    const BlockVector before = hn::Load(d, block + lane);
    const BlockVector bits = lane_bits(d, remixed, lane);
    missing = hn::Or(missing, hn::AndNot(before, bits));
    hn::Store(hn::Or(before, bits), d, block + lane);
  }
  return static_cast<Missing>(!hn::AllTrue(d, hn::Eq(missing, hn::Zero(d))));
}

#endif  // AVX-512
#endif  // table or vectors

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
