// Images that are not what they claim to be: altered in one bit, cut, extended, or made by somebody who knows the
// checksums. Every one gives an error that names its cause and offset; none crashes (run under sanitizers too), and
// none makes the reader allocate before it has been refused.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/parts/cut_cells.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/corrupt/forgery_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::test::corrupt::image {
namespace {

// A filter of so many keys, all of them inserted; of a kind that grows, several sub-filters of the smallest size.
Subject filled(const Example& example, std::uint64_t keys, const HashSpec& hash = kXxh3) {
  auto filter = example.kind->can_grow ? make(example, {.keys = 10, .fpr = 0.3, .hash = hash})
                                       : make(example, {.keys = keys, .hash = hash});
  insert_random(filter, keys, example.kind->can_grow ? 60 : keys);
  return filter;
}

// With about so many bytes at most, where the kind can be as small: every bit of it is tried.
Subject small(const Example& example) {
  constexpr std::uint64_t kBytesMax = 2500;
  for (std::uint64_t keys = 1000;; keys /= 2) {
    if (auto filter = filled(example, keys); filter.image_bytes() <= kBytesMax || keys < 40) {
      return filter;
    }
  }
}

// As few keys as make more than two chunks of cells.
std::uint64_t keys_of_chunks(const Example& example) {
  std::uint64_t keys = 1000;
  while (make(example, {.keys = keys}).cells_bytes() <= 2 * kChunkBytes) {
    keys += keys / 4;
  }
  return keys;
}

class CorruptImage : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, CorruptImage, testing::ValuesIn(shapes()), test_name);

class CorruptFlatImage : public testing::TestWithParam<Example> {
 protected:
  static Bytes image(std::uint64_t keys) { return filled(GetParam(), keys).to_bytes(); }
};
INSTANTIATE_TEST_SUITE_P(every_kind, CorruptFlatImage, testing::ValuesIn(shapes(is_flat)), test_name);

// Cells of the others have a structure, which is checked also without their checksums.
bool has_plain_cells(const KindDescription& kind) {
  return is_flat(kind) && kind.name != "decayed-top" && !kind.name.starts_with("time-decaying-pooled") &&
         !kind.name.starts_with("time-decaying-tiered");
}

class CorruptPlainCells : public CorruptFlatImage {};
INSTANTIATE_TEST_SUITE_P(every_kind, CorruptPlainCells, testing::ValuesIn(shapes(has_plain_cells)), test_name);

bool is_about_bytes(ErrorCode code) { return code == ErrorCode::corrupt || code == ErrorCode::unsupported_version; }

// Refused, for a cause that bytes can have, with an offset or a size in the text, and before memory was asked for.
void expect_refused(const Subject& filter, std::span<const std::byte> bytes, Trust trust, const std::string& what) {
  CountingMemory counter;
  const auto opened = filter.from_bytes(bytes, trust, counter.memory());
  ASSERT_FALSE(opened.has_value()) << what;
  ASSERT_TRUE(is_about_bytes(opened.error().code)) << what << ": " << opened.error().detail;
  ASSERT_TRUE(opened.error().detail.find("offset") != std::string::npos ||
              opened.error().detail.find("bytes") != std::string::npos)
      << what << ": " << opened.error().detail;
  ASSERT_EQ(counter.calls, 0U) << what;
  AlignedBytes in_place(bytes);
  const auto attached = filter.attach(in_place.span(), trust);
  ASSERT_FALSE(attached.has_value()) << what;
  ASSERT_EQ(attached.error().detail, opened.error().detail) << what;
  ASSERT_FALSE(filter_from_region(Region::borrow(in_place.span()), trust).has_value()) << what;
}

void flip(Bytes& bytes, std::size_t bit) { bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8)); }

TEST_P(CorruptImage, every_flipped_bit_is_found) {
  const Subject filter = small(GetParam());
  Bytes bytes = filter.to_bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    flip(bytes, bit);
    expect_refused(filter, bytes, Trust::checked, "bit " + std::to_string(bit));
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    flip(bytes, bit);
  }
}

