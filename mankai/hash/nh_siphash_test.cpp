// The keyed hash against a slow implementation of its definition (docs/formats/image.md), which shares nothing with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mankai/hash/hasher.hpp"
#include "tests/support/guarded_page.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanity_buffer.hpp"

namespace mankai::nh {
namespace {

using Seed = std::array<std::uint64_t, 2>;
__extension__ using Wide = unsigned __int128;

constexpr Seed kSeed = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

Hasher hasher_of(const Seed& seed) { return Hasher({.kind = HashKind::nh_siphash, .seed = seed}); }

// Bytes as a number, the first one lowest.
std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

std::string bytes_of(std::uint64_t number) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i)));
  }
  return bytes;
}

// SipHash-c-d as [Aumasson2012] has it.
std::uint64_t slow_siphash(int c, int d, const Seed& key, std::string message) {
  const std::size_t length = message.size();
  message.append(7 - length % 8, '\0');
  message.push_back(static_cast<char>(length));
  std::uint64_t v0 = key[0] ^ 0x736f6d6570736575U;
  std::uint64_t v1 = key[1] ^ 0x646f72616e646f6dU;
  std::uint64_t v2 = key[0] ^ 0x6c7967656e657261U;
  std::uint64_t v3 = key[1] ^ 0x7465646279746573U;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1, v1 = std::rotl(v1, 13), v1 ^= v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16), v3 ^= v2;
      v0 += v3, v3 = std::rotl(v3, 21), v3 ^= v0;
      v2 += v1, v1 = std::rotl(v1, 17), v1 ^= v2, v2 = std::rotl(v2, 32);
    }
  };
  for (std::size_t i = 0; i < message.size(); i += 8) {
    const std::uint64_t word = number_of(std::string_view(message).substr(i, 8));
    v3 ^= word;
    rounds(c);
    v0 ^= word;
  }
  v2 ^= 0xff;
  rounds(d);
  return v0 ^ v1 ^ v2 ^ v3;
}

struct Pair {
  std::uint64_t first;
  std::uint64_t second;
};

std::vector<Pair> pairs_of(std::string_view chunk) {
  const std::size_t bytes = chunk.size();
  if (bytes == 0) {
    return {{0, 0}};
  }
  if (bytes < 4) {
    return {{number_of(std::string{chunk[0], chunk[bytes / 2], chunk[bytes - 1]}), 0}};
  }
  if (bytes < 16) {
    const std::size_t width = bytes < 8 ? 4 : 8;
    return {{number_of(chunk.substr(0, width)), number_of(chunk.substr(bytes - width))}};
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < (bytes <= 128 ? 8U : 16U); ++i) {
    const std::size_t at = std::min(16 * i, bytes - 16);
    pairs.push_back({number_of(chunk.substr(at, 8)), number_of(chunk.substr(at + 8, 8))});
  }
  return pairs;
}

std::vector<std::string_view> chunks_of(std::string_view text) {
  std::vector<std::string_view> chunks;
  std::size_t at = 0;
  for (; text.size() - at > 256; at += 256) {
    chunks.push_back(text.substr(at, 256));
  }
  chunks.push_back(text.size() <= 256 ? text : text.substr(text.size() - 256));
  return chunks;
}

std::uint64_t slow_nh_siphash(const Seed& seed, std::string_view text) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 36; ++i) {
    words.push_back(slow_siphash(2, 4, seed, bytes_of(i)));
  }
  const std::vector<std::string_view> chunks = chunks_of(text);
  std::string sums;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const bool is_last = i + 1 == chunks.size();
    Wide sum = is_last ? static_cast<Wide>(text.size() + words[2]) * words[3] : 0;
    std::size_t next = 4;
    for (const Pair& pair : pairs_of(chunks[i])) {
      sum += static_cast<Wide>(pair.first + words[next]) * (pair.second + words[next + 1]);
      next += 2;
    }
    sums += bytes_of(static_cast<std::uint64_t>(sum)) + bytes_of(static_cast<std::uint64_t>(sum >> 64));
  }
  return slow_siphash(1, 3, {words[0], words[1]}, sums);
}

constexpr std::size_t kLengths = 1101;

