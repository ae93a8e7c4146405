#pragma once

/// What the tables of kernels have in common whatever the layout: `Shape` is how the layout's functions take it.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hwy/targets.h>

#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/block_ops_reference.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"

namespace mankai::kernel {

/// Resolves a table once for every instruction set that this machine runs, best first.
template <class Resolve>
auto resolve_every_target(const Resolve& resolve) {
  std::vector<decltype(resolve())> all;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    all.push_back(resolve());
  }
  hwy::SetSupportedTargetsForTest(0);
  return all;
}

/// The scalar meaning as a table's batch functions, for ThreadSanitizer builds.
template <class Shape>
struct WatchedBatches {
  static void may_contain(const std::uint64_t* words, Shape shape, const Digest* digests, std::size_t count,
                          bool* outcomes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[i] = reference::may_contain(words, shape, digests[i]);
    }
  }
  static void may_contain_integers(const std::uint64_t* words, Shape shape, const std::uint64_t* keys,
                                   std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[i] = reference::may_contain(words, shape, mix_integer(keys[i], seed));
    }
  }
  static std::uint64_t insert(std::uint64_t* words, Shape shape, const Digest* digests, std::size_t count) noexcept {
    std::uint64_t fresh = 0;
    for (std::size_t i = 0; i < count; ++i) {
      fresh += static_cast<std::uint64_t>(!reference::observe(words, shape, digests[i]));
    }
    return fresh;
  }
  static std::uint64_t insert_integers(std::uint64_t* words, Shape shape, const std::uint64_t* keys, std::uint64_t seed,
                                       std::size_t count) noexcept {
    std::uint64_t fresh = 0;
    for (std::size_t i = 0; i < count; ++i) {
      fresh += static_cast<std::uint64_t>(!reference::observe(words, shape, mix_integer(keys[i], seed)));
    }
    return fresh;
  }
  static std::uint64_t observe(std::uint64_t* words, Shape shape, const Digest* digests, std::size_t count,
                               bool* seen) noexcept {
    std::uint64_t fresh = 0;
    for (std::size_t i = 0; i < count; ++i) {
      seen[i] = reference::observe(words, shape, digests[i]);
      fresh += static_cast<std::uint64_t>(!seen[i]);
    }
    return fresh;
  }
};

}  // namespace mankai::kernel
