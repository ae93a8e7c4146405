#include "mankai/gate/database/source_settings.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mankai {
namespace {

const RowSourceSettings kSettings = {.source = "sqlite:/srv/shop.db",
                                     .table = "baskets",
                                     .key = "cookie",
                                     .where = "items > 0 AND note <> 'where x'",
                                     .installed = "mankai_5f21c07a"};

TEST(SourceSettings, are_read_back_as_they_were_written) {
  RowSourceSettings every_row = kSettings;
  every_row.where.clear();
  for (const RowSourceSettings& settings : {kSettings, every_row}) {
    const auto text = to_text(settings);
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(parse_source_settings(*text), settings);
  }
}

TEST(SourceSettings, what_has_no_place_in_a_line_is_refused) {
  for (const std::string& value : {std::string("a\nb"), std::string("a\0b", 3), std::string(5000, 'x')}) {
    RowSourceSettings settings = kSettings;
    settings.where = value;
    EXPECT_EQ(to_text(settings).error().code, ErrorCode::invalid_argument);
  }
}

TEST(SourceSettings, no_cut_and_no_change_of_a_byte_is_taken_for_whole) {
  const std::string text = *to_text(kSettings);
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_FALSE(parse_source_settings(text.substr(0, bytes)).has_value()) << bytes;
  }
  EXPECT_EQ(parse_source_settings(text + "more\n").error().code, ErrorCode::corrupt);
  EXPECT_EQ(parse_source_settings("mankai gate source 2\n").error().code, ErrorCode::unsupported_version);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = '\n';
    EXPECT_TRUE(text[i] == '\n' || !parse_source_settings(changed)) << i;
  }
}

TEST(SourceSettings, lists_are_read_back_whole_or_not_at_all) {
  RowSourceSettings other = kSettings;
  other.installed = "mankai_00000000";
  const std::string first = *to_text(kSettings);
  const std::string text = first + *to_text(other);
  EXPECT_EQ(parse_source_list(""), std::vector<RowSourceSettings>{});
  EXPECT_EQ(parse_source_list(text), (std::vector<RowSourceSettings>{kSettings, other}));
  for (std::size_t bytes = 1; bytes < text.size(); ++bytes) {
    EXPECT_EQ(parse_source_list(text.substr(0, bytes)).has_value(), bytes == first.size()) << bytes;
  }
}

TEST(SourceSettings, a_missing_file_says_what_makes_one) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("gate.mk");
  const auto missing = read_source_settings(path);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message().find("mankai gate build"), std::string::npos);
  ASSERT_TRUE(write_source_settings(path, kSettings, Existing::refuse));
  EXPECT_EQ(read_source_settings(path), kSettings);
  EXPECT_FALSE(write_source_settings(path, kSettings, Existing::refuse).has_value());
}

}  // namespace
}  // namespace mankai
