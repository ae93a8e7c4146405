#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/count_ops.hpp"
#include "mankai/kernel/tuning.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/count_partitioned.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/count_window-inl.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/detail/watched_counts.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

template <class Source>
HWY_INLINE void test_all(const std::uint64_t* words, const CountShape& shape, const Source& source, std::size_t count,
                         bool* outcomes) {
  if (is_near(shape)) {
    visit_windows(words, shape, source, count, SmallestOfKey{},
                  [&](std::size_t first, const std::uint8_t* smallest, std::size_t keys) HWY_ATTR {
                    for (std::size_t i = 0; i < keys; ++i) {
                      outcomes[first + i] = smallest[i] != 0;
                    }
                  });
  } else {
    test_in_rounds(words, shape, source, count, outcomes);
  }
}

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, const CountShape& shape, const Source& source,
                                    std::size_t count) {
  std::uint64_t stuck = 0;
  visit_windows(words, shape, source, count, IncrementKey{&stuck},
                [](std::size_t /*first*/, const std::uint8_t* /*seen*/, std::size_t /*keys*/) HWY_ATTR {});
  return stuck;
}

void may_contain(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  test_all(words, shape, DigestSource{digests}, count, outcomes);
}

void may_contain_integers(const std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  test_all(words, shape, IntegerSource{keys, seed}, count, outcomes);
}

void estimate(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
              std::uint8_t* smallest) noexcept {
  visit_windows(words, shape, DigestSource{digests}, count, SmallestOfKey{},
                [&](std::size_t first, const std::uint8_t* found, std::size_t keys)
                    HWY_ATTR { std::copy_n(found, keys, smallest + first); });
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
  visit_windows(words, shape, DigestSource{digests}, count, IncrementKey{&stuck},
                [&](std::size_t first, const std::uint8_t* was_seen, std::size_t keys) HWY_ATTR {
                  for (std::size_t i = 0; i < keys; ++i) {
                    seen[first + i] = was_seen[i] != 0;
                  }
                });
  return stuck;
}

std::uint64_t erase(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                    std::uint8_t* refused) noexcept {
  std::uint64_t erased = count;
  visit_windows(words, shape, DigestSource{digests}, count, DecrementKey{},
                [&](std::size_t first, const std::uint8_t* was_refused, std::size_t keys) HWY_ATTR {
                  for (std::size_t i = 0; i < keys; ++i) {
                    refused[first + i] = was_refused[i];
                    erased -= was_refused[i];
                  }
                });
  return erased;
}

bool may_contain_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return reference::smallest_counter<reference::PartitionedCounters>(words, shape, digest) != 0;
}

}  // namespace

const CountOps* target_partitioned_count_ops() {
  static const CountOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain_one = may_contain_one,
      .estimate_one = reference::smallest_counter<reference::PartitionedCounters>,
      .insert_one = reference::count_key<reference::PartitionedCounters>,
      .erase_one = reference::uncount_key<reference::PartitionedCounters>,
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
namespace {

HWY_EXPORT(target_partitioned_count_ops);

}  // namespace

const CountOps& partitioned_count_ops() noexcept {
#ifdef MANKAI_THREAD_SANITIZER
  return WatchedCounts<reference::PartitionedCounters>::kOps;
#else
  return *HWY_DYNAMIC_DISPATCH(target_partitioned_count_ops)();
#endif
}

std::vector<const CountOps*> all_partitioned_count_ops() {
#ifdef MANKAI_THREAD_SANITIZER
  return {&WatchedCounts<reference::PartitionedCounters>::kOps};
#else
  return resolve_every_target([] { return HWY_DYNAMIC_DISPATCH(target_partitioned_count_ops)(); });
#endif
}

}  // namespace mankai::kernel
#endif  // HWY_ONCE
