#include "lab/web_profiling/threads.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace mankai::lab::profiling {

Result<void> in_threads(std::size_t count, const std::function<Result<void>(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Result<void> outcome;
  const auto run = [&] {
    for (std::size_t at = next++; at < count; at = next++) {
      if (auto done = work(at); !done) {
        const std::scoped_lock lock(mutex);
        outcome = std::move(done);
      }
    }
  };
  std::vector<std::jthread> threads(std::max(std::thread::hardware_concurrency(), 1U));
  std::ranges::generate(threads, [&run] { return std::jthread(run); });
  threads.clear();  // waits for them
  return outcome;
}

}  // namespace mankai::lab::profiling
