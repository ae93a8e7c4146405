#pragma once

/// Single calls of the blocked layout, compiled into their caller: a call through the table costs more than the lookup
/// itself. The caller's flags determine the code:
///
///   AVX-512F and -DQ   vectors
///   AVX2               vectors, in two halves
///   plain x86-64       the AVX-512 instructions as assembly, if the machine has them (BlockOps::inline_code)
///   anything else      the table's function
///
/// Measured in a filter of 1e5 keys (level-2 cache), ns per key with the integer hash, fast_multiblock32 of Boost.Bloom
/// in the same run: plain -O2 1.37 by assembly and 1.9 by the table, Boost 2.1; -march=native 1.10, Boost 1.10.
/// Inserting is slower than Boost's, which reports nothing: plain 2.0 against 1.4, native 1.55 against 1.15. Zen 4 in
/// the same order: plain 1.82 and 2.58, native 1.58 and 1.36, inserting 2.8 and 2.0, 2.3 and 1.45.
///
/// Inline functions that call these must be always-inline too, or the linker may keep the body from a file with other
/// flags: illegal instructions on the wrong machine. For the same reason each set of flags has its own inline
/// namespace.

#include <cstdint>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/block_ops_reference.hpp"

/// MANKAI_BLOCK_INLINE: may_contain_here and observe_here exist. MANKAI_BLOCK_ASM: those in assembly do.
#define MANKAI_BLOCK_INLINE 0
#define MANKAI_BLOCK_ASM 0
#if defined(MANKAI_THREAD_SANITIZER)
#define MANKAI_BLOCK_FLAGS caller_watched
#elif defined(__AVX512F__) && defined(__AVX512DQ__)
#undef MANKAI_BLOCK_INLINE
#define MANKAI_BLOCK_INLINE 1
#define MANKAI_BLOCK_FLAGS caller_avx512
#elif defined(__AVX2__)
#undef MANKAI_BLOCK_INLINE
#define MANKAI_BLOCK_INLINE 1
#define MANKAI_BLOCK_FLAGS caller_avx2
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__AVX512F__)
#undef MANKAI_BLOCK_ASM
#define MANKAI_BLOCK_ASM 1
#define MANKAI_BLOCK_FLAGS caller_x86_64
#else
#define MANKAI_BLOCK_FLAGS caller_portable
#endif

#if MANKAI_BLOCK_INLINE
#include <immintrin.h>
#endif

