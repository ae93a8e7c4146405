#pragma once

#include <chrono>
#include <csignal>

namespace mankai::command {

/// Signals within this time are one request: timeout(1) sends each twice, to the process and to its group, and a shell
/// repeats a terminal's SIGHUP.
constexpr std::chrono::milliseconds kOneRequest(100);

/// Turns SIGINT, SIGTERM and SIGHUP into a request to stop, so that state can be saved. A second request ends the
/// process immediately. Signals that were ignored at the start, as under nohup, stay ignored.
void catch_stop_signals();

/// Returns the signal that requested the stop, or 0.
[[nodiscard]] int stop_signal() noexcept;

/// Returns a descriptor that becomes readable with the request; -1 before catch_stop_signals.
[[nodiscard]] int stop_descriptor() noexcept;

/// Blocks the stop signals in this thread as long as it lives, and in threads that are started meanwhile for good.
class WithoutStopSignals {
 public:
  WithoutStopSignals() noexcept;
  WithoutStopSignals(const WithoutStopSignals&) = delete;
  WithoutStopSignals& operator=(const WithoutStopSignals&) = delete;
  ~WithoutStopSignals();

 private:
  sigset_t before_{};
};

/// Returns 128 + signal after a request to stop, otherwise `code`.
[[nodiscard]] int exit_code_after_stop(int code) noexcept;

/// For commands that run until they are stopped: 0 after SIGTERM, with which supervisors stop services; otherwise as
/// exit_code_after_stop, so that a script sees Ctrl-C and a lost terminal.
[[nodiscard]] int exit_code_of_service(int code) noexcept;

/// Makes writes to a closed pipe fail instead of ending the process. Opens descriptors 0 to 2 if they are closed, so
/// that no other file becomes standard output.
void prepare_standard_streams();

}  // namespace mankai::command
