#include "mankai/store/filter_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

class FilterFileTest : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("filter.mk"); }

 private:
  test::TemporaryFolder folder_;
};

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back("example.org/" + std::to_string(i % 7) + "/" + std::to_string(i));
  }
  return keys;
}

// One byte per key: whether the filter may contain it.
std::string answers(const AnyFilter& filter, const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto outcomes = std::make_unique<bool[]>(views.size());
  filter.may_contain(views, {outcomes.get(), views.size()});
  return {outcomes.get(), outcomes.get() + views.size()};
}

TEST_P(FilterFileTest, a_saved_filter_opens_with_the_same_answers) {
  auto filter = create_filter(*parse_spec(GetParam()));
  ASSERT_TRUE(filter.has_value());
  const std::vector<std::string> members = numbered(2500);
  const std::vector<std::string> asked = numbered(6000);
  ASSERT_TRUE(filter->insert(std::vector<std::string_view>(members.begin(), members.end())));
  ASSERT_TRUE(save_filter(path(), *filter, Existing::refuse).has_value());
  for (const Access access : {Access::query, Access::change}) {
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      const auto opened = open_filter(path(), access, trust);
      ASSERT_TRUE(opened.has_value()) << opened.error().message();
      EXPECT_EQ(answers(*opened, asked), answers(*filter, asked));
      EXPECT_EQ(answers(*opened, members), std::string(members.size(), '\1'));
      EXPECT_EQ(opened->keys_inserted(), filter->keys_inserted());
      EXPECT_EQ(to_string(opened->spec()), to_string(filter->spec()));
    }
  }
}

TEST_P(FilterFileTest, damage_is_named_with_file_and_offset) {
  auto filter = create_filter(*parse_spec(GetParam()));
  ASSERT_TRUE(save_filter(path(), *filter, Existing::refuse).has_value());
  const bool is_sliced = filter->kind().can_grow || filter->spec().kind == Kind{LayeredUrlBloom::kKind};
  // In the cells: after the header, or after those of the filter and of its first slice.
  const std::streamoff place = is_sliced ? 330 : 200;
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary).seekp(place).put('!');
  const auto opened = open_filter(path(), Access::query);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_NE(opened.error().message().find(path()), std::string::npos);
  EXPECT_NE(opened.error().message().find("offset 128"), std::string::npos) << opened.error().message();
}

INSTANTIATE_TEST_SUITE_P(Kinds, FilterFileTest,
                         testing::Values("blocked-bloom:keys=1000", "bloom:keys=1000,seed=7",
                                         "bloom:keys=1000,addressing=fields,hash=siphash", "counting-bloom:keys=1000",
                                         "counting-bloom:keys=1000,layout=partitioned", "scalable-bloom:keys=100",
                                         "scalable-counting-bloom:keys=100,hash=siphash", "layered-url-bloom:keys=1000",
                                         "layered-url-bloom:keys=1000,layering=faithful"));

// A filter that is mapped from its file grows beyond it, and is saved over it.
TEST_F(FilterFileTest, a_growing_filter_goes_on_growing_after_it_was_opened) {
  auto filter = create_filter(*parse_spec("scalable-bloom:keys=100,seed=1"));
  ASSERT_TRUE(save_filter(path(), *filter, Existing::refuse).has_value());
  const std::vector<std::string> keys = numbered(5000);
  for (std::size_t start = 0; start < keys.size(); start += 500) {
    auto opened = open_filter(path(), start % 1000 == 0 ? Access::query : Access::change);
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    ASSERT_TRUE(opened->insert(std::vector<std::string_view>(keys.begin() + static_cast<std::ptrdiff_t>(start),
                                                             keys.begin() + static_cast<std::ptrdiff_t>(start + 500))));
    ASSERT_TRUE(save_filter(path(), *opened, Existing::replace).has_value());
  }
  const auto opened = open_filter(path(), Access::query);
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  EXPECT_EQ(answers(*opened, keys), std::string(keys.size(), '\1'));
}

TEST_F(FilterFileTest, a_text_file_is_no_filter) {
  std::ofstream(path()) << std::string(500, 'a');
  const auto opened = open_filter(path(), Access::query);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_NE(opened.error().message().find("not a Mankai filter"), std::string::npos);
}

TEST_F(FilterFileTest, a_huge_file_that_is_no_filter_costs_no_memory) {
  std::ofstream(path()) << "no image";
  fs::resize_file(path(), std::uintmax_t{1} << 40);
  const auto opened = open_filter(path(), Access::change);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
}

TEST_F(FilterFileTest, an_empty_file_is_no_filter) {
  std::ofstream(path()).flush();
  const auto opened = open_filter(path(), Access::query);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace mankai
