// Classic Bloom lookups that gather, eight keys per vector; included once per instruction set by kernel sources; empty
// below AVX-512.

// The toggle is Highway's idiom for headers that are compiled once per target.
#if defined(MANKAI_KERNEL_BLOOM_GATHER_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MANKAI_KERNEL_BLOOM_GATHER_INL_HPP
#undef MANKAI_KERNEL_BLOOM_GATHER_INL_HPP
#else
#define MANKAI_KERNEL_BLOOM_GATHER_INL_HPP
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"
#include "mankai/kernel/tuning.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

#if MANKAI_VECTOR_DIGESTS

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGatherLanes = 8;
static_assert(kGatherWindow % kGatherLanes == 0);

HWY_INLINE bool can_gather(const BloomShape& shape) {
  return shape.field_bits == 0 && shape.cell_count <= kVectorRangeLimit;
}

// CellSequence, one key per lane.
HWY_INLINE DigestVector first_state(DigestTag d, DigestVector digests) {
  return hn::Or(digests, hn::Set(d, std::uint64_t{1}));
}

HWY_INLINE DigestVector next_state(DigestTag d, DigestVector state) {
  return vector_multiply(d, state, probes::CellSequence::kMultiplier);
}

// Each lane's cell, moved to bit 0. In intrinsics: a compiler that sees a mask of all lanes keeps the destination as an
// input, so each gather waits for the previous one, 3.9 ns per key in cache against 3.1. A hidden mask and a ready
// source break this chain. Rotating needs no mask on the count.
HWY_INLINE DigestVector gather_cells(const std::uint64_t* words, DigestVector cells) {
  __mmask8 lanes = 0xff;
  asm("" : "+k"(lanes));
  const __m512i index = _mm512_maskz_srli_epi64(__mmask8{0xff}, cells.raw, 6);
  const __m512i found = _mm512_mask_i64gather_epi64(cells.raw, lanes, index, words, 8);
  return DigestVector{_mm512_maskz_rorv_epi64(__mmask8{0xff}, found, cells.raw)};
}

// ANDs each lane's cells from probe `first` on, in bit 0.
HWY_INLINE DigestVector test_cells(DigestTag d, const std::uint64_t* words, const BloomShape& shape,
                                   std::uint32_t first, DigestVector state) {
  DigestVector all = hn::Set(d, std::uint64_t{1});
  for (std::uint32_t probe = first; probe < shape.k; ++probe) {
    all = hn::And(all, gather_cells(words, vector_fastrange(d, state, shape.cell_count)));
    state = next_state(d, state);
  }
  return all;
}

// Tests keys in cache without a branch. 2.8 ns per key for k = 7 at 1e5 bits, as one by one and unrolled; at 1e7 bits
// 4.3 against 5.1, at 1e8 14 against 27, because eight loads are always in flight. (Processors with the microcode
// against Downfall gather slowly.) Returns the number of keys tested: all full vectors.
template <class Source>
HWY_INLINE std::size_t test_by_gathering(const std::uint64_t* words, const BloomShape& shape, const Source& source,
                                         std::size_t count, bool* outcomes) {
  const DigestTag d;
  std::size_t i = 0;
  for (; i + kGatherLanes <= count; i += kGatherLanes) {
    const DigestVector all = test_cells(d, words, shape, 0, first_state(d, source.load(d, i)));
    // A bool is a byte of 0 or 1.
    _mm_storel_epi64(reinterpret_cast<__m128i*>(outcomes + i), _mm512_cvtepi64_epi8(all.raw));
  }
  return i;
}

// A window of keys beyond the cache. The first rounds test one cell of each key whose bits were all set so far, and
// prefetch the next line of those that remain: an absent key costs about two lines instead of k. After that most
// remaining keys are present, so all their other lines are prefetched at once.
class Rounds {
 public:
  std::size_t start = 0;
  std::size_t count = 0;

  // Loads the keys from `first` on and prefetches their first lines.
  template <class Source>
  HWY_INLINE void open(const std::uint64_t* words, const BloomShape& shape, const Source& source, std::size_t first,
                       std::size_t keys) {
    const DigestTag d;
    start = first;
    count = std::min(keys - first, kGatherWindow);
    remaining_ = count;
    std::size_t i = 0;
    for (; i + kGatherLanes <= count; i += kGatherLanes) {
      hn::Store(first_state(d, source.load(d, start + i)), d, states_ + i);
    }
    for (; i < count; ++i) {
      states_[i] = probes::CellSequence::start(source.at(start + i));
    }
    for (i = 0; i < count; i += kGatherLanes) {
      hn::Store(hn::Iota(d, i), d, keys_ + i);
      hn::Store(vector_fastrange(d, hn::Load(d, states_ + i), shape.cell_count), d, cells_ + i);
    }
    fetch(words);
  }

