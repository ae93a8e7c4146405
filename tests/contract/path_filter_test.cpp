// Every PathFilter: what it promises, one call at a time and in batches, against an exact set of paths.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/hash/path_mix.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::test {
namespace {

class PathFilterContract : public testing::TestWithParam<UrlShape> {};
INSTANTIATE_TEST_SUITE_P(shapes, PathFilterContract,
                         testing::Values(kRepaired, kFaithful, kRepairedDeep, kFaithfulDeep), UrlShapeNames{});

// The digest of a whole URL, as the last array has it where it is repaired.
Digest url_digest(std::span<const Digest> path) {
  Digest whole{};
  for (std::size_t level = 0; level < path.size(); ++level) {
    whole = chain(whole, path[level], level);
  }
  return whole;
}

void insert_all(LayeredUrlBloom& filter, std::span<const Path> paths) {
  for (const Path& path : paths) {
    filter.insert(path);
  }
}

std::size_t count_missed(const LayeredUrlBloom& filter, std::span<const Path> paths) {
  return static_cast<std::size_t>(
      std::ranges::count_if(paths, [&](const Path& path) { return !filter.may_contain(path); }));
}

TEST(LayeredUrlBloom, declares_that_it_has_no_false_negatives) {
  static_assert(PathFilter<LayeredUrlBloom>);
  EXPECT_TRUE(LayeredUrlBloom::kPromise.no_false_negatives);
}

TEST_P(PathFilterContract, a_fresh_filter_contains_nothing) {
  const auto filter = make(GetParam());
  Random random(1);
  for (const Path& path : random_paths(random, 5000, 8, 1000)) {
    ASSERT_FALSE(filter.may_contain(path));
  }
  EXPECT_FALSE(filter.may_contain(Path{}));
  EXPECT_EQ(filter.keys_inserted(), 0U);
  EXPECT_EQ(filter.levels(), 0U);
  EXPECT_EQ(filter.fill_ratio(), 0);
  EXPECT_EQ(filter.fpr_estimate(), 0);
  EXPECT_EQ(filter.keys_estimate(), 0);
}

void expect_all_found(const LayeredUrlBloom& filter, const std::set<Path>& model) {
  for (const Path& known : model) {
    ASSERT_TRUE(filter.may_contain(known)) << "after " << model.size() << " paths";
  }
}

// Paths of few words, so that many come again and share what they consist of, up to three times the capacity; after
// each thousand, every path of the exact set is asked for.
TEST_P(PathFilterContract, an_inserted_path_is_found_far_beyond_the_capacity) {
  for (const double fpr : {0.5, 0.05, 1e-4}) {
    auto filter = make(GetParam(), {.keys = 1000, .fpr = fpr});
    std::set<Path> model;
    Random random(2);
    for (int i = 1; i <= 6000; ++i) {
      const Path path = random_path(random, random.below(7), 9);
      filter.insert(path);
      model.insert(path);
      ASSERT_TRUE(filter.may_contain(path));
      if (i % 1000 == 0) {
        expect_all_found(filter, model);
      }
    }
    EXPECT_GT(model.size(), 3000U);
  }
}

TEST_P(PathFilterContract, a_path_without_segments_is_a_key_like_any_other) {
  auto filter = make(GetParam());
  EXPECT_FALSE(filter.observe(Path{}));
  EXPECT_TRUE(filter.may_contain(Path{}));
  EXPECT_TRUE(filter.observe(Path{}));
  EXPECT_EQ(filter.keys_inserted(), 1U);
  EXPECT_EQ(filter.levels(), 0U);
  EXPECT_EQ(path_answers(filter, std::vector<Path>{{}, {Digest{1}}, {}}), (std::vector<bool>{true, false, true}));
}

TEST_P(PathFilterContract, extreme_digests_are_segments_like_any_other) {
  auto filter = make(GetParam());
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    const Path path(3, Digest{value});
    filter.insert(path);
    EXPECT_TRUE(filter.may_contain(path)) << value;
  }
}