TEST(NhSiphash, agrees_with_its_definition_at_every_length) {
  test::Random random(1);
  for (std::size_t length = 0; length < kLengths; ++length) {
    const Seed seed = {random.number(), random.number()};
    const std::string text = random.bytes(length);
    ASSERT_EQ(hasher_of(seed)(text).value, slow_nh_siphash(seed, text)) << length << " bytes";
  }
}

// Carries beyond 64 and 128 bits: words at both ends of their range.
TEST(NhSiphash, agrees_with_its_definition_on_extreme_bytes) {
  for (const Seed& seed : {Seed{0, 0}, Seed{~std::uint64_t{0}, ~std::uint64_t{0}}, kSeed}) {
    for (const char byte : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
      for (std::size_t length = 0; length < 600; length += 7) {
        const std::string text(length, byte);
        ASSERT_EQ(hasher_of(seed)(text).value, slow_nh_siphash(seed, text)) << length << " bytes";
      }
    }
  }
}

// Golden: the digest of a key is part of the image format. Made by another program after docs/formats/image.md.
TEST(NhSiphash, digests_are_pinned) {
  const std::string buffer = test::sanity_buffer(2048);
  constexpr struct {
    std::size_t bytes;
    std::uint64_t digest;
  } kPinned[] = {
      {0, 0xd6a75fe625186d13U},    {1, 0x3d958dd0c44a2d89U},    {2, 0xc2edb82f80a2ce9aU},    {3, 0x7bd74683069921f6U},
      {4, 0x2082f393fd37dea9U},    {7, 0x07104fda1ed9a648U},    {8, 0xcbebee23f29686bfU},    {15, 0xaad953cd8dae4cd1U},
      {16, 0x82c8b43a23107239U},   {17, 0x060b9cb585b2e916U},   {31, 0xfd654093e7c7519fU},   {32, 0x79ce918f12ca9eacU},
      {33, 0x21b0b818ed0901a3U},   {64, 0x6ac7f9bf6bd6d049U},   {127, 0xc79aa1bfabaf57fbU},  {128, 0xd7cef7e2b5476ab7U},
      {129, 0xf1af3b6e3126cdb2U},  {200, 0x35552208b507d3a4U},  {255, 0x0605defa87f0dd50U},  {256, 0x6bf12e8d84ad09fdU},
      {257, 0x3024bdaf73491de9U},  {511, 0x559a85d76fd43e7bU},  {512, 0xc01b3540f7836573U},  {513, 0x56c4a285cbfae7cdU},
      {1000, 0xbb3772ffe226308dU}, {1024, 0x7d510675f67570c9U}, {2048, 0x9cc11e6a65c27c34U},
  };
  const Hasher hasher = hasher_of(kSeed);
  for (const auto& [bytes, digest] : kPinned) {
    EXPECT_EQ(hasher(std::string_view(buffer).substr(0, bytes)).value, digest) << bytes << " bytes";
  }
  EXPECT_EQ(hasher("https://example.org/").value, 0xd4a001b7a04729a3U);
  EXPECT_EQ(hasher(std::uint64_t{1}).value, 0x0232dda7aab5e769U);
  EXPECT_EQ(hasher_of({0, 0})("").value, 0xf370cb3198cc22f0U);
}

TEST(NhSiphash, an_integer_is_its_eight_bytes) {
  test::Random random(2);
  const Hasher hasher = hasher_of(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = random.number();
    EXPECT_EQ(hasher(number), hasher(bytes_of(number)));
  }
}

// Goal: no byte outside a key is read, and neighbors in a batch do not change its digest. Method: every length at both
// ends of a page between pages that cannot be read, one by one and as batches of 1 to 200 keys.
TEST(Hasher, batches_equal_single_calls_at_both_ends_of_a_page) {
  const test::GuardedPage page;
  const std::string drawn = test::Random(3).bytes(page.bytes().size());
  std::ranges::copy(drawn, page.bytes().begin());
  std::vector<std::string_view> keys;
  for (std::size_t length = 0; length < kLengths; ++length) {
    keys.emplace_back(page.bytes().data(), length);
    keys.emplace_back(page.bytes().data() + page.bytes().size() - length, length);
  }
  for (const HashKind kind : kHashKinds) {
    const Hasher hasher(trimmed({.kind = kind, .seed = kSeed}));
    std::vector<Digest> digests(keys.size());
    for (std::size_t start = 0, count = 1; start < keys.size(); start += count, count = count % 200 + 1) {
      const std::size_t here = std::min(count, keys.size() - start);
      hasher(std::span(keys).subspan(start, here), std::span(digests).subspan(start, here));
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(digests[i], hasher(keys[i])) << name(kind) << ", " << keys[i].size() << " bytes";
      ASSERT_EQ(digests[i], hasher(std::string(keys[i]))) << name(kind) << ", " << keys[i].size() << " bytes";
    }
  }
}

