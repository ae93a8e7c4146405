#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/count_ops.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/count_blocked.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/block_window-inl.hpp"
#include "mankai/kernel/count_vectors-inl.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/detail/watched_counts.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

struct TestCounters {
  HWY_INLINE Outcome operator()(const std::uint64_t* block, std::uint64_t remixed) const {
    return static_cast<Outcome>(lacks_in_block(block, remixed));
  }
};

struct TakeSmallest {
  HWY_INLINE Outcome operator()(const std::uint64_t* block, std::uint64_t remixed) const {
    return smallest_in_block(block, remixed);
  }
};

struct Increment {
  std::uint64_t* stuck;

  HWY_INLINE Outcome operator()(std::uint64_t* block, std::uint64_t remixed) const {
    const Incremented done = increment_block(block, remixed);
    // Hardly ever: a sum kept in memory for each key would be dearer.
    if (done.stuck != 0) [[unlikely]] {
      *stuck += done.stuck;
    }
    return static_cast<Outcome>(done.was_absent);
  }
};

struct Decrement {
  HWY_INLINE Outcome operator()(std::uint64_t* block, std::uint64_t remixed) const {
    return static_cast<Outcome>(!decrement_block(block, remixed));
  }
};

struct ReportPresent {
  bool* outcomes;

  HWY_INLINE void operator()(std::size_t start, const Outcome* lacks, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[start + i] = lacks[i] == 0;
    }
  }
};

struct ReportBytes {
  std::uint8_t* outcomes;

  HWY_INLINE void operator()(std::size_t start, const Outcome* bytes, std::size_t count) const {
    std::copy_n(bytes, count, outcomes + start);
  }
};

struct ReportNothing {
  HWY_INLINE void operator()(std::size_t /*start*/, const Outcome* /*lacks*/, std::size_t /*count*/) const {}
};

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, const CountShape& shape, const Source& source,
                                    std::size_t count) {
  std::uint64_t stuck = 0;
  visit_all(words, shape.size, source, count, Increment{&stuck}, ReportNothing{});
  return stuck;
}

template <class Words>
HWY_INLINE Words* block_of(Words* words, const CountShape& shape, Digest digest) {
  return words + probes::block_index(digest, shape.size) * kBlockLanes;
}

bool may_contain_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return !lacks_in_block(block_of(words, shape, digest), probes::remix(digest));
}

std::uint32_t estimate_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return smallest_in_block(block_of(words, shape, digest), probes::remix(digest));
}

Counted insert_one(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  const Incremented done = increment_block(block_of(words, shape, digest), probes::remix(digest));
  return {.seen = !done.was_absent, .stuck = static_cast<std::uint16_t>(done.stuck)};
}

bool erase_one(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return decrement_block(block_of(words, shape, digest), probes::remix(digest));
}

void may_contain(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  visit_all(words, shape.size, DigestSource{digests}, count, TestCounters{}, ReportPresent{outcomes});
}

void may_contain_integers(const std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  visit_all(words, shape.size, IntegerSource{keys, seed}, count, TestCounters{}, ReportPresent{outcomes});
}

void estimate(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
              std::uint8_t* smallest) noexcept {
  visit_all(words, shape.size, DigestSource{digests}, count, TakeSmallest{}, ReportBytes{smallest});
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
  visit_all(words, shape.size, DigestSource{digests}, count, Increment{&stuck}, ReportPresent{seen});
  return stuck;
}

std::uint64_t erase(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                    std::uint8_t* refused) noexcept {
  std::uint64_t erased = count;
  const ReportBytes report{refused};
  visit_all(words, shape.size, DigestSource{digests}, count, Decrement{},
            [&](std::size_t start, const Outcome* was_refused, std::size_t keys) HWY_ATTR {
              report(start, was_refused, keys);
              for (std::size_t i = 0; i < keys; ++i) {
                erased -= was_refused[i];
              }
            });
  return erased;
}

}  // namespace

const CountOps* target_blocked_count_ops() {
  static const CountOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain_one = may_contain_one,
      .estimate_one = estimate_one,
      .insert_one = insert_one,
      .erase_one = erase_one,
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

HWY_EXPORT(target_blocked_count_ops);

}  // namespace

const CountOps& blocked_count_ops() noexcept {
#ifdef MANKAI_THREAD_SANITIZER
  return WatchedCounts<reference::BlockedCounters>::kOps;
#else
  return *HWY_DYNAMIC_DISPATCH(target_blocked_count_ops)();
#endif
}

std::vector<const CountOps*> all_blocked_count_ops() {
#ifdef MANKAI_THREAD_SANITIZER
  return {&WatchedCounts<reference::BlockedCounters>::kOps};
#else
  return resolve_every_target([] { return HWY_DYNAMIC_DISPATCH(target_blocked_count_ops)(); });
#endif
}

}  // namespace mankai::kernel
#endif  // HWY_ONCE
