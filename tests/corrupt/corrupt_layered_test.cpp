// Images of layered filters that are not what they claim to be: altered in one bit, cut, extended, or put together with
// right checksums from arrays that do not belong together. Every one gives an error that names its cause; none
// crashes (run under sanitizers too).

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/parts/sliced_image.hpp"
#include "tests/corrupt/forgery_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/paths.hpp"

namespace mankai::test::corrupt::layered {
namespace {

class CorruptLayered : public testing::TestWithParam<UrlShape> {
 protected:
  static LayeredUrlBloom filled() {
    auto filter = make(GetParam(), {.keys = 60, .fpr = 0.05});
    Random random(1);
    for (int i = 0; i < 60; ++i) {
      filter.insert(random_path(random, 1 + random.below(3), 50));
    }
    return filter;
  }
};
INSTANTIATE_TEST_SUITE_P(shapes, CorruptLayered, testing::Values(kRepaired, kFaithful), UrlShapeNames{});

void expect_refused(std::span<const std::byte> bytes, Trust trust, const std::string& what) {
  CountingMemory counter;
  const auto opened = LayeredUrlBloom::from_bytes(bytes, trust, counter.memory());
  ASSERT_FALSE(opened.has_value()) << what;
  ASSERT_TRUE(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version)
      << what << ": " << opened.error().detail;
  ASSERT_EQ(counter.bytes_in_use, 0U) << what;
}

TEST_P(CorruptLayered, every_flipped_bit_is_found) {
  Bytes bytes = filled().to_bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    expect_refused(bytes, Trust::checked, "bit " + std::to_string(bit));
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST_P(CorruptLayered, every_truncation_and_extension_is_found_even_when_trusted) {
  Bytes bytes = filled().to_bytes();
  for (const Trust trust : {Trust::checked, Trust::fast}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // A copy of its own, so that a read past the end is seen.
      expect_refused(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), trust,
                     "cut to " + std::to_string(size));
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
    Bytes longer = bytes;
    for (std::size_t more = 1; more <= 130; ++more) {
      longer.push_back(std::byte{0});
      expect_refused(longer, trust, std::to_string(more) + " more bytes");
    }
  }
}

// Puts an image together from a header and slices, with all checksums right.
Bytes assembled(ImageHeader header, const std::vector<Bytes>& slices) {
  const std::vector<std::span<const std::byte>> parts(slices.begin(), slices.end());
  Bytes bytes;
  for (const auto part : sliced_parts(header, parts)) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

std::vector<Bytes> slices_of(const LayeredUrlBloom& filter) {
  std::vector<Bytes> slices;
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    slices.push_back(filter.slice(i).to_bytes());
  }
  return slices;
}

TEST_P(CorruptLayered, a_header_with_right_checksums_and_wrong_fields_is_refused) {
  const auto filter = filled();
  const Bytes good = filter.to_bytes();
  const std::vector<Bytes> slices = slices_of(filter);
  ASSERT_EQ(assembled(header_of(good), slices), good);
  const std::vector<std::pair<const char*, std::function<void(ImageHeader&)>>> changes = {
      {"kind", [](ImageHeader& header) { header.kind = 4; }},
      {"an unknown mode", [](ImageHeader& header) { header.kind_params[1] += std::uint64_t{2} << 32; }},
      {"another number of probes", [](ImageHeader& header) { ++header.kind_params[1]; }},
      {"more cells", [](ImageHeader& header) { header.kind_params[0] *= 2; }},
      {"no cells", [](ImageHeader& header) { header.kind_params[0] = 0; }},
      {"no levels", [](ImageHeader& header) { header.kind_params[2] = 0; }},
      {"fewer levels than there are arrays", [](ImageHeader& header) { header.kind_params[2] = 2; }},
      {"more levels than there can be", [](ImageHeader& header) { header.kind_params[2] = 65; }},
      {"levels beyond 32 bits", [](ImageHeader& header) { header.kind_params[2] += std::uint64_t{1} << 32; }},
      {"a count behind the kind's own", [](ImageHeader& header) { header.kind_state[2] = 1; }},
      {"a slice tag", [](ImageHeader& header) { header.slice_tag = 1; }},
      {"no capacity", [](ImageHeader& header) { header.capacity_keys = 0; }},
      {"another capacity", [](ImageHeader& header) { ++header.capacity_keys; }},
      {"a rate of 1", [](ImageHeader& header) { header.fpr_target_bits = std::bit_cast<std::uint64_t>(1.0); }},
      {"another rate", [](ImageHeader& header) { header.fpr_target_bits = std::bit_cast<std::uint64_t>(0.01); }},
      {"another seed", [](ImageHeader& header) { ++header.seed[0]; }},
  };
  for (const auto& [what, change] : changes) {
    ImageHeader header = header_of(good);
    change(header);
    const Bytes bytes = assembled(header, slices);
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      expect_refused(bytes, trust, what);
    }
  }
  Bytes bytes = good;
  ImageHeader header = header_of(good);
  header.keys_inserted = kMaxKeysInserted + 1;
  set_header(bytes, header);
  fix_header_checksum(bytes);
  expect_refused(bytes, Trust::fast, "too many keys");
}

TEST_P(CorruptLayered, a_mode_that_is_unknown_is_a_later_librarys) {
  const auto filter = filled();
  ImageHeader header = header_of(filter.to_bytes());
  header.kind_params[1] += std::uint64_t{2} << 32;
  const auto opened = LayeredUrlBloom::from_bytes(assembled(header, slices_of(filter)));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported_version);
  EXPECT_NE(opened.error().detail.find("offset 76"), std::string::npos) << opened.error().detail;
}

