// Every kind over one flat image: its bytes are the filter, whichever way they come back.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

class ImageContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, ImageContract, testing::ValuesIn(shapes(is_flat)), test_name);

void expect_same(const Subject& actual, const Subject& expected) {
  const FilterInfo here = actual.any().describe();
  const FilterInfo there = expected.any().describe();
  EXPECT_EQ(here.keys_inserted, there.keys_inserted);
  EXPECT_EQ(here.capacity_keys, there.capacity_keys);
  EXPECT_EQ(here.fpr_target, there.fpr_target);
  EXPECT_EQ(actual.hash(), expected.hash());
  EXPECT_EQ(here.cell_count, there.cell_count);
  EXPECT_EQ(here.probes_per_key, there.probes_per_key);
  EXPECT_EQ(here.fpr_estimate, there.fpr_estimate);
  EXPECT_EQ(actual.to_bytes(), expected.to_bytes());
  const auto asked = Random(77).digests(5000);
  EXPECT_EQ(batch_answers(actual, asked), batch_answers(expected, asked));
}

// Sizes with one chunk of cells, exactly at and around 64 KiB, and several.
constexpr std::array<std::uint64_t, 5> kKeyCounts = {1, 1000, 51000, 52000, 120000};

TEST_P(ImageContract, from_bytes_makes_the_filter_again) {
  for (const std::uint64_t keys : kKeyCounts) {
    for (const HashSpec& spec : {kXxh3, kSiphash}) {
      if (keys > 1000 && spec.kind == kSiphash.kind) {
        continue;  // what the digests come from matters to the header alone
      }
      auto filter = make(GetParam(), {.keys = keys, .hash = spec});
      const auto digests = Random(keys).digests(keys);
      filter.insert(std::span(digests));
      const auto bytes = filter.to_bytes();
      ASSERT_EQ(bytes.size(), filter.image_bytes());
      for (const Trust trust : {Trust::checked, Trust::fast}) {
        const auto again = filter.from_bytes(bytes, trust);
        ASSERT_TRUE(again.has_value()) << again.error().detail;
        expect_same(*again, filter);
        EXPECT_TRUE(again->verify().has_value());
        if (keeps_keys(GetParam())) {
          EXPECT_EQ(batch_answers(*again, digests), std::vector<bool>(digests.size(), true));
        }
      }
    }
  }
}

TEST_P(ImageContract, attach_uses_the_bytes_where_they_stand) {
  auto filter = make(GetParam());
  const auto digests = Random(1).digests(600);
  filter.insert(std::span(digests).first(500));
  AlignedBytes bytes(filter.to_bytes());
  {
    auto attached = filter.attach(bytes.span());
    ASSERT_TRUE(attached.has_value()) << attached.error().detail;
    expect_same(*attached, filter);
    auto moved = std::move(*attached);
    moved.insert(std::span(digests).last(100));
    const auto sealed = moved.seal_parts().front();
    EXPECT_EQ(sealed.data(), bytes.span().data());
    EXPECT_EQ(sealed.size(), bytes.span().size());
  }
  filter.insert(std::span(digests).last(100));
  const auto again = filter.from_bytes(bytes.span());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  expect_same(*again, filter);
}

TEST_P(ImageContract, adopt_takes_over_a_region_without_copying) {
  auto filter = make(GetParam());
  insert_random(filter, 2, 500);
  const auto bytes = filter.to_bytes();
  CountingMemory counter;
  {
    auto region = Region::allocate(counter.memory(), bytes.size()).value();
    std::copy(bytes.begin(), bytes.end(), region.bytes().begin());
    const std::byte* data = region.bytes().data();
    auto adopted = filter.adopt(std::move(region));
    ASSERT_TRUE(adopted.has_value()) << adopted.error().detail;
    expect_same(*adopted, filter);
    EXPECT_EQ(adopted->seal_parts().front().data(), data);
    EXPECT_EQ(counter.calls, 1U);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

TEST_P(ImageContract, seal_brings_the_bytes_in_place_up_to_date) {
  auto filter = make(GetParam(), {.keys = 100000});
  for (std::uint64_t round = 0; round < 3; ++round) {
    insert_random(filter, 3 + round, 20000);
    const auto copy = filter.to_bytes();
    EXPECT_FALSE(filter.verify().has_value()) << "stale until sealed";
    const auto sealed = filter.seal_parts().front();
    EXPECT_TRUE(std::equal(sealed.begin(), sealed.end(), copy.begin(), copy.end()));
    EXPECT_TRUE(filter.verify().has_value());
    EXPECT_TRUE(filter.from_bytes(sealed).has_value());
  }
}

// Every flat kind shares this call.
TEST(FlatImage, to_bytes_changes_nothing_and_writes_where_it_is_told) {
  auto filter = BlockedBloom::create({.keys = 1000, .fpr = 0.01, .hash = kXxh3}).value();
  filter.insert(Digest{5});
  const auto bytes = std::as_const(filter).to_bytes();
  std::vector<std::byte> out(filter.image_bytes() + 2, std::byte{0xee});
  std::as_const(filter).to_bytes(std::span(out).subspan(1, filter.image_bytes()));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), out.begin() + 1));
  EXPECT_EQ(out.front(), std::byte{0xee});
  EXPECT_EQ(out.back(), std::byte{0xee});
}