TEST_P(PathFilterContract, a_path_deeper_than_all_before_makes_levels_up_to_the_last_one) {
  auto filter = make(GetParam(), {.keys = 3000});
  Random random(3);
  std::vector<Path> paths;
  for (const std::size_t depth : {1U, 3U, 2U, 7U, 8U, 9U, 63U, 64U, 65U, 200U}) {
    const Path path = random_path(random, depth, 1000000);
    EXPECT_FALSE(filter.may_contain(path)) << depth;
    EXPECT_FALSE(filter.observe(path)) << depth;
    paths.push_back(path);
    EXPECT_EQ(count_missed(filter, paths), 0U) << depth;
    EXPECT_GE(filter.levels(), std::min(depth, GetParam().max_levels));
  }
  EXPECT_EQ(filter.levels(), GetParam().max_levels);
  EXPECT_EQ(path_answers(filter, paths), std::vector<bool>(paths.size(), true));
  paths.back()[150] = Digest{12345};
  EXPECT_FALSE(filter.may_contain(paths.back())) << "segments beyond the last level count";
}

// Whoever chooses URLs does not choose our memory: 64 levels of this size would be seven times as much as the default.
TEST_P(PathFilterContract, a_path_of_a_thousand_segments_makes_no_more_levels_than_there_may_be) {
  CountingMemory counter;
  auto filter = make(GetParam(), {.keys = 20000, .memory = counter.memory()});
  const std::size_t empty = counter.bytes_in_use;
  const std::size_t array = filter.slice(0).image_bytes();
  Random random(19);
  const auto paths = std::vector<Path>{random_path(random, 1000, 1000), random_path(random, 1000, 1000)};
  filter.insert(paths[0]);
  EXPECT_EQ(filter.levels(), GetParam().max_levels);
  const PathBatch batch(paths);
  filter.insert(batch.segments, batch.ends);
  EXPECT_EQ(filter.levels(), GetParam().max_levels);
  EXPECT_LE(counter.bytes_in_use, empty + GetParam().max_levels * (array + kCacheLineBytes));
  EXPECT_EQ(count_missed(filter, paths), 0U);
  EXPECT_EQ(path_answers(filter, paths), (std::vector<bool>{true, true}));
}

// Far more segments than the shared level was sized for.
TEST_P(PathFilterContract, deep_paths_are_found_also_where_the_last_level_overflows) {
  auto filter = make(GetParam(), {.keys = 200, .fpr = 0.05});
  Random random(20);
  std::vector<Path> paths;
  for (int i = 0; i < 400; ++i) {
    paths.push_back(random_path(random, 1 + random.below(100), 1000000));
  }
  insert_all(filter, std::span(paths).first(200));
  const PathBatch batch{std::span<const Path>(paths).last(200)};
  filter.insert(batch.segments, batch.ends);
  EXPECT_EQ(filter.levels(), GetParam().max_levels);
  EXPECT_EQ(count_missed(filter, paths), 0U);
  EXPECT_EQ(path_answers(filter, paths), std::vector<bool>(paths.size(), true));
}

TEST_P(PathFilterContract, a_path_deeper_than_the_levels_is_not_in) {
  auto filter = make(GetParam());
  Random random(4);
  const Path path = random_path(random, 4, 1000);
  filter.insert(std::span(path).first(3));
  EXPECT_EQ(filter.levels(), 3U);
  EXPECT_FALSE(filter.may_contain(path));
  EXPECT_EQ(path_answers(filter, std::vector<Path>{path}), std::vector<bool>{false});
}

TEST_P(PathFilterContract, observe_says_what_may_contain_said_and_inserts) {
  auto observed = make(GetParam(), {.keys = 500});
  auto inserted = make(GetParam(), {.keys = 500});
  Random random(5);
  std::uint64_t fresh = 0;
  for (int i = 0; i < 3000; ++i) {
    const Path path = random_path(random, random.below(6), 5);
    const bool before = observed.may_contain(path);
    ASSERT_EQ(observed.observe(path), before);
    ASSERT_TRUE(observed.may_contain(path));
    inserted.insert(path);
    fresh += before ? 0U : 1U;
    ASSERT_EQ(observed.keys_inserted(), fresh);
  }
  EXPECT_EQ(observed.to_bytes(), inserted.to_bytes());
}

// Batches of every size around the window of 1024 and the group of 16, with twins within a batch.
TEST_P(PathFilterContract, a_batch_is_its_single_calls_in_order) {
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1023U, 1024U, 1025U, 3000U}) {
    auto batched = make(GetParam(), {.keys = 800, .fpr = 0.05});
    auto single = make(GetParam(), {.keys = 800, .fpr = 0.05});
    Random random(size);
    for (int round = 0; round < 3; ++round) {
      const auto paths = random_paths(random, size, round == 1 ? 70 : 5, 7);
      const PathBatch batch(paths);
      std::vector<bool> expected;
      for (const Path& path : paths) {
        expected.push_back(single.observe(path));
      }
      if (round < 2) {
        Outcomes seen(size);
        batched.observe(batch.segments, batch.ends, seen.span());
        ASSERT_EQ(seen.vector(), expected) << size;
      } else {
        batched.insert(batch.segments, batch.ends);
      }
      ASSERT_EQ(batched.to_bytes(), single.to_bytes()) << size;

      const auto asked = random_paths(random, size + 100, 6, 8);
      std::vector<bool> answers;
      for (const Path& path : asked) {
        answers.push_back(single.may_contain(path));
      }
      ASSERT_EQ(path_answers(batched, asked), answers) << size;
    }
  }
}