// Two chunks and a bit; the bits of the header and trailer, and a sample of those between.
TEST_P(CorruptFlatImage, sampled_flipped_bits_of_several_chunks_are_found) {
  const Subject filter = make(GetParam());
  Bytes bytes = image(keys_of_chunks(GetParam()));
  ASSERT_GT(bytes.size(), 2 * kChunkBytes);
  constexpr std::size_t kStep = kIsSampled ? 4001 : 509;
  const std::size_t trailer = kHeaderBytes + make(GetParam(), {.keys = keys_of_chunks(GetParam())}).cells_bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += bit / 8 < kHeaderBytes || bit / 8 >= trailer ? 1 : kStep) {
    flip(bytes, bit);
    expect_refused(filter, bytes, Trust::checked, "bit " + std::to_string(bit));
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    flip(bytes, bit);
  }
}

TEST_P(CorruptImage, every_truncation_is_found_even_when_trusted) {
  const Subject filter = small(GetParam());
  const Bytes bytes = filter.to_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      // A copy of its own, so that a read past the end is seen.
      expect_refused(filter, Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), trust,
                     "cut to " + std::to_string(size));
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_P(CorruptImage, every_extension_is_found_even_when_trusted) {
  const Subject filter = small(GetParam());
  Bytes bytes = filter.to_bytes();
  for (std::size_t more = 1; more <= 300; ++more) {
    bytes.push_back(static_cast<std::byte>(more % 3));
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      expect_refused(filter, bytes, trust, std::to_string(more) + " more bytes");
    }
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST_P(CorruptPlainCells, trusted_cells_are_taken_as_they_are_until_verified) {
  const Subject filter = make(GetParam());
  const Bytes original = image(keys_of_chunks(GetParam()));
  const std::size_t cells_bytes = make(GetParam(), {.keys = keys_of_chunks(GetParam())}).cells_bytes();
  for (std::size_t at = 0; at < cells_bytes; at += 9973) {
    Bytes bytes = original;
    bytes[kHeaderBytes + at] ^= std::byte{0x10};
    const auto opened = filter.from_bytes(bytes, Trust::fast);
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    const auto verified = opened->verify();
    ASSERT_FALSE(verified.has_value());
    EXPECT_EQ(verified.error().code, ErrorCode::corrupt);
    const std::string offset = "offset " + std::to_string(kHeaderBytes + at / kChunkBytes * kChunkBytes) + " ";
    EXPECT_NE(verified.error().detail.find(offset), std::string::npos) << verified.error().detail;
    const auto checked = filter.from_bytes(bytes, Trust::checked);
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().detail, verified.error().detail);
  }
}

TEST_P(CorruptPlainCells, chunks_that_changed_places_are_found) {
  const Subject filter = make(GetParam());
  Bytes bytes = image(keys_of_chunks(GetParam()));
  std::swap_ranges(bytes.begin() + kHeaderBytes, bytes.begin() + kHeaderBytes + kChunkBytes,
                   bytes.begin() + kHeaderBytes + kChunkBytes);
  const std::size_t trailer = kHeaderBytes + make(GetParam(), {.keys = keys_of_chunks(GetParam())}).cells_bytes();
  std::array<std::byte, 8> first{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(trailer), 8, first.begin());
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(trailer) + 8, 8,
              bytes.begin() + static_cast<std::ptrdiff_t>(trailer));
  std::copy_n(first.begin(), 8, bytes.begin() + static_cast<std::ptrdiff_t>(trailer) + 8);
  // The sums moved along with their chunks and the sum over the sums is made right.
  fix_trailer_sum(bytes, trailer);
  EXPECT_TRUE(filter.from_bytes(bytes, Trust::fast).has_value());
  expect_refused(filter, bytes, Trust::checked, "swapped chunks");
}

