#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace mankai::detail {

/// A mutex that one thread locks again and again, for a tenth of a microsecond each time. `unlock` is a plain store:
/// std::mutex exchanges a word there, and so waits until the cell that was just changed has arrived from memory. In
/// return nobody wakes a waiting thread, which looks again at intervals. Once it has waited for a millisecond, others
/// queue behind it: between two changes of a thread that does nothing else, the mutex is hardly ever free.
class ChangeMutex {
 public:
  void lock() {
    if (has_queue_.load(std::memory_order_relaxed) || !try_lock()) [[unlikely]] {
      wait();
    }
  }
  [[nodiscard]] bool try_lock() noexcept { return !is_locked_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { is_locked_.store(false, std::memory_order_release); }

 private:
  // Most holders change a few keys; a checkpoint may take seconds.
  [[gnu::cold, gnu::noinline]] void wait() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds kYields{100};
    constexpr std::chrono::milliseconds kPatience{1};
    const std::scoped_lock one_at_a_time(waiters_);
    const auto start = Clock::now();
    while (!try_lock()) {
      const auto waited = Clock::now() - start;
      has_queue_.store(waited > kPatience, std::memory_order_relaxed);
      if (waited < kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::min<Clock::duration>(waited / 4, kPatience));
      }
    }
    has_queue_.store(false, std::memory_order_relaxed);
  }

  std::atomic<bool> is_locked_ = false;
  std::atomic<bool> has_queue_ = false;
  std::mutex waiters_;
};

}  // namespace mankai::detail
