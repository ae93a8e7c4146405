#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mankai/base/region.hpp"

namespace mankai::lab {

/// Memory of filters that counts the bytes in use. The filters must end before it.
class CountedMemory {
 public:
  CountedMemory() = default;
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  [[nodiscard]] Memory memory() noexcept { return {.allocate = allocate, .release = release, .context = this}; }
  [[nodiscard]] double bytes() const noexcept { return static_cast<double>(bytes_); }

 private:
  static void* allocate(void* context, std::size_t bytes) noexcept {
    const Memory system = system_memory();
    void* const data = system.allocate(system.context, bytes);
    static_cast<CountedMemory*>(context)->bytes_ += data != nullptr ? bytes : 0;
    return data;
  }
  static void release(void* context, void* data, std::size_t bytes) noexcept {
    static_cast<CountedMemory*>(context)->bytes_ -= bytes;
    const Memory system = system_memory();
    system.release(system.context, data, bytes);
  }

  std::size_t bytes_ = 0;
};

/// Bytes and pieces in use of all containers with a CountingAllocator, without what the heap adds to a piece.
struct Counted {
  static inline std::uint64_t bytes = 0;
  static inline std::uint64_t pieces = 0;
};

/// For containers of the standard library. One thread at a time.
template <class T>
class CountingAllocator {
 public:
  using value_type = T;
  CountingAllocator() noexcept = default;
  template <class U>
  explicit(false) CountingAllocator(const CountingAllocator<U>& /*other*/) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    Counted::bytes += count * kElementBytes;
    ++Counted::pieces;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, std::size_t count) noexcept {
    Counted::bytes -= count * kElementBytes;
    --Counted::pieces;
    std::allocator<T>().deallocate(place, count);
  }
  friend bool operator==(const CountingAllocator&, const CountingAllocator&) = default;

 private:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a bucket of a table is a pointer to a node
  static constexpr std::uint64_t kElementBytes = sizeof(T);
};

}  // namespace mankai::lab
