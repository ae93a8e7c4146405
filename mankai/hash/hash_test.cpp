#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mankai/hash/hasher.hpp"
#include "mankai/hash/murmur3.hpp"
#include "mankai/hash/probes.hpp"
#include "tests/support/sanity_buffer.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai {
namespace {

HashSpec xxh3_seeded(std::uint64_t seed) { return {.kind = HashKind::xxh3, .seed = {seed, 0}}; }

struct Vector {
  std::size_t bytes;
  std::uint64_t seed;
  std::uint64_t hash;
};

// A part of the published vectors, around every length at which the hash changes its way: these are checked everywhere.
constexpr Vector kPublished[] = {
    {0, 0x0000000000000000U, 0x2d06800538d394c2U},    {0, 0x9e3779b185ebca8dU, 0xa8a6b918b2f0364aU},
    {1, 0x0000000000000000U, 0xc44bdff4074eecdbU},    {1, 0x9e3779b185ebca8dU, 0x032be332dd766ef8U},
    {2, 0x0000000000000000U, 0x7a9978044cb8a8bbU},    {2, 0x9e3779b185ebca8dU, 0x764b35c90519ad88U},
    {3, 0x0000000000000000U, 0x54247382a8d6b94dU},    {3, 0x9e3779b185ebca8dU, 0x634b8990b4976373U},
    {4, 0x0000000000000000U, 0xe5dc74bc51848a51U},    {4, 0x9e3779b185ebca8dU, 0xaa2e7eccb0c8f747U},
    {8, 0x0000000000000000U, 0x24ccc9acaa9f65e4U},    {8, 0x9e3779b185ebca8dU, 0x8f973410999b8f6bU},
    {9, 0x0000000000000000U, 0x14d5001c15dd3f2bU},    {9, 0x9e3779b185ebca8dU, 0xb3ae7333d9013f60U},
    {16, 0x0000000000000000U, 0x981b17d36c7498c9U},   {16, 0x9e3779b185ebca8dU, 0x663f29333b4db6b1U},
    {17, 0x0000000000000000U, 0x796f5acd3a60f862U},   {17, 0x9e3779b185ebca8dU, 0xf3ec5067f4306db3U},
    {32, 0x0000000000000000U, 0x9feaddbdbf57eed3U},   {32, 0x9e3779b185ebca8dU, 0x2199fab1534893d9U},
    {64, 0x0000000000000000U, 0x9cb48487720ec49dU},   {64, 0x9e3779b185ebca8dU, 0x4fe8895db9b8c077U},
    {96, 0x0000000000000000U, 0x935a769a7f94776fU},   {96, 0x9e3779b185ebca8dU, 0x70cf51937e500540U},
    {128, 0x0000000000000000U, 0xfcff24126754d861U},  {128, 0x9e3779b185ebca8dU, 0x73fde75280646649U},
    {129, 0x0000000000000000U, 0x98f1b0a679a2ca29U},  {129, 0x9e3779b185ebca8dU, 0x21fffdbca099c844U},
    {192, 0x0000000000000000U, 0xaf9f58e78b8d3587U},  {192, 0x9e3779b185ebca8dU, 0x69e006aa2156c999U},
    {240, 0x0000000000000000U, 0x81c3c2b67f568ccfU},  {240, 0x9e3779b185ebca8dU, 0xcc0f58c27ef3d8eeU},
    {241, 0x0000000000000000U, 0xc5a639ecd2030e5eU},  {241, 0x9e3779b185ebca8dU, 0xdda9b0a161d4829aU},
    {256, 0x0000000000000000U, 0x55de574ad89d0ac5U},  {256, 0x9e3779b185ebca8dU, 0x4d30234b7a3aa61cU},
    {512, 0x0000000000000000U, 0x617e49599013cb6bU},  {512, 0x9e3779b185ebca8dU, 0x3ce457de14c27708U},
    {1024, 0x0000000000000000U, 0xdd85c9b5c1109c5cU}, {1024, 0x9e3779b185ebca8dU, 0xef368a8a2ebabaefU},
};

// A double would be converted to an integer without a warning, and 1.2 and 1.7 would be one key.
static_assert(!std::is_invocable_v<const Hasher&, double> && !std::is_invocable_v<const Hasher&, float>);
static_assert(std::is_invocable_v<const Hasher&, int> && std::is_invocable_v<const Hasher&, const char*>);

TEST(Hasher, xxh3_agrees_with_published_vectors_of_every_length_class) {
  const std::string buffer = test::sanity_buffer(2048);
  for (const Vector& vector : kPublished) {
    const Hasher hasher(xxh3_seeded(vector.seed));
    EXPECT_EQ(hasher(std::string_view(buffer).substr(0, vector.bytes)).value, vector.hash)
        << vector.bytes << " bytes, seed " << vector.seed;
  }
}

TEST(Hasher, xxh3_agrees_with_every_published_vector) {
  const auto path = test::shared_data("conformance/xxhash-sanity-vectors.tsv.zst");
  MANKAI_SKIP_WITHOUT(path);
  std::istringstream lines(test::read_zstd(path));
  const std::string buffer = test::sanity_buffer(2048);
  std::string algorithm;
  std::string length;
  std::string seed;
  std::string hash;
  std::size_t checked = 0;
  while (lines >> algorithm >> length >> seed >> hash) {
    if (algorithm != "XXH3") {
      continue;
    }
    const Hasher hasher(xxh3_seeded(std::stoull(seed, nullptr, 16)));
    const std::string_view key(buffer.data(), std::stoull(length));
    ASSERT_EQ(hasher(key).value, std::stoull(hash, nullptr, 16)) << length << " bytes, seed " << seed;
    ++checked;
  }
  EXPECT_EQ(checked, 2050U);
}

// The 64 vectors of the reference implementation, of which these are the ends: key 00..0f, input 00..n-1.
TEST(Hasher, siphash_agrees_with_the_papers_vectors) {
  const HashSpec spec{.kind = HashKind::siphash, .seed = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U}};
  const Hasher hasher(spec);
  std::string input;
  EXPECT_EQ(hasher(input).value, 0x726fdb47dd0e0e31U);
  for (int i = 0; i < 15; ++i) {
    input.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(hasher(input).value, 0xa129ca6149be45e5U);
  EXPECT_EQ(hasher(std::uint64_t{0x0706050403020100U}).value, hasher(std::string_view(input).substr(0, 8)).value);
}

// The verification of [Appleby2011]'s own test suite: hashes of 0, 0 1, 0 1 2 … with seeds from 256 downwards, hashed
// once more. It touches every length of a tail and up to 15 blocks.
TEST(Murmur3, agrees_with_the_published_verification_value) {
  constexpr std::uint32_t kVerification = 0x6384ba69U;
  std::string key;
  std::string hashes;
  for (std::uint32_t length = 0; length < 256; ++length) {
    for (const std::uint64_t half : murmur3_x64_128(key, 256 - length)) {
      hashes.append(reinterpret_cast<const char*>(&half), sizeof(half));
    }
    key.push_back(static_cast<char>(length));
  }
  EXPECT_EQ(static_cast<std::uint32_t>(murmur3_x64_128(hashes, 0).front()), kVerification);
}

TEST(Hasher, murmur3_is_the_lower_half_under_a_seed_of_32_bits) {
  const Hasher hasher({.kind = HashKind::murmur3, .seed = {0x97c29b3aU, 0}});
  const std::string key = "https://example.org/";
  EXPECT_EQ(hasher(key).value, murmur3_x64_128(key, 0x97c29b3aU).front());
  EXPECT_EQ(hasher(std::uint64_t{0x37363534'33323130U}), hasher("01234567"));
}

// Golden: the digest of a key is part of the image format. Regenerate only with a new format version.
TEST(Hasher, digests_are_pinned) {
  EXPECT_EQ(Hasher(xxh3_seeded(0))("").value, 0x2d06800538d394c2U);
  EXPECT_EQ(Hasher(xxh3_seeded(42))("https://example.org/").value, 0x82d1d0d51014a5d5U);
  EXPECT_EQ(Hasher(xxh3_seeded(0))(std::uint64_t{1}).value, 0xed77e7f1c90aa277U);
  EXPECT_EQ(Hasher(xxh3_seeded(42))(std::uint64_t{1} << 63).value, 0x7424dd5041dd7536U);
  EXPECT_EQ(Hasher({.kind = HashKind::murmur3, .seed = {42, 0}})("https://example.org/").value, 0x63e1235f34739cffU);
}

TEST(Hasher, batches_equal_single_calls) {
  const std::string buffer = test::sanity_buffer(4096);
  std::vector<std::string_view> keys;
  std::vector<std::uint64_t> integers;
  for (std::size_t i = 0; i < 300; ++i) {
    keys.emplace_back(buffer.data() + i, i * 7 % 1000);
    integers.push_back(i * i * 0x10001);
  }
  for (const HashKind kind : kHashKinds) {
    const Hasher hasher({.kind = kind, .seed = {7, 9}});
    const SingleHasher single(hasher.spec());
    std::vector<Digest> digests(keys.size());
    hasher(keys, digests);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(digests[i], hasher(keys[i]));
      EXPECT_EQ(digests[i], single(keys[i]));
    }
    hasher(integers, digests);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(digests[i], hasher(integers[i]));
    }
  }
}

TEST(HashSpec, random_seeds_differ) {
  EXPECT_NE(HashSpec::random(), HashSpec::random());
  EXPECT_EQ(HashSpec::random().kind, HashKind::nh_siphash);
  EXPECT_NE(HashSpec::random().seed[1], 0U);
  EXPECT_NE(HashSpec::random(HashKind::siphash).seed[1], 0U);
  EXPECT_EQ(HashSpec::random(HashKind::xxh3).seed[1], 0U);
}

TEST(HashSpec, a_seed_has_as_many_bits_as_its_hash_takes) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const auto takes = [](HashKind kind, std::uint64_t first, std::uint64_t second) {
    return check_seed({.kind = kind, .seed = {first, second}}).has_value();
  };
  EXPECT_TRUE(takes(HashKind::xxh3, kAll, 0));
  EXPECT_FALSE(takes(HashKind::xxh3, 0, 1));
  EXPECT_TRUE(takes(HashKind::siphash, kAll, kAll));
  EXPECT_TRUE(takes(HashKind::nh_siphash, kAll, kAll));
  EXPECT_TRUE(takes(HashKind::murmur3, 0xffffffffU, 0));
  EXPECT_FALSE(takes(HashKind::murmur3, std::uint64_t{1} << 32, 0));
  EXPECT_FALSE(takes(HashKind::murmur3, 0, 1));
  for (const HashKind kind : kHashKinds) {
    const HashSpec spec{.kind = kind, .seed = {kAll, kAll}};
    EXPECT_TRUE(check_seed(trimmed(spec)).has_value()) << name(kind);
    EXPECT_TRUE(check_seed(HashSpec::random(kind)).has_value()) << name(kind);
  }
}

TEST(Probes, lane_positions_are_consecutive_six_bit_fields) {
  const std::uint64_t remixed = probes::remix({0x0123456789abcdefU});
  for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
    EXPECT_EQ(probes::lane_position(remixed, lane), (remixed >> (16 + 6 * lane)) % 64);
  }
}

