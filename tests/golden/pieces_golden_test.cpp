// Bytes of counts in pieces pinned forever, as golden_test.cpp pins those of the other kinds; its rules hold here, too.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='PiecesGolden.*write*'

#include <gtest/gtest.h>

#include <array>

#include "tests/golden/golden_test_support.hpp"
#include "tests/support/decayed_pieces.hpp"

namespace mankai::test::golden::pieces {
namespace {

const std::array<Golden, 6> kGolden = {{
    {"pooled_hash", [] { return pooled_images()[0]; }},
    {"pooled_hash_all_gate", [] { return pooled_images()[1]; }},
    {"pooled_links", [] { return pooled_images()[2]; }},
    {"pooled_array", [] { return pooled_images()[4]; }},
    {"tiered_4", [] { return tiered_images()[0]; }},
    {"tiered_8_downwards_ceil", [] { return tiered_images()[3]; }},
}};

TEST(PiecesGolden, todays_code_makes_the_files) { expect_files(kGolden); }

TEST(PiecesGolden, DISABLED_write) { write_files(kGolden); }

}  // namespace
}  // namespace mankai::test::golden::pieces
