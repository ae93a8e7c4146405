// Random sequences of operations on filters of paths beside an exact set, shrunk to the shortest that fails. Seeded as
// property_test.cpp is.

#include <gtest/gtest.h>
// rapidcheck's gtest support needs gtest before it.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/support/path_operations.hpp"

namespace mankai::test {
namespace {

// rapidcheck reads its settings once, when the first property runs.
const bool kIsSeeded = ::setenv("RC_PARAMS", "seed=20240229 max_success=300 max_size=60", 0) == 0;

rc::Gen<PathOperation> any_operation() {
  // Clearing and merging seldom, or no state ever grows; and deep paths seldom, or nothing is shared.
  const auto verb = rc::gen::weightedElement<PathVerb>({{6, PathVerb::observe},
                                                        {4, PathVerb::may_contain},
                                                        {4, PathVerb::observe_batch},
                                                        {4, PathVerb::may_contain_batch},
                                                        {2, PathVerb::round_trip},
                                                        {1, PathVerb::merge},
                                                        {1, PathVerb::clear}});
  const auto depth = rc::gen::weightedOneOf<std::uint8_t>(
      {{8, rc::gen::inRange<std::uint8_t>(0, 6)}, {1, rc::gen::inRange<std::uint8_t>(60, 70)}});
  return rc::gen::build<PathOperation>(rc::gen::set(&PathOperation::verb, verb),
                                       rc::gen::set(&PathOperation::seed, rc::gen::inRange<std::uint16_t>(0, 50)),
                                       rc::gen::set(&PathOperation::depth, depth),
                                       rc::gen::set(&PathOperation::count, rc::gen::inRange<std::uint8_t>(0, 40)));
}

class PathFilterProperty : public testing::TestWithParam<UrlShape> {};
INSTANTIATE_TEST_SUITE_P(shapes, PathFilterProperty,
                         testing::Values(kRepaired, kFaithful, kRepairedDeep, kFaithfulDeep, kRepairedOneLevel,
                                         kFaithfulOneLevel),
                         UrlShapeNames{});

TEST_P(PathFilterProperty, no_sequence_of_operations_breaks_the_promise) {
  ASSERT_TRUE(kIsSeeded);
  const bool holds = rc::check([shape = GetParam()] {
    const auto operations = *rc::gen::container<std::vector<PathOperation>>(any_operation());
    const auto keys = *rc::gen::element<std::uint64_t>(1, 20, 500);
    const auto fpr = *rc::gen::element(0.5, 0.05, 1e-9);
    const HashSpec hash = *rc::gen::element(kXxh3, kSiphash);
    run_path_operations(shape, {.keys = keys, .fpr = fpr, .hash = hash}, operations);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace mankai::test
