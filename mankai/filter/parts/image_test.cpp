#include "mankai/filter/parts/image.hpp"

#include <gtest/gtest.h>

#include <random>

#include "mankai/base/bits.hpp"

namespace mankai {
namespace {

// The definition: this many lines fit, and one more does not.
bool is_most_within(std::uint64_t lines, std::uint64_t bytes) {
  return (lines == 0 || image_bytes_for(lines * kCacheLineBytes) <= bytes) &&
         image_bytes_for((lines + 1) * kCacheLineBytes) > bytes;
}

TEST(Image, cell_lines_within_is_the_most_lines_that_fit) {
  constexpr std::uint64_t kSmall = 3 * kChunkBytes;
  for (std::uint64_t bytes = 0; bytes < kSmall; ++bytes) {
    ASSERT_TRUE(is_most_within(cell_lines_within(bytes), bytes)) << bytes;
  }
  std::mt19937_64 random(1);
  for (int round = 0; round < 100'000; ++round) {
    const std::uint64_t bytes = random() >> (7 + random() % 50);
    ASSERT_TRUE(is_most_within(cell_lines_within(bytes), bytes)) << bytes;
  }
  // Around the size of whole chunks, up to the largest image.
  for (std::uint64_t chunks = 1; chunks <= kMaxImageBytes / kChunkBytes; chunks *= 2) {
    const std::uint64_t whole = image_bytes_for(chunks * kChunkBytes);
    for (std::uint64_t bytes = whole - 2 * kCacheLineBytes; bytes < whole + 2 * kCacheLineBytes; ++bytes) {
      ASSERT_TRUE(is_most_within(cell_lines_within(bytes), bytes)) << bytes;
    }
  }
}

}  // namespace
}  // namespace mankai
