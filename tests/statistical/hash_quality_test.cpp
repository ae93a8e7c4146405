// Digests of keys that differ little are as those of any keys: avalanche, and collisions of structured sets of keys.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/hash/hasher.hpp"
#include "tests/statistical/bounds.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

class HashQuality : public testing::TestWithParam<HashSpec> {
 protected:
  [[nodiscard]] Digest digest(std::string_view key) const { return hasher_(key); }
  [[nodiscard]] const Hasher& hasher() const { return hasher_; }

 private:
  Hasher hasher_{GetParam()};
};

std::string spec_name(const testing::TestParamInfo<HashSpec>& info) {
  std::string text(name(info.param.kind));
  std::ranges::replace(text, '-', '_');
  return text;
}

// Pairs of equal numbers among n that are spread over `cells` evenly are a sum of n (n - 1) / 2 indicators, pairwise
// independent: mean and variance n^2 / 2 cells at most.
std::uint64_t equal_pairs(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  std::uint64_t pairs = 0;
  std::uint64_t run = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    run = numbers[i] == numbers[i - 1] ? run + 1 : 0;
    pairs += run;
  }
  return pairs;
}

void expect_no_more_pairs_than_chance(const std::vector<Digest>& digests, unsigned shift, const std::string& what) {
  std::vector<std::uint32_t> halves;
  for (const Digest digest : digests) {
    halves.push_back(static_cast<std::uint32_t>(digest.value >> shift));
  }
  const auto count = static_cast<double>(digests.size());
  const double mean = count * count / 2 / 0x1p32;
  EXPECT_LE(static_cast<double>(equal_pairs(halves)), mean + kSigmas * std::sqrt(mean) + kSigmas) << what;
}

// All keys are different ones.
void expect_spread(std::vector<Digest> digests, const std::string& what) {
  expect_no_more_pairs_than_chance(digests, 0, what + ", low half");
  expect_no_more_pairs_than_chance(digests, 32, what + ", high half");
  std::ranges::sort(digests);
  EXPECT_EQ(std::ranges::adjacent_find(digests), digests.end()) << what;
}

// Each bit of a key changes each bit of the digest for half of the keys.
TEST_P(HashQuality, every_bit_of_a_key_changes_every_bit_of_the_digest) {
  constexpr int kKeys = 400;
  // Of the 5e5 cells some lie beyond kSigmas by chance.
  constexpr double kMostSigmas = kSigmas + 1;
  Random random(11);
  for (const std::size_t bytes : {1U, 3U, 4U, 7U, 8U, 13U, 16U, 17U, 41U, 64U, 100U, 128U, 129U, 256U, 300U}) {
    std::vector<std::array<int, 64>> changes(bytes * 8);
    for (int i = 0; i < kKeys; ++i) {
      std::string key = random.bytes(bytes);
      const std::uint64_t before = digest(key).value;
      for (std::size_t bit = 0; bit < changes.size(); ++bit) {
        const auto mask = static_cast<char>(1U << bit % 8);
        key[bit / 8] = static_cast<char>(key[bit / 8] ^ mask);
        const std::uint64_t difference = before ^ digest(key).value;
        key[bit / 8] = static_cast<char>(key[bit / 8] ^ mask);
        for (unsigned out = 0; out < 64; ++out) {
          changes[bit][out] += static_cast<int>(difference >> out & 1U);
        }
      }
    }
    int worst = 0;
    for (const auto& of_bit : changes) {
      for (const int changed : of_bit) {
        worst = std::max(worst, std::abs(changed - kKeys / 2));
      }
    }
    // A key of one byte has 256 values: draws repeat, and the count of different ones is what varies.
    const double deviation = std::sqrt(kKeys) / 2 * (bytes == 1 ? 2 : 1);
    EXPECT_LE(worst, kMostSigmas * deviation) << bytes << " bytes";
  }
}

