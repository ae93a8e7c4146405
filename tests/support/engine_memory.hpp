#pragma once

#include <cstddef>
#include <cstdint>

// In place of modules/redis/engine/memory.cpp, for values of the module without a server: memory of the system, counted
// and limited.

namespace mankai::test {

/// What the engine's memory was asked for.
struct EngineMemoryUse {
  std::size_t most_bytes = SIZE_MAX;  ///< a larger block is refused
  std::size_t calls = 0;              ///< to allocate, refused ones included
  std::size_t bytes_in_use = 0;
};

[[nodiscard]] EngineMemoryUse& engine_memory_use() noexcept;

}  // namespace mankai::test
