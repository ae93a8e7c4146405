#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace mankai::test {

/// Runs `body(i)` in `count` threads at once, and waits for all of them.
template <class Body>
void run_threads(std::size_t count, const Body& body) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&body, i] { body(i); });
  }
}

}  // namespace mankai::test
