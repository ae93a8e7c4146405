#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace mankai::detail {

/// A mutex that one thread locks again and again, for a tenth of a microsecond each time. `unlock` is a plain store:
/// std::mutex exchanges a word there, and so waits until the cell that was just changed has arrived from memory. In
/// return nobody wakes a waiting thread, which looks again at intervals.
class ChangeMutex {
 public:
  void lock() {
    if (!try_lock()) [[unlikely]] {
      wait();
    }
  }
  [[nodiscard]] bool try_lock() noexcept { return !is_locked_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { is_locked_.store(false, std::memory_order_release); }

 private:
  // Most holders change a few keys; a checkpoint may take seconds.
  [[gnu::cold, gnu::noinline]] void wait() {
    constexpr int kYields = 64;
    constexpr std::chrono::microseconds kMaxPause{1000};
    const std::scoped_lock one_at_a_time(waiters_);
    std::chrono::microseconds pause{1};
    for (int looks = 0; !try_lock(); ++looks) {
      if (looks < kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kMaxPause);
      }
    }
  }

  std::atomic<bool> is_locked_ = false;
  std::mutex waiters_;
};

}  // namespace mankai::detail
