#pragma once

#include <cstdint>

#include "tests/support/every_kind.hpp"

// What the suites of the growing kinds share.

namespace mankai::test {

/// What they ask of each kind alike: a first slice for few keys, so that all of them grow.
struct GrowingRequest {
  std::uint64_t keys = 100;
  double fpr = 0.01;
  HashSpec hash = kXxh3;
  Memory memory = system_memory();
};

[[nodiscard]] inline bool can_grow(const KindDescription& kind) { return kind.can_grow; }
/// Whether it grows by adding sub-filters only, also beside readers. Other kinds may replace a sub-filter by a larger
/// one.
[[nodiscard]] inline bool only_adds_slices(const KindDescription& kind) {
  return kind.can_grow && kind.has_lock_free_readers;
}

[[nodiscard]] inline Result<Subject> create_growing(const Example& example, const GrowingRequest& request) {
  return create(example, {.keys = request.keys, .fpr = request.fpr, .hash = request.hash, .memory = request.memory});
}
[[nodiscard]] inline Subject make_growing(const Example& example, const GrowingRequest& request = {}) {
  return create_growing(example, request).value();
}

}  // namespace mankai::test