// Beyond the near caches the kernels work differently.
TEST_P(PathFilterContract, a_large_batch_is_its_single_calls_in_order) {
  auto batched = make(GetParam(), {.keys = 3000000});
  auto single = make(GetParam(), {.keys = 3000000});
  Random random(6);
  const auto paths = random_paths(random, 20000, 4, 50000);
  const PathBatch batch(paths);
  batched.insert(batch.segments, batch.ends);
  insert_all(single, paths);
  EXPECT_EQ(batched.keys_inserted(), single.keys_inserted());
  EXPECT_EQ(batched.fill_ratio(), single.fill_ratio());
  EXPECT_EQ(path_answers(batched, paths), std::vector<bool>(paths.size(), true));
  EXPECT_EQ(count_missed(batched, paths), 0U);
}

TEST_P(PathFilterContract, is_full_once_the_capacity_is_counted) {
  auto filter = make(GetParam(), {.keys = 100, .fpr = 1e-6});
  Random random(7);
  while (filter.keys_inserted() < 100) {
    EXPECT_FALSE(filter.is_full());
    filter.insert(random_path(random, 3, 1000));
  }
  EXPECT_TRUE(filter.is_full());
}

TEST_P(PathFilterContract, clear_forgets_every_path_and_nothing_else) {
  auto filter = make(GetParam());
  const auto fresh = filter.to_bytes();
  Random random(8);
  const auto paths = random_paths(random, 2000, 6, 1000);
  insert_all(filter, paths);
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
  filter.insert(paths[0]);
  EXPECT_TRUE(filter.may_contain(paths[0]));
  EXPECT_EQ(filter.keys_inserted(), 1U);
}

TEST_P(PathFilterContract, remembers_what_was_asked_for) {
  const auto filter = make(GetParam(), {.keys = 12345, .fpr = 0.003, .hash = kSiphash});
  EXPECT_EQ(filter.capacity_keys(), 12345U);
  EXPECT_EQ(filter.fpr_target(), 0.003);
  EXPECT_EQ(filter.hash(), kSiphash);
  EXPECT_EQ(filter.layering(), GetParam().layering);
  EXPECT_EQ(filter.max_levels(), GetParam().max_levels);
  EXPECT_LE(filter.fpr_expected(12345), 0.003);
  EXPECT_EQ(filter.probes_per_key(), filter.params().k);
}

TEST(LayeredUrlBloom, has_one_to_64_levels) {
  for (const std::size_t levels : {1U, 8U, 64U}) {
    const auto made = LayeredUrlBloom::create({.keys = 10, .max_levels = levels});
    ASSERT_TRUE(made.has_value()) << levels;
    EXPECT_EQ(made->max_levels(), levels);
  }
  for (const std::size_t levels : {std::size_t{0}, std::size_t{65}, ~std::size_t{0}}) {
    const auto made = LayeredUrlBloom::create({.keys = 10, .max_levels = levels});
    ASSERT_FALSE(made.has_value()) << levels;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(LayeredUrlBloom::create({.keys = 10})->max_levels(), 8U);
}

// Goal: segments of a shared level keep their place. Method: one level for all; each path's segments are all known
// there, so that the answer to a path in another order hangs on the level in their digests alone.
TEST(LayeredUrlBloom, repaired_tells_apart_what_changed_places_within_a_shared_level) {
  auto filter = make(kRepairedOneLevel, {.keys = 4000, .fpr = 1e-6});
  Random random(21);
  const Path path = random_path(random, 20, 1000000);
  filter.insert(path);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    Path swapped = path;
    std::swap(swapped[i], swapped[i + 1]);
    EXPECT_FALSE(filter.slice(1).may_contain(at_level(swapped[i], i))) << i << ": the shared level";
    EXPECT_FALSE(filter.slice(0).may_contain(url_digest(swapped))) << i << ": the array of whole URLs";
    EXPECT_FALSE(filter.may_contain(swapped)) << i;
    EXPECT_FALSE(filter.may_contain(std::span(path).first(i + 1))) << i;
  }
  EXPECT_TRUE(filter.slice(0).may_contain(url_digest(path)));
}

