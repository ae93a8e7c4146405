#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mankai {

static_assert(std::endian::native == std::endian::little, "images are little-endian and used in place");

/// Cells start at, and kernels touch, whole cache lines of this many bytes.
inline constexpr std::size_t kCacheLineBytes = 64;

/// Asks the processor for the cache line of an address, which may be any. The empty assembly is an effect: g++ takes
/// functions that only prefetch for pure ones, and removes the calls of those that it does not inline early.
[[gnu::always_inline]] inline void prefetch_line(const void* address) noexcept {
  __builtin_prefetch(address);
  asm volatile("");
}

/// The same into the level-2 cache, which waits for more lines at once than the level-1 cache: for many lines that are
/// used a while later.
[[gnu::always_inline]] inline void prefetch_line_to_level2(const void* address) noexcept {
  __builtin_prefetch(address, 0, 2);
  asm volatile("");
}

/// As prefetch_line, for a line that is read once, as far as the processor can make use of that.
[[gnu::always_inline]] inline void prefetch_passing_line(const void* address) noexcept {
  __builtin_prefetch(address, 0, 0);
  asm volatile("");
}

/// High 64 bits of the 128-bit product.
[[nodiscard]] constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

/// Low and high 64 bits of the 128-bit product, xored: one multiplication, where compilers take two for both halves.
[[nodiscard]] constexpr std::uint64_t multiply_folded(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Maps a uniform 64-bit value to [0, range) by one multiplication; bias below range / 2^64. Source: [Lemire2019].
[[nodiscard]] constexpr std::uint64_t fastrange(std::uint64_t uniform, std::uint64_t range) noexcept {
  return multiply_high(uniform, range);
}

template <class T>
[[nodiscard]] constexpr T divide_up(T dividend, T divisor) noexcept {
  return dividend / divisor + static_cast<T>(dividend % divisor != 0);
}

template <class T>
[[nodiscard]] constexpr T align_up(T value, T alignment) noexcept {
  return divide_up(value, alignment) * alignment;
}

/// Whether all elements, bytes or integers, are zero.
[[nodiscard]] constexpr bool is_zero(const auto& range) noexcept {
  return std::ranges::all_of(range, [](auto each) { return each == decltype(each){}; });
}

/// Whether the bits after the first `bits` are zero.
[[nodiscard]] constexpr bool is_zero_after(std::span<const std::uint64_t> words, std::uint64_t bits) noexcept {
  const auto rest = words.subspan(bits / 64);
  return rest.empty() || (rest.front() >> bits % 64 == 0 && is_zero(rest.subspan(1)));
}

}  // namespace mankai