// A thread keeps few expanded keys: more seeds in turn than it keeps, and the zero seed, which the first entries equal.
TEST(NhSiphash, many_seeds_in_turn_are_told_apart) {
  const auto check = [] {
    std::vector<Seed> seeds = {{0, 0}, {0, 8}, {8, 0}};
    for (std::uint64_t i = 0; i < 60; ++i) {
      seeds.push_back({i % 7 * 8, i});
    }
    for (int round = 0; round < 3; ++round) {
      for (const Seed& seed : seeds) {
        ASSERT_EQ(hasher_of(seed)("key").value, slow_nh_siphash(seed, "key"));
        ASSERT_EQ(hasher_of(seeds.front())("key").value, slow_nh_siphash(seeds.front(), "key"));
      }
    }
  };
  std::thread other(check);
  check();
  other.join();
}

// A seed is expanded as far as its keys need it.
TEST(NhSiphash, a_seed_serves_keys_of_all_lengths_in_any_order) {
  constexpr std::array<std::size_t, 9> kMixed = {15, 128, 129, 0, 16, 300, 15, 128, 16};
  test::Random random(2);
  for (std::size_t first = 0; first < kMixed.size(); ++first) {
    const Seed seed = {random.number(), random.number()};
    for (std::size_t i = first; i < kMixed.size(); ++i) {
      const std::string text = random.bytes(kMixed[i]);
      ASSERT_EQ(hasher_of(seed)(text).value, slow_nh_siphash(seed, text)) << kMixed[i] << " bytes after " << first;
    }
    std::array<Digest, 1> digests;
    const Seed batch = {random.number(), random.number()};
    const std::string text = random.bytes(kMixed[first]);
    ASSERT_EQ(hasher_of(batch)("short").value, slow_nh_siphash(batch, "short"));
    hasher_of(batch)(std::array<std::string_view, 1>{text}, digests);
    ASSERT_EQ(digests[0].value, slow_nh_siphash(batch, text)) << kMixed[first] << " bytes in a batch";
  }
}

// A pair of keys that the xxHash project publishes: under XXH3 the second halves' complement collides for 1 of 1400
// seeds, whatever the seed is. Method: both hashes under 2^20 seeds.
TEST(NhSiphash, keys_that_are_known_to_collide_under_xxh3_do_not) {
  constexpr unsigned char kHalf[16] = {0x51, 0x15, 0x12, 0x10, 0x40, 0x44, 0, 0, 0, 0, 0, 0x82, 0x04, 0, 0x01, 0x05};
  std::string first(32, '\0');
  std::memcpy(first.data() + 16, kHalf, sizeof(kHalf));
  std::string second = first;
  std::ranges::for_each(std::span(second).subspan(16), [](char& byte) { byte = static_cast<char>(~byte); });
  test::Random random(4);
  int xxh3 = 0;
  int nh_siphash = 0;
  for (int i = 0; i < 1 << 20; ++i) {
    const Seed seed = {random.number(), random.number()};
    const Hasher seeded({.kind = HashKind::xxh3, .seed = {seed[0], 0}});
    xxh3 += static_cast<int>(seeded(first) == seeded(second));
    // Expanding a key takes 40 times as long as hashing.
    if (i % 16 == 0) {
      const Hasher keyed = hasher_of(seed);
      nh_siphash += static_cast<int>(keyed(first) == keyed(second));
    }
  }
  EXPECT_NEAR(xxh3, 772, 5 * 28);  // binomial: its square root is 28
  EXPECT_EQ(nh_siphash, 0);
}

}  // namespace
}  // namespace mankai::nh