LayeredUrlBloom filled(const UrlShape& shape, std::uint64_t seed, std::size_t count, std::size_t most_segments) {
  auto filter = make(shape);
  Random random(seed);
  insert_all(filter, random_paths(random, count, most_segments, 500));
  return filter;
}

TEST_P(PathFilterContract, an_image_makes_the_filter_that_it_came_from) {
  for (const std::size_t count : {0U, 1U, 1000U}) {
    auto filter = filled(GetParam(), 9, count, 6);
    const auto bytes = filter.to_bytes();
    EXPECT_EQ(bytes.size(), filter.image_bytes());
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      auto copied = LayeredUrlBloom::from_bytes(bytes, trust);
      ASSERT_TRUE(copied.has_value()) << copied.error().detail;
      EXPECT_TRUE(copied->verify().has_value());
      EXPECT_EQ(copied->to_bytes(), bytes);
      EXPECT_EQ(copied->keys_inserted(), filter.keys_inserted());
      EXPECT_EQ(copied->levels(), filter.levels());
      auto region = Region::allocate(system_memory(), bytes.size()).value();
      std::copy(bytes.begin(), bytes.end(), region.bytes().begin());
      auto adopted = LayeredUrlBloom::from_region(std::move(region), trust);
      ASSERT_TRUE(adopted.has_value()) << adopted.error().detail;
      EXPECT_EQ(adopted->to_bytes(), bytes);
    }
    std::vector<std::byte> joined;
    for (const auto part : filter.seal_parts()) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, bytes);
    EXPECT_EQ(filter.keys_inserted(), LayeredUrlBloom::from_bytes(bytes)->keys_inserted());
  }
}

TEST_P(PathFilterContract, a_filter_from_an_image_goes_on_growing) {
  auto filter = filled(GetParam(), 10, 300, 2);
  auto again = LayeredUrlBloom::from_bytes(filter.to_bytes()).value();
  Random random(11);
  const auto deeper = random_paths(random, 300, 9, 500);
  insert_all(filter, deeper);
  insert_all(again, deeper);
  EXPECT_EQ(again.to_bytes(), filter.to_bytes());
}

TEST_P(PathFilterContract, a_merged_filter_answers_as_if_all_had_been_inserted_there) {
  for (const auto& [mine, theirs] : {std::pair<std::size_t, std::size_t>{3, 7}, {7, 3}, {5, 5}, {0, 4}}) {
    auto left = filled(GetParam(), 12, 400, mine);
    const auto right = filled(GetParam(), 13, 400, theirs);
    auto both = filled(GetParam(), 12, 400, mine);
    Random random(13);
    insert_all(both, random_paths(random, 400, theirs, 500));
    const std::uint64_t most = left.keys_inserted() + right.keys_inserted();
    const std::uint64_t least = std::max(left.keys_inserted(), right.keys_inserted());
    ASSERT_TRUE(left.merge(right).has_value());
    EXPECT_EQ(left.levels(), both.levels());
    EXPECT_LE(left.keys_inserted(), most);
    EXPECT_GE(left.keys_inserted(), least);
    for (std::size_t i = 0; i < both.slice_count(); ++i) {
      EXPECT_EQ(left.slice(i).fill_ratio(), both.slice(i).fill_ratio());
    }
    const auto asked = random_paths(random, 5000, 8, 500);
    EXPECT_EQ(path_answers(left, asked), path_answers(both, asked));
  }
}

TEST_P(PathFilterContract, filters_made_alike_merge_and_others_say_what_differs) {
  auto filter = filled(GetParam(), 14, 100, 3);
  auto like = filter.create_like().value();
  EXPECT_EQ(like.keys_inserted(), 0U);
  EXPECT_EQ(like.max_levels(), filter.max_levels());
  EXPECT_TRUE(like.merge(filter).has_value());
  EXPECT_EQ(like.to_bytes(), filter.to_bytes());
  const auto before = filter.to_bytes();
  for (const FilterRequest& request :
       {FilterRequest{.keys = 999}, FilterRequest{.fpr = 0.02}, FilterRequest{.hash = kSiphash}}) {
    const auto merged = filter.merge(make(GetParam(), request));
    ASSERT_FALSE(merged.has_value());
    EXPECT_EQ(merged.error().code, ErrorCode::invalid_argument);
  }
  const auto other = LayeredUrlBloom::create({.keys = filter.capacity_keys(),
                                              .fpr = filter.fpr_target(),
                                              .layering = filter.layering(),
                                              .max_levels = filter.max_levels() - 1,
                                              .hash = filter.hash()});
  EXPECT_EQ(filter.merge(*other).error().code, ErrorCode::invalid_argument) << "another number of levels";
  EXPECT_EQ(filter.to_bytes(), before);
}

