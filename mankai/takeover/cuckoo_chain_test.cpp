#include "mankai/takeover/cuckoo_chain.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mankai/takeover/fields_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/random.hpp"

namespace mankai::takeover::test {
namespace {

using mankai::test::CountingMemory;
using mankai::test::Random;

CuckooChain chain_of(const Result<CuckooShape>& shape, const Memory& memory = system_memory()) {
  return *CuckooChain::create(*shape, memory);
}

CuckooChain chain_of_keys(std::size_t keys) {
  CuckooChain chain = chain_of(CuckooShape::of_capacity(64, 2, 20, 2));
  for (std::size_t i = 0; i < keys; ++i) {
    EXPECT_EQ(*chain.add(std::to_string(i)), CuckooAdded::added);
  }
  return chain;
}

TEST(CuckooShape, rounds_buckets_and_expansion_up_to_powers_of_two) {
  const auto shape = CuckooShape::of_capacity(100, 3, 7, 5);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->buckets, 64U);  // 33 rounded up
  EXPECT_EQ(shape->expansion, 8U);
  EXPECT_EQ(shape->cells(), 192U);
  EXPECT_EQ(shape->redisbloom_bytes(), 40 + 16 + 192U);
  EXPECT_EQ(CuckooShape::of_capacity(1, 4)->buckets, 1U);
  EXPECT_EQ(CuckooShape::of_capacity(0)->buckets, 1U);
  EXPECT_EQ(CuckooShape::of_capacity(100, 2, 20, 0)->expansion, 0U);
  EXPECT_EQ(CuckooShape::of_capacity(100, 2, 20, 32768)->expansion, 32768U);
}

TEST(CuckooShape, refuses_numbers_beyond_its_bounds) {
  for (const auto& shape :
       {CuckooShape::of_capacity(100, 0), CuckooShape::of_capacity(100, 256), CuckooShape::of_capacity(100, 2, 0),
        CuckooShape::of_capacity(100, 2, 20, 32769), CuckooShape::of_capacity((std::uint64_t{1} << 32) + 1, 1),
        CuckooShape::of_capacity((std::uint64_t{1} << 32) - 255, 255)}) {
    ASSERT_FALSE(shape);
    EXPECT_EQ(shape.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(CuckooShape::of_capacity(std::uint64_t{1} << 32, 1));
}

TEST(CuckooShape, comes_back_from_its_header) {
  CuckooShape shape = *CuckooShape::of_capacity(1000, 4, 50, 2);
  shape.items = 1;
  shape.deletes = 0x0203'0405'0607'0809;
  shape.filters = 3;
  const auto header = shape.header();
  EXPECT_EQ(header[16], std::byte{9});
  EXPECT_EQ(header[32], std::byte{4});
  const auto again = CuckooShape::of_header(header);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->header(), header);
  EXPECT_EQ(again->debug_text(), shape.debug_text());
  const auto old = CuckooShape::of_header(std::span(header).first(32));
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::unsupported_version);
  EXPECT_EQ(CuckooShape::of_header(std::span(header).first(37)).error().code, ErrorCode::corrupt);
}

TEST(CuckooShape, check_refuses_what_no_filter_is) {
  CuckooShape shape;
  shape.filters = CuckooShape::kMostFilters;
  EXPECT_TRUE(shape.check());
  const std::vector<void (*)(CuckooShape&)> changes = {
      [](CuckooShape& each) { each.filters = 0; },
      [](CuckooShape& each) { ++each.filters; },
      [](CuckooShape& each) { each.bucket_cells = 0; },
      [](CuckooShape& each) { each.bucket_cells = 256; },
      [](CuckooShape& each) { each.max_iterations = 0; },
      [](CuckooShape& each) { each.expansion = 0; },
      [](CuckooShape& each) { each.expansion = 2; },  // 2^65534 buckets
      [](CuckooShape& each) { each.expansion = 3; },
      [](CuckooShape& each) { each.buckets = 0; },
      [](CuckooShape& each) { each.buckets = 3; },
      [](CuckooShape& each) { each.buckets = std::uint64_t{1} << 63; },
      [](CuckooShape& each) { each.buckets = std::uint64_t{1} << 32; },
      [](CuckooShape& each) { each.buckets = std::uint64_t{1} << 24; },  // 2^41 cells in all
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CuckooShape changed = shape;
    changes[i](changed);
    EXPECT_FALSE(changed.check()) << i;
  }
}

TEST(CuckooChain, counts_at_least_what_was_added_and_not_removed) {
  // Few buckets and long runs of additions and removals: growth, kicks and compactions.
  for (const std::uint16_t expansion : std::to_array<std::uint16_t>({1, 2, 4})) {
    for (const std::uint16_t bucket_cells : std::to_array<std::uint16_t>({1, 2, 5})) {
      SCOPED_TRACE(testing::Message() << "expansion " << expansion << " cells " << bucket_cells);
      Random random(expansion * 256U + bucket_cells);
      CuckooChain chain = chain_of(CuckooShape::of_capacity(16, bucket_cells, 10, expansion));
      std::map<std::string, std::uint64_t> added;
      std::uint64_t items = 0;
      for (int i = 0; i < 3000; ++i) {
        const std::string key = std::to_string(random.below(400));
        if (i % 1000 < 500 || random.below(4) == 0) {
          ASSERT_EQ(*chain.add(key), CuckooAdded::added);
          ++added[key];
          ++items;
        } else if (added[key] != 0) {
          ASSERT_TRUE(chain.remove(key));
          --added[key];
          --items;
        }
        ASSERT_EQ(chain.shape().items, items);
      }
      EXPECT_EQ(chain.occupied_cells(), items);
      const auto expect_all = [&] {
        for (const auto& [key, count] : added) {
          EXPECT_GE(chain.count(key), count);
          EXPECT_EQ(chain.may_contain(key), chain.count(key) != 0);
        }
      };
      expect_all();
      chain.compact();
      EXPECT_EQ(chain.occupied_cells(), items);
      EXPECT_EQ(chain.shape().deletes, 0U);
      expect_all();
    }
  }
}

TEST(CuckooChain, compaction_drops_sub_filters_that_it_empties) {
  CuckooChain chain = chain_of_keys(500);
  const std::uint64_t filters = chain.shape().filters;
  ASSERT_GT(filters, 2U);
  for (std::size_t i = 10; i < 500; ++i) {
    ASSERT_TRUE(chain.remove(std::to_string(i)));
  }
  EXPECT_LT(chain.shape().filters, filters);
  chain.compact();
  EXPECT_EQ(chain.shape().filters, 1U);
  EXPECT_EQ(chain.memory_pieces(), 1U);
  EXPECT_EQ(chain.shape().items, 10U);
}

TEST(CuckooChain, compaction_of_many_sub_filters_moves_the_same_cells_without_memory) {
  constexpr std::size_t kFilters = 300;
  CuckooShape shape = *CuckooShape::of_capacity(32, 2);
  shape.filters = kFilters;
  CountingMemory few_grants(2 * kFilters);  // none of them for the compactions
  CuckooChain chain = *CuckooChain::create(shape, few_grants.memory());
  Random random(7);
  for (std::uint64_t i = 0; i < kFilters; ++i) {
    std::array<std::byte, 32> cells{};
    for (std::byte& cell : cells) {
      cell = static_cast<std::byte>(random.below(4) == 0 ? 0 : 1 + random.below(255));
    }
    ASSERT_TRUE(chain.load_chunk(1 + (i + 1) * cells.size(), cells));
  }
  CuckooChain copy = *chain.clone(few_grants.memory());
  CuckooChain with_memory = *chain.clone();
  ASSERT_EQ(few_grants.calls, 2 * kFilters);
  copy.compact();
  EXPECT_EQ(few_grants.calls, 2 * kFilters + 1);
  with_memory.compact();
  EXPECT_LT(with_memory.shape().filters, kFilters);
  EXPECT_EQ(fields_of(copy), fields_of(with_memory));
}

TEST(CuckooChain, removes_nothing_of_an_absent_key) {
  CuckooChain chain = chain_of(CuckooShape::of_capacity(1000));
  EXPECT_FALSE(chain.remove("a"));
  EXPECT_EQ(*chain.add_nx("a"), CuckooAdded::added);
  EXPECT_EQ(*chain.add_nx("a"), CuckooAdded::found);
  EXPECT_EQ(chain.count("a"), 1U);
  EXPECT_TRUE(chain.remove("a"));
  EXPECT_FALSE(chain.may_contain("a"));
  EXPECT_EQ(chain.shape().deletes, 1U);
}

TEST(CuckooChain, removing_from_a_filter_with_forged_counts_keeps_them_at_0) {
  CuckooChain chain = chain_of(CuckooShape::of_capacity(1000));
  ASSERT_TRUE(chain.add("a"));
  FieldList fields = fields_of(chain);
  fields[2] = std::uint64_t{0};
  auto forged = value_of<CuckooChain>(fields, 4);
  ASSERT_TRUE(forged);
  EXPECT_TRUE(forged->remove("a"));
  EXPECT_EQ(forged->shape().items, 0U);
}

TEST(CuckooChain, a_fixed_filter_without_room_is_full_and_unchanged) {
  CuckooChain chain = chain_of(CuckooShape::of_capacity(32, 2, 500, 0));
  std::size_t i = 0;
  while (*chain.add(std::to_string(i)) == CuckooAdded::added) {
    ++i;
  }
  EXPECT_GT(i, 20U);
  const FieldList before = fields_of(chain);
  for (; i < 100; ++i) {
    if (*chain.add(std::to_string(i)) == CuckooAdded::full) {
      ASSERT_EQ(fields_of(chain), before) << i;
      return;
    }
  }
  FAIL() << "never full twice";
}

TEST(CuckooChain, changes_nothing_if_a_sub_filter_gets_no_memory) {
  CountingMemory counting(1);
  CuckooChain chain = chain_of(CuckooShape::of_capacity(32), counting.memory());
  std::string key;
  for (int i = 0;; ++i) {
    key = std::to_string(i);
    const FieldList before = fields_of(chain);
    const auto added = chain.add(key);
    if (!added) {
      EXPECT_EQ(added.error().code, ErrorCode::out_of_space);
      EXPECT_EQ(fields_of(chain), before);
      break;
    }
  }
  EXPECT_EQ(chain.shape().filters, 1U);
  EXPECT_FALSE(CuckooChain::create(chain.shape(), counting.memory()));
  EXPECT_FALSE(chain.clone(counting.memory()));
  EXPECT_FALSE(value_of<CuckooChain>(fields_of(chain), 4, counting.memory()));
}

TEST(CuckooChain, does_not_append_a_sub_filter_of_too_many_cells) {
  // 2^18 buckets of 2 cells, then 2^33 buckets.
  CuckooChain chain = chain_of(CuckooShape::of_capacity(std::uint64_t{1} << 19, 2, 1, 32768));
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(chain.add("a"));
    ASSERT_TRUE(chain.add("a"));
  }
  const auto added = chain.add("a");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(chain.count("a"), 4U);
}

