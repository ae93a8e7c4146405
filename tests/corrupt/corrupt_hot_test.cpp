// Images of decayed-top and rotating-bloom that are not what they claim to be. Every flipped bit and every truncation
// is found; what somebody forged who knows the checksums is refused by name, or is a filter that behaves.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "tests/corrupt/forgery_test_support.hpp"
#include "tests/support/hot_keys.hpp"

namespace mankai::test::corrupt::hot {
namespace {

template <class F>
void expect_refused(const Bytes& bytes, const std::string& what) {
  const auto opened = F::from_bytes(bytes);
  ASSERT_FALSE(opened.has_value()) << what;
  ASSERT_TRUE(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version)
      << what << ": " << opened.error().detail;
}

template <class F>
void expect_damage_found(Bytes bytes) {
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    expect_refused<F>(bytes, "bit " + std::to_string(bit));
    bytes[bit / 8] ^= mask;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_refused<F>(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), "cut");
  }
  bytes.push_back(std::byte{0});
  expect_refused<F>(bytes, "extended");
}

TEST(CorruptDecayedTop, every_flipped_bit_and_every_truncation_is_found) {
  expect_damage_found<DecayedTop>(filled_top().to_bytes());
}

TEST(CorruptRotatingBloom, every_flipped_bit_and_every_truncation_is_found) {
  expect_damage_found<RotatingBloom>(filled_rotating().to_bytes());
}

// What opens must behave, whatever it holds, and its image must open again.
void use(DecayedTop filter) {
  const Hasher hash = filter.hasher();
  const auto entries = filter.top(1000);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    ASSERT_GE(entries[i - 1].count.raw, entries[i].count.raw);
  }
  auto other = DecayedTop::from_bytes(filter.to_bytes()).value();
  for (int i = 0; i < 100; ++i) {
    const std::string key(static_cast<std::size_t>(i), 'q');
    filter.insert(hash(std::string_view(key)), key, filter.newest() + std::chrono::seconds(i));
  }
  filter.advance(Tick{filter.tick().value + 3});
  ASSERT_TRUE(filter.merge(other).has_value());
  const auto again = DecayedTop::from_bytes(filter.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  ASSERT_EQ(again->top(5).size(), filter.top(5).size());
}

// Goal: no byte of the header's own words or the cells can be anything that crashes. Method: each is set to some values
// behind right checksums, under both kinds of trust.
void expect_forged_bytes_refused_or_harmless(const DecayedTop& filled) {
  const Bytes good = filled.to_bytes();
  ASSERT_TRUE(DecayedTop::from_bytes(good).has_value());
  const std::size_t cells_end = sizeof(ImageHeader) + filled.cells_bytes();
  std::size_t harmless = 0;
  std::size_t refused = 0;
  for (std::size_t at = offsetof(ImageHeader, kind_params); at < cells_end; ++at) {
    if (at >= offsetof(ImageHeader, checksum) && at < sizeof(ImageHeader)) {
      continue;
    }
    for (const unsigned value : {1U, 0xffU}) {
      Bytes bytes = good;
      bytes[at] = static_cast<std::byte>(value);
      fix_header_checksum(bytes);
      fix_trailer(bytes);
      auto opened = DecayedTop::from_bytes(bytes, at % 2 == 0 ? Trust::checked : Trust::fast);
      if (opened) {
        ++harmless;
        use(std::move(*opened));
      } else {
        ++refused;
        ASSERT_EQ(opened.error().code, ErrorCode::corrupt) << opened.error().detail;
        ASSERT_NE(opened.error().detail.find("offset"), std::string::npos) << opened.error().detail;
      }
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "byte " << at << " as " << value;
    }
  }
  EXPECT_GT(harmless, 500U);
  EXPECT_GT(refused, 500U);
}

TEST(CorruptDecayedTop, forged_bytes_are_refused_or_harmless) {
  expect_forged_bytes_refused_or_harmless(filled_top());
  expect_forged_bytes_refused_or_harmless(filled_top(kXxh3, CountRounding::balanced));
}

constexpr Duration kWindow = std::chrono::minutes(8);

TEST(CorruptDecayedTop, forged_bytes_of_windows_are_refused_or_harmless) {
  expect_forged_bytes_refused_or_harmless(filled_top(kXxh3, CountRounding::strict, kWindow));
  expect_forged_bytes_refused_or_harmless(filled_top(kXxh3, CountRounding::balanced, kWindow));
}

