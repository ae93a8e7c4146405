// Random sequences of operations beside an exact set, shrunk to the shortest that fails. The seed is fixed, so that a
// run is repeatable; RC_PARAMS="seed=..." in the environment searches elsewhere, "max_success=10000" longer.

#include <gtest/gtest.h>
// rapidcheck's gtest support needs gtest before it.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "tests/property/operations.hpp"
#include "tests/property/settings.hpp"
#include "tests/support/every_kind.hpp"

namespace mankai::test {

namespace {

// Kinds that grow have growing_property_test: made for one key here, one that grows by equal steps would have tens of
// thousands of sub-filters.
bool has_digests(const Example& example) {
  const KindDescription& kind = *example.kind;
  return keeps_keys(example) && calls_of(kind).insert_integers != nullptr && !kind.can_grow;
}
bool merges_flat(const Example& example) {
  return has_digests(example) && example.kind->can_merge && is_flat(*example.kind);
}

rc::Gen<Operation> any_operation() {
  // Clearing and merging seldom, or no state ever grows.
  const auto verb = rc::gen::weightedElement<Verb>({{6, Verb::insert},
                                                    {6, Verb::observe},
                                                    {4, Verb::may_contain},
                                                    {3, Verb::insert_concurrent},
                                                    {4, Verb::insert_batch},
                                                    {4, Verb::observe_batch},
                                                    {3, Verb::may_contain_batch},
                                                    {1, Verb::merge},
                                                    {1, Verb::clear},
                                                    {2, Verb::round_trip}});
  return rc::gen::build<Operation>(rc::gen::set(&Operation::verb, verb),
                                   rc::gen::set(&Operation::key, rc::gen::inRange<std::uint16_t>(0, 400)),
                                   rc::gen::set(&Operation::count, rc::gen::inRange<std::uint16_t>(0, 300)));
}

class FilterProperty : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, FilterProperty, testing::ValuesIn(shapes(has_digests)), test_name);

class MergeProperty : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, MergeProperty, testing::ValuesIn(shapes(merges_flat)), test_name);

TEST_P(FilterProperty, no_sequence_of_operations_breaks_the_promise) {
  ASSERT_TRUE(kIsSeeded);
  const bool holds = rc::check([example = GetParam()] {
    const auto operations = *rc::gen::container<std::vector<Operation>>(any_operation());
    const auto keys = *rc::gen::element<std::uint64_t>(1, 20, 200, 2000);
    const auto fpr = *rc::gen::element(0.5, 0.05, 1e-3, 1e-9);
    const HashSpec hash = *rc::gen::element(kXxh3, kSiphash);
    run_operations(example, {.keys = keys, .fpr = fpr, .hash = hash}, operations);
  });
  EXPECT_TRUE(holds);
}

TEST_P(MergeProperty, merging_parts_is_inserting_the_whole) {
  if (GetParam().kind->key_shape == KeyShape::named) {
    GTEST_SKIP() << "of equally hot keys, the first ones are in the table";
  }
  const bool holds = rc::check(
      [example = GetParam()](const std::vector<std::uint64_t>& left, const std::vector<std::uint64_t>& right) {
        const FilterRequest request{.keys = 50, .fpr = 0.1};
        auto parts = make(example, request);
        auto part = make(example, request);
        auto whole = make(example, request);
        parts.insert(std::span(left));
        part.insert(std::span(right));
        whole.insert(std::span(left));
        whole.insert(std::span(right));
        RC_ASSERT(parts.merge(part).has_value());
        RC_ASSERT(parts.fill_ratio() == whole.fill_ratio());
        RC_ASSERT(parts.fpr_estimate() == whole.fpr_estimate());
      });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace mankai::test
