#include "mankai/kernel/bloom_ops.hpp"

#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"
#include "mankai/kernel/tuning.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/bloom_ops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/bloom_gather-inl.hpp"
#include "mankai/kernel/bloom_window-inl.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE bool fits(const BloomShape& shape, std::size_t bytes) { return shape.cell_count / 8 <= bytes; }

HWY_INLINE void report(const Lacks* lacks, std::size_t count, bool* outcomes) {
  for (std::size_t i = 0; i < count; ++i) {
    outcomes[i] = lacks[i] == 0;
  }
}

HWY_INLINE std::uint64_t sum(const Lacks* lacks, std::size_t count) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    all += lacks[i];
  }
  return all;
}

// Tests one window at a time; for cells in cache.
template <class Source>
HWY_INLINE void test_near(const std::uint64_t* words, const BloomShape& shape, const Source& source, std::size_t first,
                          std::size_t count, bool* outcomes) {
  const TestWindow test_window_of_k = pick_test(shape.k, UsualProbes());
  Near window;
  Lacks lacks[kNearBloomWindow];
  for (; first < count; first += window.count) {
    window.open(shape, source, first, count);
    test_window_of_k(words, window, shape.k, lacks);
    report(lacks, window.count, outcomes + first);
  }
}

// Tests a window in rounds while the next window's first lines are prefetched.
template <class Source>
HWY_INLINE void test_far(const std::uint64_t* words, const BloomShape& shape, const Source& source, std::size_t count,
                         bool* outcomes) {
  Far windows[2];
  Lacks lacks[kFarBloomWindow];
  Far* current = &windows[0];
  Far* next = &windows[1];
  current->open(shape, source, 0, count);
  prefetch_first_cells(words, *current);
  while (current->count != 0) {
    next->open(shape, source, current->start + current->count, count);
    prefetch_first_cells(words, *next);
    test_in_rounds(words, *current, shape.k, lacks);
    report(lacks, current->count, outcomes + current->start);
    std::swap(current, next);
  }
}

template <class Source>
HWY_INLINE void test_all(const std::uint64_t* words, const BloomShape& shape, const Source& source, std::size_t count,
                         bool* outcomes) {
#if MANKAI_VECTOR_DIGESTS
  if (can_gather(shape)) {
    if (!fits(shape, kGatherBytes)) {
      test_in_gathered_rounds(words, shape, source, count, outcomes);
      return;
    }
    const std::size_t done = test_by_gathering(words, shape, source, count, outcomes);
    test_near(words, shape, source, done, count, outcomes);
    return;
  }
#endif
  if (fits(shape, kNearBytes)) {
    test_near(words, shape, source, 0, count, outcomes);
  } else {
    test_far(words, shape, source, count, outcomes);
  }
}

// Calls `answer(first key, lacks, count)` for windows of keys after setting their bits, in order.
template <class Source, class Answer>
HWY_INLINE void set_all(std::uint64_t* words, const BloomShape& shape, const Source& source, std::size_t count,
                        const Answer& answer) {
  const bool near = fits(shape, kNearBytes);
  const SetWindow set_window_of_k = pick_set(shape.k, UsualProbes());
  Near windows[2];
  Lacks lacks[kNearBloomWindow];
  Near* current = &windows[0];
  Near* next = &windows[1];
  current->open(shape, source, 0, count);
  while (current->count != 0) {
    next->open(shape, source, current->start + current->count, count);
    set_window_of_k(words, *current, near ? nullptr : next, shape.k, lacks);
    answer(current->start, lacks, current->count);
    std::swap(current, next);
  }
}

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, const BloomShape& shape, const Source& source,
                                    std::size_t count) {
  std::uint64_t fresh = 0;
  set_all(words, shape, source, count,
          [&](std::size_t /*first*/, const Lacks* lacks, std::size_t keys) HWY_ATTR { fresh += sum(lacks, keys); });
  return fresh;
}

void may_contain(const std::uint64_t* words, const BloomShape& shape, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  test_all(words, shape, DigestSource{digests}, count, outcomes);
}

void may_contain_integers(const std::uint64_t* words, const BloomShape& shape, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  test_all(words, shape, IntegerSource{keys, seed}, count, outcomes);
}

std::uint64_t insert(std::uint64_t* words, const BloomShape& shape, const Digest* digests, std::size_t count) noexcept {
  return insert_all(words, shape, DigestSource{digests}, count);
}

std::uint64_t insert_integers(std::uint64_t* words, const BloomShape& shape, const std::uint64_t* keys,
                              std::uint64_t seed, std::size_t count) noexcept {
  return insert_all(words, shape, IntegerSource{keys, seed}, count);
}

std::uint64_t observe(std::uint64_t* words, const BloomShape& shape, const Digest* digests, std::size_t count,
                      bool* seen) noexcept {
  std::uint64_t fresh = 0;
  set_all(words, shape, DigestSource{digests}, count,
          [&](std::size_t first, const Lacks* lacks, std::size_t keys) HWY_ATTR {
            fresh += sum(lacks, keys);
            report(lacks, keys, seen + first);
          });
  return fresh;
}

}  // namespace

const BloomOps* target_bloom_ops() {
  static const BloomOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain = may_contain,
      .may_contain_integers = may_contain_integers,
      .insert = insert,
      .insert_integers = insert_integers,
      .observe = observe,
  };
  return &kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

MANKAI_EXPORT_TABLES(BloomOps, bloom_ops)

}  // namespace mankai::kernel
#endif  // HWY_ONCE
