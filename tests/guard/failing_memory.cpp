#include "tests/guard/failing_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace mankai::test {

std::optional<int> failing_allocation;

}  // namespace mankai::test

void* operator new(std::size_t bytes) {
  auto& failing = mankai::test::failing_allocation;
  if (failing && (*failing)-- == 0) {
    failing.reset();
    throw std::bad_alloc();
  }
  void* data = std::malloc(bytes);
  if (data == nullptr) {
    throw std::bad_alloc();
  }
  return data;
}

void operator delete(void* data) noexcept { std::free(data); }

void operator delete(void* data, std::size_t /*bytes*/) noexcept { std::free(data); }