TEST_P(PathFilterContract, a_filter_made_like_another_takes_keys_of_the_same_canonical_form) {
  auto filter = make(GetParam());
  filter.set_canonical_version(1);
  auto like = filter.create_like().value();
  EXPECT_EQ(like.canonical_version(), 1);
  EXPECT_TRUE(like.merge(filter).has_value());
}

TEST_P(PathFilterContract, memory_that_refuses_leaves_all_answers_as_they_were) {
  for (std::size_t grants = 0; grants < 5; ++grants) {
    CountingMemory counter(grants);
    auto made = create(GetParam(), {.memory = counter.memory()});
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::out_of_space);
      continue;
    }
    Random random(15);
    const Path path = random_path(random, 10, 1000);
    EXPECT_THROW(made->insert(path), std::bad_alloc);
    EXPECT_FALSE(made->may_contain(path));
    EXPECT_EQ(made->keys_inserted(), 0U);
    EXPECT_EQ(made->fill_ratio(), 0);
    const PathBatch batch(std::vector<Path>{path});
    EXPECT_THROW(made->insert(batch.segments, batch.ends), std::bad_alloc);
    EXPECT_EQ(made->fill_ratio(), 0);
    const auto merged = made->merge(filled(GetParam(), 16, 50, 9));
    ASSERT_FALSE(merged.has_value());
    EXPECT_EQ(merged.error().code, ErrorCode::out_of_space);
    EXPECT_EQ(made->fill_ratio(), 0);
  }
}

TEST_P(PathFilterContract, a_move_leaves_valid_filters_and_gives_all_memory_back) {
  CountingMemory counter;
  {
    auto first = make(GetParam(), {.memory = counter.memory()});
    Random random(17);
    const auto paths = random_paths(random, 500, 6, 1000);
    insert_all(first, paths);
    const auto bytes = first.to_bytes();
    auto second = std::move(first);
    EXPECT_EQ(second.to_bytes(), bytes);
    first = make(GetParam(), {.memory = counter.memory()});
    first.insert(paths[0]);
    EXPECT_TRUE(first.may_contain(paths[0]));
    first = std::move(second);
    EXPECT_EQ(first.to_bytes(), bytes);
    EXPECT_EQ(count_missed(first, paths), 0U);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

// Goal: no reader misses a path that was in before it asked, also while levels are made.
// Method: the writer inserts ever deeper paths and publishes how many; readers ask for all below that number.
TEST_P(PathFilterContract, readers_beside_a_writer_that_makes_levels_miss_nothing) {
  auto filter = make(GetParam(), {.keys = 4000});
  Random random(18);
  constexpr std::size_t kPaths = kIsSampled ? 800 : 3200;
  std::vector<Path> paths;
  for (std::size_t i = 0; i < kPaths; ++i) {
    paths.push_back(random_path(random, 1 + i * 64 / kPaths, 100000));
  }
  std::atomic<std::size_t> published = 0;
  std::atomic<std::size_t> missed = 0;
  const auto read = [&](std::uint64_t reader) {
    Random own(reader);
    std::size_t ready = 0;
    while (ready < paths.size()) {
      ready = published.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < 20 && ready > 0; ++i) {
        missed += filter.may_contain(paths[own.below(ready)]) ? 0U : 1U;
      }
      const auto latest = std::span(paths).first(ready).last(std::min<std::size_t>(ready, 30));
      missed += static_cast<std::size_t>(std::ranges::count(path_answers(filter, latest), false));
      missed += filter.keys_inserted() > paths.size() ? 1U : 0U;
    }
  };
  {
    const std::jthread one(read, 1);
    const std::jthread other(read, 2);
    for (std::size_t i = 0; i < paths.size(); i += 10) {
      const PathBatch batch{std::span<const Path>(paths).subspan(i, 9)};
      filter.insert(batch.segments, batch.ends);
      filter.insert(paths[i + 9]);
      published.store(i + 10, std::memory_order_release);
    }
  }
  EXPECT_EQ(missed.load(), 0U);
  EXPECT_EQ(filter.levels(), GetParam().max_levels);
}

}  // namespace
}  // namespace mankai::test
