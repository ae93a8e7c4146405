#include "mankai/filter/parts/sizing.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"

namespace mankai {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Pascal's triangle in long double: exact to 64 bits, with no gamma function and no recurrence from the mode.
std::vector<long double> binomial_row(unsigned n) {
  std::vector<long double> row = {1};
  for (unsigned i = 0; i < n; ++i) {
    row.push_back(1);
    for (std::size_t j = row.size() - 2; j > 0; --j) {
      row[j] += row[j - 1];
    }
  }
  return row;
}

long double blocked_by_brute_force(unsigned n, unsigned blocks, unsigned lane_cells) {
  const std::vector<long double> ways = binomial_row(n);
  long double rate = 0;
  for (unsigned j = 0; j <= n; ++j) {
    const long double probability = ways[j] *
                                    std::pow(static_cast<long double>(blocks - 1), static_cast<long double>(n - j)) /
                                    std::pow(static_cast<long double>(blocks), static_cast<long double>(n));
    const long double is_empty = static_cast<long double>(lane_cells - 1) / lane_cells;
    rate += probability * std::pow(1 - std::pow(is_empty, static_cast<long double>(j)), 8.0L);
  }
  return rate;
}

TEST(BlockedBloomFpr, is_exact_in_every_small_world) {
  for (unsigned blocks = 1; blocks <= 16; ++blocks) {
    for (unsigned keys = 0; keys <= 200; ++keys) {
      const auto exact = static_cast<double>(blocked_by_brute_force(keys, blocks, 64));
      // 1 - (63/64)^j loses six bits at j = 1, and the eighth power makes eight times as much of it: 6e-14 and more.
      ASSERT_NEAR(blocked_bloom_fpr(keys, blocks), exact, 1e-12 * exact) << keys << " keys, " << blocks << " blocks";
    }
  }
}

TEST(CountingBlockedFpr, is_exact_in_every_small_world) {
  for (unsigned blocks = 1; blocks <= 16; ++blocks) {
    for (unsigned keys = 0; keys <= 120; ++keys) {
      const auto exact = static_cast<double>(blocked_by_brute_force(keys, blocks, 16));
      ASSERT_NEAR(counting_blocked_fpr(keys, blocks), exact, 1e-12 * exact) << keys << " keys, " << blocks << " blocks";
    }
  }
}

TEST(CountingBlockedBlocks, are_the_fewest_that_keep_the_rate) {
  for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{77}, std::uint64_t{1000}, std::uint64_t{10000000}}) {
    for (const double fpr : {0.9, 0.1, 0.01, 1e-3, 1e-5}) {
      const std::uint64_t blocks = counting_blocked_blocks({.keys = keys, .fpr = fpr}).value();
      EXPECT_LE(counting_blocked_fpr(keys, blocks), fpr);
      EXPECT_TRUE(blocks == 1 || counting_blocked_fpr(keys, blocks - 1) > fpr) << keys << " keys at " << fpr;
    }
  }
}

TEST(CountingBlockedBlocks, take_the_promised_bits_per_key) {
  constexpr std::uint64_t kKeys = 10000000;
  const auto bits = [](double fpr) {
    return static_cast<double>(counting_blocked_blocks({.keys = kKeys, .fpr = fpr}).value()) * 512 / kKeys;
  };
  EXPECT_NEAR(bits(0.01), 45.72, 0.01);
  EXPECT_NEAR(bits(0.001), 77.59, 0.01);
}

// In small worlds by adding up all ways in which keys can fall into the cells of one partition.
TEST(PartitionedFpr, is_the_chance_that_all_partitions_have_been_hit) {
  for (unsigned cells = 1; cells <= 4; ++cells) {
    for (unsigned keys = 0; keys <= 6; ++keys) {
      unsigned ways = 1;
      unsigned ways_past = 1;  // a given cell
      for (unsigned key = 0; key < keys; ++key) {
        ways *= cells;
        ways_past *= cells - 1;
      }
      const double hit = 1 - static_cast<double>(ways_past) / ways;
      for (std::uint32_t k = 1; k <= 3; ++k) {
        EXPECT_NEAR(partitioned_fpr(keys, {.cells_per_probe = cells, .k = k}), std::pow(hit, k), 1e-14);
      }
    }
  }
}