TEST_P(CorruptLayered, arrays_that_are_not_this_filters_are_refused) {
  const auto filter = filled();
  const ImageHeader header = header_of(filter.to_bytes());
  const std::vector<Bytes> good = slices_of(filter);
  const auto replaced = [&good](std::size_t place, const LayeredUrlBloom& other, std::size_t from) {
    std::vector<Bytes> slices = good;
    slices[place] = other.slice(from).to_bytes();
    return slices;
  };
  expect_refused(assembled(header, replaced(1, filter, 2)), Trust::checked, "a level twice");
  expect_refused(assembled(header, replaced(0, filter, 1)), Trust::checked, "a level as the last array");
  std::vector<Bytes> slices = good;
  std::swap(slices[1], slices[2]);
  expect_refused(assembled(header, slices), Trust::checked, "levels that changed places");
  slices = good;
  slices[2] = Bloom::create({.keys = 60, .fpr = 0.001, .hash = filter.hash()}).value().to_bytes();
  expect_refused(assembled(header, slices), Trust::checked, "a classic filter of another size");
  slices[2] = BlockedBloom::create({.keys = 60, .fpr = 0.05, .hash = filter.hash()}).value().to_bytes();
  expect_refused(assembled(header, slices), Trust::checked, "an array of another kind");
  const auto other = make(GetParam(), {.keys = 60, .fpr = 0.05, .hash = kSiphash});
  expect_refused(assembled(header, replaced(0, other, 0)), Trust::checked, "an array of another seed");
  slices = good;
  while (slices.size() <= GetParam().max_levels + 1) {
    slices.push_back(slices.back());
  }
  expect_refused(assembled(header, slices), Trust::checked, "more levels than there are");
  expect_refused(assembled(header, {}), Trust::checked, "no array");
}

TEST_P(CorruptLayered, trusted_cells_are_taken_as_they_are_until_verified) {
  Bytes bytes = filled().to_bytes();
  bytes[2 * sizeof(ImageHeader) + 5] ^= std::byte{4};
  const auto opened = LayeredUrlBloom::from_bytes(bytes, Trust::fast);
  ASSERT_TRUE(opened.has_value()) << opened.error().detail;
  const auto verified = opened->verify();
  ASSERT_FALSE(verified.has_value());
  EXPECT_EQ(verified.error().code, ErrorCode::corrupt);
  EXPECT_NE(verified.error().detail.find("slice 0"), std::string::npos) << verified.error().detail;
}

}  // namespace
}  // namespace mankai::test::corrupt::layered
