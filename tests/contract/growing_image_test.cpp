// The images of the kinds that grow: whole, in parts, and in place; a filter from an image goes on as the one it came
// from would have.

#include <gtest/gtest.h>

#include <vector>

#include "mankai/filter/parts/sliced_image.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/growing_subject.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/outcomes.hpp"

namespace mankai::test {
namespace {

class GrowingImage : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, GrowingImage, testing::ValuesIn(shapes(can_grow)), test_name);

constexpr std::size_t kKeys = 1750;  // so that the newest slice has room, whatever the growth

Subject grown(const Example& example) {
  auto filter = make_growing(example);
  insert_random(filter, 1, kKeys);
  return filter;
}

TEST_P(GrowingImage, an_image_makes_the_filter_that_it_came_from) {
  const auto filter = grown(GetParam());
  const auto bytes = filter.to_bytes();
  EXPECT_EQ(bytes.size(), filter.image_bytes());
  for (const Trust trust : {Trust::checked, Trust::fast}) {
    const auto again = filter.from_bytes(bytes, trust).value();
    EXPECT_TRUE(again.to_bytes() == bytes);
    EXPECT_TRUE(again.verify().has_value());
    EXPECT_EQ(again.slice_count(), filter.slice_count());
    EXPECT_EQ(again.keys_inserted(), filter.keys_inserted());
    EXPECT_EQ(again.hash(), filter.hash());
    EXPECT_EQ(to_string(again.any().spec()), to_string(filter.any().spec()));
    EXPECT_EQ(batch_answers(again, Random(1).digests(kKeys)), std::vector<bool>(kKeys, true));
    const auto in_place = filter.adopt(region_of(bytes), trust).value();
    EXPECT_TRUE(in_place.to_bytes() == bytes);
  }
}

TEST_P(GrowingImage, its_parts_are_the_whole) {
  auto filter = grown(GetParam());
  const auto bytes = filter.to_bytes();
  EXPECT_TRUE(joined(filter.seal_parts()) == bytes);
  filter.insert(Digest{3});
  EXPECT_TRUE(joined(filter.seal_parts()) == filter.to_bytes());
}

// Goal: an outer header that is taken without a pass over the cells becomes the image's own once the slices are there.
TEST_P(GrowingImage, headers_are_enough_to_put_it_together_again) {
  auto filter = grown(GetParam());
  ImageHeader outer = filter.sealed_header();
  const auto read = read_header(std::as_bytes(std::span(&outer, 1)), filter.image_bytes());
  ASSERT_TRUE(read.has_value()) << read.error().detail;
  EXPECT_EQ(read->keys_inserted, filter.keys_inserted());
  std::vector<std::vector<std::byte>> slices;
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    slices.push_back(filter.slice_image(i));
  }
  const std::vector<std::span<const std::byte>> sealed(slices.begin(), slices.end());
  EXPECT_TRUE(joined(sliced_parts(outer, sealed)) == filter.to_bytes());
}

// Goal: what is written and opened grows on like what stayed.
TEST_P(GrowingImage, a_filter_from_an_image_grows_on) {
  auto stayed = grown(GetParam());
  auto copied = stayed.from_bytes(stayed.to_bytes()).value();
  auto in_place = stayed.adopt(region_of(stayed.to_bytes())).value();
  const std::uint64_t before = stayed.capacity_keys();
  for (auto* filter : {&stayed, &copied, &in_place}) {
    insert_random(*filter, 2, 4000);
  }
  EXPECT_GT(stayed.capacity_keys(), before);
  EXPECT_TRUE(copied.to_bytes() == stayed.to_bytes());
  EXPECT_TRUE(in_place.to_bytes() == stayed.to_bytes());
  in_place.clear();
  insert_random(in_place, 1, kKeys);
  EXPECT_TRUE(in_place.to_bytes() == grown(GetParam()).to_bytes());
}

// Slices that are there already neither move nor change when one is added.
TEST_P(GrowingImage, growing_appends) {
  if (calls_of(*GetParam().kind).growth == nullptr) {
    GTEST_SKIP() << "a slice of this kind goes on changing until a key finds no room";
  }
  auto filter = make_growing(GetParam());
  Random random(4);
  while (!filter.slice(0).is_full()) {
    filter.insert(random.digest());
  }
  const auto before = filter.to_bytes();
  while (filter.slice_count() == 1) {
    filter.insert(random.digest());
  }
  const auto after = filter.to_bytes();
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin() + sizeof(ImageHeader), before.end(), after.begin() + sizeof(ImageHeader)));
}

TEST_P(GrowingImage, a_borrowed_buffer_is_written_in_place) {
  const auto made = grown(GetParam());
  AlignedBytes buffer(made.to_bytes());
  {
    auto filter = made.attach(buffer.span()).value();
    // A key that goes into the newest slice, which lies in the buffer.
    filter.insert(Digest{99});
    EXPECT_TRUE(filter.may_contain(Digest{99}));
    const auto parts = filter.seal_parts();
    std::copy(parts[0].begin(), parts[0].end(), buffer.span().begin());
  }
  EXPECT_TRUE(made.from_bytes(buffer.span()).value().may_contain(Digest{99}));
}

TEST_P(GrowingImage, a_copy_takes_its_bytes_from_its_memory_and_gives_them_back) {
  const auto made = grown(GetParam());
  const auto bytes = made.to_bytes();
  CountingMemory counter;
  {
    auto filter = made.from_bytes(bytes, Trust::checked, counter.memory()).value();
    EXPECT_EQ(counter.bytes_in_use, bytes.size());
    insert_random(filter, 5, 3000);
    EXPECT_GT(counter.bytes_in_use, bytes.size());
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
  CountingMemory scarce(0);
  const auto refused = made.from_bytes(bytes, Trust::checked, scarce.memory());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(scarce.bytes_in_use, 0U);
}

// An allocator against fragmentation moves what a filter has, piece by piece; some pieces stay where they are.
TEST_P(GrowingImage, memory_may_be_moved_under_a_filter) {
  for (const bool is_opened : {false, true}) {
    auto filter = grown(GetParam());
    if (is_opened) {  // some slices share one piece of memory, others came later
      filter = filter.from_bytes(filter.to_bytes()).value();
      insert_random(filter, 6, 3000);
    }
    const auto before = filter.to_bytes();
    int moves = 0;
    for (std::size_t piece = 0; piece < filter.memory_pieces(); ++piece) {
      filter.relocate(piece, {.move = leave, .context = nullptr});
      filter.relocate(piece, {.move = move_away, .context = &moves});
    }
    EXPECT_GE(moves, 1);
    EXPECT_TRUE(filter.to_bytes() == before);
    auto other = filter.from_bytes(before).value();
    insert_random(filter, 7, 3000);
    insert_random(other, 7, 3000);
    EXPECT_TRUE(filter.to_bytes() == other.to_bytes());
  }
}

}  // namespace
}  // namespace mankai::test