namespace mankai::kernel {
inline namespace MANKAI_BLOCK_FLAGS {

#if MANKAI_BLOCK_INLINE || MANKAI_BLOCK_ASM

[[nodiscard, gnu::always_inline]] inline std::uint64_t first_word(std::uint64_t block_count, Digest digest) noexcept {
  return probes::block_index(digest, block_count) * probes::kBlockLanes;
}

#endif

#if MANKAI_BLOCK_INLINE && defined(__AVX512F__) && defined(__AVX512DQ__)

/// The remixed digest in every lane. Zen 4 has one scalar multiplier, which the hash keeps busy, and multiplies lanes
/// of 64 bits in one step: a look-up takes 1.58 ns instead of 1.90. Intel's vectors take three steps. g++ 12 takes Zen
/// 4 for Zen 3 with AVX-512.
[[nodiscard, gnu::always_inline]] inline __m512i spread_remixed(Digest digest) noexcept {
#if (defined(__tune_znver3__) || defined(__tune_znver4__)) && defined(__AVX512VL__)
  const __m128i remixed = _mm_maskz_mullo_epi64(__mmask8{0xff}, _mm_cvtsi64_si128(static_cast<long long>(digest.value)),
                                                _mm_cvtsi64_si128(static_cast<long long>(probes::kRemix)));
  return _mm512_maskz_broadcastq_epi64(__mmask8{0xff}, remixed);
#else
  return _mm512_set1_epi64(static_cast<long long>(probes::remix(digest)));
#endif
}

/// The bits of a key in its block.
[[nodiscard, gnu::always_inline]] inline __m512i block_bits_here(Digest digest) noexcept {
  const __m512i shifts = _mm512_load_si512(probes::kLaneShifts);
  // Rotation ignores all but six bits of a field. The masked forms, with all lanes, are the same instructions; g++ 12
  // warns inside the unmasked ones.
  const __m512i fields = _mm512_maskz_srlv_epi64(__mmask8{0xff}, spread_remixed(digest), shifts);
  return _mm512_maskz_rolv_epi64(__mmask8{0xff}, _mm512_set1_epi64(1), fields);
}

/// As BlockOps::may_contain_one.
[[nodiscard, gnu::always_inline]] inline bool may_contain_here(const std::uint64_t* words, std::uint64_t block_count,
                                                               Digest digest) noexcept {
  const __m512i block = _mm512_load_si512(words + first_word(block_count, digest));
  const __mmask8 missing = _mm512_testn_epi64_mask(block, block_bits_here(digest));
  // Tested in the mask register: moving it to a general register first costs 0.05 ns.
  return _kortestz_mask8_u8(missing, missing) != 0;
}

/// As BlockOps::observe_one.
[[gnu::always_inline]] inline bool observe_here(std::uint64_t* words, std::uint64_t block_count,
                                                Digest digest) noexcept {
  std::uint64_t* const block = words + first_word(block_count, digest);
  const __m512i before = _mm512_load_si512(block);
  const __m512i bits = block_bits_here(digest);
  _mm512_store_si512(block, _mm512_or_si512(before, bits));
  return _mm512_testn_epi64_mask(before, bits) == 0;
}

#elif MANKAI_BLOCK_INLINE

/// The bits of the four lanes with these shifts. AVX2 shifts by 64 and more give 0, so the count is masked.
[[nodiscard, gnu::always_inline]] inline __m256i lane_bits_here(std::uint64_t remixed,
                                                                const std::uint64_t* shifts) noexcept {
  const __m256i spread = _mm256_set1_epi64x(static_cast<long long>(remixed));
  const __m256i fields = _mm256_srlv_epi64(spread, _mm256_load_si256(reinterpret_cast<const __m256i*>(shifts)));
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_and_si256(fields, _mm256_set1_epi64x(probes::kLaneBits - 1)));
}

/// As BlockOps::may_contain_one.
[[nodiscard, gnu::always_inline]] inline bool may_contain_here(const std::uint64_t* words, std::uint64_t block_count,
                                                               Digest digest) noexcept {
  const auto* const block = reinterpret_cast<const __m256i*>(words + first_word(block_count, digest));
  const std::uint64_t remixed = probes::remix(digest);
  const __m256i missing = _mm256_or_si256(
      _mm256_andnot_si256(_mm256_load_si256(block), lane_bits_here(remixed, probes::kLaneShifts)),
      _mm256_andnot_si256(_mm256_load_si256(block + 1), lane_bits_here(remixed, probes::kLaneShifts + 4)));
  return _mm256_testz_si256(missing, missing) != 0;
}

/// As BlockOps::observe_one.
[[gnu::always_inline]] inline bool observe_here(std::uint64_t* words, std::uint64_t block_count,
                                                Digest digest) noexcept {
  auto* const block = reinterpret_cast<__m256i*>(words + first_word(block_count, digest));
  const std::uint64_t remixed = probes::remix(digest);
  const __m256i before[2] = {_mm256_load_si256(block), _mm256_load_si256(block + 1)};
  const __m256i bits[2] = {lane_bits_here(remixed, probes::kLaneShifts),
                           lane_bits_here(remixed, probes::kLaneShifts + 4)};
  _mm256_store_si256(block, _mm256_or_si256(before[0], bits[0]));
  _mm256_store_si256(block + 1, _mm256_or_si256(before[1], bits[1]));
  const __m256i missing =
      _mm256_or_si256(_mm256_andnot_si256(before[0], bits[0]), _mm256_andnot_si256(before[1], bits[1]));
  return _mm256_testz_si256(missing, missing) != 0;
}

#elif MANKAI_BLOCK_ASM

// All use zmm16 to zmm18 and k1 only. These do not alias the registers of SSE code, so no vzeroupper is needed, and
// code compiled without AVX-512 keeps nothing in them. g++ refuses to name them as clobbered in such code, so these
// functions must not end up in a function that has AVX-512 by attribute (target, target_clones) or by link-time
// inlining into a file with other flags; clang supports that.
#ifdef __clang__
#define MANKAI_BLOCK_CLOBBERS "xmm16", "xmm17", "xmm18", "k1"
#else
#define MANKAI_BLOCK_CLOBBERS
#endif
alignas(64) inline constexpr std::uint64_t kLaneOnes[probes::kBlockLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
using BlockWords = std::uint64_t[probes::kBlockLanes];

/// Factors that remix the digest and move each lane's field to the top.
constexpr std::uint64_t lane_factor(unsigned lane) { return probes::kRemix << (58 - probes::kLaneShifts[lane]); }
alignas(64) inline constexpr std::uint64_t kLaneFactors[probes::kBlockLanes] = {
    lane_factor(0), lane_factor(1), lane_factor(2), lane_factor(3),
    lane_factor(4), lane_factor(5), lane_factor(6), lane_factor(7)};
static_assert(probes::kLaneBits - probes::kPositionBits == 58, "the vpsrlq below");

/// As BlockOps::may_contain_one. Pre: BlockOps::inline_code is not none.
[[nodiscard, gnu::always_inline]] inline bool may_contain_asm(const std::uint64_t* words, std::uint64_t block_count,
                                                              Digest digest) noexcept {
  const auto& block = *reinterpret_cast<const BlockWords*>(words + first_word(block_count, digest));
  bool found;
  asm("vpbroadcastq %[remixed], %%zmm16\n\t"
      "vpsrlvq %[shifts], %%zmm16, %%zmm16\n\t"
      "vmovdqa64 %[ones], %%zmm18\n\t"
      "vprolvq %%zmm16, %%zmm18, %%zmm16\n\t"
      "vptestnmq %[block], %%zmm16, %%k1\n\t"
      "kortestb %%k1, %%k1"
      : "=@ccz"(found)
      :
      [remixed] "r"(probes::remix(digest)), [shifts] "m"(probes::kLaneShifts), [ones] "m"(kLaneOnes), [block] "m"(block)
      : MANKAI_BLOCK_CLOBBERS);
  return found;
}

/// The same with a product of vectors instead of the scalar one: 0.87 of the time on Zen 4, whose scalar multiplier is
/// the limit. An insertion gains nothing by it.
[[nodiscard, gnu::always_inline]] inline bool may_contain_asm_by_factors(const std::uint64_t* words,
                                                                         std::uint64_t block_count,
                                                                         Digest digest) noexcept {
  const auto& block = *reinterpret_cast<const BlockWords*>(words + first_word(block_count, digest));
  bool found;
  asm("vpbroadcastq %[digest], %%zmm16\n\t"
      "vpmullq %[factors], %%zmm16, %%zmm16\n\t"
      "vpsrlq $58, %%zmm16, %%zmm16\n\t"
      "vmovdqa64 %[ones], %%zmm18\n\t"
      "vprolvq %%zmm16, %%zmm18, %%zmm16\n\t"
      "vptestnmq %[block], %%zmm16, %%k1\n\t"
      "kortestb %%k1, %%k1"
      : "=@ccz"(found)
      : [digest] "r"(digest.value), [factors] "m"(kLaneFactors), [ones] "m"(kLaneOnes), [block] "m"(block)
      : MANKAI_BLOCK_CLOBBERS);
  return found;
}

/// As BlockOps::observe_one. Pre: BlockOps::inline_code is not none.
[[gnu::always_inline]] inline bool observe_asm(std::uint64_t* words, std::uint64_t block_count,
                                               Digest digest) noexcept {
  auto& block = *reinterpret_cast<BlockWords*>(words + first_word(block_count, digest));
  bool found;
  asm("vpbroadcastq %[remixed], %%zmm16\n\t"
      "vpsrlvq %[shifts], %%zmm16, %%zmm16\n\t"
      "vmovdqa64 %[ones], %%zmm18\n\t"
      "vprolvq %%zmm16, %%zmm18, %%zmm16\n\t"
      "vmovdqa64 %[block], %%zmm17\n\t"
      "vptestnmq %%zmm17, %%zmm16, %%k1\n\t"
      "vporq %%zmm17, %%zmm16, %%zmm16\n\t"
      "vmovdqa64 %%zmm16, %[block]\n\t"
      "kortestb %%k1, %%k1"
      : "=@ccz"(found), [block] "+m"(block)
      : [remixed] "r"(probes::remix(digest)), [shifts] "m"(probes::kLaneShifts), [ones] "m"(kLaneOnes)
      : MANKAI_BLOCK_CLOBBERS);
  return found;
}

#undef MANKAI_BLOCK_CLOBBERS

/// The table's function, declared pure: otherwise the compiler reloads the filter's members after each lookup in a
/// loop, which takes 0.35 ns.
[[nodiscard, gnu::pure, gnu::noinline]] inline bool may_contain_by_table(const BlockOps& ops,
                                                                         const std::uint64_t* words,
                                                                         std::uint64_t block_count,
                                                                         Digest digest) noexcept {
  return ops.may_contain_one(words, block_count, digest);
}

#endif

/// As BlockOps::may_contain_one, by the fastest code that the caller's flags and the machine allow. Pre: `ops` are this
/// machine's.
[[nodiscard, gnu::always_inline]] inline bool may_contain_single([[maybe_unused]] const BlockOps& ops,
                                                                 const std::uint64_t* words, std::uint64_t block_count,
                                                                 Digest digest) noexcept {
#if MANKAI_BLOCK_INLINE
  return may_contain_here(words, block_count, digest);
#else
#if MANKAI_BLOCK_ASM
  // In this order, so that the second assembly costs processors nothing that run the first.
  if (ops.inline_code == InlineCode::by_shifts) [[likely]] {
    return may_contain_asm(words, block_count, digest);
  }
  if (ops.inline_code == InlineCode::by_factors) [[likely]] {
    return may_contain_asm_by_factors(words, block_count, digest);
  }
  return may_contain_by_table(ops, words, block_count, digest);
#else
  return ops.may_contain_one(words, block_count, digest);
#endif
#endif
}

/// As BlockOps::observe_one; otherwise as may_contain_single.
[[gnu::always_inline]] inline bool observe_single([[maybe_unused]] const BlockOps& ops, std::uint64_t* words,
                                                  std::uint64_t block_count, Digest digest) noexcept {
#if MANKAI_BLOCK_INLINE
  return observe_here(words, block_count, digest);
#else
#if MANKAI_BLOCK_ASM
  if (ops.inline_code != InlineCode::none) [[likely]] {
    return observe_asm(words, block_count, digest);
  }
#endif
  return ops.observe_one(words, block_count, digest);
#endif
}

}  // namespace MANKAI_BLOCK_FLAGS
}  // namespace mankai::kernel