  HWY_INLINE void test(const std::uint64_t* words, const BloomShape& shape, bool* outcomes) {
    std::uint32_t probe = 0;
    while (probe < shape.k && probe < kSiftingRounds) {
      keep_those_with_bit(words, shape.cell_count);
      if (++probe < kSiftingRounds) {
        fetch(words);
      }
    }
    fetch_rest(words, shape, probe);
    std::fill_n(outcomes, count, false);
    report_rest(words, shape, probe, outcomes);
  }

 private:
  HWY_INLINE void fetch(const std::uint64_t* words) const {
    for (std::size_t i = 0; i < remaining_; ++i) {
      prefetch_line(words + cells_[i] / 64);
    }
  }

  HWY_INLINE void fetch_rest(const std::uint64_t* words, const BloomShape& shape, std::uint32_t first) const {
    const DigestTag d;
    HWY_ALIGN std::uint64_t cells[kGatherLanes];
    for (std::size_t i = 0; i < remaining_; i += kGatherLanes) {
      DigestVector state = hn::Load(d, states_ + i);
      for (std::uint32_t probe = first; probe < shape.k; ++probe) {
        hn::Store(vector_fastrange(d, state, shape.cell_count), d, cells);
        for (const std::uint64_t cell : cells) {
          prefetch_line(words + cell / 64);
        }
        state = next_state(d, state);
      }
    }
  }

  HWY_INLINE void report_rest(const std::uint64_t* words, const BloomShape& shape, std::uint32_t first,
                              bool* outcomes) const {
    const DigestTag d;
    HWY_ALIGN std::uint64_t all[kGatherLanes];
    for (std::size_t i = 0; i < remaining_; i += kGatherLanes) {
      hn::Store(test_cells(d, words, shape, first, hn::Load(d, states_ + i)), d, all);
      const std::size_t lanes = std::min(remaining_ - i, kGatherLanes);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        outcomes[keys_[i + lane]] = all[lane] != 0;
      }
    }
  }

  static HWY_INLINE unsigned lanes_below(std::size_t count) {
    return count >= kGatherLanes ? 0xffU : (1U << count) - 1;
  }

  // Highway's Compress copies a table of 2 KB to the stack at each call (g++ 12): 61 against 18 ns per key at 1e8 bits.
  static HWY_INLINE DigestVector compress(__mmask8 stay, DigestVector v) {
    return DigestVector{_mm512_maskz_compress_epi64(stay, v.raw)};
  }

  // Moves the remaining keys to the front and advances them to their next cell. Stores full vectors at or before the
  // place just read: compressing into memory is slow on some processors.
  HWY_INLINE void keep_those_with_bit(const std::uint64_t* words, std::uint64_t cell_count) {
    const DigestTag d;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < remaining_; i += kGatherLanes) {
      const DigestVector found = gather_cells(words, hn::Load(d, cells_ + i));
      const auto stay = static_cast<__mmask8>(_mm512_test_epi64_mask(found.raw, hn::Set(d, std::uint64_t{1}).raw) &
                                              lanes_below(remaining_ - i));
      const DigestVector states = next_state(d, compress(stay, hn::Load(d, states_ + i)));
      hn::StoreU(compress(stay, hn::Load(d, keys_ + i)), d, keys_ + kept);
      hn::StoreU(states, d, states_ + kept);
      hn::StoreU(vector_fastrange(d, states, cell_count), d, cells_ + kept);
      kept += static_cast<std::size_t>(std::popcount(stay));
    }
    remaining_ = kept;
  }

  static constexpr std::uint32_t kSiftingRounds = 3;

  std::size_t remaining_ = 0;
  HWY_ALIGN std::uint64_t states_[kGatherWindow] = {};
  HWY_ALIGN std::uint64_t keys_[kGatherWindow];
  HWY_ALIGN std::uint64_t cells_[kGatherWindow];
};

// Tests all keys, prefetching a window ahead.
template <class Source>
HWY_INLINE void test_in_gathered_rounds(const std::uint64_t* words, const BloomShape& shape, const Source& source,
                                        std::size_t count, bool* outcomes) {
  Rounds windows[2];
  Rounds* current = &windows[0];
  Rounds* next = &windows[1];
  current->open(words, shape, source, 0, count);
  while (current->count != 0) {
    next->open(words, shape, source, current->start + current->count, count);
    current->test(words, shape, outcomes + current->start);
    std::swap(current, next);
  }
}

#endif  // MANKAI_VECTOR_DIGESTS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
