// The layered filter's rates per class of absent keys: repaired, the corrected formula and the nominal rate hold for
// each; faithful, three classes are answered yes always, which is the source's flaw and no accident of these keys.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"
#include "tests/support/paths.hpp"

namespace mankai::test::layered {
namespace {

constexpr std::uint64_t kKeys = 100000;
constexpr std::uint64_t kDirectories = 500;

// Distinct words of several vocabularies.
Digest word(std::uint64_t vocabulary, std::uint64_t number) { return Hasher(kXxh3)(vocabulary << 56 | number); }

struct Member {
  Digest host;
  Digest first;
  Digest second;
  Digest page;
};

// host/first/second/page: one host for 20 URLs, directories of one vocabulary at both levels, the same one twice in
// every fourth URL, and a page of its own.
Member member(std::uint64_t number) {
  const std::uint64_t draw = Hasher(kXxh3)(number).value;
  const Digest first = word(2, draw % kDirectories);
  return {.host = word(1, (draw >> 20) % (kKeys / 20)),
          .first = first,
          .second = number % 4 == 0 ? first : word(2, draw / kDirectories % kDirectories),
          .page = word(3, number)};
}

Path path_of(const Member& url) { return {url.host, url.first, url.second, url.page}; }
bool is_repeat(const Member& url) { return url.first == url.second; }

LayeredUrlBloom filled(UrlLayering layering, double fpr, std::uint64_t seed) {
  auto filter =
      LayeredUrlBloom::create(
          {.keys = kKeys, .fpr = fpr, .layering = layering, .hash = {.kind = HashKind::xxh3, .seed = {seed, 0}}})
          .value();
  PathBatch batch;
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    batch.add(path_of(member(number)));
  }
  filter.insert(batch.segments, batch.ends);
  return filter;
}

// Each makes a path that was never inserted of member `number`, or none.
using Strange = std::function<Path(std::uint64_t)>;

Path all_new(std::uint64_t number) { return {word(4, number), word(5, number), word(6, number), word(7, number)}; }
Path new_last(std::uint64_t number) {
  const Member url = member(number);
  return {url.host, url.first, url.second, word(7, number)};
}
Path recombined(std::uint64_t number) {
  const Member front = member(number);
  const Member rest = member(number * 7919 % kKeys);
  return front.host == rest.host && front.first == rest.first ? Path{}
                                                              : Path{front.host, front.first, rest.second, rest.page};
}
Path prefix(std::uint64_t number) {
  const Member url = member(number);
  return is_repeat(url) ? Path{} : Path{url.host, url.first, url.second};
}
Path swapped(std::uint64_t number) {
  const Member url = member(number);
  return is_repeat(url) ? Path{} : Path{url.host, url.second, url.first, url.page};
}
Path canceled(std::uint64_t number) {
  const Member url = member(number);
  const Digest other = member(number * 7919 % kKeys).first;
  return is_repeat(url) && other != url.first ? Path{url.host, other, other, url.page} : Path{};
}

std::vector<Path> strangers(const Strange& strange) {
  std::vector<Path> paths;
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    if (Path path = strange(number); !path.empty()) {
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

double yes_rate(const LayeredUrlBloom& filter, std::span<const Path> paths) {
  const auto answers = path_answers(filter, paths);
  return static_cast<double>(std::ranges::count(answers, true)) / static_cast<double>(paths.size());
}

// The product of the rates of the arrays that can say no.
double corrected(const LayeredUrlBloom& filter, std::size_t first_unknown) {
  double rate = filter.slice(0).fpr_estimate();
  for (std::size_t level = first_unknown; level < filter.levels(); ++level) {
    rate *= filter.slice(level + 1).fpr_estimate();
  }
  return rate;
}

struct Class {
  const char* name;
  Path (*strange)(std::uint64_t);
  std::size_t first_unknown;  // the levels from here on do not know their segment
};
constexpr std::array<Class, 6> kClasses = {{{"all new", all_new, 0},
                                            {"new last", new_last, 3},
                                            {"recombined", recombined, 4},
                                            {"prefix", prefix, 4},
                                            {"swapped", swapped, 4},
                                            {"canceled", canceled, 4}}};

double standard_error(double rate, std::size_t trials) {
  return std::sqrt(rate * (1 - rate) / static_cast<double>(trials));
}

// Goal: repaired, every class keeps the nominal rate and follows the corrected formula.
// Method: fixed members and absent keys, filters of three rates; three standard errors of the count. A filter errs on
// a prefix of few known ones for all its repetitions, so prefixes are of three levels and nearly all different.
TEST(LayeredRate, repaired_keeps_the_target_and_the_corrected_formula_in_every_class) {
  for (const double fpr : {0.1, 0.05, 0.01}) {
    const auto filter = filled(UrlLayering::repaired, fpr, 1);
    for (const Class& each : kClasses) {
      const auto paths = strangers(each.strange);
      ASSERT_GT(paths.size(), kKeys / 5) << each.name;
      const double rate = yes_rate(filter, paths);
      const double formula = corrected(filter, each.first_unknown);
      EXPECT_LE(rate, 1.1 * fpr) << each.name;
      EXPECT_NEAR(rate, formula, 3 * standard_error(formula, paths.size())) << each.name << " at " << fpr;
    }
  }
}

// A member and 8 to 20 segments behind its page, none of which comes twice.
Path deep_path(std::uint64_t number) {
  Path path = path_of(member(number));
  const std::uint64_t more = 8 + Hasher(kXxh3)(~number).value % 13;
  for (std::uint64_t i = 0; i < more; ++i) {
    path.push_back(word(8, number << 8U | i));
  }
  return path;
}
constexpr std::size_t kShared = 8;  // from this level on, all segments of a deep path share one

Path deep_new_last(std::uint64_t number) {
  Path path = deep_path(number);
  path.back() = word(7, number);
  return path;
}
Path deep_prefix(std::uint64_t number) {
  Path path = deep_path(number);
  path.pop_back();
  return path;
}
Path deep_swapped(std::uint64_t number) {
  Path path = deep_path(number);
  std::swap(path[path.size() - 1], path[path.size() - 2]);
  return path;
}
Path deep_recombined(std::uint64_t number) {
  Path path = deep_path(number);
  const Path other = deep_path((number + 1) % kKeys);
  path.resize(kShared);
  path.insert(path.end(), other.begin() + kShared, other.end());
  return path;
}

struct DeepClass {
  const char* name;
  Path (*strange)(std::uint64_t);
  int unknown;  // segments that the shared level does not know where they are
};
constexpr std::array<DeepClass, 4> kDeepClasses = {{{"new last", deep_new_last, 1},
                                                    {"prefix", deep_prefix, 0},
                                                    {"swapped", deep_swapped, 2},
                                                    {"recombined", deep_recombined, 0}}};

LayeredUrlBloom filled_deep(double fpr, std::size_t max_levels) {
  auto filter = LayeredUrlBloom::create({.keys = kKeys, .fpr = fpr, .max_levels = max_levels, .hash = kXxh3}).value();
  PathBatch batch;
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    batch.add(deep_path(number));
  }
  filter.insert(batch.segments, batch.ends);
  return filter;
}

// Goal: what the filter promises is the last array's rate, so it holds where the shared level has ten times the keys it
// was made for. Method: every member is deeper than the levels; bounds as above.
TEST(LayeredRate, repaired_keeps_the_target_with_urls_deeper_than_the_levels) {
  constexpr double kFpr = 0.05;
  for (const std::size_t levels : {std::size_t{1}, std::size_t{4}, kShared}) {
    const auto filter = filled_deep(kFpr, levels);
    EXPECT_EQ(filter.levels(), levels);
    EXPECT_GT(filter.slice(levels).fill_ratio(), 0.99);
    EXPECT_EQ(yes_rate(filter, strangers(deep_path)), 1) << "members";
    for (const DeepClass& each : kDeepClasses) {
      const auto paths = strangers(each.strange);
      const double rate = yes_rate(filter, paths);
      const double formula = filter.fpr_estimate() * std::pow(filter.slice(levels).fpr_estimate(), each.unknown);
      EXPECT_LE(rate, 1.1 * kFpr) << each.name << " with " << levels;
      EXPECT_NEAR(rate, formula, 3 * standard_error(formula, paths.size())) << each.name << " with " << levels;
    }
  }
}

TEST(LayeredRate, faithful_follows_the_corrected_formula_where_xor_does_not_cancel) {
  for (const double fpr : {0.1, 0.05, 0.01}) {
    const auto filter = filled(UrlLayering::faithful, fpr, 2);
    for (const Class& each : std::span(kClasses).first(4)) {
      const auto paths = strangers(each.strange);
      const double formula = corrected(filter, each.first_unknown);
      EXPECT_NEAR(yes_rate(filter, paths), formula, 3 * standard_error(formula, paths.size()))
          << each.name << " at " << fpr;
    }
  }
}

TEST(LayeredRate, faithful_accepts_swapped_and_canceled_segments_always) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto filter = filled(UrlLayering::faithful, 1e-4, seed);
    EXPECT_EQ(yes_rate(filter, strangers(swapped)), 1);
    EXPECT_EQ(yes_rate(filter, strangers(canceled)), 1);
  }
}

