#include "mankai/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace mankai::detail {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "mankai: %s:%d: violated precondition: %s\n", file, line, condition);
  std::abort();
}

}  // namespace mankai::detail
