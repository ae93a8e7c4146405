#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "mankai/store/detail/change_mutex.hpp"

namespace mankai::detail {
namespace {

TEST(ChangeMutex, one_thread_at_a_time_has_it) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kTimes = 50'000;
  ChangeMutex mutex;
  std::uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t time = 0; time < kTimes; ++time) {
        const std::scoped_lock lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(ChangeMutex, a_thread_that_finds_it_locked_waits) {
  ChangeMutex mutex;
  std::atomic<bool> is_released = false;
  mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  std::thread waiting([&] {
    const std::scoped_lock lock(mutex);
    EXPECT_TRUE(is_released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  is_released = true;
  mutex.unlock();
  waiting.join();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

// A loop of long changes leaves hardly a gap. It ends only when each of the others has had the mutex several times.
TEST(ChangeMutex, a_thread_gets_it_beside_one_that_locks_again_and_again) {
  constexpr int kWaiting = 2;
  constexpr int kTimes = 5;
  ChangeMutex mutex;
  std::atomic<int> still_waiting = kWaiting;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiting; ++i) {
    threads.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        const std::scoped_lock lock(mutex);
      }
      --still_waiting;
    });
  }
  while (still_waiting != 0) {
    const std::scoped_lock lock(mutex);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1)) {
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace mankai::detail
