// The frame on small examples, and every source twice: sound, where each verdict is as recorded, and with a filter
// broken on purpose, where one must not be.

#include "lab/lab.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/sources.hpp"
#include "lab/text.hpp"

namespace mankai::lab {
namespace {

std::vector<Outcome> quick_run(const Source& source, Fault fault) {
  Context context;
  context.quick = true;
  context.fault = fault;
  auto outcome = run(source, context);
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message();
  std::vector<Outcome> outcomes;
  if (outcome) {
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

TEST(Sources, every_verdict_is_as_recorded) {
  for (const Source& source : all_sources()) {
    const auto outcomes = quick_run(source, Fault::none);
    EXPECT_EQ(unexpected_count(outcomes), 0U) << summary(outcomes);
  }
}

TEST(Sources, a_broken_filter_flips_a_verdict) {
  for (const Source& source : all_sources()) {
    for (const Fault fault : {Fault::forgets_keys, Fault::invents_keys}) {
      EXPECT_GT(unexpected_count(quick_run(source, fault)), 0U) << source.name;
    }
  }
}

}  // namespace
}  // namespace mankai::lab
