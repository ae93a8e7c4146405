// Every kind over one flat image: its bytes are the filter, whichever way they come back.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/support/counting_memory.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/typed_kinds.hpp"

namespace mankai::test {
namespace {

template <class Kind>
class ImageContract : public testing::Test {};
TYPED_TEST_SUITE(ImageContract, FilterKinds, KindNames);

template <class F>
void expect_same(const F& actual, const F& expected) {
  EXPECT_EQ(actual.keys_inserted(), expected.keys_inserted());
  EXPECT_EQ(actual.capacity_keys(), expected.capacity_keys());
  EXPECT_EQ(actual.fpr_target(), expected.fpr_target());
  EXPECT_EQ(actual.hash(), expected.hash());
  EXPECT_EQ(actual.cell_count(), expected.cell_count());
  EXPECT_EQ(actual.probes_per_key(), expected.probes_per_key());
  EXPECT_EQ(actual.fpr_estimate(), expected.fpr_estimate());
  EXPECT_EQ(actual.to_bytes(), expected.to_bytes());
  const auto asked = Random(77).digests(5000);
  EXPECT_EQ(batch_answers(actual, asked), batch_answers(expected, asked));
}

// Sizes with one chunk of cells, exactly at and around 64 KiB, and several.
constexpr std::array<std::uint64_t, 5> kKeyCounts = {1, 1000, 51000, 52000, 300000};

TYPED_TEST(ImageContract, from_bytes_makes_the_filter_again) {
  using Filter = typename TypeParam::Filter;
  for (const std::uint64_t keys : kKeyCounts) {
    for (const HashSpec& spec : {kXxh3, kSiphash}) {
      auto filter = make<TypeParam>({.keys = keys, .hash = spec});
      const auto digests = Random(keys).digests(keys);
      filter.insert(std::span(digests));
      const auto bytes = filter.to_bytes();
      ASSERT_EQ(bytes.size(), filter.image_bytes());
      for (const Trust trust : {Trust::checked, Trust::fast}) {
        const auto again = Filter::from_bytes(bytes, trust);
        ASSERT_TRUE(again.has_value()) << again.error().detail;
        expect_same(*again, filter);
        EXPECT_TRUE(again->verify().has_value());
        EXPECT_EQ(batch_answers(*again, digests), std::vector<bool>(digests.size(), true));
      }
    }
  }
}

TYPED_TEST(ImageContract, attach_uses_the_bytes_where_they_stand) {
  using Filter = typename TypeParam::Filter;
  auto filter = make<TypeParam>();
  const auto digests = Random(1).digests(600);
  filter.insert(std::span(digests).first(500));
  AlignedBytes bytes(filter.to_bytes());
  {
    auto attached = Filter::attach(bytes.span());
    ASSERT_TRUE(attached.has_value()) << attached.error().detail;
    expect_same(*attached, filter);
    auto moved = std::move(*attached);
    moved.insert(std::span(digests).last(100));
    const auto sealed = moved.seal();
    EXPECT_EQ(sealed.data(), bytes.span().data());
    EXPECT_EQ(sealed.size(), bytes.span().size());
  }
  filter.insert(std::span(digests).last(100));
  const auto again = Filter::from_bytes(bytes.span());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  expect_same(*again, filter);
}

TYPED_TEST(ImageContract, adopt_takes_over_a_region_without_copying) {
  using Filter = typename TypeParam::Filter;
  auto filter = make<TypeParam>();
  insert_random(filter, 2, 500);
  const auto bytes = filter.to_bytes();
  CountingMemory counter;
  {
    auto region = Region::allocate(counter.memory(), bytes.size()).value();
    std::copy(bytes.begin(), bytes.end(), region.bytes().begin());
    const std::byte* data = region.bytes().data();
    auto adopted = Filter::from_image(Image::adopt(std::move(region), Trust::checked).value());
    ASSERT_TRUE(adopted.has_value()) << adopted.error().detail;
    expect_same(*adopted, filter);
    EXPECT_EQ(adopted->seal().data(), data);
    EXPECT_EQ(counter.calls, 1U);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

TYPED_TEST(ImageContract, seal_brings_the_bytes_in_place_up_to_date) {
  using Filter = typename TypeParam::Filter;
  auto filter = make<TypeParam>({.keys = 100000});
  for (std::uint64_t round = 0; round < 3; ++round) {
    insert_random(filter, 3 + round, 20000);
    const auto copy = filter.to_bytes();
    EXPECT_FALSE(filter.verify().has_value()) << "stale until sealed";
    const auto sealed = filter.seal();
    EXPECT_TRUE(std::equal(sealed.begin(), sealed.end(), copy.begin(), copy.end()));
    EXPECT_TRUE(filter.verify().has_value());
    EXPECT_TRUE(Filter::from_bytes(sealed).has_value());
  }
}

TYPED_TEST(ImageContract, to_bytes_changes_nothing_and_writes_where_it_is_told) {
  auto filter = make<TypeParam>();
  filter.insert(Digest{5});
  const auto bytes = std::as_const(filter).to_bytes();
  std::vector<std::byte> out(filter.image_bytes() + 2, std::byte{0xee});
  std::as_const(filter).to_bytes(std::span(out).subspan(1, filter.image_bytes()));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), out.begin() + 1));
  EXPECT_EQ(out.front(), std::byte{0xee});
  EXPECT_EQ(out.back(), std::byte{0xee});
}

TYPED_TEST(ImageContract, header_and_cells_are_enough_to_put_it_together_again) {
  auto filter = make<TypeParam>({.keys = 300000});
  const auto digests = Random(4).digests(1000);
  filter.insert(std::span(digests));
  const ImageHeader header = filter.sealed_header();
  const auto cells = filter.cells();
  std::vector<std::byte> bytes(filter.image_bytes());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ranges::copy(cells, bytes.begin() + sizeof(header));
  ASSERT_FALSE(TypeParam::Filter::from_bytes(bytes));  // no checksums of the cells yet
  seal_image(bytes);
  EXPECT_EQ(bytes, filter.to_bytes());
}

TYPED_TEST(ImageContract, from_bytes_takes_any_alignment) {
  using Filter = typename TypeParam::Filter;
  auto filter = make<TypeParam>();
  insert_random(filter, 4, 500);
  const auto bytes = filter.to_bytes();
  std::vector<std::byte> shifted(bytes.size() + 64);
  for (std::size_t shift = 0; shift < 64; shift += 7) {
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    const auto again = Filter::from_bytes(std::span(shifted).subspan(shift, bytes.size()));
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    EXPECT_EQ(again->to_bytes(), bytes);
  }
}

TYPED_TEST(ImageContract, an_image_of_1000_keys_is_its_cells_and_at_most_192_bytes) {
  for (const double fpr : {0.1, 0.01, 0.001}) {
    const auto filter = make<TypeParam>({.keys = 1000, .fpr = fpr});
    EXPECT_LE(filter.image_bytes(), filter.cells_bytes() + 192);
  }
}

TYPED_TEST(ImageContract, larger_images_add_eight_bytes_a_chunk) {
  const auto filter = make<TypeParam>({.keys = 1000000});
  const std::uint64_t chunks = (filter.cells_bytes() + kChunkBytes - 1) / kChunkBytes;
  EXPECT_EQ(filter.image_bytes(), 128 + filter.cells_bytes() + 8 * (chunks + 1));
}

TYPED_TEST(ImageContract, opening_takes_memory_from_where_it_is_told) {
  using Filter = typename TypeParam::Filter;
  const auto bytes = make<TypeParam>().to_bytes();
  CountingMemory counter;
  {
    const auto filter = Filter::from_bytes(bytes, Trust::checked, counter.memory());
    ASSERT_TRUE(filter.has_value());
    EXPECT_EQ(counter.calls, 1U);
    EXPECT_EQ(counter.bytes_in_use, bytes.size());
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
  CountingMemory none(0);
  const auto refused = Filter::from_bytes(bytes, Trust::checked, none.memory());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_space);
}

TEST(ImageKinds, an_image_of_another_kind_is_refused_by_its_number) {
  const auto blocked = make<BlockedBloomKind>();
  const auto classic = make<BloomRangeKind>();
  const auto as_classic = Bloom::from_bytes(blocked.to_bytes());
  const auto as_blocked = BlockedBloom::from_bytes(classic.to_bytes());
  ASSERT_FALSE(as_classic.has_value());
  ASSERT_FALSE(as_blocked.has_value());
  EXPECT_EQ(as_classic.error().code, ErrorCode::corrupt);
  EXPECT_NE(as_classic.error().detail.find("kind 2 at offset 10"), std::string::npos) << as_classic.error().detail;
  EXPECT_NE(as_blocked.error().detail.find("kind 1 at offset 10"), std::string::npos) << as_blocked.error().detail;
}

}  // namespace
}  // namespace mankai::test
