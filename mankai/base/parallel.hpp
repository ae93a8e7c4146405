#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace mankai {

/// Number of threads for work that is divided among the cores: one per core, at most 8.
[[nodiscard]] inline std::size_t usual_threads() noexcept {
  constexpr std::size_t kMostThreads = 8;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
}

/// Starts threads that call a copy of `work` with their number from 0: `count` of them, or as many as the system
/// allows. Pre: `work` does not throw.
template <class Work>
[[nodiscard]] std::vector<std::jthread> start_threads(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;
  try {
    threads.reserve(count);
    while (threads.size() < count) {
      threads.emplace_back([work, index = threads.size()] { work(index); });
    }
  } catch (const std::exception&) {
    return threads;
  }
  return threads;
}

/// Calls `work(first, last)` for consecutive ranges that divide [0, count), each of at least `least` elements, at the
/// same time, on usual_threads(). The caller's thread is one of them, and does the rest if the system refuses threads.
/// Returns when all calls have returned. Pre: `least` >= 1; `work` does not throw.
template <class Work>
void for_ranges_in_parallel(std::size_t count, std::size_t least, const Work& work) {
  const std::size_t ranges = std::clamp<std::size_t>(count / least, 1, usual_threads());
  const auto start = [&](std::size_t range) { return count / ranges * range + std::min(range, count % ranges); };
  const auto threads = start_threads(ranges - 1, [&](std::size_t range) { work(start(range), start(range + 1)); });
  work(start(threads.size()), count);
}

}  // namespace mankai