TEST(Probes, cell_sequences_stay_in_range_and_spread) {
  for (const std::uint64_t cells : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1} << 40}) {
    probes::CellSequence sequence({0});
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t cell = sequence.next(cells);
      EXPECT_LT(cell, cells);
      seen.insert(cell);
    }
    EXPECT_GE(seen.size(), cells == 1 ? 1U : cells == 7 ? 4U : 20U);
  }
}

// Goal: fields are cut from one bit string without gaps. Method: the 64-bit fields of width 1, joined again, must
// hold every other width's fields at the right offsets.
TEST(Probes, field_sequences_are_windows_of_one_bit_string) {
  const Digest digest{0x9876543210fedcbaU};
  std::vector<bool> bits;
  probes::FieldSequence single(digest);
  for (int i = 0; i < 1024; ++i) {
    bits.push_back(single.next(1) != 0);
  }
  for (unsigned width = 1; width <= 48; ++width) {
    probes::FieldSequence fields(digest);
    for (std::size_t start = 0; start + width <= bits.size(); start += width) {
      std::uint64_t expected = 0;
      for (unsigned bit = 0; bit < width; ++bit) {
        expected |= std::uint64_t{bits[start + bit]} << bit;
      }
      ASSERT_EQ(fields.next(width), expected) << "width " << width << " at bit " << start;
    }
  }
}

}  // namespace
}  // namespace mankai