// a/x/x and a have the same cells in the last array, whichever of them was inserted.
TEST(LayeredRate, faithful_accepts_even_repeats_and_their_absence_always) {
  for (const UrlLayering layering : {UrlLayering::faithful, UrlLayering::repaired}) {
    auto filter = LayeredUrlBloom::create({.keys = 20000, .fpr = 1e-4, .layering = layering, .hash = kXxh3}).value();
    std::vector<Path> asked;
    for (std::uint64_t i = 0; i < 10000; ++i) {
      const Digest host = word(1, i);
      const Digest directory = word(2, i % 100);
      const Path alone = {host};
      const Path repeated = {host, directory, directory};
      filter.insert(i % 2 == 0 ? alone : repeated);
      // Both directories are known at their levels from the first hundred on.
      if (i >= 200) {
        asked.push_back(i % 2 == 0 ? repeated : alone);
      }
    }
    for (std::uint64_t i = 0; i < 100; ++i) {
      filter.insert(Path{word(9, i), word(2, i), word(2, i)});
    }
    if (layering == UrlLayering::faithful) {
      EXPECT_EQ(yes_rate(filter, asked), 1);
    } else {
      EXPECT_LE(yes_rate(filter, asked), 1e-4 + 3 * standard_error(1e-4, asked.size()));
    }
  }
}

// Every segment known at its level, in no member's combination: only the last array can say no.
TEST(LayeredRate, fpr_estimate_and_expected_are_those_of_the_last_array) {
  for (const UrlLayering layering : {UrlLayering::repaired, UrlLayering::faithful}) {
    const auto filter = filled(layering, 0.05, 4);
    const auto paths = strangers(recombined);
    const double rate = yes_rate(filter, paths);
    EXPECT_NEAR(rate, filter.fpr_estimate(), 3 * standard_error(filter.fpr_estimate(), paths.size()));
    EXPECT_NEAR(filter.fpr_estimate(), filter.fpr_expected(kKeys), 0.02 * filter.fpr_expected(kKeys));
    EXPECT_NEAR(filter.keys_estimate(), static_cast<double>(kKeys), 0.01 * static_cast<double>(kKeys));
  }
}

}  // namespace
}  // namespace mankai::test::layered
