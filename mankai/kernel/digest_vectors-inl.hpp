// Digests in vectors; included once per instruction set by kernel sources, between Highway's foreach_target passes.

// The toggle is Highway's idiom for headers that are compiled once per target.
#if defined(MANKAI_KERNEL_DIGEST_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MANKAI_KERNEL_DIGEST_VECTORS_INL_HPP
#undef MANKAI_KERNEL_DIGEST_VECTORS_INL_HPP
#else
#define MANKAI_KERNEL_DIGEST_VECTORS_INL_HPP
#endif

#include <algorithm>
#include <cstdint>

#include "mankai/base/bits.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/tuning.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors prepare digests if the machine multiplies 64-bit lanes (AVX-512); otherwise its scalar multiplier is faster.
#undef MANKAI_VECTOR_DIGESTS
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
#define MANKAI_VECTOR_DIGESTS 1
#else
#define MANKAI_VECTOR_DIGESTS 0
#endif

#if MANKAI_VECTOR_DIGESTS

using DigestTag = hn::CappedTag<std::uint64_t, 8>;
using DigestVector = hn::Vec<DigestTag>;

HWY_INLINE DigestVector vector_multiply(DigestTag d, DigestVector v, std::uint64_t factor) {
  return hn::Mul(v, hn::Set(d, factor));
}

// Full products of the lanes' low halves: 32 x 32 -> 64 bits.
HWY_INLINE DigestVector multiply_halves(DigestVector a, DigestVector b) {
  const hn::Repartition<std::uint32_t, DigestTag> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}

// The two halves of 128-bit products, folded, from four products of 32-bit halves.
HWY_INLINE DigestVector vector_folded_product(DigestTag d, DigestVector v, std::uint64_t factor) {
  const hn::Repartition<std::uint32_t, DigestTag> d32;
  const DigestVector low = hn::Set(d, factor & kVectorRangeLimit);
  const DigestVector high = hn::Set(d, factor >> 32);
  const DigestVector v_high = hn::ShiftRight<32>(v);
  const DigestVector lowest = multiply_halves(v, low);
  const DigestVector carried = hn::Add(multiply_halves(v_high, low), hn::ShiftRight<32>(lowest));
  const DigestVector crossed =
      hn::Add(multiply_halves(v, high), hn::And(carried, hn::Set(d, std::uint64_t{kVectorRangeLimit})));
  const DigestVector high_half =
      hn::Add(multiply_halves(v_high, high), hn::Add(hn::ShiftRight<32>(carried), hn::ShiftRight<32>(crossed)));
  const auto low_half = hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(crossed)), hn::BitCast(d32, lowest));
  return hn::Xor(high_half, hn::BitCast(d, low_half));
}

// The scalar fastrange, bit for bit, for ranges below 2^32: the high 64 bits of a 96-bit product.
HWY_INLINE DigestVector vector_fastrange(DigestTag d, DigestVector uniform, std::uint64_t range) {
  const DigestVector ranges = hn::Set(d, range);
  const DigestVector low = hn::ShiftRight<32>(multiply_halves(uniform, ranges));
  const DigestVector high = multiply_halves(hn::ShiftRight<32>(uniform), ranges);
  return hn::ShiftRight<32>(hn::Add(high, low));
}

#endif  // MANKAI_VECTOR_DIGESTS

// Asks for the lines of digests or keys, which are read once.
HWY_INLINE void prefetch_values(const void* values, std::size_t count) {
  for (std::size_t byte = 0; byte < count * sizeof(std::uint64_t); byte += kCacheLineBytes) {
    prefetch_passing_line(static_cast<const char*>(values) + byte);
  }
}

struct DigestSource {
  const Digest* digests;

#if MANKAI_VECTOR_DIGESTS
  HWY_INLINE DigestVector load(DigestTag d, std::size_t i) const { return hn::LoadU(d, &digests[i].value); }
#endif
  HWY_INLINE Digest at(std::size_t i) const { return digests[i]; }
  HWY_INLINE void prefetch(std::size_t i, std::size_t count) const { prefetch_values(digests + i, count); }
};

// Hashes integer keys in vectors: mix_integer.
struct IntegerSource {
  const std::uint64_t* keys;
  std::uint64_t seed;

#if MANKAI_VECTOR_DIGESTS
  HWY_INLINE DigestVector load(DigestTag d, std::size_t i) const {
    const DigestVector x = hn::Xor(hn::LoadU(d, keys + i), hn::Set(d, seed));
    return vector_multiply(d, vector_folded_product(d, x, kMixFirst), kMixSecond);
  }
#endif
  HWY_INLINE Digest at(std::size_t i) const { return mix_integer(keys[i], seed); }
  HWY_INLINE void prefetch(std::size_t i, std::size_t count) const { prefetch_values(keys + i, count); }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
