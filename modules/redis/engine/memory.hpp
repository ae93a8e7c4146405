#pragma once

/// Memory that the engine counts: cells are allocated by `engine_memory()`, all other C++ objects of this module by our
/// own operator new. So used_memory, maxmemory and eviction account for all of it.

#include <cstddef>
#include <cstdint>

#include "mankai/base/region.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Allocates zeroed bytes aligned to 64 from the engine; nullptr if memory is exhausted. Large blocks take no physical
/// memory until they are touched. Threads: safe.
[[nodiscard]] Memory engine_memory() noexcept;

/// Lets the engine move blocks of `engine_memory()` to reduce fragmentation. Threads: the engine's main thread, while
/// it defragments a value.
[[nodiscard]] Mover engine_mover(DefragState* state) noexcept;

/// During its lifetime, limits hold. A block of 1 MiB or more is refused if it takes the engine over maxmemory: the
/// engine checks only before a command, and one command may request gigabytes. So is one that is larger than the
/// memory and the swap space of the machine. Any block is refused if it takes a
/// filter over filter-memory-limit, or makes one that was taken over grow out of proportion. Replicas and loading are
/// exempt: they must have what the primary has. Threads: the engine's main thread; one object at a time.
class MemoryLimit {
 public:
  explicit MemoryLimit(Context* context) noexcept;
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit();

  /// Whether filter-memory-limit is set.
  [[nodiscard]] static bool is_set() noexcept;
  /// Later allocations are for a filter that already uses so many bytes.
  void set_filter(std::uint64_t used_bytes) noexcept;
  /// Later allocations are growth that a filter demands by its parameters, which may be forged: at most 128 MiB, or 64
  /// times its bytes if that is more.
  void set_growing(std::uint64_t used_bytes) noexcept;
  /// Whether a block of so many bytes would be granted now. A filter that allocates in steps asks before the first one
  /// whether there is room for the last.
  [[nodiscard]] bool would_grant(std::uint64_t bytes) noexcept;
  /// Whether a value of so many bytes may grow. For values whose memory does not come from `engine_memory()`.
  [[nodiscard]] bool has_room(std::uint64_t used_bytes) noexcept;
};

/// The error to reply after a failed allocation: `otherwise`, unless a limit of filters refused a block.
[[nodiscard]] const char* memory_error(const char* otherwise) noexcept;

/// Registers filter-memory-limit, the maximal bytes of one filter (0: no limit), its name in valkey-bloom, and
/// bloom-defrag-enabled. Returns kOk or kError.
[[nodiscard]] int register_memory_configs(Context* context) noexcept;

/// Whether values of any family may be moved when the engine defragments.
[[nodiscard]] bool is_defragmentation_enabled() noexcept;

/// Bytes of the engine's block for so many bytes, at most. The same in every process: the size of a top-k list depends
/// on it.
[[nodiscard]] std::size_t engine_bytes(std::size_t bytes) noexcept;

/// Adds cells that are not of `engine_memory()` to the next. Threads: safe.
void count_engine_bytes(std::ptrdiff_t bytes) noexcept;
/// Bytes of all filters' cells, and how often the engine has moved a block of them. Threads: safe.
[[nodiscard]] std::uint64_t engine_bytes_in_use() noexcept;
[[nodiscard]] std::uint64_t engine_blocks_moved() noexcept;

}  // namespace mankai::redis
