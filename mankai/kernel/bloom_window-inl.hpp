// A window of keys in a classic Bloom filter with precomputed positions; included once per instruction set by kernel
// sources.

// The toggle is Highway's idiom for headers that are compiled once per target.
#if defined(MANKAI_KERNEL_BLOOM_WINDOW_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MANKAI_KERNEL_BLOOM_WINDOW_INL_HPP
#undef MANKAI_KERNEL_BLOOM_WINDOW_INL_HPP
#else
#define MANKAI_KERNEL_BLOOM_WINDOW_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/bloom_gather-inl.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"
#include "mankai/kernel/tuning.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#ifndef MANKAI_UNROLL_PROBES
#ifdef __clang__
#define MANKAI_UNROLL_PROBES  // it unrolls constant counts on its own
#else
#define MANKAI_UNROLL_PROBES _Pragma("GCC unroll 16")
#endif
#endif

// 1 if a key lacks a bit, else 0.
using Lacks = std::uint8_t;

// The positions of a window of keys, probe by probe: all first cells, then all second ones. The constant stride gives a
// key's cells fixed offsets: 5.1 instead of 6.0 ns per insertion.
template <std::size_t kStride>
struct Positions {
  HWY_ALIGN std::uint64_t cells[kMaxProbes * kStride];
  std::size_t start = 0;
  std::size_t count = 0;

  HWY_INLINE std::uint64_t cell(std::size_t probe, std::size_t key) const { return cells[probe * kStride + key]; }

  template <class Source>
  HWY_INLINE void open(const BloomShape& shape, const Source& source, std::size_t first, std::size_t keys) {
    start = first;
    count = std::min(keys - first, kStride);
    for (std::size_t i = fill_in_vectors(shape, source); i < count; ++i) {
      if (shape.field_bits != 0) {
        probes::FieldSequence fields(source.at(start + i));
        for (std::size_t probe = 0; probe < shape.k; ++probe) {
          cells[probe * kStride + i] = fields.next(shape.field_bits);
        }
      } else {
        probes::CellSequence sequence(source.at(start + i));
        for (std::size_t probe = 0; probe < shape.k; ++probe) {
          cells[probe * kStride + i] = sequence.next(shape.cell_count);
        }
      }
    }
  }

 private:
  // Returns the number of keys computed.
  template <class Source>
  HWY_INLINE std::size_t fill_in_vectors([[maybe_unused]] const BloomShape& shape,
                                         [[maybe_unused]] const Source& source) {
    std::size_t i = 0;
#if MANKAI_VECTOR_DIGESTS
    if (!can_gather(shape)) {
      return 0;
    }
    const DigestTag d;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      DigestVector state = first_state(d, source.load(d, start + i));
      for (std::size_t probe = 0; probe < shape.k; ++probe) {
        hn::Store(vector_fastrange(d, state, shape.cell_count), d, cells + probe * kStride + i);
        state = next_state(d, state);
      }
    }
#endif
    return i;
  }
};

using Near = Positions<kNearBloomWindow>;
using Far = Positions<kFarBloomWindow>;

HWY_INLINE std::uint64_t cell_at_bit_0(const std::uint64_t* words, std::uint64_t cell) {
  return MANKAI_SHARED(words[cell / 64]) >> (cell % 64);
}

HWY_INLINE void prefetch_key(const std::uint64_t* words, const Near& window, std::uint32_t k, std::size_t key) {
  for (std::size_t probe = 0; probe < k; ++probe) {
    prefetch_line(words + window.cell(probe, key) / 64);
  }
}

