#include "mankai/url/segments.hpp"
#include "tests/support/sampled.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace mankai::url {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {7, 0}};

std::vector<Digest> prefixes(const std::vector<std::string_view>& segments, const HashSpec& hash = kHash) {
  std::vector<Digest> digests;
  prefix_digests(Hasher(hash), segments, digests);
  return digests;
}

std::uint64_t whole(const std::vector<std::string_view>& segments) { return prefixes(segments).back().value; }

TEST(PathDigests, segment_digests_are_the_hashers) {
  const std::vector<std::string_view> segments = {"a.b", "x", ""};
  std::vector<Digest> digests(1);
  segment_digests(Hasher(kHash), segments, digests);
  ASSERT_EQ(digests.size(), 3U);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(digests[i].value, Hasher(kHash)(segments[i]).value);
  }
}

TEST(PathDigests, each_prefix_is_the_digest_of_its_own_path) {
  const std::vector<std::string_view> segments = {"a", "x", "x", "", "y"};
  const auto digests = prefixes(segments);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(digests[i].value, whole({segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(i) + 1}));
  }
}

// What the XOR of segment hashes takes for the same: sources that chain by XOR accept every one of these.
TEST(PathDigests, order_repetition_cancellation_and_length_count) {
  const std::set<std::uint64_t> different = {
      whole({"a"}),
      whole({"a", "x"}),
      whole({"a", "x", "x"}),
      whole({"a", "y", "y"}),
      whole({"a", "x", "y"}),
      whole({"a", "y", "x"}),
      whole({"x", "a", "y"}),
      whole({"a", "x", "x", "p"}),
      whole({"a", "", "x"}),
      whole({"a", "x", ""}),
      whole({"a", "y", "y", "p"}),
      whole({"a", "", ""}),
      whole({"a", ""}),
      whole({""}),
      whole({"", ""}),
      whole({"a", "p"}),
  };
  EXPECT_EQ(different.size(), 16U);
}

// Golden: digests of paths are written into images. Regenerate only with a new format version.
TEST(PathDigests, are_pinned) {
  const auto digests = prefixes({"example.org", "a", "b"}, {.kind = HashKind::xxh3, .seed = {0, 0}});
  EXPECT_EQ(digests[0].value, 12686460482788313552U);
  EXPECT_EQ(digests[2].value, 15596198397850365216U);
  EXPECT_EQ(chain(Digest{0}, Digest{0}, 0).value, 16773372707548852426U);
}

// Goal: chain is as good as a random function in each argument. Method: all paths of up to 6 segments of 8 names, which
// is 299 592 digests: no two equal (expected 2.4e-9 collisions of 64 bits), and the low and the high 32 bits collide as
// often as random ones do (expected 10.4; 40 would be nine standard deviations above).
TEST(PathDigests, small_worlds_collide_as_random_numbers_do) {
  constexpr std::array<std::string_view, 8> kNames = {"", "a", "b", "index.html", "1", "2", "aa", "?"};
  constexpr std::size_t kLevels = 6;
  std::array<Digest, kNames.size()> names{};
  Hasher{kHash}(kNames, names);
  std::vector<std::uint64_t> all;
  std::vector<Digest> level = {Digest{}};
  for (std::size_t depth = 0; depth < kLevels; ++depth) {
    std::vector<Digest> next;
    for (const Digest prefix : level) {
      for (const Digest name : names) {
        next.push_back(chain(prefix, name, depth));
        all.push_back(next.back().value);
      }
    }
    level = std::move(next);
  }
  const auto collisions = [&](unsigned shift, std::uint64_t mask) {
    std::vector<std::uint64_t> parts;
    for (const std::uint64_t value : all) {
      parts.push_back((value >> shift) & mask);
    }
    std::sort(parts.begin(), parts.end());
    return parts.end() - std::unique(parts.begin(), parts.end());
  };
  EXPECT_EQ(all.size(), 299'592U);
  EXPECT_EQ(collisions(0, ~std::uint64_t{0}), 0);
  EXPECT_LT(collisions(0, 0xffffffffU), 40);
  EXPECT_LT(collisions(32, 0xffffffffU), 40);
}

// How often each bit of the result changes with one bit of the prefix or the segment.
std::array<int, 64> changes(std::uint64_t prefix_flip, std::uint64_t segment_flip, int draws) {
  std::array<int, 64> changed{};
  for (int draw = 0; draw < draws; ++draw) {
    const Digest prefix = mix_integer(static_cast<std::uint64_t>(draw), 1);
    const Digest segment = mix_integer(static_cast<std::uint64_t>(draw), 2);
    const Digest other = chain({prefix.value ^ prefix_flip}, {segment.value ^ segment_flip}, 3);
    const std::uint64_t difference = other.value ^ chain(prefix, segment, 3).value;
    for (unsigned bit = 0; bit < changed.size(); ++bit) {
      changed[bit] += static_cast<int>((difference >> bit) & 1U);
    }
  }
  return changed;
}

double worst_share(const std::array<int, 64>& changed, int draws) {
  double worst = 0;
  for (const int count : changed) {
    worst = std::max(worst, std::abs(static_cast<double>(count) / draws - 0.5));
  }
  return worst;
}

// Goal: each bit of each argument changes each bit of the result half of the time. Method: 4096 draws for each of the
// 2 * 64 * 64 pairs; of so many shares of a random function one is off 1/2 by more than 6 standard deviations (0.047)
// once in 60 000 runs, and the draws are always the same.
TEST(PathDigests, every_bit_reaches_every_bit) {
  constexpr int kDraws = 4096;
  constexpr double kLargest = 0.047;
  for (unsigned in = 0; in < 64; in += test::kIsSampled ? 21 : 1) {
    const std::uint64_t flip = std::uint64_t{1} << in;
    EXPECT_LT(worst_share(changes(flip, 0, kDraws), kDraws), kLargest) << "bit " << in << " of the prefix";
    EXPECT_LT(worst_share(changes(0, flip, kDraws), kDraws), kLargest) << "bit " << in << " of the segment";
  }
}

}  // namespace
}  // namespace mankai::url
