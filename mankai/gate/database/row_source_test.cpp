#include "mankai/gate/database/row_source.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mankai {
namespace {

TEST(KeyList, keeps_keys_in_order_and_whole) {
  KeyList keys;
  EXPECT_TRUE(keys.views().empty());
  for (int round = 0; round < 2; ++round) {
    keys.add("a");
    keys.add("");
    keys.add(std::string("b\0c", 3));
    for (int i = 0; i < 1000; ++i) {
      keys.add(std::to_string(i));
    }
    const auto views = keys.views();
    ASSERT_EQ(views.size(), 1003U);
    EXPECT_EQ(views[0], "a");
    EXPECT_EQ(views[1], "");
    EXPECT_EQ(views[2], std::string_view("b\0c", 3));
    for (std::size_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(views[i + 3], std::to_string(i));
    }
    keys.clear();
    EXPECT_TRUE(keys.empty());
  }
}

}  // namespace
}  // namespace mankai
