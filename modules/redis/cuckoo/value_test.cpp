// What a CF.* key holds: the memory that it takes, and moves of it.

#include "modules/redis/cuckoo/value.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "modules/redis/image/pieces.hpp"
#include "tests/support/engine_memory.hpp"

namespace mankai::redis {
namespace {

constexpr std::uint64_t kItems = 3000;  // more than a default filter has room for

CuckooValue make(Layout layout, std::uint32_t expansion = 1) {
  return CuckooValue::create({.layout = layout, .expansion = expansion, .hash = {.kind = kDefaultHash, .seed = {1, 2}}})
      .value();
}

void add_to(CuckooValue& value, std::uint64_t items) {
  for (std::uint64_t i = 0; i < items; ++i) {
    value.own()->insert(value.own()->hasher()(std::to_string(i)));
  }
}

void must_have(const CuckooValue& value, std::uint64_t items) {
  for (std::uint64_t i = 0; i < items; ++i) {
    EXPECT_NE(value.count(std::to_string(i)), 0) << i;
  }
}

std::byte* move_always(void* moves, std::span<std::byte> bytes) noexcept {
  const Memory memory = engine_memory();
  void* const moved = memory.allocate(memory.context, bytes.size());
  std::memcpy(moved, bytes.data(), bytes.size());
  std::memset(bytes.data(), 0xAB, bytes.size());
  memory.release(memory.context, bytes.data(), bytes.size());
  ++*static_cast<int*>(moves);
  return static_cast<std::byte*>(moved);
}

TEST(CuckooValue, every_block_of_our_layout_can_be_moved) {
  CuckooValue value = make(Layout::mankai);
  add_to(value, kItems);
  ASSERT_GT(value.slice_count(), 1);
  int moves = 0;
  for (std::size_t piece = 0; piece < value.memory_pieces(); ++piece) {
    value.relocate(piece, {.move = move_always, .context = &moves});
  }
  EXPECT_EQ(moves, value.slice_count());  // the object and the first image are one block
  must_have(value, kItems);
  EXPECT_EQ(value.erase("1"), EraseResult::erased);
  EXPECT_EQ(value.shape().deletes, 1);
}

TEST(CuckooValue, blocks_can_be_moved_between_operations) {
  constexpr std::uint64_t kMany = 600;
  for (const std::uint32_t expansion : {0U, 1U, 2U}) {
    const std::size_t before = test::engine_memory_use().bytes_in_use;
    {
      CuckooValue value =
          CuckooValue::create(
              {.capacity_keys = 100, .expansion = expansion, .hash = {.kind = kDefaultHash, .seed = {1, 2}}})
              .value();
      int moves = 0;
      for (std::uint64_t i = 0; i < kMany; ++i) {
        value.own()->insert(value.own()->hasher()(std::to_string(i)));
        value.relocate(i % value.memory_pieces(), {.move = move_always, .context = &moves});
        if (i % 4 != 0) {
          EXPECT_EQ(value.erase(std::to_string(i)), EraseResult::erased) << i;
        }
        if (i % 100 == 0) {
          value.compact();
        }
      }
      EXPECT_GT(moves, 0);
      for (std::uint64_t i = 0; i < kMany; i += 4) {
        EXPECT_NE(value.count(std::to_string(i)), 0) << i;
      }
    }
    EXPECT_EQ(test::engine_memory_use().bytes_in_use, before);
  }
}

TEST(CuckooValue, memory_is_that_of_its_blocks_and_is_freed) {
  const std::size_t before = test::engine_memory_use().bytes_in_use;
  {
    const CuckooValue value = make(Layout::mankai);
    EXPECT_EQ(test::engine_memory_use().bytes_in_use - before, value.heap_bytes());
  }
  EXPECT_EQ(test::engine_memory_use().bytes_in_use, before);
}

TEST(CuckooValue, a_loaded_filter_takes_as_much_memory_as_a_created_one) {
  CuckooValue value = make(Layout::mankai);
  constexpr std::uint64_t kFew = 500;
  add_to(value, kFew);
  const std::size_t before = test::engine_memory_use().bytes_in_use;
  CuckooValue loaded =
      CuckooValue::from_image(copy_parts(CuckooValue::kFamily, value.parts()).value().finish()).value();
  EXPECT_EQ(test::engine_memory_use().bytes_in_use - before, value.heap_bytes());
  EXPECT_EQ(loaded.heap_bytes(), value.heap_bytes());
  int moves = 0;
  for (std::size_t piece = 0; piece < loaded.memory_pieces(); ++piece) {
    loaded.relocate(piece, {.move = move_always, .context = &moves});
  }
  EXPECT_EQ(moves, 1);
  must_have(loaded, kFew);
  add_to(loaded, kItems);
  must_have(loaded, kItems);
}

TEST(CuckooValue, a_loaded_filter_that_is_compacted_frees_the_sub_filters) {
  CuckooValue value = make(Layout::mankai);
  add_to(value, kItems);
  const std::size_t before = test::engine_memory_use().bytes_in_use;
  CuckooValue loaded =
      CuckooValue::from_image(copy_parts(CuckooValue::kFamily, value.parts()).value().finish()).value();
  constexpr std::uint64_t kFew = 500;
  for (std::uint64_t i = kFew; i < kItems; ++i) {
    EXPECT_EQ(loaded.erase(std::to_string(i)), EraseResult::erased) << i;
  }
  loaded.compact();
  ASSERT_EQ(loaded.slice_count(), 1);
  EXPECT_EQ(test::engine_memory_use().bytes_in_use - before, loaded.heap_bytes());
  must_have(loaded, kFew);
  add_to(loaded, kItems);
  must_have(loaded, kItems);
}

TEST(CuckooValue, a_filter_that_was_doubled_leaves_no_memory_behind) {
  const std::size_t before = test::engine_memory_use().bytes_in_use;
  {
    CuckooValue value = make(Layout::mankai, 2);
    add_to(value, kItems);
    ASSERT_GT(value.own()->expansions(), 0);
    EXPECT_EQ(test::engine_memory_use().bytes_in_use - before, value.heap_bytes());
    must_have(value, kItems);
  }
  EXPECT_EQ(test::engine_memory_use().bytes_in_use, before);
}

TEST(CuckooValue, without_memory_for_the_object_there_is_no_value) {
  auto& most = test::engine_memory_use().most_bytes;
  const std::size_t unlimited = most;
  for (const std::uint32_t expansion : {1U, 2U}) {
    const CuckooSettings settings{
        .capacity_keys = 10, .expansion = expansion, .hash = {.kind = kDefaultHash, .seed = {1, 2}}};
    const CuckooValue value = CuckooValue::create(settings).value();
    const std::size_t before = test::engine_memory_use().bytes_in_use;
    AssembledImage image = copy_parts(CuckooValue::kFamily, value.parts()).value().finish();
    most = 250;  // the cells of a small filter, but not its object
    const auto made = CuckooValue::create(settings);
    const auto loaded = CuckooValue::from_image(std::move(image));
    most = unlimited;
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::out_of_space);
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().code, ErrorCode::out_of_space);
    EXPECT_EQ(test::engine_memory_use().bytes_in_use, before);
  }
}

TEST(CuckooValue, a_filter_in_redisblooms_layout_takes_little_more_than_its_cells) {
  const CuckooValue value = make(Layout::redisbloom);
  EXPECT_LE(sizeof(value) + value.heap_bytes(), 1024 + 192);
}

}  // namespace
}  // namespace mankai::redis
