#include "mankai/kernel/bulk_build.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <optional>

#include "mankai/base/parallel.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/detail/partitions.hpp"
#include "mankai/kernel/tuning.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/bulk_build.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Writes a full stage past the caches: it is read again only when its partition is drained.
HWY_INLINE void store_stage(const Digest* HWY_RESTRICT staged, Digest* HWY_RESTRICT stored) {
  const hn::CappedTag<std::uint64_t, 8> d;
  for (std::size_t i = 0; i < Partitions::kStagedDigests; i += hn::Lanes(d)) {
    hn::Stream(hn::Load(d, &staged[i].value), d, &stored[i].value);
  }
}

// Copies of the partitions' members, which the compiler would otherwise reload after every store.
struct PartitionPointers {
  Digest* staged;
  Digest* stored;
  std::uint32_t* counts;
  std::size_t run_digests;

  explicit HWY_INLINE PartitionPointers(const Partitions& partitions)
      : staged(partitions.staged(0)),
        stored(partitions.stored(0)),
        counts(partitions.counts()),
        run_digests(partitions.run_digests()) {}
};

HWY_INLINE void add(Partitions& partitions, const PartitionPointers& pointers, std::size_t partition, Digest digest) {
  const std::uint32_t count = ++pointers.counts[partition];
  Digest* const stage = pointers.staged + partition * Partitions::kStagedDigests;
  stage[(count - 1) % Partitions::kStagedDigests] = digest;
  if (HWY_LIKELY(count % Partitions::kStagedDigests != 0)) {
    return;
  }
  store_stage(stage, pointers.stored + partition * pointers.run_digests + (count - Partitions::kStagedDigests));
  if (count == pointers.run_digests) {
    hwy::FlushStream();
    partitions.drain(partition, count);
  }
}

#if MANKAI_VECTOR_DIGESTS

// Computes digests and partitions of full windows in vectors; returns the number of these keys.
template <class Source>
HWY_INLINE std::size_t add_in_vectors(Partitions& partitions, const PartitionPointers& pointers, const Source& source,
                                      std::size_t count) {
  constexpr std::size_t kWindow = 64;
  HWY_ALIGN Digest digests[kWindow];
  HWY_ALIGN std::uint64_t indices[kWindow];
  const DigestTag d;
  const std::uint64_t block_count = partitions.block_count();
  const int shift = static_cast<int>(partitions.block_shift());
  std::size_t i = 0;
  for (; i + kWindow <= count; i += kWindow) {
    for (std::size_t j = 0; j < kWindow; j += hn::Lanes(d)) {
      const DigestVector loaded = source.load(d, i + j);
      hn::Store(loaded, d, &digests[j].value);
      hn::Store(hn::ShiftRightSame(vector_fastrange(d, loaded, block_count), shift), d, indices + j);
    }
    for (std::size_t j = 0; j < kWindow; ++j) {
      add(partitions, pointers, indices[j], digests[j]);
    }
  }
  return i;
}

#endif

template <class Source>
HWY_INLINE void add_all(Partitions& partitions, const Source& source, std::size_t count) {
  const PartitionPointers pointers(partitions);
  std::size_t i = 0;
#if MANKAI_VECTOR_DIGESTS
  if (partitions.block_count() <= kVectorRangeLimit) {
    i = add_in_vectors(partitions, pointers, source, count);
  }
#endif
  for (; i < count; ++i) {
    const Digest digest = source.at(i);
    add(partitions, pointers, partitions.partition_of(digest), digest);
  }
  hwy::FlushStream();
}

}  // namespace

void add_digests(Partitions& partitions, const Digest* digests, std::size_t count) {
  add_all(partitions, DigestSource{digests}, count);
}

void add_integers(Partitions& partitions, const std::uint64_t* keys, std::uint64_t seed, std::size_t count) {
  add_all(partitions, IntegerSource{keys, seed}, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {
namespace {

HWY_EXPORT(add_digests);
HWY_EXPORT(add_integers);

constexpr std::size_t kMostThreads = 64;

// `add(partitions, first, last)` adds keys of a range. Returns how many set a bit; nothing if a plain batch is faster
// or memory runs out. With less memory there are fewer threads.
template <class Add>
std::optional<std::uint64_t> build_partitioned(Partitions::Target target, std::size_t count, const BulkOptions& options,
                                               const Add& add) noexcept {
  if (target.block_count < kPartitionedBytes / kCacheLineBytes ||
      count / kPartitionedKeysPerBlock < target.block_count) {
    return std::nullopt;
  }
  const std::size_t threads = std::clamp<std::size_t>(options.threads, 1, kMostThreads);
  std::array<std::mutex, Partitions::kLocks> locks;
  if (threads > 1) {
    target.locks = locks;
  }
  std::array<std::optional<Partitions>, kMostThreads> parts;
  std::size_t ready = 0;
  while (ready < threads && parts[ready].emplace(target, count, threads, options.scratch).is_ready()) {
    ++ready;
  }
  if (ready == 0) {
    return std::nullopt;
  }
  std::array<std::uint64_t, kMostThreads> fresh{};
  const auto build = [&](std::size_t part) {
    Partitions& partitions = *parts[part];
    add(partitions, count / ready * part, part + 1 == ready ? count : count / ready * (part + 1));
    fresh[part] = partitions.finish(partitions.size() / ready * part);
  };
  {
    const auto running = start_threads(ready - 1, build);
    for (std::size_t part = running.size(); part < ready; ++part) {
      build(part);
    }
  }
  return std::accumulate(fresh.begin(), fresh.end(), std::uint64_t{0});
}

}  // namespace

std::uint64_t insert_partitioned(const BlockOps& ops, std::uint64_t* words, std::uint64_t block_count,
                                 const Digest* digests, std::size_t count, const BulkOptions& options) noexcept {
  const auto fresh = build_partitioned({.ops = ops, .words = words, .block_count = block_count}, count, options,
                                       [&](Partitions& to, std::size_t first, std::size_t last) {
                                         HWY_DYNAMIC_DISPATCH(add_digests)(to, digests + first, last - first);
                                       });
  return fresh ? *fresh : ops.insert(words, block_count, digests, count);
}

std::uint64_t insert_partitioned(const BlockOps& ops, std::uint64_t* words, std::uint64_t block_count,
                                 const std::uint64_t* keys, std::uint64_t seed, std::size_t count,
                                 const BulkOptions& options) noexcept {
  const auto fresh = build_partitioned({.ops = ops, .words = words, .block_count = block_count}, count, options,
                                       [&](Partitions& to, std::size_t first, std::size_t last) {
                                         HWY_DYNAMIC_DISPATCH(add_integers)(to, keys + first, seed, last - first);
                                       });
  return fresh ? *fresh : ops.insert_integers(words, block_count, keys, seed, count);
}

}  // namespace mankai::kernel
#endif  // HWY_ONCE
