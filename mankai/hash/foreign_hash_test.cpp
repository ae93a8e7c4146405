// Hashes of other programs against their published values.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/hash/murmur2.hpp"
#include "mankai/hash/siphash13.hpp"

namespace mankai {
namespace {

// The verification value of the author's test suite: the hash of the hashes of all lengths up to 255.
template <class Word>
std::uint32_t verification(Word (*hash)(std::string_view, Word)) {
  constexpr std::size_t kLengths = 256;
  std::string key;
  std::string hashes;
  for (std::size_t i = 0; i < kLengths; ++i) {
    const Word value = hash(key, static_cast<Word>(kLengths - i));
    hashes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    key.push_back(static_cast<char>(i));
  }
  return static_cast<std::uint32_t>(hash(hashes, 0));
}

TEST(Murmur2, has_the_published_verification_values) {
  EXPECT_EQ(verification<std::uint32_t>(murmur2_32), 0x27864c1eU);
  EXPECT_EQ(verification<std::uint64_t>(murmur2_64a), 0x1f0d3804U);
}

// Of no bytes: the first of the vectors of Rust's standard library. The others:
// ../shared/research/redisbloom-takeover.md.
TEST(SipHash13, has_published_values) {
  EXPECT_EQ(siphash13("", {0x0706050403020100U, 0x0f0e0d0c0b0a0908U}), 0xabac0158050fc4dcU);
  constexpr std::array<SipHash13::Key, 2> kKeys = {
      {{0xda1178ea22f50f59U, 0xd97b3e3b09d814a7U}, {0x8788983e738a891dU, 0x83330728cd977f30U}}};
  EXPECT_EQ(siphash13_of_slice("hello", kKeys[0]), 0x1b64b2c85281ce79U);
  EXPECT_EQ(siphash13_of_slice("hello", kKeys[1]), 0x03597e1685b2f63dU);
}

TEST(SipHash13, a_slice_is_its_length_and_its_bytes) {
  constexpr SipHash13::Key kKey = {1, 2};
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::uint64_t length = text.size();
    std::string message(reinterpret_cast<const char*>(&length), sizeof(length));
    EXPECT_EQ(siphash13_of_slice(text, kKey), siphash13(message + text, kKey)) << i;
    text.push_back(static_cast<char>(i));
  }
}

}  // namespace
}  // namespace mankai
