// Batches of XXH3 on each instruction set that this machine has, against the library's own single calls.

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/hash/hasher.hpp"
#include "tests/support/guarded_page.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanity_buffer.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai {
namespace {

class Xxh3Batch : public testing::Test {
 protected:
  ~Xxh3Batch() override { hwy::SetSupportedTargetsForTest(0); }

  template <class Check>
  static void on_every_target(const Check& check) {
    for (const auto target : hwy::SupportedAndGeneratedTargets()) {
      SCOPED_TRACE(hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      check();
    }
  }
};

Hasher seeded(std::uint64_t seed) { return Hasher({.kind = HashKind::xxh3, .seed = {seed, 0}}); }

// Batches of other first keys are hashed one by one, and would test nothing.
constexpr std::size_t kShortestFirst = 33;

std::vector<Digest> batch(const Hasher& hasher, std::span<const std::string_view> keys) {
  std::vector<Digest> digests(keys.size());
  hasher(keys, digests);
  return digests;
}

void expect_single_calls(const Hasher& hasher, std::span<const std::string_view> keys) {
  const std::vector<Digest> digests = batch(hasher, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(digests[i], hasher(keys[i]))
        << "key " << i << " of " << keys.size() << ", " << keys[i].size() << " bytes";
  }
}

struct Published {
  std::vector<std::string_view> keys;
  std::vector<std::uint64_t> hashes;
};

TEST_F(Xxh3Batch, agrees_with_every_published_vector) {
  const auto path = test::shared_data("conformance/xxhash-sanity-vectors.tsv.zst");
  MANKAI_SKIP_WITHOUT(path);
  const std::string buffer = test::sanity_buffer(2048);
  std::istringstream lines(test::read_zstd(path));
  std::string algorithm;
  std::string length;
  std::string seed;
  std::string hash;
  std::map<std::uint64_t, Published> by_seed;
  while (lines >> algorithm >> length >> seed >> hash) {
    if (algorithm == "XXH3") {
      Published& published = by_seed[std::stoull(seed, nullptr, 16)];
      published.keys.push_back(std::string_view(buffer).substr(0, std::stoull(length)));
      published.hashes.push_back(std::stoull(hash, nullptr, 16));
    }
  }
  ASSERT_EQ(by_seed.size(), 2U);
  on_every_target([&] {
    for (auto& [number, published] : by_seed) {
      ASSERT_EQ(published.keys.size(), 1025U);
      // The shortest keys come last.
      std::vector<std::string_view> keys = published.keys;
      std::ranges::rotate(keys, keys.begin() + kShortestFirst);
      std::vector<Digest> digests = batch(seeded(number), keys);
      std::ranges::rotate(digests, digests.end() - kShortestFirst);
      for (std::size_t i = 0; i < digests.size(); ++i) {
        ASSERT_EQ(digests[i].value, published.hashes[i]) << published.keys[i].size() << " bytes, seed " << number;
      }
    }
  });
}

// Goal: no byte outside a key is read. Method: every length at every distance up to a cache line from both ends of a
// page between pages that cannot be read.
TEST_F(Xxh3Batch, reads_no_byte_outside_of_a_key) {
  constexpr std::size_t kLengths = 1001;
  constexpr std::size_t kDistances = 65;
  const test::GuardedPage page;
  const std::span<char> bytes = page.bytes();
  std::ranges::copy(test::Random(5).bytes(bytes.size()), bytes.begin());
  on_every_target([&] {
    for (std::size_t distance = 0; distance < kDistances; ++distance) {
      std::vector<std::string_view> keys;
      for (std::size_t i = 0; i < kLengths; ++i) {
        const std::size_t length = (i + kShortestFirst) % kLengths;
        keys.emplace_back(bytes.data() + distance, length);
        keys.emplace_back(bytes.data() + bytes.size() - distance - length, length);
      }
      ASSERT_NO_FATAL_FAILURE(expect_single_calls(seeded(distance), keys));
    }
  });
}

// Goal: no key outside a batch is read. Method: batches of every size up to two windows end where a page does.
TEST_F(Xxh3Batch, reads_no_key_outside_of_a_batch) {
  const std::string text = test::Random(7).bytes(200);
  std::vector<std::string_view> keys;
  for (std::size_t i = 0; i < 256; ++i) {
    keys.push_back(std::string_view(text).substr(0, kShortestFirst + i % 110));
  }
  const test::GuardedPage page;
  std::byte* const start = std::as_writable_bytes(page.bytes()).data();
  std::byte* const end = start + page.bytes().size();
  on_every_target([&] {
    for (std::size_t count = 16; count <= keys.size(); ++count) {
      const std::size_t bytes = count * sizeof(std::string_view);
      for (std::byte* const place : {start, end - bytes}) {
        std::memcpy(place, keys.data(), bytes);
        const auto* const batch = std::launder(reinterpret_cast<const std::string_view*>(place));
        ASSERT_NO_FATAL_FAILURE(expect_single_calls(seeded(count), {batch, count}));
      }
    }
  });
}

// Goal: every mix of lengths and size of a batch. Method: random batches of keys whose lengths have one random bound.
TEST_F(Xxh3Batch, equals_single_calls_for_random_windows) {
  test::Random random(6);
  const std::string text = random.bytes(4096);
  on_every_target([&] {
    for (int round = 0; round < 400; ++round) {
      const std::size_t longest = 33 + random.below(round % 4 == 0 ? 500 : 120);
      std::vector<std::string_view> keys(random.below(round % 8 == 0 ? 1000 : 300));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::size_t shortest = i < 16 ? kShortestFirst : 0;
        const std::size_t length = shortest + random.below(longest - shortest + 1);
        keys[i] = std::string_view(text).substr(random.below(text.size() - length), length);
      }
      ASSERT_NO_FATAL_FAILURE(expect_single_calls(seeded(random.number()), keys));
    }
  });
}

TEST_F(Xxh3Batch, extreme_bytes_carry_as_in_single_calls) {
  std::vector<std::string> texts;
  for (const char byte : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
    for (std::size_t length = kShortestFirst; length < 150; ++length) {
      texts.emplace_back(length, byte);
    }
  }
  const std::vector<std::string_view> keys(texts.begin(), texts.end());
  on_every_target([&] {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      ASSERT_NO_FATAL_FAILURE(expect_single_calls(seeded(seed), keys));
    }
  });
}

}  // namespace
}  // namespace mankai
