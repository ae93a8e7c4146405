#include "tests/support/engine_memory.hpp"

#include "modules/redis/engine/memory.hpp"

namespace mankai {
namespace {

void* allocate(void* /*context*/, std::size_t bytes) noexcept {
  test::EngineMemoryUse& use = test::engine_memory_use();
  ++use.calls;
  if (bytes > use.most_bytes) {
    return nullptr;
  }
  const Memory system = system_memory();
  void* data = system.allocate(system.context, bytes);
  use.bytes_in_use += data != nullptr ? bytes : 0;
  return data;
}

void release(void* /*context*/, void* data, std::size_t bytes) noexcept {
  test::engine_memory_use().bytes_in_use -= bytes;
  const Memory system = system_memory();
  system.release(system.context, data, bytes);
}

}  // namespace

namespace test {

EngineMemoryUse& engine_memory_use() noexcept {
  static EngineMemoryUse use;
  return use;
}

}  // namespace test

namespace redis {

Memory engine_memory() noexcept { return {.allocate = allocate, .release = release, .context = nullptr}; }

std::size_t engine_bytes(std::size_t bytes) noexcept { return bytes; }

void count_engine_bytes(std::ptrdiff_t bytes) noexcept {
  test::engine_memory_use().bytes_in_use += static_cast<std::size_t>(bytes);
}

}  // namespace redis
}  // namespace mankai
