#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai::detail {

/// A thread that runs a job when it is called, at intervals, or both. Threads: any, but `start` one at a time.
class Worker {
 public:
  enum class Wake : std::uint8_t { call, interval };
  using Job = std::function<void(Wake)>;

  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { stop(); }

  /// Starts the thread, unless it runs already or was stopped. An interval of 0 or less means calls only. Errors:
  /// out_of_space if the system has no thread or no memory for one.
  [[nodiscard]] Result<void> start(Duration interval, Job job);
  /// Runs the job soon; calls before it starts count as one.
  void call();
  /// Ends the thread, after the current job if one is running. It does not start again.
  void stop();

 private:
  void run(Duration interval, const Job& job);

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_called_ = false;
  bool is_stopping_ = false;
};

}  // namespace mankai::detail