// Tests all k cells of each key without a branch: an early exit mispredicts on every other absent key. Unrolled for
// common k: 2.6 instead of 3.9 ns per key for k = 7. kProbes = 0 is any k.
template <std::uint32_t kProbes>
void test_window(const std::uint64_t* words, const Near& window, std::uint32_t any_k, Lacks* lacks) {
  const std::uint32_t k = kProbes != 0 ? kProbes : any_k;
  for (std::size_t key = 0; key < window.count; ++key) {
    std::uint64_t all = 1;
    MANKAI_UNROLL_PROBES
    for (std::size_t probe = 0; probe < k; ++probe) {
      all &= cell_at_bit_0(words, window.cell(probe, key));
    }
    lacks[key] = static_cast<Lacks>(all ^ 1U);
  }
}

// Inserts keys in order, so that a repeated key in the window finds its bits. Prefetches the lines of the next window,
// if any.
template <std::uint32_t kProbes>
void set_window(std::uint64_t* words, const Near& window, const Near* next, std::uint32_t any_k, Lacks* lacks) {
  const std::uint32_t k = kProbes != 0 ? kProbes : any_k;
  for (std::size_t key = 0; key < window.count; ++key) {
    if (next != nullptr && key < next->count) {
      prefetch_key(words, *next, k, key);
    }
    std::uint64_t all = 1;
    MANKAI_UNROLL_PROBES
    for (std::size_t probe = 0; probe < k; ++probe) {
      const std::uint64_t cell = window.cell(probe, key);
      const std::uint64_t before = MANKAI_SHARED(words[cell / 64]);
      all &= before >> (cell % 64);
      MANKAI_SHARED(words[cell / 64]) = before | (std::uint64_t{1} << (cell % 64));
    }
    lacks[key] = static_cast<Lacks>(all ^ 1U);
  }
}

// Dispatches both by k.
constexpr std::uint32_t kUnrolledProbes = 16;
using TestWindow = void (*)(const std::uint64_t*, const Near&, std::uint32_t, Lacks*);
using SetWindow = void (*)(std::uint64_t*, const Near&, const Near*, std::uint32_t, Lacks*);

template <std::uint32_t... kProbes>
TestWindow pick_test(std::uint32_t k, std::integer_sequence<std::uint32_t, kProbes...> /*ks*/) {
  constexpr TestWindow kTable[] = {test_window<kProbes>...};
  return kTable[k <= kUnrolledProbes ? k : 0];
}

template <std::uint32_t... kProbes>
SetWindow pick_set(std::uint32_t k, std::integer_sequence<std::uint32_t, kProbes...> /*ks*/) {
  constexpr SetWindow kTable[] = {set_window<kProbes>...};
  return kTable[k <= kUnrolledProbes ? k : 0];
}

using UsualProbes = std::make_integer_sequence<std::uint32_t, kUnrolledProbes + 1>;

HWY_INLINE void prefetch_first_cells(const std::uint64_t* words, const Far& window) {
  for (std::size_t key = 0; key < window.count; ++key) {
    prefetch_line(words + window.cell(0, key) / 64);
  }
}

// Tests a window probe by probe: each round tests one cell of every key whose bits so far are set, and prefetches the
// next line of those that remain. An absent key costs two lines on average instead of k. The first cells' lines are
// prefetched already.
HWY_INLINE void test_in_rounds(const std::uint64_t* words, const Far& window, std::uint32_t k, Lacks* lacks) {
  std::uint16_t remaining[kFarBloomWindow];
  std::size_t count = window.count;
  for (std::size_t key = 0; key < count; ++key) {
    remaining[key] = static_cast<std::uint16_t>(key);
    lacks[key] = 1;
  }
  for (std::size_t probe = 0; probe < k && count != 0; ++probe) {
    for (std::size_t i = 0; probe != 0 && i < count; ++i) {
      prefetch_line(words + window.cell(probe, remaining[i]) / 64);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t key = remaining[i];
      remaining[kept] = key;
      kept += cell_at_bit_0(words, window.cell(probe, key)) & 1U;
    }
    count = kept;
  }
  for (std::size_t i = 0; i < count; ++i) {
    lacks[remaining[i]] = 0;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
