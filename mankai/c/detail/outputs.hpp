#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace mankai::c {

/// Memory that the caller gives back to mankai_free. Throws bad_alloc.
[[nodiscard]] inline void* allocate_for_caller(std::size_t bytes) {
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace mankai::c