TEST(CorruptDecayedTop, forged_parameters_are_refused_by_offset) {
  expect_all_refused<DecayedTop>(
      filled_top().to_bytes(),
      {{"another kind", "offset 10", [](ImageHeader& h) { h.kind = 12; }},
       {"lambda above 1", "offset 64", [](ImageHeader& h) { h.kind_params[0] = (std::uint64_t{1} << 32) + 1; }},
       {"no epoch", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 0; }},
       {"an epoch beyond time", "offset 72", [](ImageHeader& h) { h.kind_params[1] = std::uint64_t{1} << 63; }},
       {"no buckets", "offset 80", [](ImageHeader& h) { h.kind_params[2] &= ~std::uint64_t{0xffffffff}; }},
       {"all buckets", "offset 80", [](ImageHeader& h) { h.kind_params[2] |= 0xffffffff; }},
       {"no names", "offset 84", [](ImageHeader& h) { h.kind_params[2] &= 0xffffffff; }},
       {"names only", "offset 84", [](ImageHeader& h) { h.kind_params[2] |= std::uint64_t{60} << 32; }},
       {"a tick beyond time", "offset 96", [](ImageHeader& h) { h.kind_state[0] = kMaxTick + 1; }},
       {"a tick before the newest event", "offset 104", [](ImageHeader& h) { h.kind_state[0] -= 1; }},
       {"a newest event beyond time", "offset 104", [](ImageHeader& h) { h.kind_state[1] = ~std::uint64_t{0}; }},
       {"a third count", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }}});
}

TEST(CorruptDecayedTop, forged_windows_are_refused_by_offset) {
  constexpr std::uint64_t kIsWindow = DecayedTop::Params::kWindow;
  expect_all_refused<DecayedTop>(
      filled_top(kXxh3, CountRounding::strict, kWindow).to_bytes(),
      {{"counts that decay", "offset 80", [](ImageHeader& h) { h.kind_params[0] -= 1; }},
       {"no window", "offset", [](ImageHeader& h) { h.kind_params[2] &= ~kIsWindow; }},
       {"all buckets", "offset 80", [](ImageHeader& h) { h.kind_params[2] |= 0x3fffffff; }},
       {"names only", "offset 84", [](ImageHeader& h) { h.kind_params[2] |= std::uint64_t{60} << 32; }}});
  expect_all_refused<DecayedTop>(filled_top().to_bytes(), {{"a window of counts that decay", "offset 80",
                                                            [](ImageHeader& h) { h.kind_params[2] |= kIsWindow; }},
                                                           {"a window of eight panes", "offset 80", [](ImageHeader& h) {
                                                              h.kind_params[2] |= kIsWindow;
                                                              h.kind_params[0] = kLambdaOne;
                                                            }}});
}

// The largest counts that are read: continuing from there must give images that can be read, too.
TEST(CorruptDecayedTop, counts_at_their_largest_stay_readable) {
  Bytes bytes = filled_top().to_bytes();
  std::memcpy(bytes.data() + sizeof(ImageHeader), &kMaxKeysInserted, sizeof(kMaxKeysInserted));
  fix_header_checksum(bytes);
  fix_trailer(bytes);
  auto filter = DecayedTop::from_bytes(bytes).value();
  const std::string_view key = "/late";
  filter.insert(filter.hasher()(key), key, Time(std::chrono::seconds(1)));
  EXPECT_EQ(filter.late_records(), kMaxKeysInserted);
  use(std::move(filter));
}

TEST(CorruptRotatingBloom, counts_at_their_largest_stay_readable) {
  Bytes bytes = filled_rotating().to_bytes();
  ImageHeader header = header_of(bytes);
  header.kind_state[1] = kMaxKeysInserted;
  set_header(bytes, header);
  fix_header_checksum(bytes);
  fix_trailer(bytes);
  auto filter = RotatingBloom::from_bytes(bytes).value();
  filter.insert(Digest{12345});
  ASSERT_TRUE(filter.merge(RotatingBloom::from_bytes(filter.to_bytes()).value()).has_value());
  EXPECT_TRUE(RotatingBloom::from_bytes(filter.to_bytes()).has_value());
}

TEST(CorruptRotatingBloom, forged_parameters_are_refused_by_offset) {
  expect_all_refused<RotatingBloom>(
      filled_rotating().to_bytes(),
      {{"another kind", "offset 10", [](ImageHeader& h) { h.kind = 2; }},
       {"no blocks", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
       {"a block more", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 1; }},
       {"blocks that overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] += std::uint64_t{1} << 58; }},
       {"no epoch", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 0; }},
       {"an epoch beyond time", "offset 72", [](ImageHeader& h) { h.kind_params[1] = std::uint64_t{1} << 62; }},
       {"an epoch with which all generations are beyond time", "offset 72",
        [](ImageHeader& h) { h.kind_params[1] = std::uint64_t{1} << 61; }},
       {"one generation", "offset 80", [](ImageHeader& h) { h.kind_params[2] = 1; }},
       {"no generation", "offset 80", [](ImageHeader& h) { h.kind_params[2] = 0; }},
       {"too many generations", "offset 80", [](ImageHeader& h) { h.kind_params[2] = 65; }},
       {"another number of generations", "offset 64", [](ImageHeader& h) { h.kind_params[2] = 3; }},
       {"reserved bytes", "offset 80", [](ImageHeader& h) { h.kind_params[2] |= std::uint64_t{1} << 32; }},
       {"a tick beyond time", "offset 96", [](ImageHeader& h) { h.kind_state[0] = kMaxTick + 1; }},
       {"too many keys", "offset 104", [](ImageHeader& h) { h.kind_state[1] = ~std::uint64_t{0}; }},
       {"a third count", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }}});
}

}  // namespace
}  // namespace mankai::test::corrupt::hot
