#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/examples.hpp"
#include "tests/support/hash_specs.hpp"
#include "tests/support/subject.hpp"

// What suites are instantiated with: the kinds' own examples. A suite chooses those that its checks are about by what
// the kind can do, never by its name, so that a new kind is in all of them by its line in mankai/filter/kinds.cpp.

namespace mankai::test {

/// What a suite asks of every kind alike, whatever the example says.
struct Request {
  std::uint64_t keys = 1000;
  double fpr = 0.01;
  HashSpec hash = kXxh3;
  Memory memory = system_memory();
};

/// The different shapes among the examples: those that differ in nothing but hash and canonical keys are one. Only
/// shapes of which a filter can be created for any number of keys at any rate.
[[nodiscard]] std::vector<Example> shapes();
/// Those for whose kind `fits` holds.
[[nodiscard]] std::vector<Example> shapes(bool (*fits)(const KindDescription& kind));

/// Creates a filter of the example's shape.
[[nodiscard]] Result<Subject> create(const Example& example, const Request& request);
[[nodiscard]] inline Subject make(const Example& example, const Request& request = {}) {
  return create(example, request).value();
}

/// Whether an inserted key is found as long as time stands still: what most suites are about.
[[nodiscard]] inline bool has_no_false_negatives(const KindDescription& kind) {
  return calls_of(kind).promise.no_false_negatives;
}
/// Whether a key that is in counts once more when it is inserted again.
[[nodiscard]] inline bool counts_repeats(const KindDescription& kind) { return kind.can_count || kind.forgets; }
/// Whether a filter is one image, not slices.
[[nodiscard]] inline bool is_flat(const KindDescription& kind) { return calls_of(kind).cells != nullptr; }

/// Inserts so many random keys, drawn from the seed.
inline void insert_random(Subject& filter, std::uint64_t seed, std::size_t count) {
  filter.insert(std::span<const Digest>(Random(seed).digests(count)));
}

/// Names a test after its example.
[[nodiscard]] inline std::string test_name(const testing::TestParamInfo<Example>& example) {
  return name_of_spec(example.param.spec);
}

}  // namespace mankai::test
