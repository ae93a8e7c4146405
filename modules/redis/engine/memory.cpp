#include "modules/redis/engine/memory.hpp"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <new>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "modules/redis/engine/redis_abi.hpp"
#include "modules/redis/engine/settings.hpp"

namespace mankai::redis {
namespace {

// Stored after the bytes, unless the allocator aligns: their distance from the start of the engine's block.
using Shift = std::uint64_t;

// Whether blocks of a multiple of 64 bytes are aligned to 64, as those of jemalloc, the usual allocator. Then nothing
// is stored after the bytes: with 8 bytes more, a power of two would take a block of the next size, a quarter larger.
bool does_allocator_align = false;

// Blocks from this size on get their zeros from the system, page by page as they are touched.
constexpr std::size_t kLeastLazyBytes = std::size_t{128} << 10;
// Limits of memory that the engine does not check itself are checked for blocks from this size on.
constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

std::atomic<std::uint64_t> bytes_in_use = 0;
std::atomic<std::uint64_t> blocks_moved = 0;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// What valkey-bloom grants a filter by default; and as much as legitimate expansions take.
constexpr std::uint64_t kMostGrowth = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostGrowthFactor = 64;

constexpr const char* kFilterTooLarge = "ERR the filter would be larger than filter-memory-limit allows";
constexpr const char* kGrowthTooLarge =
    "ERR the filter would grow by more than 128 MiB and 64 times its size at once: reserve a larger one";

/// What the running command may allocate. The engine's flags are requested only when a block needs them: most commands
/// allocate nothing, and the engine computes its memory use to answer.
struct Allowance {
  Context* context = nullptr;  ///< of the command, during the lifetime of a MemoryLimit
  std::uint64_t filter_bytes = kNoLimit;
  std::uint64_t growth_bytes = kNoLimit;
  const char* refusal = nullptr;  ///< the error of a limit that refused a block
};
Allowance allowance;
constinit IntegerSetting filter_limit{.initial = 0, .least = 0, .most = std::numeric_limits<long long>::max()};
constinit FlagSetting may_defragment{.initial = true};

unsigned context_flags() noexcept { return static_cast<unsigned>(engine.get_context_flags(allowance.context)); }

bool is_exempt(unsigned flags) noexcept { return (flags & (kContextReplicated | kContextLoading)) != 0; }

// The system by default refuses to map more at once than it has, but jemalloc maps in a way that is never refused.
// Such a filter can never be filled, and DUMP passes over all of its zeros: 1.5 s per GiB.
bool exceeds_machine(std::size_t bytes) noexcept {
  struct sysinfo machine{};
  return ::sysinfo(&machine) == 0 && bytes / machine.mem_unit >= machine.totalram + machine.totalswap;
}

bool take(std::uint64_t& left, std::size_t bytes, const char* refusal) noexcept {
  if (bytes > left && !is_exempt(context_flags())) {
    allowance.refusal = refusal;
    return false;
  }
  left -= left == kNoLimit ? 0 : std::min<std::uint64_t>(left, bytes);
  return true;
}

bool take_allowance(std::size_t bytes) noexcept {
  return take(allowance.filter_bytes, bytes, kFilterTooLarge) && take(allowance.growth_bytes, bytes, kGrowthTooLarge);
}

/// Allocates a block, then asks the engine how much memory is used with it.
void* allocate_in_limit(std::size_t bytes) noexcept {
  if (allowance.context == nullptr) {
    return engine.try_alloc(bytes);
  }
  if (!take_allowance(bytes)) {
    return nullptr;
  }
  const unsigned flags = bytes >= kLargeBytes ? context_flags() : 0;
  if (bytes >= kLargeBytes && !is_exempt(flags) && exceeds_machine(bytes)) {
    return nullptr;
  }
  if ((flags & kContextMaxmemory) == 0 || is_exempt(flags)) {
    return engine.try_alloc(bytes);
  }
  const float before = engine.get_used_memory_ratio();
  void* block = engine.try_alloc(bytes);
  if (block == nullptr) {
    return nullptr;
  }
  // The engine can evict other keys to make room, unless the block alone is larger than maxmemory.
  const float after = engine.get_used_memory_ratio();
  const bool is_evictable = (flags & kContextEvict) != 0;
  if ((is_evictable ? after - before : after) > 1) {
    engine.free(block);
    return nullptr;
  }
  return block;
}

bool is_aligned(const void* data) noexcept { return reinterpret_cast<std::uintptr_t>(data) % kCacheLineBytes == 0; }

/// Tries blocks of all sizes that allocators treat differently: of their classes, of runs of pages, and mapped ones.
/// Two of each, since the first of a class may be aligned only because its pages are.
bool probe_alignment() noexcept {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  bool is_every_block_aligned = true;
  for (std::size_t bytes = kCacheLineBytes; is_every_block_aligned && bytes <= kMostBytes;
       bytes += align_up(bytes / 4, kCacheLineBytes)) {
    const std::array<void*, 2> blocks = {engine.try_alloc(bytes), engine.try_alloc(bytes)};
    for (void* block : blocks) {
      is_every_block_aligned = is_every_block_aligned && block != nullptr && is_aligned(block);
      engine.free(block);
    }
  }
  return is_every_block_aligned;
}

// Pages of a private mapping read as zeros again after MADV_DONTNEED. The system rounds the end up to whole pages, of
// 16 or 64 KiB on some ARM machines: an end within one would clear bytes of other blocks.
void zero(std::byte* data, std::size_t bytes) noexcept {
  if (bytes >= kLeastLazyBytes) {
    static const auto kPageBytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t first_page = align_up(start, kPageBytes);
    const std::uintptr_t end_page = (start + bytes) / kPageBytes * kPageBytes;
    if (::madvise(reinterpret_cast<void*>(first_page), end_page - first_page, MADV_DONTNEED) == 0) {
      std::memset(data, 0, first_page - start);
      std::memset(reinterpret_cast<void*>(end_page), 0, start + bytes - end_page);
      return;
    }
  }
  std::memset(data, 0, bytes);
}

// Bytes of the block that is requested first for so many.
std::size_t block_bytes(std::size_t bytes) noexcept {
  return does_allocator_align ? align_up(std::max<std::size_t>(bytes, 1), kCacheLineBytes) : engine_bytes(bytes);
}

void* allocate(void* /*context*/, std::size_t bytes) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    return nullptr;
  }
  const std::size_t wanted = block_bytes(bytes);
  const Allowance before = allowance;
  void* block = allocate_in_limit(wanted);
  if (block != nullptr && !is_aligned(block)) {
    engine.free(block);
    if (does_allocator_align) {
      return nullptr;  // the probe was wrong, and nothing could tell the start of this block later
    }
    allowance = before;
    block = allocate_in_limit(wanted + kCacheLineBytes);
  }
  if (block == nullptr) {
    return nullptr;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  const Shift shift = align_up<std::uintptr_t>(start, kCacheLineBytes) - start;
  std::byte* data = static_cast<std::byte*>(block) + shift;
  zero(data, bytes);
  if (!does_allocator_align) {
    std::memcpy(data + bytes, &shift, sizeof(shift));
  }
  bytes_in_use.fetch_add(bytes, std::memory_order_relaxed);
  return data;
}

Shift shift_of(std::span<const std::byte> bytes) noexcept {
  Shift shift = 0;
  if (!does_allocator_align) {
    std::memcpy(&shift, bytes.data() + bytes.size(), sizeof(shift));
  }
  return shift;
}

// The engine copies the block unchanged, but the aligned position in the new block may differ.
std::byte* move(void* context, std::span<std::byte> bytes) noexcept {
  const Shift before = shift_of(bytes);
  void* block = engine.defrag_alloc(static_cast<DefragState*>(context), bytes.data() - before);
  if (block == nullptr) {
    return bytes.data();
  }
  blocks_moved.fetch_add(1, std::memory_order_relaxed);
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  const Shift shift = align_up<std::uintptr_t>(start, kCacheLineBytes) - start;
  std::byte* data = static_cast<std::byte*>(block) + shift;
  if (shift != before) {
    // Engines defragment with jemalloc only. There a block with shift 0 has no spare room, but its copy is aligned,
    // too.
    MANKAI_ASSERT(before != 0);
    std::memmove(data, static_cast<std::byte*>(block) + before, bytes.size());
    std::memcpy(data + bytes.size(), &shift, sizeof(shift));
  }
  return data;
}

void release(void* /*context*/, void* data, std::size_t bytes) noexcept {
  const Shift shift = shift_of({static_cast<const std::byte*>(data), bytes});
  bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
  engine.free(static_cast<std::byte*>(data) - shift);
}

}  // namespace