TEST(PartitionedSize, keeps_the_rate_with_the_fewest_counters_and_the_sources_k) {
  for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1000}, std::uint64_t{10000000}}) {
    for (const double fpr : {0.9, 0.5, 0.1, 0.01, 1e-3, 1e-9}) {
      const SizeRequest request{.keys = keys, .fpr = fpr};
      const PartitionedSize size = partitioned_size(request).value();
      EXPECT_EQ(size.k, static_cast<std::uint32_t>(std::ceil(std::log2(1 / fpr))));
      EXPECT_LE(partitioned_fpr(keys, size), fpr);
      EXPECT_GT(partitioned_fpr(keys, {.cells_per_probe = size.cells_per_probe - 1, .k = size.k}), fpr)
          << keys << " keys at " << fpr;
      const PartitionedSize of_three = partitioned_size(request, 3).value();
      EXPECT_EQ(of_three.k, 3U);
      EXPECT_LE(partitioned_fpr(keys, of_three), fpr);
    }
  }
}

// At most 1.1 % more than the source's own formula asks for, never less.
TEST(PartitionedSize, is_that_of_the_source_or_a_little_more) {
  constexpr double kKeys = 1000000;
  const double ln2 = std::log(2.0);
  for (const double fpr : {0.5, 0.1, 0.05, 0.01, 1e-3, 1e-4}) {
    const PartitionedSize size = partitioned_size({.keys = 1000000, .fpr = fpr}).value();
    const double source = std::ceil(kKeys * -std::log(fpr) / (size.k * ln2 * ln2));
    EXPECT_GE(static_cast<double>(size.cells_per_probe), source - 1) << fpr;
    EXPECT_LE(static_cast<double>(size.cells_per_probe), 1.011 * source) << fpr;
  }
}

// What dablooms 0.9.1 makes of these, run.
TEST(DabloomsSize, is_that_of_dablooms_to_the_last_counter) {
  struct Row {
    std::uint64_t keys;
    double fpr;
    std::uint64_t cells_per_probe;
    std::uint32_t k;
  };
  constexpr Row kRows[] = {{1, 0.9, 1, 1},
                           {1, 0.5, 2, 1},
                           {1, 1e-6, 2, 20},
                           {10, 0.25, 15, 2},
                           {100, 0.9, 22, 1},
                           {100, 0.05, 125, 5},
                           {999, 0.001, 1437, 10},
                           {1024, 0.25, 1478, 2},
                           {1024, 0.01, 1403, 7},
                           {100000, 0.125, 144270, 3},
                           {100000, 0.05, 124705, 5},
                           {100000, 0.01, 136930, 7},
                           {1000000, 0.01, 1369295, 7},
                           {1000000, 0.001, 1437759, 10},
                           {1000000, 0x1p-10, 1442696, 10}};
  for (const Row& row : kRows) {
    const PartitionedSize size = dablooms_size({.keys = row.keys, .fpr = row.fpr}).value();
    EXPECT_EQ(size.cells_per_probe, row.cells_per_probe) << row.keys << " keys at " << row.fpr;
    EXPECT_EQ(size.k, row.k) << row.keys << " keys at " << row.fpr;
  }
}

TEST(DabloomsSize, what_its_program_cannot_have_is_an_error) {
  EXPECT_EQ(dablooms_size({.keys = 1, .fpr = 0x1p-1022}).value().k, 1022U);
  // Of the smallest double the inverse is infinite.
  for (const SizeRequest& request :
       {SizeRequest{.keys = 0, .fpr = 0.1}, SizeRequest{.keys = 1, .fpr = kNan},
        SizeRequest{.keys = 1, .fpr = 0x1p-1074}, SizeRequest{.keys = std::uint64_t{1} << 31, .fpr = 0.01}}) {
    EXPECT_EQ(dablooms_size(request).error().code, ErrorCode::invalid_argument) << request.keys << " " << request.fpr;
  }
}

