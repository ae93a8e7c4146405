#pragma once

#include <cstddef>
#include <string>

#include "mankai/base/bits.hpp"

namespace mankai::detail {

/// What an allocator takes for a block: its sizes are 16 bytes apart, and 8 of them are its own, as in glibc. Others
/// have sizes that are up to a quarter apart.
[[nodiscard]] constexpr std::size_t heap_bytes(std::size_t bytes) noexcept {
  constexpr std::size_t kOwnBytes = 8;
  constexpr std::size_t kStep = 16;
  return align_up(bytes + kOwnBytes, kStep);
}

/// Of a node of std::set: color, parent and two children before the value.
template <class Value>
inline constexpr std::size_t kTreeNodeBytes = heap_bytes(4 * sizeof(void*) + sizeof(Value));
/// Of a node of a std::unordered_map of numbers: the next one before the value.
template <class Value>
inline constexpr std::size_t kHashNodeBytes = heap_bytes(sizeof(void*) + sizeof(Value));

/// Of a text beside the string itself; short ones are in it.
[[nodiscard]] inline std::size_t text_bytes(const std::string& text) noexcept {
  return text.capacity() > std::string().capacity() ? heap_bytes(text.capacity() + 1) : 0;
}

}  // namespace mankai::detail
