// Lists of the Redis module without a server, so that sanitizers see them: random commands beside exact counts, and
// headers and cells that somebody forged who knows the checksums. The same through a real server:
// tests/redis/topk_test.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "modules/redis/image/pieces.hpp"
#include "modules/redis/topk/value.hpp"
#include "tests/support/dump_pieces.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test {
namespace {

using redis::TopList;
using redis::TopSettings;

constexpr Time kStart{std::chrono::seconds(1'700'000'000)};

TopSettings settings_of(std::uint32_t most, Duration half_life = {}) {
  return {.most = most, .width = 1, .depth = 1, .half_life = half_life, .hash = {.seed = {1, 2}}};
}

std::optional<std::string> add(TopList& list, const std::string& item, std::uint32_t increment, Time at = kStart) {
  const auto expelled = list.add(list.hasher()(item), item, increment, at).value();
  return expelled ? std::optional<std::string>(*expelled) : std::nullopt;
}

std::set<std::string> listed_in(const TopList& list) {
  std::set<std::string> names;
  for (const TopList::Item& item : list.items(kStart)) {
    names.emplace(item.text);
  }
  return names;
}

TEST(TopList, replies_tell_the_list_and_no_count_is_too_low) {
  std::mt19937_64 dice(1);
  for (const std::uint32_t most : {1U, 2U, 7U, 100U}) {
    for (const Duration half_life : {Duration{}, Duration(std::chrono::seconds(1)), Duration(std::chrono::hours(1))}) {
      TopList list = TopList::create(settings_of(most, half_life)).value();
      std::map<std::string, double> exact;
      std::set<std::string> listed;
      Time at = kStart;
      double weight = 1;  // of an event at `at`, beside one at the start
      for (int i = 0; i < 20'000; ++i) {
        if (half_life != Duration{} && dice() % 64 == 0) {
          at += half_life / 64;
          weight *= std::exp2(1.0 / 64);
        }
        const std::uint64_t number = dice() % (1 + dice() % 1000);
        const std::string item = std::to_string(number) + std::string(number % 40, '.');
        const auto increment = static_cast<std::uint32_t>(dice() % 32 == 0 ? TopList::kMostIncrement : 1 + dice() % 3);
        exact[item] += increment * weight;
        if (const auto expelled = add(list, item, increment, at); expelled) {
          ASSERT_EQ(listed.erase(*expelled), 1U);
          listed.insert(item);
        } else if (listed.size() < most) {
          listed.insert(item);
        }
      }
      EXPECT_EQ(listed_in(list), listed);
      for (const auto& [item, count] : exact) {
        // The model multiplies doubles, a factor of 1e-12 at most.
        EXPECT_GE(list.count(item, at) * (1 + 1e-12), count / weight);
        EXPECT_EQ(list.is_listed(item), listed.contains(item));
      }
      const auto items = list.items(at);
      EXPECT_TRUE(std::ranges::is_sorted(items, std::greater<>{}, &TopList::Item::count));
    }
  }
}

TEST(TopList, a_hot_item_is_found_after_ages_without_events) {
  TopList list = TopList::create(settings_of(3, TopList::kLeastHalfLife)).value();
  Time at = kStart;
  for (std::uint32_t i = 0; i < 20; ++i, at += std::chrono::hours(24 * 365)) {  // ever fewer events
    EXPECT_EQ(add(list, "a", 100 - i, at), std::nullopt);
    for (std::uint32_t part = 0; part < 4; ++part) {  // so that the lowest count of the list is of now
      const std::string item = std::to_string(i) + "." + std::to_string(part);
      add(list, item, 50 - i + part, at);
      EXPECT_TRUE(list.is_listed("a") && list.is_listed(item));
    }
    EXPECT_NEAR(list.count("a", at), 100 - i, 0.01);
  }
}

/// A list's cells in one piece, bound to its header.
struct Pieces {
  std::vector<std::byte> header;
  std::vector<std::byte> cells;
};

Pieces pieces_of(const TopList& list) {
  const auto parts = list.parts();
  return {.header = redis::header_of(TopList::kFamily, parts), .cells = redis::piece_of(parts, 0)};
}

// With the checksums that belong to them.
Result<TopList> opened(Pieces pieces) {
  fix_header_checksum(std::span(pieces.header).subspan(kDumpPrefixBytes, sizeof(ImageHeader)));
  fix_piece(pieces.header, kDumpHeaderPlace);
  fix_piece(pieces.cells,
            XXH3_64bits_withSeed(pieces.header.data() + kDumpPrefixBytes, sizeof(ImageHeader), kDumpHeaderPlace));
  auto assembly = redis::Assembly::begin(TopList::kFamily, pieces.header);
  if (!assembly) {
    return std::unexpected(assembly.error());
  }
  MANKAI_TRY(assembly->add(pieces.cells.size() - redis::kPieceChecksumBytes, pieces.cells));
  return assembly->is_complete() ? TopList::from_image(assembly->finish())
                                 : fail(ErrorCode::corrupt, "pieces are missing");
}

TopList full_list() {
  TopList list = TopList::create(settings_of(3, std::chrono::hours(1))).value();
  for (int i = 0; i < 200; ++i) {
    add(list, std::to_string(i % 50), 1 + static_cast<std::uint32_t>(i));
  }
  return list;
}

// All that can be done with a list, whatever it says.
void use(TopList& list) {
  for (int i = 0; i < 40; ++i) {
    add(list, std::string(static_cast<std::size_t>(i), 'x'), 90'000, kStart + std::chrono::hours(i));
  }
  EXPECT_LE(list.items(kStart).size(), list.most());
  EXPECT_TRUE(list.is_listed(std::string(39, 'x')) || list.count("x", kStart) >= 0);
  EXPECT_TRUE(TopList::create(list.settings()).has_value() || list.settings().most != 3);
}

TEST(TopList, a_piece_of_a_list_opens) {
  const TopList list = full_list();
  TopList again = opened(pieces_of(list)).value();
  EXPECT_EQ(listed_in(again), listed_in(list));
  use(again);
}

TEST(TopList, a_forged_bit_is_refused_or_a_list) {
  const Pieces original = pieces_of(full_list());
  int taken = 0;
  int tried = 0;
  const auto attempt = [&](const Pieces& forged) {
    ++tried;
    if (auto list = opened(forged); list) {
      ++taken;
      use(*list);
    }
  };
  for (std::size_t bit = kDumpPrefixBytes * 8; bit < (kDumpPrefixBytes + sizeof(ImageHeader)) * 8; ++bit) {
    Pieces forged = original;
    forged.header[bit / 8] ^= std::byte{1} << (bit % 8);
    attempt(forged);
  }
  for (std::size_t bit = 0; bit < (original.cells.size() - redis::kPieceChecksumBytes) * 8; ++bit) {
    Pieces forged = original;
    forged.cells[bit / 8] ^= std::byte{1} << (bit % 8);
    attempt(forged);
  }
  EXPECT_GT(taken, tried / 8);  // counts, and room for texts
  EXPECT_LT(taken, tried);
}

TEST(TopList, forged_texts_are_refused) {
  const TopList list = full_list();
  const Pieces original = pieces_of(list);
  // The list is behind the ledger and the counts; an entry is u32 bucket, u32 text, u16 tag.
  const auto params = params_in<TopList::Params>(list.sealed_header());
  const std::size_t entries = std::size_t{1 + params.buckets + params.sketch_lines} * kCacheLineBytes;
  const std::size_t texts = entries + kCacheLineBytes;
  const auto forge = [&](std::size_t place, std::uint32_t value) {
    Pieces forged = original;
    std::memcpy(forged.cells.data() + place, &value, sizeof(value));
    return opened(forged);
  };
  std::array<std::uint32_t, 9> words;
  std::memcpy(words.data(), original.cells.data() + entries, sizeof(words));
  EXPECT_TRUE(forge(entries + 4, words[1]).has_value());
  for (const std::uint32_t text : {words[1] + 1, words[4], 1U << 20, ~0U}) {
    EXPECT_FALSE(forge(entries + 4, text).has_value()) << text;
  }
  for (const std::uint32_t length : {0U, 1000U, 1U << 31, ~0U, ~0U - 3}) {
    EXPECT_FALSE(forge(texts + std::size_t{words[1]} * 4, length).has_value()) << length;
  }
  Pieces twice = original;  // an item that is listed twice
  std::memcpy(twice.cells.data() + entries, words.data() + 3, 12);
  EXPECT_FALSE(opened(twice).has_value());
}

TEST(TopList, impossible_shapes_are_refused) {
  EXPECT_FALSE(TopList::create({.most = 1, .width = ~0U, .depth = ~0U}).has_value());
  EXPECT_FALSE(TopList::create({.most = 1, .width = ~0U, .depth = 1U << 20}).has_value());
}

}  // namespace
}  // namespace mankai::test
