#include "mankai/base/region.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "mankai/base/bits.hpp"

namespace mankai {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Maps `bytes` rounded up to huge pages, at a huge page's boundary; unmaps the slack around it.
void* map_huge(std::size_t bytes) noexcept {
  const std::size_t wanted = align_up(bytes, kHugePageBytes);
  const std::size_t mapped = wanted + kHugePageBytes;
  if (mapped < bytes) {
    return nullptr;
  }
  void* raw = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) {
    return nullptr;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = align_up(start, std::uintptr_t{kHugePageBytes});
  if (aligned != start) {
    ::munmap(raw, aligned - start);
  }
  if (const std::size_t tail = start + mapped - (aligned + wanted); tail != 0) {
    ::munmap(reinterpret_cast<void*>(aligned + wanted), tail);
  }
  void* data = reinterpret_cast<void*>(aligned);
  // Advice only: without huge pages the region is slower.
  static_cast<void>(::madvise(data, wanted, MADV_HUGEPAGE));
  return data;
}

void* allocate_system(void* /*context*/, std::size_t bytes) noexcept {
  if (bytes >= kHugePageBytes) {
    return map_huge(bytes);
  }
  const std::size_t rounded = align_up(bytes, kCacheLineBytes);
  void* data = std::aligned_alloc(kCacheLineBytes, rounded);
  if (data != nullptr) {
    std::memset(data, 0, rounded);
  }
  return data;
}

void release_system(void* /*context*/, void* data, std::size_t bytes) noexcept {
  if (bytes >= kHugePageBytes) {
    ::munmap(data, align_up(bytes, kHugePageBytes));
  } else {
    std::free(data);
  }
}

void release_nothing(void* /*context*/, void* /*data*/, std::size_t /*bytes*/) noexcept {}

}  // namespace

Memory system_memory() noexcept { return {.allocate = allocate_system, .release = release_system, .context = nullptr}; }

Region& Region::operator=(Region&& other) noexcept {
  if (this != &other) {
    reset();
    bytes_ = std::exchange(other.bytes_, {});
    release_ = other.release_;
    context_ = other.context_;
  }
  return *this;
}

Result<Region> Region::allocate(const Memory& memory, std::size_t bytes) {
  void* data = memory.allocate(memory.context, bytes);
  if (data == nullptr) {
    return fail(ErrorCode::out_of_space, "cannot allocate " + std::to_string(bytes) +
                                             " bytes of memory; make the filter smaller, for example for fewer keys");
  }
  return Region({static_cast<std::byte*>(data), bytes}, memory.release, memory.context);
}

Region Region::borrow(std::span<std::byte> bytes) noexcept { return {bytes, release_nothing, nullptr}; }

void Region::reset() noexcept {
  if (bytes_.data() != nullptr) {
    release_(context_, bytes_.data(), bytes_.size());
    bytes_ = {};
  }
}

}  // namespace mankai
