#include "mankai/store/detail/worker.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

namespace mankai::detail {

Result<void> Worker::start(Duration interval, Job job) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_stopping_ || thread_.joinable()) {
      return {};
    }
  }
  try {
    thread_ = std::thread([this, interval, work = std::move(job)] { run(interval, work); });
    return {};
  } catch (const std::system_error& error) {
    return fail(ErrorCode::out_of_space, "the system cannot start a thread", error.code().value());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_space, "no memory for a thread");
  }
}

void Worker::call() {
  {
    const std::scoped_lock lock(mutex_);
    is_called_ = true;
  }
  wake_.notify_all();
}

void Worker::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::run(Duration interval, const Job& job) {
  constexpr std::chrono::hours kNever{24 * 365 * 100};  // the clock does not overflow before that
  const Duration period = interval <= Duration::zero() ? Duration(kNever) : std::min(interval, Duration(kNever));
  auto next = std::chrono::steady_clock::now() + period;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const bool is_woken = wake_.wait_until(lock, next, [this] { return is_stopping_ || is_called_; });
    if (is_stopping_) {
      return;
    }
    is_called_ = false;
    lock.unlock();
    if (!is_woken) {
      next = std::chrono::steady_clock::now() + period;
    }
    try {
      job(is_woken ? Wake::call : Wake::interval);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): there may be memory next time
    }
    lock.lock();
  }
}

}  // namespace mankai::detail
