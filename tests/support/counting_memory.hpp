#pragma once

#include <cstddef>
#include <cstdint>

#include "mankai/base/region.hpp"

namespace mankai::test {

/// Memory that counts what it is asked for, and refuses once `grants_left` is used up.
class CountingMemory {
 public:
  explicit CountingMemory(std::size_t grants_left = SIZE_MAX) : grants_left_(grants_left) {}
  CountingMemory(const CountingMemory&) = delete;
  CountingMemory& operator=(const CountingMemory&) = delete;

  [[nodiscard]] Memory memory() noexcept { return {.allocate = allocate, .release = release, .context = this}; }

  std::size_t calls = 0;         ///< to allocate, refused ones included
  std::size_t last_bytes = 0;    ///< of the latest call
  std::size_t bytes_in_use = 0;  ///< granted and not yet given back

 private:
  static void* allocate(void* context, std::size_t bytes) noexcept {
    auto& self = *static_cast<CountingMemory*>(context);
    ++self.calls;
    self.last_bytes = bytes;
    if (self.grants_left_ == 0) {
      return nullptr;
    }
    --self.grants_left_;
    const Memory system = system_memory();
    void* data = system.allocate(system.context, bytes);
    self.bytes_in_use += data != nullptr ? bytes : 0;
    return data;
  }
  static void release(void* context, void* data, std::size_t bytes) noexcept {
    static_cast<CountingMemory*>(context)->bytes_in_use -= bytes;
    const Memory system = system_memory();
    system.release(system.context, data, bytes);
  }

  std::size_t grants_left_;
};

}  // namespace mankai::test
