// Random sequences of operations on the growing kinds beside an exact multiset, shrunk to the shortest that fails. The
// seed is fixed; RC_PARAMS="seed=..." in the environment searches elsewhere.

#include <gtest/gtest.h>
// rapidcheck's gtest support needs gtest before it.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/property/growing_operations.hpp"

namespace mankai::test {
namespace {

// rapidcheck reads its settings once, when the first property runs.
const bool kIsSeeded = ::setenv("RC_PARAMS", "seed=20240302 max_success=300 max_size=100", 0) == 0;

rc::Gen<GrowingOperation> any_operation() {
  // Clearing and merging seldom, or no state ever grows.
  const auto verb = rc::gen::weightedElement<GrowingVerb>({{6, GrowingVerb::insert},
                                                           {4, GrowingVerb::observe},
                                                           {5, GrowingVerb::insert_with_id},
                                                           {4, GrowingVerb::insert_batch},
                                                           {3, GrowingVerb::observe_batch},
                                                           {4, GrowingVerb::insert_batch_with_ids},
                                                           {2, GrowingVerb::ask},
                                                           {9, GrowingVerb::erase_member},
                                                           {5, GrowingVerb::erase_with_id},
                                                           {5, GrowingVerb::erase},
                                                           {1, GrowingVerb::merge},
                                                           {1, GrowingVerb::clear},
                                                           {2, GrowingVerb::round_trip}});
  return rc::gen::build<GrowingOperation>(
      rc::gen::set(&GrowingOperation::verb, verb),
      rc::gen::set(&GrowingOperation::key, rc::gen::inRange<std::uint16_t>(0, 200)),
      rc::gen::set(&GrowingOperation::count, rc::gen::inRange<std::uint16_t>(0, 90)),
      rc::gen::set(&GrowingOperation::id, rc::gen::inRange<std::uint16_t>(0, 500)));
}

class GrowingProperty : public testing::TestWithParam<GrowingMode> {};
INSTANTIATE_TEST_SUITE_P(modes, GrowingProperty, testing::ValuesIn(kGrowingModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

TEST_P(GrowingProperty, no_sequence_of_operations_breaks_the_promise) {
  ASSERT_TRUE(kIsSeeded);
  const bool holds = rc::check([mode = GetParam()] {
    const auto operations = *rc::gen::container<std::vector<GrowingOperation>>(any_operation());
    const auto keys = *rc::gen::element<std::uint64_t>(1, 7, 30, 200);
    const auto fpr = *rc::gen::element(0.5, 0.05, 1e-3, 1e-9);
    const HashSpec hash = *rc::gen::element(kXxh3, kSiphash);
    run_growing_operations(mode, {.keys = keys, .fpr = fpr, .hash = hash}, operations);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace mankai::test
