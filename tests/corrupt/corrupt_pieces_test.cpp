// Images of counts in pieces that are not what they claim to be. Their cells have structure: links that could turn
// back, digits with two owners, slots out of order. Whoever knows the checksums can write any of it; it is refused, or
// it is a filter that behaves.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "tests/corrupt/forgery_test_support.hpp"
#include "tests/support/decayed_pieces.hpp"
#include "tests/support/random.hpp"

namespace mankai::test::corrupt::pieces {
namespace {

template <class F>
void expect_refused(const Bytes& bytes, Trust trust, const std::string& what) {
  const auto opened = F::from_bytes(bytes, trust);
  ASSERT_FALSE(opened.has_value()) << what;
  ASSERT_TRUE(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version);
  ASSERT_TRUE(opened.error().detail.find("offset") != std::string::npos ||
              opened.error().detail.find("bytes") != std::string::npos)
      << opened.error().detail;
}

template <class F>
void expect_damage_is_found(Bytes bytes) {
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    expect_refused<F>(bytes, Trust::checked, "bit " + std::to_string(bit));
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    expect_refused<F>(cut, Trust::fast, "cut to " + std::to_string(size));
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST(CorruptPieces, every_flipped_bit_and_every_truncation_is_found) {
  for (const Bytes& bytes : pooled_images()) {
    expect_damage_is_found<TimeDecayingPooledCounts>(bytes);
  }
  for (const Bytes& bytes : tiered_images()) {
    expect_damage_is_found<TimeDecayingTieredCounts>(bytes);
  }
}

// Without what is different from case to case, so that causes can be told apart.
std::string cause_of(std::string detail) {
  std::erase_if(detail, [](char letter) { return letter >= '0' && letter <= '9'; });
  return detail;
}

// Every bit, and many pairs of bytes, under right checksums. Adds to the causes that were given.
template <class F>
std::size_t change_everywhere(const Bytes& image, std::uint64_t seed, std::set<std::string>& causes) {
  std::size_t opened = 0;
  const auto try_it = [&](Bytes& bytes) {
    fix_header_checksum(bytes);
    fix_trailer(bytes);
    const std::string detail = open_pieces<F>(bytes, Trust::checked);
    opened += detail.empty() ? 1 : 0;
    causes.insert(cause_of(detail));
  };
  const std::size_t end = sizeof(ImageHeader) + static_cast<std::size_t>(header_of(image).cells_bytes);
  for (std::size_t bit = 0; bit < end * 8; ++bit) {
    Bytes bytes = image;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    try_it(bytes);
  }
  Random random(seed);
  for (int i = 0; i < 400; ++i) {
    Bytes bytes = image;
    for (std::uint64_t changes = 1 + random.below(4); changes != 0; --changes) {
      bytes[sizeof(ImageHeader) + random.below(end - sizeof(ImageHeader))] = static_cast<std::byte>(random.below(256));
    }
    try_it(bytes);
  }
  return opened;
}

bool has_cause(const std::set<std::string>& causes, std::string_view part) {
  return std::ranges::any_of(causes, [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

TEST(CorruptPieces, changes_under_right_checksums_are_refused_or_harmless) {
  std::set<std::string> causes;
  std::size_t opened = 0;
  std::uint64_t seed = 1;
  for (const Bytes& bytes : pooled_images()) {
    opened += change_everywhere<TimeDecayingPooledCounts>(bytes, seed++, causes);
  }
  EXPECT_GT(opened, 100U);
  for (const std::string_view cause : {"of kind",
                                       "lambda at offset",
                                       "epoch of",
                                       "k of",
                                       "of a later library",
                                       "flag or reserved bytes",
                                       "impossible number of counters",
                                       "digits at offset  do not fill",
                                       "reserved bytes at offset",
                                       "impossible tick",
                                       "impossible count of saturations",
                                       "bits after the last counter",
                                       "impossible counts of digits",
                                       "bits after the last slot",
                                       "a digit of no counter",
                                       "is not where its digits belong",
                                       "has too many digits",
                                       "has not as many digits as are counted",
                                       "bits after the last link",
                                       "a link to no digit, or to one that has an owner",
                                       "a digit of a counter of another list",
                                       "a counter that ends with a digit of ",
                                       "a free digit that is not",
                                       "digits that are neither in use nor free",
                                       "never used is not zero"}) {
    EXPECT_TRUE(has_cause(causes, cause)) << cause;
  }
  causes.clear();
  opened = 0;
  for (const Bytes& bytes : tiered_images()) {
    opened += change_everywhere<TimeDecayingTieredCounts>(bytes, seed++, causes);
  }
  EXPECT_GT(opened, 100U);
  for (const std::string_view cause : {"of kind", "lambda at offset", "epoch of", "k of", "counters of", "rounding",
                                       "do not fill the cells", "impossible tick", "impossible count of saturations",
                                       "bits after the last counter", "to the end of the cells"}) {
    EXPECT_TRUE(has_cause(causes, cause)) << cause;
  }
}

TEST(CorruptPieces, cut_cells_that_cannot_be_are_refused) {
  const auto expect_one_refused = [](Bytes bytes, std::uint64_t saturations, std::uint64_t cut, const auto& open) {
    ImageHeader header = header_of(bytes);
    header.kind_state[1] = saturations;
    header.kind_state[2] = cut;
    set_header(bytes, header);
    fix_header_checksum(bytes);
    fix_trailer(bytes);
    const std::string detail = open(bytes);
    EXPECT_NE(detail.find(saturations == 0 ? "offset 104" : "offset 112"), std::string::npos) << detail;
  };
  const auto expect_all_refused = [&](const Bytes& bytes, const auto& open) {
    expect_one_refused(bytes, 0, CutCells::one(1, 1).word(), open);
    expect_one_refused(bytes, 1, CutCells{.oldest = 4}.word(), open);
    for (const float lost : {-1.0F, -0.0F, std::numeric_limits<float>::quiet_NaN(), 0x1p65F}) {
      expect_one_refused(bytes, 1, CutCells{.oldest = 0, .lost = lost}.word(), open);
    }
  };
  expect_all_refused(pooled_images().front(),
                     [](const Bytes& bytes) { return open_pieces<TimeDecayingPooledCounts>(bytes, Trust::checked); });
  expect_all_refused(tiered_images().front(),
                     [](const Bytes& bytes) { return open_pieces<TimeDecayingTieredCounts>(bytes, Trust::checked); });
}

// A list that turns back to its own beginning must not be walked forever.
TEST(CorruptPieces, a_list_that_turns_back_is_refused) {
  Bytes bytes = filled_pieces<TimeDecayingPooledCounts>(
      {.counters = 4, .pool_share = 1, .decay = pieces_decay(), .lookup = PoolLookup::array, .hash = kPiecesHash});
  // Every byte behind the ledger in turn, links among them, is made many others.
  std::set<std::string> causes;
  const std::size_t end = sizeof(ImageHeader) + static_cast<std::size_t>(header_of(bytes).cells_bytes);
  for (std::size_t at = sizeof(ImageHeader) + kCacheLineBytes; at < end; ++at) {
    for (unsigned value = 0; value < 256; value += 15) {
      Bytes changed = bytes;
      changed[at] = static_cast<std::byte>(value);
      fix_trailer(changed);
      causes.insert(cause_of(open_pieces<TimeDecayingPooledCounts>(changed, Trust::checked)));
    }
  }
  EXPECT_TRUE(has_cause(causes, "to one that has an owner"));
}

}  // namespace
}  // namespace mankai::test::corrupt::pieces
