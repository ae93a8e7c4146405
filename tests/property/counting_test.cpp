// Random sequences of operations on counting filters beside an exact multiset, as property_test.cpp does beside a set.

#include <gtest/gtest.h>
// rapidcheck's gtest support needs gtest before it.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/property/counting_operations.hpp"
#include "tests/property/settings.hpp"

namespace mankai::test {
namespace {

rc::Gen<CountingOperation> any_counting_operation() {
  // Clearing and merging seldom, or no counter ever grows.
  const auto verb = rc::gen::weightedElement<CountingVerb>({{5, CountingVerb::insert},
                                                            {4, CountingVerb::insert_often},
                                                            {3, CountingVerb::observe},
                                                            {7, CountingVerb::erase},
                                                            {3, CountingVerb::insert_batch},
                                                            {3, CountingVerb::observe_batch},
                                                            {5, CountingVerb::erase_batch},
                                                            {3, CountingVerb::ask_batch},
                                                            {1, CountingVerb::merge},
                                                            {1, CountingVerb::clear},
                                                            {1, CountingVerb::round_trip}});
  return rc::gen::build<CountingOperation>(
      rc::gen::set(&CountingOperation::verb, verb),
      rc::gen::set(&CountingOperation::key, rc::gen::inRange<std::uint16_t>(0, 60)),
      rc::gen::set(&CountingOperation::count, rc::gen::inRange<std::uint16_t>(0, 100)));
}

class CountingProperty : public testing::TestWithParam<CountingLayout> {};
INSTANTIATE_TEST_SUITE_P(layouts, CountingProperty,
                         testing::Values(CountingLayout::blocked, CountingLayout::partitioned,
                                         CountingLayout::dablooms),
                         [](const auto& layout) { return std::string(name(layout.param)); });

TEST_P(CountingProperty, no_sequence_of_operations_breaks_the_promise) {
  ASSERT_TRUE(kIsSeeded);
  const bool holds = rc::check([layout = GetParam()] {
    const auto operations = *rc::gen::container<std::vector<CountingOperation>>(any_counting_operation());
    const auto keys = *rc::gen::element<std::uint64_t>(1, 20, 200);
    const auto fpr = *rc::gen::element(0.5, 0.05, 1e-3);
    const HashSpec hash = *rc::gen::element(kXxh3, kSiphash);
    run_counting_operations(layout, {.keys = keys, .fpr = fpr, .hash = hash}, operations);
  });
  EXPECT_TRUE(holds);
}

// Where no counter sticks, counters are sums: any order of inserts and erasures leaves the same filter.
TEST_P(CountingProperty, erasing_what_was_inserted_besides_leaves_what_was_inserted) {
  const bool holds =
      rc::check([layout = GetParam()](const std::set<std::uint64_t>& kept, const std::set<std::uint64_t>& passing) {
        const FilterRequest request{.keys = 400, .fpr = 0.01};
        auto filter = make_counting(layout, request);
        auto expected = make_counting(layout, request);
        const Hasher hash = filter.hasher();
        for (const std::uint64_t key : passing) {
          filter.insert(hash(key));
        }
        for (const std::uint64_t key : kept) {
          filter.insert(hash(key));
          expected.insert(hash(key));
        }
        RC_PRE(filter.saturated_cells() == 0U);
        for (const std::uint64_t key : passing) {
          RC_ASSERT(filter.erase(hash(key)) == EraseResult::erased);
        }
        RC_ASSERT(filter.to_bytes() == expected.to_bytes());
      });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace mankai::test