// Two filters of one shape: the header of one on the cells and the trailer of the other is nobody's filter.
TEST_P(CorruptFlatImage, another_filters_header_is_found_even_when_trusted) {
  const Subject filter = make(GetParam());
  const Bytes mine = image(1000);
  for (const HashSpec& other : {HashSpec{.kind = HashKind::xxh3, .seed = {1, 0}}, kSiphash}) {
    auto theirs = make(GetParam(), {.keys = 1000, .hash = other});
    insert_random(theirs, 7, 1000);
    Bytes mixed = theirs.to_bytes();
    ASSERT_EQ(mixed.size(), mine.size());
    std::copy_n(mine.begin(), kHeaderBytes, mixed.begin());
    expect_refused(filter, mixed, Trust::fast, "another filter's header");
  }
}

TEST_P(CorruptFlatImage, a_newer_version_is_unsupported_and_says_which) {
  const Subject filter = make(GetParam());
  Bytes bytes = image(10);
  for (const unsigned version : {kImageVersion + 1U, 0xffffU}) {
    ImageHeader header = header_of(bytes);
    header.format_version = static_cast<std::uint16_t>(version);
    set_header(bytes, header);
    for (const bool is_fixed : {false, true}) {
      if (is_fixed) {
        fix_header_checksum(bytes);
      }
      const auto opened = filter.from_bytes(bytes);
      ASSERT_FALSE(opened.has_value());
      EXPECT_EQ(opened.error().code, ErrorCode::unsupported_version);
      EXPECT_NE(opened.error().detail.find(std::to_string(version)), std::string::npos) << opened.error().detail;
    }
  }
}