TEST(CuckooChain, a_batch_answers_as_single_questions) {
  CuckooChain chain = chain_of_keys(300);
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) {
    texts.push_back(std::to_string(i));
  }
  const std::vector<std::string_view> keys(texts.begin(), texts.end());
  for (const std::size_t count : std::to_array<std::size_t>({0, 1, 31, 32, 33, 1000})) {
    const auto answers = std::make_unique<bool[]>(count);
    chain.may_contain(std::span(keys).first(count), {answers.get(), count});
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(answers[i], chain.may_contain(keys[i]));
      EXPECT_TRUE(answers[i] || i >= 300);
    }
  }
}

TEST(CuckooChain, is_the_same_after_saving_copying_and_moving) {
  CuckooChain chain = chain_of_keys(500);
  const FieldList saved = fields_of(chain);
  auto loaded = value_of<CuckooChain>(saved, 4);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(fields_of(*loaded), saved);
  auto copy = chain.clone();
  ASSERT_TRUE(copy);
  ASSERT_TRUE(chain.add("more"));
  EXPECT_EQ(fields_of(*copy), saved);
  int moves = 0;
  for (std::size_t piece = 0; piece < copy->memory_pieces(); ++piece) {
    copy->relocate(piece, {.move = mankai::test::move_away, .context = &moves});
  }
  EXPECT_EQ(static_cast<std::uint64_t>(moves), copy->shape().filters);
  EXPECT_EQ(fields_of(*copy), saved);
  EXPECT_GE(copy->memory_bytes(), copy->shape().cells());
  // All three insert alike.
  for (CuckooChain* const each : {&*loaded, &*copy}) {
    ASSERT_TRUE(each->add("more"));
    EXPECT_EQ(fields_of(*each), fields_of(chain));
  }
}

