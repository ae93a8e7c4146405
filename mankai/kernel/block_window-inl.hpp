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

// The result of a visit to a key's block. A byte, so that one vector pass turns the results of a window into bools.
using Outcome = std::uint8_t;

// First bit of each lane's field in the remixed digest.
alignas(64) constexpr std::uint64_t kFieldShifts[kBlockLanes] = {16, 22, 28, 34, 40, 46, 52, 58};
static_assert(kFieldShifts[0] == probes::kFirstPositionShift);
static_assert(kFieldShifts[kBlockLanes - 1] == probes::kFirstPositionShift + 7 * probes::kPositionBits);

#if HWY_TARGET == HWY_AVX3_DL

// What a visit gets of the remixed digest: its eight fields, each in a byte, fetched for eight keys by one
// vpmultishiftqb and spread over the lanes as they are loaded. With a fetch per key, a look-up in cache takes 1.39
// instead of 1.24 ns (Zen 4).
constexpr std::uint64_t kFieldBytes = [] {
  std::uint64_t bytes = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    bytes |= kFieldShifts[lane] << (8 * lane);
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
  return _mm512_srlv_epi64(_mm512_set1_epi64(static_cast<long long>(remixed)), _mm512_load_si512(kFieldShifts));
}
#endif
HWY_INLINE std::uint64_t fields_of(std::uint64_t remixed) { return remixed; }

#endif

// The blocks and fields of one window's keys, computed before any of its lines is touched, and the outcomes.
template <std::size_t kWindow>
struct Window {
  HWY_ALIGN std::uint64_t block[kWindow];
  HWY_ALIGN std::uint64_t fields[kWindow];
  HWY_ALIGN Outcome outcomes[kWindow];
  std::size_t start = 0;
  std::size_t count = 0;

  // Computes the keys from i to end.
  template <class Source>
  HWY_INLINE void prepare(const Source& source, std::uint64_t block_count, std::size_t i, std::size_t end) {
#if MANKAI_VECTOR_DIGESTS
    // Vectors multiply 32 bits by 32; filters of 256 GB and more take the scalar path.
    if (block_count <= kVectorRangeLimit) {
      const DigestTag d;
      for (; i + hn::Lanes(d) <= end; i += hn::Lanes(d)) {
        const DigestVector digests = source.load(d, start + i);
        hn::Store(vector_fastrange(d, digests, block_count), d, block + i);
        hn::Store(fields_of(d, vector_multiply(d, digests, probes::kRemix)), d, fields + i);
      }
    }
#endif
    for (; i < end; ++i) {
      const Digest digest = source.at(start + i);
      block[i] = probes::block_index(digest, block_count);
      fields[i] = fields_of(probes::remix(digest));
    }
  }

  HWY_INLINE void prefetch(const std::uint64_t* words, std::size_t i) const {
    prefetch_line(words + block[i] * kBlockLanes);
  }

  template <class Words, class Touch>
  HWY_INLINE void visit(Words* words, std::size_t i, const Touch& touch) {
    outcomes[i] = touch(words + block[i] * kBlockLanes, fields[i]);
  }
};

// A pipeline of three stages, a window each: compute and prefetch the next window, visit this one, answer the last one.
// Reading results one stage later avoids store-forwarding stalls, and one prefetch per visited line keeps the memory
// busy without flooding it. A window is computed in steps between the visits, so that lines are in flight meanwhile.
template <bool kPrefetch, std::size_t kWindow, class Words, class Source, class Touch, class Answer>
HWY_INLINE void visit_windows(Words* words, std::uint64_t block_count, const Source& source, std::size_t count,
                              const Touch& touch, const Answer& answer) {
  Window<kWindow> windows[3];
  const auto open = [&](Window<kWindow>& window, std::size_t start) HWY_ATTR {
    window.start = start;
    window.count = std::min(count - start, kWindow);
    if (!kPrefetch || start == 0) {
      // Hidden, or g++ unrolls the loop by four: 1.03 of the time in cache (Zen 4).
      std::size_t end = window.count;
      asm("" : "+r"(end));
      window.prepare(source, block_count, 0, end);
    }
  };
  Window<kWindow>* next = &windows[0];
  Window<kWindow>* current = &windows[1];
  Window<kWindow>* previous = &windows[2];
  open(*current, 0);
  for (std::size_t i = 0; kPrefetch && i < current->count; ++i) {
    current->prefetch(words, i);
  }
  while (current->count != 0) {
    open(*next, current->start + current->count);
    std::size_t i = 0;
    while (kPrefetch && i < next->count) {
      const std::size_t end = std::min(i + kFarStep, next->count);
      next->prepare(source, block_count, i, end);
      for (; i < end; ++i) {
        next->prefetch(words, i);
        current->visit(words, i, touch);
      }
    }
    for (; i < current->count; ++i) {
      current->visit(words, i, touch);
    }
    answer(previous->start, previous->outcomes, previous->count);
    Window<kWindow>* const answered = previous;
    previous = current;
    current = next;
    next = answered;
  }
  answer(previous->start, previous->outcomes, previous->count);
}

template <class Words, class Source, class Touch, class Answer>
HWY_INLINE void visit_all(Words* words, std::uint64_t block_count, const Source& source, std::size_t count,
                          const Touch& touch, const Answer& answer) {
  if (block_count * probes::kBlockBits / 8 <= kNearBytes) {
    visit_windows<false, kNearWindow>(words, block_count, source, count, touch, answer);
  } else {
    visit_windows<true, kFarWindow>(words, block_count, source, count, touch, answer);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
