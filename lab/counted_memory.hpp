#pragma once

#include <cstddef>

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

}  // namespace mankai::lab
