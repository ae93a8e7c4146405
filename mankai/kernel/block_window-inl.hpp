// Batches over blocks of one cache line, prefetched a window of keys ahead; included once per instruction set by kernel
// sources.

// The toggle is Highway's idiom for headers that are compiled once per target.
#if defined(MANKAI_KERNEL_BLOCK_WINDOW_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MANKAI_KERNEL_BLOCK_WINDOW_INL_HPP
#undef MANKAI_KERNEL_BLOCK_WINDOW_INL_HPP
#else
#define MANKAI_KERNEL_BLOCK_WINDOW_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"
#include "mankai/kernel/tuning.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using probes::kBlockLanes;

// The usual result of a visit to a key's block. A byte, so that one vector pass turns the results of a step into bools.
using Outcome = std::uint8_t;

#if HWY_TARGET == HWY_AVX3_DL

// What a visit gets of the remixed digest: its eight fields, each in a byte, fetched for eight keys by one
// vpmultishiftqb and spread over the lanes as they are loaded. With a fetch per key, a look-up in cache takes 1.39
// instead of 1.24 ns (Zen 4).
constexpr std::uint64_t kFieldBytes = [] {
  std::uint64_t bytes = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    bytes |= probes::kLaneShifts[lane] << (8 * lane);
  }
  return bytes;
}();

HWY_INLINE DigestVector fields_of(DigestTag d, DigestVector remixed) {
  return DigestVector{_mm512_multishift_epi64_epi8(hn::Set(d, kFieldBytes).raw, remixed.raw)};
}
HWY_INLINE std::uint64_t fields_of(std::uint64_t remixed) {
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_multishift_epi64_epi8(
      _mm_cvtsi64_si128(static_cast<long long>(kFieldBytes)), _mm_cvtsi64_si128(static_cast<long long>(remixed)))));
}
// In each lane its field, with other bits above its six.
HWY_INLINE __m512i lane_fields(std::uint64_t fields) {
  return _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(fields)));
}

#else

#if HWY_TARGET == HWY_AVX3
HWY_INLINE DigestVector fields_of(DigestTag /*d*/, DigestVector remixed) { return remixed; }
HWY_INLINE __m512i lane_fields(std::uint64_t remixed) {
  return _mm512_srlv_epi64(_mm512_set1_epi64(static_cast<long long>(remixed)), _mm512_load_si512(probes::kLaneShifts));
}
#endif
HWY_INLINE std::uint64_t fields_of(std::uint64_t remixed) { return remixed; }

#endif

// The newest kKeys keys of a batch: their blocks and fields, computed before any of their lines is touched, and the
// outcomes. A key's place is its number modulo kKeys.
template <std::size_t kKeys, class Result>
struct Ring {
  HWY_ALIGN std::uint64_t block[kKeys];
  HWY_ALIGN std::uint64_t fields[kKeys];
  HWY_ALIGN Result outcomes[kKeys];

  // Computes `count` keys of the source from `first` on, which do not go around the end.
  template <class Source>
  HWY_INLINE void prepare(const Source& source, std::uint64_t block_count, std::size_t first, std::size_t count) {
    const std::size_t place = first % kKeys;
    std::size_t i = 0;
#if MANKAI_VECTOR_DIGESTS
    // Vectors multiply 32 bits by 32; filters of 256 GB and more take the scalar path.
    if (block_count <= kVectorRangeLimit) {
      const DigestTag d;
      for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
        const DigestVector digests = source.load(d, first + i);
        hn::Store(vector_fastrange(d, digests, block_count), d, block + place + i);
        hn::Store(fields_of(d, vector_multiply(d, digests, probes::kRemix)), d, fields + place + i);
      }
    }
#endif
    for (; i < count; ++i) {
      const Digest digest = source.at(first + i);
      block[place + i] = probes::block_index(digest, block_count);
      fields[place + i] = fields_of(probes::remix(digest));
    }
  }

  // Visits `count` keys from `place` on, and before each asks for the line of another, `ahead` of them from `next` on.
  template <class Words, class Touch>
  HWY_INLINE void visit(Words* words, std::size_t place, std::size_t count, std::size_t next, std::size_t ahead,
                        const Touch& touch) {
    for (std::size_t i = 0; i < std::max(count, ahead); ++i) {
      if (i < ahead) {
        prefetch_line_to_level2(words + block[next + i] * kBlockLanes);
      }
      if (i < count) {
        outcomes[place + i] = touch(words + block[place + i] * kBlockLanes, fields[place + i]);
      }
    }
  }
};

// A pipeline of three stages, a window apart: compute and prefetch keys, visit those of one window ago, answer those of
// two windows ago. Reading results later avoids store-forwarding stalls, and one prefetch per visited line keeps the
// memory busy without flooding it. The stages alternate in steps of a constant number of keys, so that lines are in
// flight and products under way meanwhile.
template <bool kPrefetch, std::size_t kWindow, std::size_t kStep, class Words, class Source, class Touch, class Answer>
HWY_INLINE void visit_windows(Words* words, std::uint64_t block_count, const Source& source, std::size_t count,
                              const Touch& touch, const Answer& answer) {
  constexpr std::size_t kKeys = 2 * kWindow;
  static_assert(kWindow % kStep == 0 && kStep % kBlockLanes == 0);  // vectors are aligned
  Ring<kKeys, decltype(touch(words, std::uint64_t{0}))> ring;
  const std::size_t window = std::min(kWindow, count);
  ring.prepare(source, block_count, 0, window);
  ring.visit(words, 0, 0, 0, kPrefetch ? window : 0, touch);
  std::size_t key = window;
  for (; key + kStep <= count; key += kStep) {
    if (kPrefetch && key + kSourceAhead + kStep <= count) {
      source.prefetch(key + kSourceAhead, kStep);
    }
    ring.prepare(source, block_count, key, kStep);
    ring.visit(words, (key - kWindow) % kKeys, kStep, key % kKeys, kPrefetch ? kStep : 0, touch);
    if (key >= kKeys) {
      answer(key - kKeys, ring.outcomes + key % kKeys, kStep);
    }
  }
  const auto for_steps = [&](std::size_t first, std::size_t end, const auto& use) HWY_ATTR {
    for (std::size_t i = first; i < end; i += kStep) {
      use(i, i % kKeys, std::min(kStep, end - i));
    }
  };
  const auto answer_step = [&](std::size_t first, std::size_t place, std::size_t keys)
                               HWY_ATTR { answer(first, ring.outcomes + place, keys); };
  const std::size_t visited = key - window;
  for_steps(key - std::min(key, kKeys), visited, answer_step);
  ring.prepare(source, block_count, key, count - key);
  ring.visit(words, 0, 0, key % kKeys, kPrefetch ? count - key : 0, touch);
  for_steps(visited, count, [&](std::size_t /*first*/, std::size_t place, std::size_t keys) HWY_ATTR {
    ring.visit(words, place, keys, 0, 0, touch);
  });
  for_steps(visited, count, answer_step);
}

template <class Words, class Source, class Touch, class Answer>
HWY_INLINE void visit_all(Words* words, std::uint64_t block_count, const Source& source, std::size_t count,
                          const Touch& touch, const Answer& answer) {
  if (block_count * probes::kBlockBits / 8 <= kNearBytes) {
    visit_windows<false, kNearWindow, kNearStep>(words, block_count, source, count, touch, answer);
  } else {
    visit_windows<true, kFarWindow, kFarStep>(words, block_count, source, count, touch, answer);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
