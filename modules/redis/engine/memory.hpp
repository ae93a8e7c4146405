#pragma once

/// Memory that the engine counts: cells through `engine_memory()`, and everything that C++ allocates in this module
/// through our own operator new. So used_memory, maxmemory and eviction see all of it.

#include <cstddef>
#include <cstdint>

#include "mankai/base/region.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Allocates zeroed bytes aligned to 64 from the engine; nullptr when it has none. Large blocks take no physical memory
/// before they are touched. Threads: safe.
[[nodiscard]] Memory engine_memory() noexcept;

/// While it lives, a block of a mebibyte or more is refused when it takes the engine over its maxmemory: the engine
/// itself looks only before a command, and one command may ask for gigabytes. Replicas, and what is loaded, go without:
/// they must have what the primary has. Threads: the engine's main thread.
class MemoryLimit {
 public:
  explicit MemoryLimit(Context* context) noexcept;
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit();
};

/// Returns what a block of `engine_memory()` of so many bytes takes from the engine.
[[nodiscard]] std::size_t engine_bytes(std::size_t bytes) noexcept;

/// The bytes of cells that are allocated now, of all filters. Threads: safe.
[[nodiscard]] std::uint64_t engine_bytes_in_use() noexcept;

}  // namespace mankai::redis