Memory engine_memory() noexcept { return {.allocate = allocate, .release = release, .context = nullptr}; }

Mover engine_mover(DefragState* state) noexcept { return {.move = move, .context = state}; }

MemoryLimit::MemoryLimit(Context* context) noexcept { allowance = {.context = context}; }

MemoryLimit::~MemoryLimit() { allowance = {}; }

bool MemoryLimit::is_set() noexcept { return filter_limit.value != 0; }

void MemoryLimit::set_filter(std::uint64_t used_bytes) noexcept {
  const auto most = static_cast<std::uint64_t>(filter_limit.value);
  allowance.filter_bytes = most == 0 ? kNoLimit : most - std::min(most, used_bytes);
}

bool MemoryLimit::has_room(std::uint64_t used_bytes) noexcept {
  const auto most = static_cast<std::uint64_t>(filter_limit.value);
  if (most == 0 || used_bytes < most || is_exempt(context_flags())) {
    return true;
  }
  allowance.refusal = kFilterTooLarge;
  return false;
}

void MemoryLimit::set_growing(std::uint64_t used_bytes) noexcept {
  allowance.growth_bytes =
      std::max(kMostGrowth, std::min(used_bytes, kNoLimit / kMostGrowthFactor) * kMostGrowthFactor);
}

// The engine does not report its free memory, so the block is allocated and freed untouched.
bool MemoryLimit::would_grant(std::uint64_t bytes) noexcept {
  if (is_exempt(context_flags())) {
    return true;
  }
  const Allowance before = allowance;
  void* block = bytes < std::numeric_limits<std::size_t>::max() / 2 ? allocate_in_limit(block_bytes(bytes)) : nullptr;
  allowance.filter_bytes = before.filter_bytes;
  allowance.growth_bytes = before.growth_bytes;
  engine.free(block);
  return block != nullptr;
}

