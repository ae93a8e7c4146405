#pragma once

/// An allocator against fragmentation, as a filter's `relocate` meets it.

#include <algorithm>
#include <cstddef>
#include <span>

#include "mankai/base/region.hpp"

namespace mankai::test {

/// Moves bytes to new memory, leaves nothing of use behind, and counts: the context is an int.
inline std::byte* move_away(void* context, std::span<std::byte> bytes) noexcept {
  const Memory memory = system_memory();
  auto* to = static_cast<std::byte*>(memory.allocate(memory.context, bytes.size()));
  std::ranges::copy(bytes, to);
  std::ranges::fill(bytes, std::byte{0xee});
  memory.release(memory.context, bytes.data(), bytes.size());
  ++*static_cast<int*>(context);
  return to;
}

/// Leaves bytes where they are.
inline std::byte* leave(void* /*context*/, std::span<std::byte> bytes) noexcept { return bytes.data(); }

}  // namespace mankai::test
