// Images of fading-fingerprints and recent-values that are not what they claim to be. Every flipped bit and every
// truncation is found; what somebody forged who knows the checksums is refused by name, or is a filter that behaves.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "tests/corrupt/forgery_test_support.hpp"
#include "tests/support/fading_filters.hpp"

namespace mankai::test::corrupt::fading {
namespace {

/// One array of each size of fingerprint; all but the first have slots after the last, one in the middle of a byte.
constexpr std::array<FadingShape, 4> kShapes = {{{.slots = 64, .k = 2, .bits = 8},
                                                 {.slots = 101, .k = 3, .bits = 4},
                                                 {.slots = 30, .k = 4, .bits = 16, .min_matches = 2},
                                                 {.slots = 15, .k = 2, .bits = 32}}};

template <class F>
void expect_refused(const Bytes& bytes, Trust trust, const std::string& what) {
  const auto opened = F::from_bytes(bytes, trust);
  ASSERT_FALSE(opened.has_value()) << what;
  ASSERT_TRUE(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version)
      << what << ": " << opened.error().detail;
  ASSERT_TRUE(opened.error().detail.find("offset") != std::string::npos ||
              opened.error().detail.find("bytes") != std::string::npos)
      << opened.error().detail;
}

// A bit of the cells is found where they are looked at: with checked trust. Everything else also without.
template <class F>
void expect_damage_found(Bytes bytes) {
  const std::size_t cells_end = sizeof(ImageHeader) + static_cast<std::size_t>(header_of(bytes).cells_bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    const bool is_cell = bit / 8 >= sizeof(ImageHeader) && bit / 8 < cells_end;
    bytes[bit / 8] ^= mask;
    expect_refused<F>(bytes, is_cell ? Trust::checked : Trust::fast, "bit " + std::to_string(bit));
    bytes[bit / 8] ^= mask;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_refused<F>(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), Trust::fast,
                      "cut to " + std::to_string(size));
  }
  bytes.push_back(std::byte{0});
  expect_refused<F>(bytes, Trust::fast, "extended");
}

TEST(CorruptFading, every_flipped_bit_and_every_truncation_is_found) {
  for (const FadingShape& shape : kShapes) {
    expect_damage_found<FadingFingerprints>(filled_fading(shape).to_bytes());
  }
}

TEST(CorruptRecentValues, every_flipped_bit_and_every_truncation_is_found) {
  expect_damage_found<RecentValues>(filled_values().to_bytes());
}

// What opens must behave, whatever it holds, and its image must open again.
void use(FadingFingerprints filter) {
  const Hasher hash = filter.hasher();
  const bool has_own_slots = filter.shape().min_matches == 1;
  for (std::uint64_t key = 0; key < 50; ++key) {
    filter.observe(hash(key));
    ASSERT_TRUE(!has_own_slots || filter.may_contain(hash(key)));
  }
  for (const double rate : {filter.fill_ratio(), filter.fpr_estimate(), filter.fpr_expected(10), filter.survival(3)}) {
    ASSERT_TRUE(rate >= 0 && rate <= 1) << rate;
  }
  ASSERT_GE(filter.keys_estimate(), 0);
  ASSERT_GE(filter.half_life(), 0);
  const auto again = FadingFingerprints::from_bytes(filter.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  ASSERT_EQ(again->to_bytes(), filter.to_bytes());
  filter.clear();
  ASSERT_EQ(filter.fill_ratio(), 0);
}

void use(RecentValues filter) {
  const Hasher hash = filter.hasher();
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Digest key = hash(std::uint64_t{i});
    filter.put(key, i, 1);
    ASSERT_EQ(filter.count(key, i), filter.params().k);
    const auto values = filter.get(key, 1);
    ASSERT_FALSE(values.empty());
    ASSERT_GE(values.front().matches, values.back().matches);
  }
  for (const double rate : {filter.fill_ratio(), filter.fpr_estimate(), filter.fpr_expected(10)}) {
    ASSERT_TRUE(rate >= 0 && rate <= 1) << rate;
  }
  ASSERT_GE(filter.keys_estimate(), 0);
  const auto again = RecentValues::from_bytes(filter.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  ASSERT_EQ(again->to_bytes(), filter.to_bytes());
}

struct Outcomes {
  std::size_t harmless = 0;
  std::size_t refused = 0;
};

// Goal: nothing that stands in the header or the cells crashes, asked for more than it may, or contradicts itself.
// Method: every bit is flipped behind right checksums, under both kinds of trust.
template <class F>
void flip_behind_checksums(const Bytes& good, Outcomes& outcomes) {
  const std::size_t cells_end = sizeof(ImageHeader) + static_cast<std::size_t>(header_of(good).cells_bytes);
  for (std::size_t bit = 0; bit < cells_end * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    fix_header_checksum(bytes);
    fix_trailer(bytes);
    // Not one byte longer than the image, so that a step past its end is seen.
    AlignedBytes standing(bytes);
    auto opened = F::attach(standing.span(), bit % 2 == 0 ? Trust::checked : Trust::fast);
    if (opened) {
      ++outcomes.harmless;
      use(std::move(*opened));
    } else {
      ++outcomes.refused;
      expect_refused<F>(bytes, Trust::checked, "bit " + std::to_string(bit));
    }
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "bit " << bit;
  }
}

TEST(CorruptFading, forged_bits_are_refused_or_harmless) {
  Outcomes outcomes;
  for (const FadingShape& shape : kShapes) {
    flip_behind_checksums<FadingFingerprints>(filled_fading(shape).to_bytes(), outcomes);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GT(outcomes.harmless, 1500U);
  EXPECT_GT(outcomes.refused, 1500U);
}

TEST(CorruptRecentValues, forged_bits_are_refused_or_harmless) {
  Outcomes outcomes;
  flip_behind_checksums<RecentValues>(filled_values().to_bytes(), outcomes);
  EXPECT_GT(outcomes.harmless, 1000U);
  EXPECT_GT(outcomes.refused, 500U);
}

/// Puts k, bits and min_matches into the word that has them.
std::uint64_t fields(std::uint32_t k, std::uint16_t bits, std::uint16_t min_matches) {
  return k | std::uint64_t{bits} << 32 | std::uint64_t{min_matches} << 48;
}

TEST(CorruptFading, forged_parameters_are_refused_by_offset) {
  expect_all_refused<FadingFingerprints>(
      filled_fading(kShapes[0]).to_bytes(),
      {{"another kind", "offset 10", [](ImageHeader& h) { h.kind = RecentValues::kKind; }},
       {"no capacity", "offset 40", [](ImageHeader& h) { h.capacity_keys = 0; }},
       {"no rate", "offset 48", [](ImageHeader& h) { h.fpr_target_bits = 0; }},
       {"a rate that is no number", "offset 48", [](ImageHeader& h) { h.fpr_target_bits = ~std::uint64_t{0}; }},
       {"no slots", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
       {"a slot more", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 1; }},
       {"the cells of another size", "offset 64", [](ImageHeader& h) { h.kind_params[1] = fields(2, 16, 1); }},
       {"slots whose bits overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] |= std::uint64_t{1} << 61; }},
       {"slots whose bytes overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] = ~std::uint64_t{0}; }},
       {"no k", "offset 64", [](ImageHeader& h) { h.kind_params[1] = fields(0, 8, 1); }},
       {"a large k", "offset 64", [](ImageHeader& h) { h.kind_params[1] = fields(65, 8, 1); }},
       {"a huge k", "offset 64", [](ImageHeader& h) { h.kind_params[1] = fields(~0U, 8, 1); }},
       {"no matches", "offset 64", [](ImageHeader& h) { h.kind_params[1] = fields(2, 8, 0); }},
       {"more matches than slots", "offset 64", [](ImageHeader& h) { h.kind_params[1] = fields(2, 8, 3); }},
       {"no bits", "offset 76", [](ImageHeader& h) { h.kind_params[1] = fields(2, 0, 1); },
        ErrorCode::unsupported_version},
       {"odd bits", "offset 76", [](ImageHeader& h) { h.kind_params[1] = fields(2, 7, 1); },
        ErrorCode::unsupported_version},
       {"later bits", "offset 76", [](ImageHeader& h) { h.kind_params[1] = fields(2, 64, 1); },
        ErrorCode::unsupported_version},
       {"a third parameter", "offset 120", [](ImageHeader& h) { h.kind_params[2] = 1; }},
       {"a state", "offset 120", [](ImageHeader& h) { h.kind_state[0] = 1; }}});
}

TEST(CorruptRecentValues, forged_parameters_are_refused_by_offset) {
  expect_all_refused<RecentValues>(
      filled_values().to_bytes(),
      {{"another kind", "offset 10", [](ImageHeader& h) { h.kind = FadingFingerprints::kKind; }},
       {"no cells", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
       {"more cells", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 4; }},
       {"cells that overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] += std::uint64_t{1} << 62; }},
       {"all cells", "offset 64", [](ImageHeader& h) { h.kind_params[0] = ~std::uint64_t{0}; }},
       {"no k", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 0; }},
       {"a large k", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 65; }},
       {"a huge k", "offset 72", [](ImageHeader& h) { h.kind_params[1] += std::uint64_t{1} << 32; }},
       {"k for cells", "offset 64", [](ImageHeader& h) { h.kind_params[1] = 9; }},
       {"a third parameter", "offset 120", [](ImageHeader& h) { h.kind_params[2] = 1; }},
       {"a state", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }}});
}

// The last byte of the cells is after the last slot; of 101 slots in half bytes, the upper half of the byte of the
// last, too.
TEST(CorruptFading, what_is_after_the_last_slot_is_zero) {
  for (std::size_t i = 1; i < kShapes.size(); ++i) {
    const Bytes good = filled_fading(kShapes[i]).to_bytes();
    const std::size_t slots_end = sizeof(ImageHeader) + kShapes[i].slots * kShapes[i].bits / 8;
    for (std::size_t at = slots_end; at < sizeof(ImageHeader) + kCacheLineBytes; ++at) {
      Bytes bytes = good;
      bytes[at] |= std::byte{0x80};
      fix_trailer(bytes);
      expect_refused<FadingFingerprints>(bytes, Trust::fast, "byte " + std::to_string(at));
    }
  }
}

TEST(CorruptRecentValues, what_is_after_the_last_cell_is_zero) {
  const Bytes good = filled_values().to_bytes();
  const std::size_t cells_end = sizeof(ImageHeader) + filled_values().cell_count() * sizeof(std::uint32_t);
  for (std::size_t at = cells_end; at < sizeof(ImageHeader) + filled_values().cells_bytes(); ++at) {
    Bytes bytes = good;
    bytes[at] = std::byte{1};
    fix_trailer(bytes);
    expect_refused<RecentValues>(bytes, Trust::fast, "byte " + std::to_string(at));
  }
}

// The largest count that is read: continuing from there must give images that can be read, too.
template <class F, class Insert>
void count_on_from_the_largest(Bytes bytes, const Insert& insert) {
  ImageHeader header = header_of(bytes);
  header.keys_inserted = kMaxKeysInserted;
  set_header(bytes, header);
  fix_header_checksum(bytes);
  auto filter = F::from_bytes(bytes).value();
  insert(filter);
  const auto again = F::from_bytes(filter.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  EXPECT_EQ(again->keys_inserted(), kMaxKeysInserted);
}

TEST(CorruptFading, counts_at_their_largest_stay_readable) {
  count_on_from_the_largest<FadingFingerprints>(filled_fading(kShapes[0]).to_bytes(),
                                                [](FadingFingerprints& filter) { filter.insert(Digest{12345}); });
  count_on_from_the_largest<RecentValues>(filled_values().to_bytes(),
                                          [](RecentValues& filter) { filter.put(Digest{12345}, 6); });
}

}  // namespace
}  // namespace mankai::test::corrupt::fading