TEST_P(CorruptFlatImage, a_misaligned_image_cannot_be_used_in_place) {
  const Subject filter = make(GetParam());
  const Bytes bytes = image(100);
  AlignedBytes room(Bytes(bytes.size() + 64));
  for (const std::size_t shift : {1U, 8U, 32U, 63U}) {
    const auto shifted = room.span().subspan(shift, bytes.size());
    std::copy(bytes.begin(), bytes.end(), shifted.begin());
    const auto attached = filter.attach(shifted);
    ASSERT_FALSE(attached.has_value());
    EXPECT_EQ(attached.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(attached.error().detail.find("from_bytes"), std::string::npos) << attached.error().detail;
  }
}

TEST_P(CorruptImage, no_bytes_at_all_are_refused) {
  const Subject filter = make(GetParam());
  EXPECT_EQ(filter.from_bytes({}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(filter.attach({}).error().code, ErrorCode::corrupt);
  EXPECT_EQ(filter.from_bytes(Bytes(1 << 16)).error().code, ErrorCode::corrupt);
}

std::vector<Forgery> forged_headers() {
  std::vector<Forgery> all = {
      {"version 0", "header", [](ImageHeader& h) { h.format_version = 0; }},
      {"no hash", "offset 12", [](ImageHeader& h) { h.hash_kind = 0; }, ErrorCode::unsupported_version},
      {"later hash", "offset 12", [](ImageHeader& h) { h.hash_kind = 6; }, ErrorCode::unsupported_version},
      {"a seed too long for its hash", "offset 24", [](ImageHeader& h) { h.hash_kind = 3; }},
      {"later layout, no cells", "offset 13",
       [](ImageHeader& h) {
         h.layout = 2;
         h.cells_bytes = 0;
       },
       ErrorCode::unsupported_version},
      {"a growing kind's layout", "bytes", [](ImageHeader& h) { h.layout = 1; }},
      {"later flag", "offset 13", [](ImageHeader& h) { h.flags = 1; }, ErrorCode::unsupported_version},
      {"no cells", "offset 16", [](ImageHeader& h) { h.cells_bytes = 0; }},
      {"cells of no whole lines", "offset 16", [](ImageHeader& h) { h.cells_bytes -= 1; }},
      {"all the cells there are", "offset 16", [](ImageHeader& h) { h.cells_bytes = ~std::uint64_t{63}; }},
      {"more than 2^48", "offset 16", [](ImageHeader& h) { h.cells_bytes = kMaxImageBytes + 64; }},
      {"2^48", "bytes", [](ImageHeader& h) { h.cells_bytes = kMaxImageBytes; }},
      {"a terabyte", "truncated", [](ImageHeader& h) { h.cells_bytes = std::uint64_t{1} << 40; }},
      {"one line more", "truncated", [](ImageHeader& h) { h.cells_bytes += 64; }},
      {"a count that could overflow", "offset 56", [](ImageHeader& h) { h.keys_inserted = kMaxKeysInserted + 1; }},
      {"largest count", "offset 56", [](ImageHeader& h) { h.keys_inserted = ~std::uint64_t{0}; }},
  };
  return all;
}

// What every kind so far needs, though a later one may not: a capacity and a rate.
std::vector<Forgery> forged_sizes() {
  std::vector<Forgery> all = {{"no capacity", "offset 40", [](ImageHeader& h) { h.capacity_keys = 0; }}};
  for (const double fpr : {0.0, -0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    all.push_back(
        {"rate " + std::to_string(fpr), "offset 48", [fpr](ImageHeader& h) { h.fpr_target_bits = bits_of(fpr); }});
  }
  return all;
}

// What a kind finds absurd about its own fields: kind_params begins at offset 64.
std::vector<Forgery> forged_blocks() {
  return {
      {"no blocks", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
      {"one block less", "offset 64", [](ImageHeader& h) { h.kind_params[0] -= 1; }},
      {"one block more", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 1; }},
      {"blocks that overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] += std::uint64_t{1} << 58; }},
      {"all the blocks there are", "offset 64", [](ImageHeader& h) { h.kind_params[0] = ~std::uint64_t{0}; }},
      {"a second parameter", "offset 120", [](ImageHeader& h) { h.kind_params[1] = 1; }},
      {"a last parameter", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }},
  };
}

std::uint64_t packed(std::uint64_t k, std::uint64_t field_bits) { return k | field_bits << 32; }

std::vector<Forgery> forged_classic() {
  return {
      {"no cells", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
      {"a line less", "offset 64", [](ImageHeader& h) { h.kind_params[0] -= 512; }},
      {"a cell more", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 1; }},
      {"cells that overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] += std::uint64_t{1} << 61; }},
      {"k of 0", "offset 72", [](ImageHeader& h) { h.kind_params[1] &= ~std::uint64_t{0xffffffff}; }},
      {"k of 65", "offset 72", [](ImageHeader& h) { h.kind_params[1] = packed(65, h.kind_params[1] >> 32); }},
      {"largest k", "offset 72", [](ImageHeader& h) { h.kind_params[1] |= 0xffffffff; }},
      {"fields a bit too long", "offset 76", [](ImageHeader& h) { h.kind_params[1] = packed(3, 15); }},
      {"fields a bit too short", "offset 76", [](ImageHeader& h) { h.kind_params[1] = packed(3, 13); }},
      {"fields of 64 bits", "offset 76", [](ImageHeader& h) { h.kind_params[1] = packed(3, 64); }},
      {"longest fields", "offset 76", [](ImageHeader& h) { h.kind_params[1] = packed(3, 0xffffffff); }},
      {"a third parameter", "offset 120", [](ImageHeader& h) { h.kind_params[2] = 1; }},
  };
}

// What every layout of counters finds absurd.
std::vector<Forgery> forged_counting_params() {
  return {
      {"no size", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
      {"sizes that overflow", "offset 64", [](ImageHeader& h) { h.kind_params[0] += std::uint64_t{1} << 58; }},
      {"the largest size", "offset 64", [](ImageHeader& h) { h.kind_params[0] = ~std::uint64_t{0}; }},
      {"k of 0", "offset 72", [](ImageHeader& h) { h.kind_params[1] &= ~std::uint64_t{0xffffffff}; }},
      {"largest k", "offset 72", [](ImageHeader& h) { h.kind_params[1] |= 0xffffffff; }},
      {"a fourth layout", "offset 76", [](ImageHeader& h) { h.kind_params[1] = packed(8, 3); },
       ErrorCode::unsupported_version},
      {"the last layout", "offset 76", [](ImageHeader& h) { h.kind_params[1] = packed(8, 0xffffffff); },
       ErrorCode::unsupported_version},
      {"a third parameter", "offset 120", [](ImageHeader& h) { h.kind_params[2] = 1; }},
      {"more stuck counters than counters", "offset 96",
       [](ImageHeader& h) { h.kind_state[0] = h.cells_bytes * 2 + 1; }},
      {"as many as can be written", "offset 96", [](ImageHeader& h) { h.kind_state[0] = ~std::uint64_t{0}; }},
      {"a third count", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }},
  };
}

std::vector<Forgery> forged_counting_blocked() {
  auto forgeries = forged_counting_params();
  forgeries.push_back({"one block less", "offset 64", [](ImageHeader& h) { h.kind_params[0] -= 1; }});
  forgeries.push_back({"one block more", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 1; }});
  forgeries.push_back({"k of 7", "offset 72", [](ImageHeader& h) { h.kind_params[1] = packed(7, 0); }});
  forgeries.push_back({"k of 65", "offset 72", [](ImageHeader& h) { h.kind_params[1] = packed(65, 0); }});
  forgeries.push_back({"the other layout", "offset 64", [](ImageHeader& h) { h.kind_params[1] = packed(8, 1); }});
  return forgeries;
}

std::vector<Forgery> forged_counting_partitioned() {
  auto forgeries = forged_counting_params();
  forgeries.push_back({"a line less", "offset 64", [](ImageHeader& h) { h.kind_params[0] -= 19; }});
  forgeries.push_back({"a line more", "offset 64", [](ImageHeader& h) { h.kind_params[0] += 19; }});
  forgeries.push_back({"another k", "offset 64", [](ImageHeader& h) { h.kind_params[1] = packed(8, 1); }});
  forgeries.push_back({"k of 65", "offset 72", [](ImageHeader& h) { h.kind_params[1] = packed(65, 1); }});
  forgeries.push_back({"the other layout", "offset 64", [](ImageHeader& h) { h.kind_params[1] = packed(8, 0); }});
  return forgeries;
}

std::vector<Forgery> forged_counting_dablooms() {
  auto forgeries = forged_counting_params();
  forgeries.push_back({"a line less", "offset 64", [](ImageHeader& h) { h.kind_params[0] -= 19; }});
  forgeries.push_back({"another k", "offset 64", [](ImageHeader& h) { h.kind_params[1] = packed(8, 2); }});
  forgeries.push_back({"k of 1025", "offset 72", [](ImageHeader& h) { h.kind_params[1] = packed(1025, 2); }});
  // Behind it the 32 bits of a position end.
  forgeries.push_back({"2^31 counters a probe", "offset 64", [](ImageHeader& h) {
                         h.kind_params[0] = std::uint64_t{1} << 31;
                         h.kind_params[1] = packed(1, 2);
                       }});
  return forgeries;
}

// One byte of the third word of the kind's own.
void set_byte(ImageHeader& header, unsigned byte, std::uint64_t value) {
  const unsigned shift = byte * 8;
  header.kind_params[2] = (header.kind_params[2] & ~(std::uint64_t{0xff} << shift)) | value << shift;
}

std::vector<Forgery> forged_decayed_counts() {
  return {
      {"lambda above 1", "offset 64", [](ImageHeader& h) { h.kind_params[0] = (std::uint64_t{1} << 32) + 1; }},
      {"no epoch", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 0; }},
      {"an epoch without end", "offset 72", [](ImageHeader& h) { h.kind_params[1] = std::uint64_t{1} << 63; }},
      {"k of 0", "offset 80", [](ImageHeader& h) { set_byte(h, 0, 0); }},
      {"k of 65", "offset 80", [](ImageHeader& h) { set_byte(h, 0, 65); }},
      {"cells of 4 bits", "offset 81", [](ImageHeader& h) { set_byte(h, 1, 4); }},
      {"cells of 64 bits", "offset 81", [](ImageHeader& h) { set_byte(h, 1, 64); }},
      {"a later policy", "offset 82", [](ImageHeader& h) { set_byte(h, 2, 4); }, ErrorCode::unsupported_version},
      {"a later rule", "offset 83", [](ImageHeader& h) { set_byte(h, 3, 2); }, ErrorCode::unsupported_version},
      {"fraction bits of another policy", "offset 84", [](ImageHeader& h) { set_byte(h, 4, 1); }},
      {"forced without need", "offset 85", [](ImageHeader& h) { set_byte(h, 5, 1); }},
      {"a fixed point that keeps too much", "offset 85", [](ImageHeader& h) { set_byte(h, 2, 0); }},
      {"a reserved byte", "offset 85", [](ImageHeader& h) { set_byte(h, 7, 1); }},
      {"no such tick", "offset 96", [](ImageHeader& h) { h.kind_state[0] = kMaxTick + 1; }},
      {"saturations without number", "offset 104", [](ImageHeader& h) { h.kind_state[1] = ~std::uint64_t{0}; }},
      {"cut cells, but no saturation", "offset 104", [](ImageHeader& h) { h.kind_state[2] = 1; }},
      {"cut cells above all cells", "offset 112",
       [](ImageHeader& h) {
         h.kind_state[1] = 1;
         h.kind_state[2] = CutCells::one(256, 1).word();
       }},
      {"a cut cell that lost nothing", "offset 112",
       [](ImageHeader& h) {
         h.kind_state[1] = 1;
         h.kind_state[2] = CutCells{.oldest = 4}.word();
       }},
      {"a cut cell that lost no number", "offset 112",
       [](ImageHeader& h) {
         h.kind_state[1] = 1;
         h.kind_state[2] = CutCells{.oldest = 4, .lost = std::numeric_limits<float>::quiet_NaN()}.word();
       }},
      {"a cut cell that lost more than there is", "offset 112",
       [](ImageHeader& h) {
         h.kind_state[1] = 1;
         h.kind_state[2] = CutCells{.oldest = 4, .lost = std::numeric_limits<float>::infinity()}.word();
       }},
      {"a cut cell that won", "offset 112",
       [](ImageHeader& h) {
         h.kind_state[1] = 1;
         h.kind_state[2] = CutCells{.oldest = 4, .lost = -1}.word();
       }},
  };
}

// What is absurd about a kind's own fields, for the kinds without a suite of their own (corrupt_fading_test.cpp and the
// others here).
std::vector<Forgery> forged_params(const Example& example) {
  const std::string_view layout = option_of(example.parsed, "layout");
  switch (static_cast<std::uint16_t>(example.kind->kind)) {
    case BlockedBloom::kKind: return forged_blocks();
    case Bloom::kKind: return forged_classic();
    case CountingBloom::kKind:
      return layout == "partitioned" ? forged_counting_partitioned()
             : layout == "dablooms"  ? forged_counting_dablooms()
                                     : forged_counting_blocked();
    case TimeDecayingCounts::kKind:
      return option_of(example.parsed, "policy") == "ceil" ? forged_decayed_counts() : std::vector<Forgery>();
    default: return {};
  }
}

std::vector<Example> shapes_with_forgeries() {
  std::vector<Example> all = shapes();
  std::erase_if(all, [](const Example& example) { return forged_params(example).empty(); });
  return all;
}

class ForgedImage : public testing::TestWithParam<Example> {
 protected:
  static Bytes image(std::uint64_t keys) { return filled(GetParam(), keys).to_bytes(); }
};
INSTANTIATE_TEST_SUITE_P(every_shape, ForgedImage, testing::ValuesIn(shapes_with_forgeries()), test_name);

void expect_forgery_refused(const Subject& filter, const Bytes& original, const Forgery& forgery,
                            std::size_t allocations_max) {
  Bytes bytes = with_forgery(original, forgery);
  fix_trailer(bytes);
  for (const Trust trust : {Trust::checked, Trust::fast}) {
    CountingMemory counter;
    const auto opened = filter.from_bytes(bytes, trust, counter.memory());
    ASSERT_NO_FATAL_FAILURE(expect_names(opened, forgery));
    EXPECT_LE(counter.calls, allocations_max) << forgery.name;
    EXPECT_LE(counter.last_bytes, bytes.size()) << forgery.name;
    EXPECT_EQ(counter.bytes_in_use, 0U) << forgery.name;
    AlignedBytes in_place(bytes);
    EXPECT_FALSE(filter.attach(in_place.span(), trust).has_value()) << forgery.name;
  }
}

TEST_P(CorruptFlatImage, absurd_header_fields_behind_right_checksums_are_refused_without_allocating) {
  const Subject filter = make(GetParam());
  const Bytes original = image(1000);
  for (const Forgery& forgery : forged_headers()) {
    expect_forgery_refused(filter, original, forgery, 0);
  }
}

// Those are read from the copy: at most as much memory as there were bytes.
TEST_P(ForgedImage, absurd_parameters_of_the_kind_behind_right_checksums_are_refused) {
  const Subject filter = make(GetParam());
  const Bytes original = image(1000);
  for (const Forgery& forgery : forged_params(GetParam())) {
    expect_forgery_refused(filter, original, forgery, 1);
  }
  for (const Forgery& forgery : forged_sizes()) {
    expect_forgery_refused(filter, original, forgery, 1);
  }
  expect_forgery_refused(filter, original,
                         {"unknown kind", "kind 999 at offset 10", [](ImageHeader& h) { h.kind = 999; }}, 1);
}

TEST(CorruptClassicImage, bits_after_the_last_cell_are_refused) {
  auto filter = Subject(Bloom::create({.keys = 1000, .fpr = 0.01}).value());
  insert_random(filter, 3, 5000);
  const Forgery fewer{"fewer cells", "after the last", [](ImageHeader& h) { h.kind_params[0] -= 100; }};
  expect_forgery_refused(filter, filter.to_bytes(), fewer, 1);
}

TEST(CorruptCountingImage, counters_after_the_last_cell_are_refused) {
  auto filter = CountingBloom::create({.keys = 1000, .layout = CountingLayout::partitioned, .hash = kXxh3}).value();
  insert_random(filter, 3, 5000);
  // Some lines have room for a counter less in each partition.
  for (std::uint64_t less = 1; less < 10; ++less) {
    const CountingBloom::Params params = filter.params();
    Bytes bytes = filter.to_bytes();
    ImageHeader header = header_of(bytes);
    header.kind_params[0] = params.size - less;
    if ((header.kind_params[0] * params.k / 2 + 63) / 64 * 64 != header.cells_bytes) {
      continue;
    }
    set_header(bytes, header);
    fix_header_checksum(bytes);
    fix_trailer(bytes);
    const auto opened = CountingBloom::from_bytes(bytes);
    ASSERT_FALSE(opened.has_value());
    EXPECT_NE(opened.error().detail.find("bits after the last"), std::string::npos) << opened.error().detail;
    return;
  }
  FAIL() << "no size to try";
}

// k is known to divide the cells otherwise: what were a partition's cells are after the last.
TEST(CorruptTimeDecayingImage, cells_after_the_last_are_refused) {
  auto filter =
      Subject(TimeDecayingCounts::create({.keys = 1000,
                                          .decay = {.lambda_q32 = kLambdaOne / 8 * 7, .epoch = Duration(1000)},
                                          .width_bits = 8,
                                          .policy = DecayPolicy::ceil,
                                          .hash = kXxh3})
                  .value());
  insert_random(filter, 3, 5000);
  const std::uint64_t cells = filter.cells_bytes();
  std::uint64_t k = 64;
  while (cells % k == 0) {
    --k;
  }
  const Forgery other{"another k", "after the last", [k](ImageHeader& h) { set_byte(h, 0, k); }};
  expect_forgery_refused(filter, filter.to_bytes(), other, 1);
}

TEST(CorruptTimeDecayingImage, fewer_cells_than_a_key_has_are_refused) {
  const auto filter = Subject(
      TimeDecayingCounts::create({.bytes = 64, .k = 1, .decay = Decay::of(0.5, Duration(1)).value(), .width_bits = 32})
          .value());
  const Forgery forgery{"k of 17", "offset 80", [](ImageHeader& h) { set_byte(h, 0, 17); }};
  expect_forgery_refused(filter, filter.to_bytes(), forgery, 1);
}

// What is odd but not absurd opens, and nothing that is asked of it goes out of bounds.
TEST_P(ForgedImage, odd_counts_behind_right_checksums_are_only_numbers) {
  const Subject filter = make(GetParam());
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1} << 53, kMaxKeysInserted}) {
    Bytes bytes = image(100);
    ImageHeader header = header_of(bytes);
    header.keys_inserted = count;
    header.capacity_keys = ~count;
    set_header(bytes, header);
    fix_header_checksum(bytes);
    fix_trailer(bytes);
    auto opened = filter.from_bytes(bytes);
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    EXPECT_EQ(opened->keys_inserted(), count);
    EXPECT_FALSE(opened->is_full());
    const auto other = filter.from_bytes(bytes).value();
    insert_random(*opened, 1, 10);
    EXPECT_TRUE(opened->merge(other).has_value());
    EXPECT_GE(opened->keys_inserted(), count);
    EXPECT_LE(opened->keys_inserted(), 2 * count + 10);
    EXPECT_TRUE(filter.from_bytes(opened->to_bytes()).has_value());
    EXPECT_GE(opened->fpr_expected(opened->capacity_keys()), 0);
  }
}

