#pragma once

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace mankai {

/// Calls `work(first, last)` for consecutive ranges that divide [0, count), each of at least `least` elements, at the
/// same time: on as many threads as there are cores, at most 8. The caller's thread is one of them, and does the rest
/// if the system refuses threads. Returns when all calls have returned. Pre: `work` does not throw.
template <class Work>
void for_ranges_in_parallel(std::size_t count, std::size_t least, const Work& work) {
  constexpr std::size_t kMostThreads = 8;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t ranges = std::clamp<std::size_t>(count / least, 1, std::min(cores, kMostThreads));
  const auto start = [&](std::size_t range) { return count / ranges * range + std::min(range, count % ranges); };

  std::vector<std::jthread> threads;
  threads.reserve(ranges - 1);
  while (threads.size() + 1 < ranges) {
    try {
      const std::size_t range = threads.size();
      threads.emplace_back([&work, first = start(range), last = start(range + 1)] { work(first, last); });
    } catch (const std::system_error&) {
      break;
    }
  }
  work(start(threads.size()), count);
}

}  // namespace mankai
