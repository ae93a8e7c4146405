#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/support/filter_kinds.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test {

/// What the suites of the growing kinds ask of each alike: a first slice for few keys, so that all of them grow.
struct GrowingRequest {
  std::uint64_t keys = 100;
  double fpr = 0.01;
  HashSpec hash = kXxh3;
  Memory memory = system_memory();
};

template <std::uint32_t factor>
struct ScalableBloomKind {
  using Filter = ScalableBloom;
  static constexpr std::string_view kName = factor == 1 ? "scalable_bloom_constant" : "scalable_bloom_doubling";
  static Result<Filter> create(const GrowingRequest& request) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .growth = {.factor = factor},
                           .hash = request.hash,
                           .memory = request.memory});
  }
};

template <std::uint32_t factor, CountingLayout layout>
struct ScalableCountingKind {
  using Filter = ScalableCountingBloom;
  static constexpr std::string_view kName = layout == CountingLayout::blocked ? "scalable_counting_blocked_doubling"
                                            : layout == CountingLayout::partitioned ? "scalable_counting_faithful"
                                                                                    : "scalable_counting_dablooms";
  static Result<Filter> create(const GrowingRequest& request) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .growth = {.factor = factor},
                           .layout = layout,
                           .hash = request.hash,
                           .memory = request.memory});
  }
};

using ScalableDoublingKind = ScalableBloomKind<2>;
using ScalableConstantKind = ScalableBloomKind<1>;
using CountingDoublingKind = ScalableCountingKind<2, CountingLayout::blocked>;
/// Equal slices of partitioned counters, as dablooms has them.
using CountingFaithfulKind = ScalableCountingKind<1, CountingLayout::partitioned>;
/// Those of its files.
using CountingDabloomsGrowingKind = ScalableCountingKind<1, CountingLayout::dablooms>;

using GrowingKinds = testing::Types<ScalableDoublingKind, ScalableConstantKind, CountingDoublingKind,
                                    CountingFaithfulKind, CountingDabloomsGrowingKind>;
using CountingGrowingKinds = testing::Types<CountingDoublingKind, CountingFaithfulKind, CountingDabloomsGrowingKind>;

/// Names typed tests after the kind instead of a number.
struct GrowingKindNames {
  template <class Kind>
  static std::string GetName(int /*index*/) {  // NOLINT(readability-identifier-naming): gtest looks for this name
    return std::string(Kind::kName);
  }
};

template <class Kind>
typename Kind::Filter make_growing(const GrowingRequest& request = {}) {
  return Kind::create(request).value();
}

/// A Region of its own with these bytes, as a mapped file would be.
inline Region region_of(std::span<const std::byte> bytes) {
  Region region = Region::allocate(system_memory(), bytes.size()).value();
  std::copy(bytes.begin(), bytes.end(), region.bytes().begin());
  return region;
}

/// The pieces in one.
inline std::vector<std::byte> joined(const std::vector<std::span<const std::byte>>& parts) {
  std::vector<std::byte> whole;
  for (const auto part : parts) {
    whole.insert(whole.end(), part.begin(), part.end());
  }
  return whole;
}

}  // namespace mankai::test
