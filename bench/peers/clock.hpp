#pragma once

#include <time.h>

namespace mankai::bench {

/// The time that this thread has computed, in nanoseconds: what other programs take from the machine does not count.
inline double thread_cpu_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace mankai::bench
