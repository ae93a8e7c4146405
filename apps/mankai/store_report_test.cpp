#include "apps/mankai/store_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mankai/c/mankai.h"
#include "tests/support/examples.hpp"

namespace mankai::command {
namespace {

// As ordered JSON, for the order of the fields.
nlohmann::ordered_json described_by_c(const AnyFilter& filter) {
  const std::vector<std::byte> image = filter.to_bytes();
  mankai_filter* handle = nullptr;
  EXPECT_EQ(mankai_from_image(image.data(), image.size(), &handle), MANKAI_OK) << mankai_last_error();
  char* text = nullptr;
  EXPECT_EQ(mankai_describe(handle, &text), MANKAI_OK) << mankai_last_error();
  auto json = nlohmann::ordered_json::parse(text);
  mankai_free(text);
  EXPECT_EQ(mankai_close(handle), MANKAI_OK);
  return json;
}

// The library for C has no writer of JSON from elsewhere, and no words for people, so both write the fields themselves.
TEST(StoreReport, the_c_interface_writes_the_same_fields) {
  for (const test::Example& example : test::examples()) {
    SCOPED_TRACE(example.spec);
    AnyFilter filter = example.create();
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
      keys.push_back("http://h.example/" + std::to_string(i));
    }
    ASSERT_TRUE(filter.insert(std::vector<std::string_view>(keys.begin(), keys.end())));
    auto reported = nlohmann::ordered_json::parse(report_on(filter, "f.mk").json());
    EXPECT_EQ(reported.erase("file"), 1U);
    EXPECT_EQ(reported, described_by_c(filter));
  }
}

TEST(StoreReport, a_journal_that_was_truncated_between_two_records_lost_an_unknown_number_of_bytes) {
  RecoveryReport recovery{.dropped_at = 8200, .reason = "it was truncated"};
  EXPECT_EQ(dropped_words(recovery), "an unknown number of bytes at offset 8200 of the journal: it was truncated");
  recovery.bytes_dropped = 1;
  EXPECT_EQ(dropped_words(recovery), "1 byte at offset 8200 of the journal: it was truncated");
  EXPECT_EQ(dropped_words({}), "");
}

}  // namespace
}  // namespace mankai::command