TEST_P(ImageContract, header_and_cells_are_enough_to_put_it_together_again) {
  auto filter = make(GetParam(), {.keys = 300000});
  const auto digests = Random(4).digests(1000);
  filter.insert(std::span(digests));
  const ImageHeader header = filter.sealed_header();
  const auto cells = filter.cells();
  std::vector<std::byte> bytes(filter.image_bytes());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ranges::copy(cells, bytes.begin() + sizeof(header));
  ASSERT_FALSE(filter.from_bytes(bytes));  // no checksums of the cells yet
  seal_image(bytes);
  EXPECT_EQ(bytes, filter.to_bytes());
}

TEST_P(ImageContract, from_bytes_takes_any_alignment) {
  auto filter = make(GetParam());
  insert_random(filter, 4, 500);
  const auto bytes = filter.to_bytes();
  std::vector<std::byte> shifted(bytes.size() + 64);
  for (std::size_t shift = 0; shift < 64; shift += 7) {
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    const auto again = filter.from_bytes(std::span(shifted).subspan(shift, bytes.size()));
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    EXPECT_EQ(again->to_bytes(), bytes);
  }
}

TEST_P(ImageContract, an_image_of_1000_keys_is_its_cells_and_at_most_192_bytes) {
  const bool has_panes = GetParam().kind->name == "decayed-top" && !option_of(GetParam().parsed, "window").empty();
  for (const double fpr : {0.1, 0.01, 0.001}) {
    const auto filter = make(GetParam(), {.keys = has_panes ? 100U : 1000U, .fpr = fpr});
    EXPECT_LE(filter.image_bytes(), filter.cells_bytes() + 192);
  }
}

TEST_P(ImageContract, larger_images_add_eight_bytes_a_chunk) {
  const auto filter = make(GetParam(), {.keys = 400000});
  const std::uint64_t chunks = (filter.cells_bytes() + kChunkBytes - 1) / kChunkBytes;
  EXPECT_EQ(filter.image_bytes(), 128 + filter.cells_bytes() + 8 * (chunks + 1));
}

TEST_P(ImageContract, opening_takes_memory_from_where_it_is_told) {
  const auto made = make(GetParam());
  const auto bytes = made.to_bytes();
  CountingMemory counter;
  {
    const auto filter = made.from_bytes(bytes, Trust::checked, counter.memory());
    ASSERT_TRUE(filter.has_value());
    EXPECT_EQ(counter.calls, 1U);
    EXPECT_EQ(counter.bytes_in_use, bytes.size());
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
  CountingMemory none(0);
  const auto refused = made.from_bytes(bytes, Trust::checked, none.memory());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_space);
}

TEST_P(ImageContract, an_image_of_another_kind_is_refused_by_its_number) {
  const auto filter = make(GetParam());
  for (const Example& other : shapes(is_flat)) {
    if (other.kind == GetParam().kind) {
      continue;
    }
    const auto refused = filter.from_bytes(make(other).to_bytes());
    ASSERT_FALSE(refused.has_value()) << other;
    EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
    const std::string number = std::to_string(static_cast<std::uint16_t>(other.kind->kind));
    EXPECT_NE(refused.error().detail.find("kind " + number + " at offset 10"), std::string::npos)
        << other << ": " << refused.error().detail;
  }
}

}  // namespace
}  // namespace mankai::test