// The largest counts that are read: continuing from there must give images that can be read, too.
TEST(CorruptTimeDecayingCounts, counts_at_their_largest_stay_readable) {
  auto filter = TimeDecayingCounts::create({.keys = 4,
                                            .decay = {.lambda_q32 = kLambdaOne / 2, .epoch = Duration(1)},
                                            .width_bits = 8,
                                            .policy = DecayPolicy::floor,
                                            .hash = kXxh3})
                    .value();
  filter.insert(Digest{1}, 1000);
  Bytes bytes = filter.to_bytes();
  ImageHeader header = header_of(bytes);
  header.kind_state[1] = kMaxKeysInserted;
  set_header(bytes, header);
  fix_header_checksum(bytes);
  fix_trailer(bytes);
  const auto open = [](const TimeDecayingCounts& from) { return TimeDecayingCounts::from_bytes(from.to_bytes()); };
  auto opened = TimeDecayingCounts::from_bytes(bytes).value();
  opened.insert(Digest{1}, 1000);
  ASSERT_TRUE(open(opened).has_value());
  opened.insert(std::vector<Digest>(10, Digest{1}));
  ASSERT_TRUE(open(opened).has_value());
  ASSERT_TRUE(opened.merge(open(opened).value()).has_value());
  EXPECT_EQ(opened.saturations(), kMaxKeysInserted);
  EXPECT_TRUE(open(opened).has_value());
}

}  // namespace
}  // namespace mankai::test::corrupt::image
