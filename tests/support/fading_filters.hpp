#pragma once

#include <cstdint>

#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "mankai/filter/recent_values/recent_values.hpp"
#include "tests/support/filter_request.hpp"

namespace mankai::test {

/// A small array of this shape after events that fill about half of it, some of which came twice.
inline FadingFingerprints filled_fading(const FadingShape& shape, const HashSpec& hash = kXxh3) {
  FadingFingerprints filter =
      FadingFingerprints::create(
          {.slots = shape.slots, .k = shape.k, .bits = shape.bits, .min_matches = shape.min_matches, .hash = hash})
          .value();
  for (std::uint64_t i = 0; i < shape.slots / shape.k; ++i) {
    filter.insert(filter.hasher()(i / 7 * 5 + i % 7));
  }
  return filter;
}

/// A small array with the values of some keys: of key i first i, then i + 1, each put twice.
inline RecentValues filled_values(const HashSpec& hash = kXxh3) {
  RecentValues filter = RecentValues::create({.cells_per_probe = 9, .k = 5, .hash = hash}).value();
  for (std::uint32_t i = 0; i < 16; ++i) {
    filter.put(filter.hasher()(std::uint64_t{i / 4}), i / 4 + i / 2 % 2);
  }
  return filter;
}

}  // namespace mankai::test
