#include "lab/exact_sets.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mankai::baseline {
namespace {

template <class Set>
class ExactSetTest : public testing::Test {};
using Sets = testing::Types<LinearScan, SortedArray, HashSet>;
TYPED_TEST_SUITE(ExactSetTest, Sets);

TYPED_TEST(ExactSetTest, agrees_with_a_tree_set) {
  TypeParam set;
  std::set<std::string> model;
  for (unsigned i = 0; i < 500; ++i) {
    const std::string key = std::to_string(i * i % 337) + std::string(i % 3, '\0');
    if (i % 2 == 0) {
      set.insert(key);
      model.insert(key);
    } else {
      ASSERT_EQ(set.observe(key), !model.insert(key).second) << i;
    }
    ASSERT_EQ(set.size(), model.size());
    const std::string asked = std::to_string(i) + std::string(i % 2, '\0');
    ASSERT_EQ(set.contains(asked), model.contains(asked)) << i;
    ASSERT_TRUE(set.contains(key));
  }
}

}  // namespace
}  // namespace mankai::baseline