TEST(PartitionedSize, absurd_requests_are_errors) {
  EXPECT_EQ(partitioned_size({.keys = 0, .fpr = 0.1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(partitioned_size({.keys = 1, .fpr = kNan}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(partitioned_size({.keys = 1, .fpr = 0.1}, 65).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(partitioned_size({.keys = std::uint64_t{1} << 48, .fpr = 1e-9}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(counting_blocked_blocks({.keys = 0, .fpr = 0.1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(counting_blocked_blocks({.keys = std::uint64_t{1} << 48, .fpr = 1e-9}).error().code,
            ErrorCode::invalid_argument);
}

TEST(BlockedBloomFpr, rises_with_keys_and_falls_with_blocks) {
  for (const std::uint64_t blocks : {1U, 2U, 3U, 100U, 12345U}) {
    double previous = -1;
    for (std::uint64_t keys = 0; keys < 100 * blocks; keys += 1 + keys / 7) {
      const double rate = blocked_bloom_fpr(keys, blocks);
      EXPECT_TRUE(rate > previous && rate < 1) << keys << " keys, " << blocks << " blocks";
      EXPECT_GT(rate, keys == 0 ? -1 : blocked_bloom_fpr(keys, blocks + 1));
      previous = rate;
    }
  }
}

TEST(BlockedBloomFpr, is_one_where_every_block_is_full_and_takes_no_time) {
  // A sum over the distribution would be a hundred million terms long.
  EXPECT_EQ(blocked_bloom_fpr(std::uint64_t{1} << 48, 2), 1);
  EXPECT_EQ(blocked_bloom_fpr(std::uint64_t{1} << 63, 1), 1);
  EXPECT_NEAR(blocked_bloom_fpr(5000000, 1000), 1, 1e-12);
}

TEST(BlockedBloomBlocks, are_the_fewest_that_keep_the_rate) {
  for (const std::uint64_t keys : {1U, 2U, 10U, 50U, 51U, 1000U, 12345U, 1000000U, 100000000U}) {
    for (const double fpr : {0.9, 0.5, 0.1, 0.01, 0.003, 0.001, 1e-6, 1e-9}) {
      const auto blocks = blocked_bloom_blocks({.keys = keys, .fpr = fpr});
      ASSERT_TRUE(blocks.has_value()) << blocks.error().detail;
      EXPECT_LE(blocked_bloom_fpr(keys, *blocks), fpr) << keys << " keys at " << fpr;
      EXPECT_TRUE(*blocks == 1 || blocked_bloom_fpr(keys, *blocks - 1) > fpr) << keys << " keys at " << fpr;
    }
  }
}

TEST(BlockedBloomBlocks, take_the_promised_bits_per_key) {
  for (const std::uint64_t keys :
       {std::uint64_t{100000}, std::uint64_t{1000000}, std::uint64_t{1000000000}, std::uint64_t{1000000000000}}) {
    const auto bits_per_key = [&](double fpr) {
      return static_cast<double>(blocked_bloom_blocks({.keys = keys, .fpr = fpr}).value()) * 512 /
             static_cast<double>(keys);
    };
    EXPECT_LE(bits_per_key(0.01), 10.15) << keys;
    EXPECT_LE(bits_per_key(0.001), 15.9) << keys;
  }
}

void expect_fewest_lines(const SizeRequest& request, std::uint32_t k) {
  const auto size = bloom_size(request, k);
  if (!size) {
    EXPECT_EQ(size.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(k == 1 || k == 2) << "more probes reach any rate";
    return;
  }
  EXPECT_EQ(size->cell_count % 512, 0U);
  EXPECT_TRUE(k == 0 || size->k == k);
  EXPECT_LE(bloom_fpr(request.keys, *size), request.fpr) << request.keys << " keys at " << request.fpr << ", k " << k;
  const BloomSize smaller{.cell_count = size->cell_count - 512, .k = size->k};
  EXPECT_TRUE(smaller.cell_count == 0 || bloom_fpr(request.keys, smaller) > request.fpr)
      << request.keys << " keys at " << request.fpr << ", k " << k;
}

TEST(BloomSize, keeps_the_rate_with_the_fewest_lines) {
  for (const std::uint64_t keys : {1U, 2U, 10U, 100U, 1000U, 12345U, 1000000U}) {
    for (const double fpr : {0.9, 0.5, 0.1, 0.01, 0.001, 1e-6, 1e-12}) {
      for (std::uint32_t k = 0; k <= 64; k += k < 16 ? 1 : 16) {
        expect_fewest_lines({.keys = keys, .fpr = fpr}, k);
      }
    }
  }
}

TEST(BloomSize, chooses_the_k_that_takes_the_fewest_cells) {
  for (const double fpr : {0.9, 0.5, 0.25, 0.1, 0.01, 0.001, 1e-6, 1e-12, 1e-18}) {
    const auto best = bloom_size({.keys = 100000, .fpr = fpr});
    ASSERT_TRUE(best.has_value());
    for (std::uint32_t k = 1; k <= 64; ++k) {
      const auto with_k = bloom_size({.keys = 100000, .fpr = fpr}, k);
      EXPECT_TRUE(!with_k || best->cell_count <= with_k->cell_count) << fpr << ", k " << k;
    }
  }
}

TEST(BloomSize, takes_the_textbooks_bits_per_key) {
  // 1.44 log2(1/fpr), and a little for whole probes [Bloom1970].
  const auto bits = [](double fpr) {
    return static_cast<double>(bloom_size({.keys = 1000000, .fpr = fpr}).value().cell_count) / 1e6;
  };
  EXPECT_NEAR(bits(0.01), 9.59, 0.01);
  EXPECT_NEAR(bits(0.001), 14.38, 0.01);
}

TEST(BloomSizeForFields, is_a_power_of_two_that_keeps_the_rate) {
  for (std::uint64_t keys = 1; keys < 3000000; keys += 1 + keys / 9) {
    for (const double fpr : {0.9, 0.5, 0.3, 0.1, 0.02, 0.01, 0.001, 1e-6, 1e-12}) {
      const auto size = bloom_size_for_fields({.keys = keys, .fpr = fpr});
      ASSERT_TRUE(size.has_value()) << size.error().detail;
      EXPECT_TRUE(std::has_single_bit(size->cell_count));
      EXPECT_TRUE(size->k >= 1 && size->k <= 64);
      EXPECT_LE(bloom_fpr(keys, *size), fpr)
          << keys << " keys at " << fpr << ": " << size->cell_count << " cells, k " << size->k;
      EXPECT_EQ(size->cell_count, std::bit_ceil(bloom_size({.keys = keys, .fpr = fpr}).value().cell_count));
    }
  }
}

// What is wrong with a request, and words that the error must have.
struct Refusal {
  SizeRequest request;
  const char* says;
};

const Refusal kRefusals[] = {
    {{.keys = 0, .fpr = 0.01}, "0 keys"},
    {{.keys = 1000, .fpr = 0}, "between 0 and 1"},
    {{.keys = 1000, .fpr = 1}, "between 0 and 1"},
    {{.keys = 1000, .fpr = -1}, "between 0 and 1"},
    {{.keys = 1000, .fpr = 1.5}, "between 0 and 1"},
    {{.keys = 1000, .fpr = -0.0}, "between 0 and 1"},
    {{.keys = 1000, .fpr = kNan}, "between 0 and 1"},
    {{.keys = 1000, .fpr = kInfinity}, "between 0 and 1"},
    {{.keys = 1000, .fpr = -kInfinity}, "between 0 and 1"},
    {{.keys = std::uint64_t{1} << 60, .fpr = 0.01}, "2^48 keys"},
    {{.keys = std::numeric_limits<std::uint64_t>::max(), .fpr = 0.01}, "2^48 keys"},
    {{.keys = std::uint64_t{1} << 48, .fpr = 0.01}, "2^48 bytes"},
    {{.keys = std::uint64_t{1} << 48, .fpr = 1e-9}, "2^48 bytes"},
};

template <class T>
void expect_refused(const Result<T>& made, const Refusal& refusal, ErrorCode code) {
  ASSERT_FALSE(made.has_value()) << refusal.request.keys << " keys at " << refusal.request.fpr;
  EXPECT_EQ(made.error().code, code);
  EXPECT_NE(made.error().detail.find(refusal.says), std::string::npos) << made.error().detail;
}

TEST(Sizing, absurd_requests_are_errors_that_say_why) {
  for (const Refusal& refusal : kRefusals) {
    const auto [keys, fpr] = refusal.request;
    constexpr auto kCode = ErrorCode::invalid_argument;
    expect_refused(blocked_bloom_blocks(refusal.request), refusal, kCode);
    expect_refused(bloom_size(refusal.request), refusal, kCode);
    expect_refused(bloom_size_for_fields(refusal.request), refusal, kCode);
    expect_refused(BlockedBloom::create({.keys = keys, .fpr = fpr}), refusal, kCode);
    expect_refused(Bloom::create({.keys = keys, .fpr = fpr}), refusal, kCode);
    expect_refused(Bloom::create({.keys = keys, .fpr = fpr, .addressing = BloomAddressing::fields}), refusal, kCode);
  }
}

TEST(Sizing, rates_that_no_size_reaches_are_errors) {
  for (const double fpr :
       {1e-300, 1e-100, std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min()}) {
    const Refusal refusal{{.keys = 1000, .fpr = fpr}, "2^48 bytes"};
    expect_refused(BlockedBloom::create({.keys = 1000, .fpr = fpr}), refusal, ErrorCode::invalid_argument);
    expect_refused(Bloom::create({.keys = 1000, .fpr = fpr, .k = 1}), refusal, ErrorCode::invalid_argument);
  }
  // 64 probes at a fill of 1/50000: large, and right.
  const auto extreme = bloom_size({.keys = 1000, .fpr = 1e-300});
  ASSERT_TRUE(extreme.has_value());
  EXPECT_LE(bloom_fpr(1000, *extreme), 1e-300);
}

TEST(Sizing, more_probes_than_64_are_an_error) {
  const auto filter = Bloom::create({.keys = 1000, .k = 65});
  expect_refused(filter, {{.keys = 1000}, "65"}, ErrorCode::invalid_argument);
}

TEST(Sizing, more_than_the_machines_addresses_is_out_of_space) {
  // These take between 2^47 and 2^48 bytes: allowed by the format, but more than a process can map.
  constexpr std::uint64_t kKeys = std::uint64_t{1} << 47;
  const Refusal refusal{{.keys = kKeys, .fpr = 0.01}, "bytes of memory"};
  constexpr auto kCode = ErrorCode::out_of_space;
  expect_refused(BlockedBloom::create({.keys = kKeys}), refusal, kCode);
  expect_refused(Bloom::create({.keys = kKeys}), refusal, kCode);
  expect_refused(Bloom::create({.keys = kKeys / 2, .addressing = BloomAddressing::fields}), refusal, kCode);
}

TEST(EstimateKeys, inverts_the_expected_fill) {
  for (const double cells : {512.0, 1e5, 1e9, 1e12}) {
    for (const double k : {1.0, 7.0, 64.0}) {
      for (const double load : {0.001, 0.1, 0.7, 3.0}) {
        const double keys = load * cells / k;
        const double fill = -std::expm1(keys * k * std::log1p(-1 / cells));
        EXPECT_NEAR(estimate_keys(fill, cells, k), keys, 1e-9 * keys);
      }
    }
  }
  EXPECT_EQ(estimate_keys(0, 512, 7), 0);
  EXPECT_TRUE(std::isinf(estimate_keys(1, 512, 7)));
  EXPECT_EQ(estimate_keys(0, 1, 1), 0);
  EXPECT_TRUE(std::isinf(estimate_keys(1, 1, 1)));
}

}  // namespace
}  // namespace mankai
