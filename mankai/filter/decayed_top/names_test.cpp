#include "mankai/filter/decayed_top/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/random.hpp"

namespace mankai {
namespace {

constexpr std::uint32_t kSlots = 1000;

struct Stored {
  explicit Stored(std::size_t lines) : words(lines * 8), names(state, words) {}
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
  Stored(Stored&&) = delete;
  Stored& operator=(Stored&&) = delete;
  ~Stored() = default;

  Names::State state{};
  std::vector<std::uint64_t> words;
  Names names;
};

std::string key_of(std::uint32_t slot) { return std::string(slot % 90, 'k') + std::to_string(slot); }

// Goal: names are those of a map of slots. Method: random additions, drops and times, with more slots than room; a
// slot's rank is its number, so the lowest ones are dropped.
TEST(Names, behave_as_a_map_of_slots) {
  test::Random random(1);
  for (const std::size_t lines : {Names::kLeastLines, std::uint64_t{32}, std::uint64_t{200}}) {
    Stored stored(lines);
    Names& names = stored.names;
    std::map<std::uint32_t, std::uint64_t> model;
    std::uint64_t dropped = 0;
    for (std::uint64_t i = 1; i < 20'000; ++i) {
      const auto slot = static_cast<std::uint32_t>(random.below(kSlots));
      const std::string whole = key_of(slot);
      const std::string key = whole.substr(0, names.most_key_bytes());
      if (const auto found = model.find(slot); found != model.end()) {
        if (random.below(4) == 0) {
          names.drop(slot);
          model.erase(found);
        } else {
          names.note_seen(slot, i);
          found->second = i;
        }
        continue;
      }
      if (!names.has_room(key.size())) {
        std::set<std::uint32_t> gone;
        names.make_room(key.size(), {.rank = [](std::uint32_t of) { return of; },
                                     .drop = [&](std::uint32_t of) { gone.insert(of); },
                                     .prefetch = [](std::uint32_t) {}});
        ASSERT_TRUE(names.has_room(key.size()));
        for (const std::uint32_t of : gone) {
          ASSERT_EQ(model.erase(of), 1U);
        }
        ASSERT_TRUE(gone.empty() || model.empty() || *gone.rbegin() < model.begin()->first) << "the lowest ranks";
        dropped += gone.size();
      }
      names.add({.slot = slot, .key = key, .last_seen = i, .is_cut = key != whole});
      model[slot] = i;
      if (i % 100 == 0) {
        ASSERT_FALSE(names.check(i, kSlots, [](std::string_view of, std::uint32_t at) { return key_of(at) == of; }));
      }
    }
    EXPECT_GT(dropped, 100U);
    ASSERT_EQ(names.count(), model.size());
    std::map<std::uint32_t, std::uint64_t> listed;
    names.for_each([&](const Names::Name& name) {
      EXPECT_EQ(name.key, key_of(name.slot).substr(0, names.most_key_bytes()));
      EXPECT_EQ(name.is_cut, key_of(name.slot).size() > names.most_key_bytes());
      listed[name.slot] = name.last_seen;
    });
    EXPECT_EQ(listed, model);
    names.clear();
    EXPECT_EQ(names.count(), 0U);
    EXPECT_TRUE(std::ranges::all_of(stored.words, [](std::uint64_t word) { return word == 0; }));
  }
}

TEST(Names, wrong_words_are_found) {
  Stored stored(16);
  for (const std::uint32_t slot : {3U, 8U, 500U}) {
    stored.names.add({.slot = slot, .key = key_of(slot), .last_seen = 5, .is_cut = false});
  }
  const auto is_wrong = [&](std::uint64_t newest, std::uint32_t slots) {
    return stored.names.check(newest, slots, [](auto, auto) { return true; }).has_value();
  };
  EXPECT_FALSE(is_wrong(5, kSlots));
  EXPECT_TRUE(is_wrong(4, kSlots)) << "a time later than the newest event";
  EXPECT_TRUE(is_wrong(5, 500)) << "a slot beyond the table";
  EXPECT_TRUE(stored.names.check(5, kSlots, [](auto, auto) { return false; }).has_value()) << "a key of another slot";
  ++stored.state.count;
  EXPECT_TRUE(is_wrong(5, kSlots));
  --stored.state.count;
  stored.words.back() = 1;
  EXPECT_TRUE(is_wrong(5, kSlots)) << "bytes after the last name";
}

}  // namespace
}  // namespace mankai
