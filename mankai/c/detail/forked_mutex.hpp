#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>

#include "mankai/c/detail/handle.hpp"

namespace mankai::c {

/// A std::shared_mutex that a child of fork() can lock whatever threads of its parent had locked it: none of them is in
/// the child, which uses a new mutex.
class ForkedMutex {
 public:
  ForkedMutex() : now_(new Mutex) {}
  ForkedMutex(const ForkedMutex&) = delete;
  ForkedMutex& operator=(const ForkedMutex&) = delete;
  ForkedMutex(ForkedMutex&&) = delete;
  ForkedMutex& operator=(ForkedMutex&&) = delete;
  ~ForkedMutex() { delete now_.load(std::memory_order_relaxed); }

  void lock() { of_this_process().lock(); }
  void unlock() { now_.load(std::memory_order_relaxed)->mutex.unlock(); }
  void lock_shared() { of_this_process().lock_shared(); }
  void unlock_shared() { now_.load(std::memory_order_relaxed)->mutex.unlock_shared(); }

 private:
  struct Mutex {
    std::uint32_t forks = fork_count.load(std::memory_order_relaxed);
    std::shared_mutex mutex;
  };

  std::shared_mutex& of_this_process() {
    Mutex* now = now_.load(std::memory_order_acquire);
    if (now->forks != fork_count.load(std::memory_order_relaxed)) [[unlikely]] {
      auto made = std::make_unique<Mutex>();
      // The one of the parent may be locked, and is not destroyed.
      if (now_.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) {
        now = made.release();
      }
    }
    return now->mutex;
  }

  std::atomic<Mutex*> now_;
};

}  // namespace mankai::c
