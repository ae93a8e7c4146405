#pragma once

#include <cstddef>
#include <cstdint>

#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/count_ops.hpp"
#include "mankai/kernel/count_ops_reference.hpp"

namespace mankai::kernel {

/// The table of a layout's scalar definition: for ThreadSanitizer builds, tests, and the stepped layout.
template <class Layout>
struct ReferenceCounts {
  static bool may_contain_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
    return reference::smallest_counter<Layout>(words, shape, digest) != 0;
  }
  static void may_contain(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                          bool* outcomes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[i] = may_contain_one(words, shape, digests[i]);
    }
  }
  static void may_contain_integers(const std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                                   std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[i] = may_contain_one(words, shape, mix_integer(keys[i], seed));
    }
  }
  static void estimate(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                       std::uint8_t* smallest) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      smallest[i] = static_cast<std::uint8_t>(reference::smallest_counter<Layout>(words, shape, digests[i]));
    }
  }
  static std::uint64_t insert(std::uint64_t* words, const CountShape& shape, const Digest* digests,
                              std::size_t count) noexcept {
    std::uint64_t stuck = 0;
    for (std::size_t i = 0; i < count; ++i) {
      stuck += reference::count_key<Layout>(words, shape, digests[i]).stuck;
    }
    return stuck;
  }
  static std::uint64_t insert_integers(std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                                       std::uint64_t seed, std::size_t count) noexcept {
    std::uint64_t stuck = 0;
    for (std::size_t i = 0; i < count; ++i) {
      stuck += reference::count_key<Layout>(words, shape, mix_integer(keys[i], seed)).stuck;
    }
    return stuck;
  }
  static std::uint64_t observe(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                               bool* seen) noexcept {
    std::uint64_t stuck = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Counted counted = reference::count_key<Layout>(words, shape, digests[i]);
      seen[i] = counted.seen;
      stuck += counted.stuck;
    }
    return stuck;
  }
  static std::uint64_t erase(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                             std::uint8_t* refused) noexcept {
    std::uint64_t erased = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool was_there = reference::uncount_key<Layout>(words, shape, digests[i]);
      refused[i] = was_there ? 0 : 1;
      erased += static_cast<std::uint64_t>(was_there);
    }
    return erased;
  }

  static constexpr CountOps kOps{
      .target = "reference",
      .may_contain_one = may_contain_one,
      .estimate_one = reference::smallest_counter<Layout>,
      .insert_one = reference::count_key<Layout>,
      .erase_one = reference::uncount_key<Layout>,
      .may_contain = may_contain,
      .may_contain_integers = may_contain_integers,
      .estimate = estimate,
      .insert = insert,
      .insert_integers = insert_integers,
      .observe = observe,
      .erase = erase,
  };
};

}  // namespace mankai::kernel
