// Bytes of counts in pieces pinned forever, as golden_test.cpp pins those of the other kinds; its rules hold here, too.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='PiecesGolden.*write*'

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "tests/golden/golden_test_support.hpp"
#include "tests/support/decayed_pieces.hpp"

namespace mankai::test::golden::pieces {
namespace {

struct Golden {
  const char* name;  // of the file, without .mk
  Bytes bytes;       // by today's code
  std::uint64_t xxh3;
};

std::vector<Golden> goldens() {
  const std::vector<Bytes> pooled = pooled_images();
  const std::vector<Bytes> tiered = tiered_images();
  return {
      {"pooled_hash", pooled[0], 0xafa272933918fabdU},  {"pooled_hash_all_gate", pooled[1], 0xcf0b8d1b44e7ddbaU},
      {"pooled_links", pooled[2], 0x128e5c07164b7fc9U}, {"pooled_array", pooled[4], 0x2066ef85df015c55U},
      {"tiered_4", tiered[0], 0xfa2e39c2f984e90fU},     {"tiered_8_downwards_ceil", tiered[3], 0x25c00f2c1e9398fdU}};
}

TEST(PiecesGolden, todays_code_writes_the_pinned_bytes) {
  for (const Golden& golden : goldens()) {
    EXPECT_EQ(sum_of(golden.bytes), golden.xxh3) << golden.name;
  }
}

template <class F>
void expect_same(const Bytes& file, const Bytes& made) {
  const auto from_file = F::from_bytes(file);
  ASSERT_TRUE(from_file.has_value()) << from_file.error().detail;
  const auto expected = F::from_bytes(made).value();
  for (std::uint64_t key = 0; key < 200; ++key) {
    EXPECT_EQ(from_file->estimate(piece_key(key)), expected.estimate(piece_key(key)));
  }
  EXPECT_EQ(from_file->tick(), expected.tick());
}

TEST(PiecesGolden, todays_code_reads_the_files) {
  for (const Golden& golden : goldens()) {
    const Bytes bytes = read(path_of(golden.name));
    EXPECT_EQ(sum_of(bytes), golden.xxh3) << golden.name;
    if (std::string_view(golden.name).starts_with("pooled")) {
      expect_same<TimeDecayingPooledCounts>(bytes, golden.bytes);
    } else {
      expect_same<TimeDecayingTieredCounts>(bytes, golden.bytes);
    }
  }
}

TEST(PiecesGolden, DISABLED_write) {
  for (const Golden& golden : goldens()) {
    write(path_of(golden.name), golden.bytes);
    std::cout << golden.name << " 0x" << std::hex << sum_of(golden.bytes) << "U\n" << std::dec;
  }
}

}  // namespace
}  // namespace mankai::test::golden::pieces
