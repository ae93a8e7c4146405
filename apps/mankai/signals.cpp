#include "apps/mankai/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace mankai::command {
namespace {

constexpr std::array<int, 3> kStopSignals = {SIGINT, SIGTERM, SIGHUP};

// Globals, because signal handlers have no context argument.
std::atomic<int> signal_seen = 0;
std::atomic<std::int64_t> first_signal_at = 0;  ///< nanoseconds of the monotonic clock
std::atomic<int> wake_reader = -1;
std::atomic<int> wake_writer = -1;

std::int64_t nanoseconds_now() noexcept {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kPerSecond + now.tv_nsec;
}

void remember(int signal) {
  const int saved = errno;
  const std::int64_t now = nanoseconds_now();
  std::int64_t first = 0;
  if (!first_signal_at.compare_exchange_strong(first, now) && std::chrono::nanoseconds(now - first) > kOneRequest) {
    ::signal(signal, SIG_DFL);
    static_cast<void>(raise(signal));  // ends the process when this handler returns
  }
  int none = 0;
  signal_seen.compare_exchange_strong(none, signal);
  const char byte = 0;
  static_cast<void>(!write(wake_writer, &byte, 1));
  errno = saved;
}

void catch_signal(int signal) {
  struct sigaction before{};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) {
    return;
  }
  struct sigaction action{};
  action.sa_handler = remember;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_stop_signals() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    wake_reader = ends[0];
    wake_writer = ends[1];
  }
  for (const int signal : kStopSignals) {
    catch_signal(signal);
  }
}

int stop_signal() noexcept { return signal_seen; }

int stop_descriptor() noexcept { return wake_reader; }

WithoutStopSignals::WithoutStopSignals() noexcept {
  sigset_t stop{};
  sigemptyset(&stop);
  for (const int signal : kStopSignals) {
    sigaddset(&stop, signal);
  }
  pthread_sigmask(SIG_BLOCK, &stop, &before_);
}

WithoutStopSignals::~WithoutStopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int exit_code_after_stop(int code) noexcept {
  constexpr int kSignalBase = 128;
  return stop_signal() == 0 ? code : kSignalBase + stop_signal();
}

int exit_code_of_service(int code) noexcept { return stop_signal() == SIGTERM ? code : exit_code_after_stop(code); }

void prepare_standard_streams() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes an error of write(2)
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) {
      // open() returns the lowest free number, which is `fd`. O_PATH makes reads and writes fail.
      static_cast<void>(open("/dev/null", O_PATH));
    }
  }
}

}  // namespace mankai::command
