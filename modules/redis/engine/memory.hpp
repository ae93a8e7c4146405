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

/// Lets the engine move what `engine_memory()` gave, where that makes its memory less fragmented. Threads: the engine's
/// main thread, while it defragments a value.
[[nodiscard]] Mover engine_mover(DefragState* state) noexcept;

/// While it lives, a block of a mebibyte or more is refused when it takes the engine over its maxmemory: the engine
/// itself looks only before a command, and one command may ask for gigabytes. And any block, when a filter becomes
/// larger with it than filter-memory-limit says. Replicas, and what is loaded, go without: they must have what the
/// primary has. Threads: the engine's main thread; one at a time.
class MemoryLimit {
 public:
  explicit MemoryLimit(Context* context) noexcept;
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit();

  /// What is allocated from now on belongs to a filter that has so many bytes.
  void set_filter(std::uint64_t used_bytes) noexcept;
  /// Whether a block of so many bytes would be granted now: for a filter that takes its memory step by step, and should
  /// be refused at the first step when there is no room for the last one.
  [[nodiscard]] bool would_grant(std::uint64_t bytes) noexcept;
  /// Whether a value of so many bytes may take any more: for those whose memory does not come in blocks of
  /// `engine_memory()`.
  [[nodiscard]] bool has_room(std::uint64_t used_bytes) noexcept;
};

/// The error to reply when a command got no memory: this one, unless a block was refused for its filter's size.
[[nodiscard]] const char* memory_error(const char* otherwise) noexcept;

/// Registers filter-memory-limit, the bytes that one filter may take; 0: any number. Returns kOk or kError.
[[nodiscard]] int register_memory_config(Context* context) noexcept;

/// Returns what a block of `engine_memory()` of so many bytes takes from the engine.
[[nodiscard]] std::size_t engine_bytes(std::size_t bytes) noexcept;

/// The bytes of cells that are allocated now, of all filters. Threads: safe.
[[nodiscard]] std::uint64_t engine_bytes_in_use() noexcept;
/// How many blocks of cells the engine has moved. Threads: safe.
[[nodiscard]] std::uint64_t engine_blocks_moved() noexcept;

}  // namespace mankai::redis
