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

TEST(ChangeMutex, a_thread_that_waits_long_gets_it) {
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

}  // namespace
}  // namespace mankai::detail
