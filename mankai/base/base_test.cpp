#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/base/parallel.hpp"
#include "mankai/base/region.hpp"

namespace mankai {
namespace {

TEST(Error, message_adds_the_systems_words_only_when_there_are_some) {
  const Error plain{.code = ErrorCode::corrupt, .detail = "bad magic at offset 0"};
  EXPECT_EQ(plain.message(), "bad magic at offset 0");
  const Error system{.code = ErrorCode::io, .os_error = ENOSPC, .detail = "cannot write"};
  EXPECT_EQ(system.message(), "cannot write: No space left on device");
  EXPECT_EQ(system.within("a.mk").message(), "a.mk: cannot write: No space left on device");
  EXPECT_EQ(system.within("a.mk").within("a.mk").message(), "a.mk: cannot write: No space left on device");
}

TEST(Bits, fastrange_covers_its_range_and_keeps_order) {
  EXPECT_EQ(fastrange(0, 10), 0U);
  EXPECT_EQ(fastrange(std::numeric_limits<std::uint64_t>::max(), 10), 9U);
  EXPECT_EQ(fastrange(std::uint64_t{1} << 63, 10), 5U);
  EXPECT_EQ(fastrange(12345, 1), 0U);
}

TEST(Bits, align_up_and_divide_up_do_not_overflow_near_the_top) {
  EXPECT_EQ(divide_up<std::uint64_t>(std::numeric_limits<std::uint64_t>::max(), 64), std::uint64_t{1} << 58);
  EXPECT_EQ(align_up<std::uint64_t>(65, 64), 128U);
  EXPECT_EQ(align_up<std::uint64_t>(0, 64), 0U);
}

TEST(Region, memory_is_zeroed_and_aligned_at_every_size) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1000}, (std::size_t{2} << 20) - 1,
                                  std::size_t{2} << 20, (std::size_t{5} << 20) + 7}) {
    auto region = Region::allocate(system_memory(), bytes);
    ASSERT_TRUE(region.has_value());
    ASSERT_EQ(region->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->bytes().data()) % kCacheLineBytes, 0U);
    for (const std::byte b : region->bytes()) {
      ASSERT_EQ(b, std::byte{0});
    }
    region->bytes().back() = std::byte{1};
  }
}

TEST(Region, absurd_sizes_are_an_error_with_a_way_out) {
  const auto region = Region::allocate(system_memory(), std::numeric_limits<std::size_t>::max() - 100);
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, ErrorCode::out_of_space);
  EXPECT_NE(region.error().detail.find("fewer keys"), std::string::npos);
}

TEST(Parallel, every_element_is_in_one_range) {
  for (const std::size_t count : {0U, 1U, 2U, 99U, 100U, 101U, 1000U, 1001U, 1007U}) {
    std::vector<std::atomic<int>> calls(count);
    std::atomic<std::size_t> ranges = 0;
    for_ranges_in_parallel(count, 100, [&](std::size_t first, std::size_t last) {
      ++ranges;
      for (std::size_t i = first; i < last; ++i) {
        ++calls[i];
      }
    });
    EXPECT_TRUE(std::ranges::all_of(calls, [](int each) { return each == 1; })) << count;
    EXPECT_LE(ranges, std::max<std::size_t>(count / 100, 1)) << count;
  }
}

TEST(Region, moving_leaves_an_empty_region_and_releases_once) {
  static int released = 0;
  released = 0;
  std::byte storage[8];
  {
    Region first({storage, 8}, [](void*, void*, std::size_t) noexcept { ++released; }, nullptr);
    Region second(std::move(first));
    EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
    Region third;
    third = std::move(second);
    EXPECT_EQ(third.size(), 8U);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace mankai
