#include "mankai/kernel/block_ops.hpp"

#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/block_ops_reference.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/block_ops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/block_vectors-inl.hpp"
#include "mankai/kernel/block_window-inl.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

struct Test {
  HWY_INLINE Missing operator()(const std::uint64_t* block, std::uint64_t remixed) const {
    return test_block(block, remixed);
  }
};

struct Set {
  HWY_INLINE Missing operator()(std::uint64_t* block, std::uint64_t remixed) const { return set_block(block, remixed); }
};

// Answers, one bool a key.
struct Report {
  bool* outcomes;

  HWY_INLINE void operator()(std::size_t start, const Missing* missing, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[start + i] = missing[i] == 0;
    }
  }
};

// How many keys were new.
struct CountFresh {
  std::uint64_t* fresh;

  HWY_INLINE void operator()(std::size_t /*start*/, const Missing* missing, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      *fresh += static_cast<std::uint64_t>(missing[i] != 0);
    }
  }
};

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, std::uint64_t block_count, const Source& source,
                                    std::size_t count) {
  std::uint64_t fresh = 0;
  visit_all(words, block_count, source, count, Set{}, CountFresh{&fresh});
  return fresh;
}

bool may_contain_one(const std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  return test_block(words + probes::block_index(digest, block_count) * kBlockLanes, probes::remix(digest)) == 0;
}

bool observe_one(std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  return set_block(words + probes::block_index(digest, block_count) * kBlockLanes, probes::remix(digest)) == 0;
}

void may_contain(const std::uint64_t* words, std::uint64_t block_count, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  visit_all(words, block_count, DigestSource{digests}, count, Test{}, Report{outcomes});
}

void may_contain_integers(const std::uint64_t* words, std::uint64_t block_count, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  visit_all(words, block_count, IntegerSource{keys, seed}, count, Test{}, Report{outcomes});
}

std::uint64_t insert(std::uint64_t* words, std::uint64_t block_count, const Digest* digests,
                     std::size_t count) noexcept {
  return insert_all(words, block_count, DigestSource{digests}, count);
}

std::uint64_t insert_integers(std::uint64_t* words, std::uint64_t block_count, const std::uint64_t* keys,
                              std::uint64_t seed, std::size_t count) noexcept {
  return insert_all(words, block_count, IntegerSource{keys, seed}, count);
}

std::uint64_t observe(std::uint64_t* words, std::uint64_t block_count, const Digest* digests, std::size_t count,
                      bool* seen) noexcept {
  std::uint64_t fresh = 0;
  const Report report{seen};
  const CountFresh count_fresh{&fresh};
  visit_all(words, block_count, DigestSource{digests}, count, Set{},
            [&](std::size_t start, const Missing* missing, std::size_t keys) HWY_ATTR {
              report(start, missing, keys);
              count_fresh(start, missing, keys);
            });
  return fresh;
}

}  // namespace

const BlockOps* target_block_ops() {
  static const BlockOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain_one = may_contain_one,
      .observe_one = observe_one,
      .may_contain = may_contain,
      .may_contain_integers = may_contain_integers,
      .insert = insert,
      .insert_integers = insert_integers,
      .observe = observe,
      .inline_avx512 = HWY_TARGET == HWY_AVX3_DL,
  };
  return &kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {
namespace {

HWY_EXPORT(target_block_ops);

#ifdef MANKAI_THREAD_SANITIZER

using Watched = WatchedBatches<std::uint64_t>;

const BlockOps kWatchedOps{
    .target = "reference",
    .may_contain_one = reference::may_contain,
    .observe_one = reference::observe,
    .may_contain = Watched::may_contain,
    .may_contain_integers = Watched::may_contain_integers,
    .insert = Watched::insert,
    .insert_integers = Watched::insert_integers,
    .observe = Watched::observe,
    .inline_avx512 = false,
};

#endif

}  // namespace

const BlockOps& block_ops() noexcept {
#ifdef MANKAI_THREAD_SANITIZER
  return kWatchedOps;
#else
  return *HWY_DYNAMIC_DISPATCH(target_block_ops)();
#endif
}

std::vector<const BlockOps*> all_block_ops() {
#ifdef MANKAI_THREAD_SANITIZER
  return {&kWatchedOps};
#else
  return resolve_every_target([] { return HWY_DYNAMIC_DISPATCH(target_block_ops)(); });
#endif
}

}  // namespace mankai::kernel
#endif  // HWY_ONCE
