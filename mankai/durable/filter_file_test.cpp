#include "mankai/durable/filter_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "mankai/filter/keyed_batch.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

class FilterFileTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mankai-durable-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "filter.mk").string(); }

 private:
  fs::path folder_;
};

bool contains(const AnyFilter& filter, std::uint64_t key) {
  return std::visit([key](const auto& f) { return f.may_contain(f.hasher()(key)); }, filter);
}

TEST_P(FilterFileTest, a_saved_filter_opens_with_the_same_answers) {
  auto filter = create_filter(*parse_spec(GetParam()));
  ASSERT_TRUE(filter.has_value());
  std::visit(
      [](auto& f) {
        for (std::uint64_t key = 0; key < 1000; ++key) {
          f.insert(f.hasher()(key));
        }
      },
      *filter);
  ASSERT_TRUE(save_filter(path(), *filter, Existing::refuse).has_value());
  for (const Access access : {Access::query, Access::change}) {
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      const auto opened = open_filter(path(), access, trust);
      ASSERT_TRUE(opened.has_value()) << opened.error().message();
      for (std::uint64_t key = 0; key < 3000; ++key) {
        ASSERT_EQ(contains(*opened, key), contains(*filter, key)) << key;
      }
      EXPECT_EQ(to_string(spec_of(*opened)), to_string(spec_of(*filter)));
    }
  }
}

TEST_P(FilterFileTest, damage_is_named_with_file_and_offset) {
  auto filter = create_filter(*parse_spec(GetParam()));
  ASSERT_TRUE(save_filter(path(), *filter, Existing::refuse).has_value());
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary).seekp(200).put('!');
  const auto opened = open_filter(path(), Access::query);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_NE(opened.error().message().find(path()), std::string::npos);
  EXPECT_NE(opened.error().message().find("offset 128"), std::string::npos) << opened.error().message();
}

INSTANTIATE_TEST_SUITE_P(Kinds, FilterFileTest,
                         testing::Values("blocked-bloom:keys=1000", "bloom:keys=1000,seed=7",
                                         "bloom:keys=1000,addressing=fields,hash=siphash"));

TEST_F(FilterFileTest, a_text_file_is_no_filter) {
  std::ofstream(path()) << std::string(500, 'a');
  const auto opened = open_filter(path(), Access::query);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_NE(opened.error().message().find("no magic"), std::string::npos);
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
