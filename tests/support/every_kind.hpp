#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/examples.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/subject.hpp"

// What suites are instantiated with: the kinds' own examples. A suite chooses those that its checks are about by what
// the kind can do, never by its name, so that a new kind is in all of them by its line in mankai/filter/kinds.cpp.

namespace mankai::test {

/// The different shapes among the examples: those that differ in nothing but hash and canonical keys are one. Only
/// shapes of which a filter can be created for any number of keys at a usual rate.
[[nodiscard]] std::vector<Example> shapes();
/// Those for which, or for whose kind, `fits` holds.
[[nodiscard]] std::vector<Example> shapes(bool (*fits)(const KindDescription& kind));
[[nodiscard]] std::vector<Example> shapes(bool (*fits)(const Example& example));

/// Creates a filter of the example's shape.
[[nodiscard]] Result<Subject> create(const Example& example, const FilterRequest& request);
[[nodiscard]] inline Subject make(const Example& example, const FilterRequest& request = {}) {
  return create(example, request).value();
}

/// So many keys that the cells are beyond the near caches, where kernels go another way: from 1 MiB on.
[[nodiscard]] std::uint64_t keys_beyond_cache(const Example& example, double fpr = 0.01);

/// Whether an inserted key is found as long as time stands still: what most suites are about.
[[nodiscard]] inline bool has_no_false_negatives(const KindDescription& kind) {
  return calls_of(kind).promise.no_false_negatives;
}
/// The same of a shape: balanced counts may be too low.
[[nodiscard]] inline bool keeps_keys(const Example& example) {
  return has_no_false_negatives(*example.kind) && option_of(example.parsed, "rounding") != "balanced";
}
/// Whether a key that is in counts once more when it is inserted again.
[[nodiscard]] inline bool counts_repeats(const KindDescription& kind) { return kind.can_count || kind.forgets; }
/// The same of a shape: a filter whose keys have times to live and no counts keeps the later expiry instead.
[[nodiscard]] inline bool counts_repeats(const Example& example) {
  const bool expires = !option_of(example.parsed, "max-ttl").empty();
  return counts_repeats(*example.kind) && !(expires && option_of(example.parsed, "counts").empty());
}
/// Whether a filter is one image, not slices.
[[nodiscard]] inline bool is_flat(const KindDescription& kind) { return calls_of(kind).cells != nullptr; }

/// How far above its target a filter's rate may be by its sizes alone. Those of dablooms are too small where
/// ceil(log2(1/p)) is above log2(1/p): by 2.6 % at a rate of 10 %, and less from there on.
[[nodiscard]] inline double sizing_slack(const Example& example) {
  return option_of(example.parsed, "layout") == "dablooms" ? 1.03 : 1;
}

/// Names a test after its example.
[[nodiscard]] inline std::string test_name(const testing::TestParamInfo<Example>& example) {
  return name_of_spec(example.param.spec);
}

}  // namespace mankai::test
