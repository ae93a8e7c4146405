#include "mankai/url/segments.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace mankai::url {
namespace {

std::vector<std::string> segments(std::string_view raw) {
  const auto url = canonicalize(raw, UrlRules::safe_browsing).value();
  std::vector<std::string_view> views = {"from", "before"};
  split_segments(url, views);
  return {views.begin(), views.end()};
}

using Segments = std::vector<std::string>;

TEST(Segments, are_the_authority_and_what_stands_between_slashes) {
  EXPECT_EQ(segments("http://a.b/"), (Segments{"a.b", ""}));
  EXPECT_EQ(segments("http://a.b:81/x"), (Segments{"a.b:81", "x"}));
  EXPECT_EQ(segments("http://a.b/x/y"), (Segments{"a.b", "x", "y"}));
  EXPECT_EQ(segments("http://a.b/x/y/"), (Segments{"a.b", "x", "y", ""}));
}

TEST(Segments, the_last_one_has_the_query_with_its_slashes) {
  EXPECT_EQ(segments("http://a/x?p=1/2"), (Segments{"a", "x?p=1/2"}));
  EXPECT_EQ(segments("http://a/x/?p=1/2/"), (Segments{"a", "x", "?p=1/2/"}));
  EXPECT_EQ(segments("http://a?/"), (Segments{"a", "?/"}));
}

}  // namespace
}  // namespace mankai::url
