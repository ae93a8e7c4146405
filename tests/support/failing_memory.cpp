#include "tests/support/failing_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mankai::test {

std::optional<int> failing_allocation;
bool fails_on = false;
std::size_t allocated_bytes = 0;
std::size_t most_allocated_bytes = 0;

}  // namespace mankai::test

void* operator new(std::size_t bytes) {
  auto& failing = mankai::test::failing_allocation;
  if (failing && --*failing < 0) {
    if (!mankai::test::fails_on) {
      failing.reset();
    }
    throw std::bad_alloc();
  }
  void* data = std::malloc(bytes);
  if (data == nullptr) {
    throw std::bad_alloc();
  }
  mankai::test::allocated_bytes += ::malloc_usable_size(data);
  mankai::test::most_allocated_bytes = std::max(mankai::test::most_allocated_bytes, mankai::test::allocated_bytes);
  return data;
}

void operator delete(void* data) noexcept {
  mankai::test::allocated_bytes -= ::malloc_usable_size(data);
  std::free(data);
}

void operator delete(void* data, std::size_t /*bytes*/) noexcept { operator delete(data); }