TEST_P(HashQuality, keys_with_few_bits_set_are_spread) {
  for (const std::size_t bytes : {16U, 32U, 67U, 128U, 150U, 300U}) {
    std::vector<Digest> digests;
    std::string key(bytes, '\0');
    const auto flip = [&](std::size_t bit) {
      key[bit / 8] = static_cast<char>(static_cast<unsigned char>(key[bit / 8]) ^ 1U << bit % 8);
    };
    for (std::size_t i = 0; i < bytes * 8; ++i) {
      flip(i);
      digests.push_back(digest(key));
      for (std::size_t j = i + 1; j < bytes * 8; ++j) {
        flip(j);
        digests.push_back(digest(key));
        flip(j);
      }
      flip(i);
    }
    expect_spread(std::move(digests), std::to_string(bytes) + " bytes");
  }
}

template <class Word>
std::vector<Digest> permutations(const Hasher& hasher, Word other) {
  constexpr unsigned kPlaces = 18;
  std::vector<Digest> digests;
  for (std::uint32_t bits = 0; bits < 1U << kPlaces; ++bits) {
    std::array<Word, kPlaces> words{};
    for (unsigned i = 0; i < kPlaces; ++i) {
      words[i] = (bits >> i & 1U) != 0 ? other : 0;
    }
    digests.push_back(hasher({reinterpret_cast<const char*>(words.data()), sizeof(words)}));
  }
  return digests;
}

TEST_P(HashQuality, orders_of_two_words_are_spread) {
  expect_spread(permutations<std::uint32_t>(hasher(), 0x80000000U), "words of 4 bytes, the highest bit");
  expect_spread(permutations<std::uint64_t>(hasher(), 1), "words of 8 bytes, the lowest bit");
  expect_spread(permutations<std::uint64_t>(hasher(), std::uint64_t{1} << 63), "words of 8 bytes, the highest bit");
}

TEST_P(HashQuality, keys_of_nothing_but_zeros_are_spread_by_their_lengths) {
  const std::string zeros(5000, '\0');
  std::vector<Digest> digests;
  for (std::size_t bytes = 0; bytes <= zeros.size(); ++bytes) {
    digests.push_back(digest(std::string_view(zeros).substr(0, bytes)));
  }
  expect_spread(std::move(digests), "zeros");
}

// Bytes in two places that a hash might fold onto each other.
TEST_P(HashQuality, bytes_changed_in_two_places_are_spread) {
  for (const std::size_t apart : {1U, 8U, 16U, 32U, 112U, 128U, 256U}) {
    std::vector<Digest> digests;
    std::string key(300, '\0');
    for (unsigned pair = 0; pair < 1U << 16U; ++pair) {
      key[8] = static_cast<char>(pair);
      key[8 + apart] = static_cast<char>(pair >> 8U);
      digests.push_back(digest(key));
    }
    expect_spread(std::move(digests), std::to_string(apart) + " bytes apart");
  }
}

TEST_P(HashQuality, numbers_in_texts_are_spread) {
  std::vector<Digest> urls;
  std::vector<Digest> decimals;
  for (int i = 0; i < 1 << 19; ++i) {
    decimals.push_back(digest(std::to_string(i)));
    urls.push_back(digest("https://www.example.org/catalogue/item/" + std::to_string(i) + "/index.html"));
  }
  expect_spread(std::move(decimals), "decimals");
  expect_spread(std::move(urls), "URLs");
}

INSTANTIATE_TEST_SUITE_P(Kinds, HashQuality, testing::Values(kXxh3, kNhSiphash, kSiphash, kAes4Prf), spec_name);

// What an adversary hopes for: one key under many seeds.
TEST(KeyedHashQuality, one_key_under_seeds_in_order_is_spread) {
  for (const HashKind kind : {HashKind::nh_siphash, HashKind::aes4_prf}) {
    std::vector<Digest> digests;
    for (std::uint64_t seed = 0; seed < 100'000; ++seed) {
      digests.push_back(Hasher({.kind = kind, .seed = {seed, 0}})("https://www.example.org/"));
    }
    expect_spread(std::move(digests), std::string(name(kind)) + ", seeds");
  }
}

}  // namespace
}  // namespace mankai::test