TEST(CuckooChain, refuses_values_that_do_not_fit_together) {
  const FieldList good = fields_of(chain_of_keys(100));
  for (std::size_t count = 0; count < good.size(); ++count) {
    const auto cut =
        value_of<CuckooChain>(FieldList(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(count)), 4);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::corrupt);
  }
  const std::vector<std::pair<std::size_t, Field>> forgeries = {{0, std::uint64_t{0}},
                                                                {1, std::uint64_t{64}},
                                                                {4, std::uint64_t{65536 + 2}},
                                                                {4, std::uint64_t{4}},
                                                                {5, std::uint64_t{65536}},
                                                                {6, std::uint64_t{4}},
                                                                {7, std::uint64_t{31}},
                                                                {8, Bytes(63)},
                                                                {8, Bytes(65)},
                                                                {9, std::uint64_t{32}}};
  for (const auto& [at, field] : forgeries) {
    FieldList forged = good;
    ASSERT_NE(forged[at], field);
    forged[at] = field;
    const auto value = value_of<CuckooChain>(forged, 4);
    ASSERT_FALSE(value) << at;
    EXPECT_EQ(value.error().code, ErrorCode::corrupt);
  }
  for (const unsigned encver : {0U, 1U, 2U, 3U, 5U}) {
    EXPECT_EQ(value_of<CuckooChain>(good, encver).error().code, ErrorCode::unsupported_version);
  }
}