const char* memory_error(const char* otherwise) noexcept {
  return allowance.refusal != nullptr ? allowance.refusal : otherwise;
}

int register_memory_configs(Context* context) noexcept {
  does_allocator_align = probe_alignment();
  const bool is_done = register_setting(context, "filter-memory-limit", filter_limit, kConfigMemory) == kOk &&
                       register_setting(context, "bloom-memory-usage-limit", filter_limit, kConfigMemory) == kOk &&
                       register_setting(context, "bloom-defrag-enabled", may_defragment) == kOk;
  return is_done ? kOk : kError;
}

bool is_defragmentation_enabled() noexcept { return may_defragment.value; }

std::size_t engine_bytes(std::size_t bytes) noexcept { return align_up(bytes + sizeof(Shift), kCacheLineBytes); }

std::uint64_t engine_blocks_moved() noexcept { return blocks_moved.load(std::memory_order_relaxed); }

void count_engine_bytes(std::ptrdiff_t bytes) noexcept {
  bytes_in_use.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

std::uint64_t engine_bytes_in_use() noexcept { return bytes_in_use.load(std::memory_order_relaxed); }

}  // namespace mankai::redis

// The module's own operator new; the linker's version script makes it local to the module. It throws until the engine
// is bound, so nothing may allocate while the module is mapped.
void* operator new(std::size_t bytes) {
  void* data = mankai::redis::engine.try_alloc != nullptr ? mankai::redis::engine.try_alloc(bytes) : nullptr;
  if (data == nullptr) {
    throw std::bad_alloc();
  }
  return data;
}

void operator delete(void* data) noexcept {
  if (data != nullptr) {
    mankai::redis::engine.free(data);
  }
}

void operator delete(void* data, std::size_t /*bytes*/) noexcept { operator delete(data); }