TEST(CuckooChain, chunks_are_within_one_sub_filter) {
  const CuckooChain chain = chain_of_keys(100);
  ASSERT_EQ(chain.shape().filters, 2U);
  EXPECT_EQ(chain.chunk(0).iterator, 0U);
  EXPECT_EQ(chain.chunk(1).bytes.size(), 64U);
  EXPECT_EQ(chain.chunk(1).iterator, 65U);
  EXPECT_EQ(chain.chunk(64).bytes.size(), 1U);
  EXPECT_EQ(chain.chunk(65).bytes.size(), 128U);
  EXPECT_EQ(chain.chunk(65).iterator, 193U);
  for (const std::uint64_t behind : {std::uint64_t{193}, std::uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_TRUE(chain.chunk(behind).bytes.empty());
    EXPECT_EQ(chain.chunk(behind).iterator, 0U);
  }
  auto copy = CuckooChain::create(chain.shape());
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->occupied_cells(), 0U);
  // In pieces of 16 bytes, twice.
  for (std::uint64_t i = 0; i < 24; ++i) {
    const std::uint64_t at = 1 + i % 12 * 16;
    EXPECT_TRUE(copy->load_chunk(at + 16, chain.chunk(at).bytes.first(16)));
  }
  EXPECT_EQ(fields_of(*copy), fields_of(chain));
  const Bytes ones(65, std::byte{1});
  for (const auto& [iterator, size] : std::vector<std::pair<std::uint64_t, std::size_t>>{
           {66, 65}, {16, 16}, {0, 0}, {0, 1}, {194, 1}, {209, 16}, {UINT64_MAX, 1}, {194, 0}}) {
    const auto loaded = copy->load_chunk(iterator, std::span(ones).first(size));
    ASSERT_FALSE(loaded) << iterator;
    EXPECT_EQ(loaded.error().code, ErrorCode::corrupt);
  }
  EXPECT_EQ(fields_of(*copy), fields_of(chain));
}

TEST(CuckooChain, large_sub_filters_have_several_chunks) {
  const CuckooChain chain = chain_of(CuckooShape::of_capacity(std::uint64_t{40} << 20, 2));
  EXPECT_EQ(chain.chunk(1).bytes.size(), CuckooChain::kChunkBytes);
  std::uint64_t bytes = 0;
  for (auto chunk = chain.chunk(1); chunk.iterator != 0; chunk = chain.chunk(chunk.iterator)) {
    bytes += chunk.bytes.size();
  }
  EXPECT_EQ(bytes, std::uint64_t{64} << 20);
}

TEST(CuckooChain, cells_of_a_header_take_memory_as_they_arrive) {
  auto shape = CuckooShape::of_capacity(std::uint64_t{1} << 20, 2).value();
  shape.filters = 3;
  const std::uint64_t cells = shape.cells_of(0);
  CuckooChain whole = CuckooChain::create(shape).value();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(whole.add(std::to_string(i)));
  }
  shape.items = 1000;
  CuckooChain chain = CuckooChain::create(shape, system_memory(), CellsOfHeader::arriving).value();
  EXPECT_LT(chain.memory_bytes(), 4096U);
  EXPECT_FALSE(chain.may_contain("1"));
  EXPECT_EQ(chain.count("1"), 0U);
  EXPECT_EQ(chain.chunk(1).iterator, 0U);
  const Bytes some(100, std::byte{1});
  EXPECT_EQ(chain.load_chunk(cells, some).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(chain.load_chunk(101, some));
  EXPECT_LE(chain.memory_bytes(), 2 * 4096U + 4096U);
  EXPECT_EQ(chain.occupied_cells(), 100U);
  // All of the newest sub-filter, which has the keys, in pieces that are no whole buckets.
  for (std::uint64_t start = 0; start < cells; start += 9999) {
    const std::uint64_t end = std::min(start + 9999, cells);
    EXPECT_TRUE(chain.load_chunk(1 + 2 * cells + end, whole.chunk(1 + 2 * cells + start).bytes.first(end - start)));
  }
  EXPECT_LE(chain.memory_bytes(), cells + 3 * 4096U);
  EXPECT_EQ(chain.occupied_cells(), 1100U);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(chain.may_contain(std::to_string(i)));
  }
  const CuckooChain copy = chain.clone().value();
  EXPECT_EQ(fields_of(copy), fields_of(chain));
  ASSERT_TRUE(chain.make_whole());
  EXPECT_EQ(fields_of(copy), fields_of(chain));
  EXPECT_TRUE(chain.remove("1"));
}

TEST(CuckooChain, knows_when_it_has_as_many_sub_filters_as_allowed) {
  const CuckooChain chain = chain_of_keys(100);
  EXPECT_TRUE(chain.has_reached(2));
  EXPECT_FALSE(chain.has_reached(3));
}

}  // namespace
}  // namespace mankai::takeover::test
