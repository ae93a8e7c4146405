#pragma once

namespace mankai::command {

/// Turns Ctrl-C, SIGTERM and the end of the terminal into a request to stop, so that state can be saved. A second one
/// ends the process at once. Signals that were ignored at the start, as under nohup, stay ignored.
void catch_stop_signals();

/// Returns the signal that asked to stop, or 0.
[[nodiscard]] int stop_signal() noexcept;

/// Returns the descriptor that becomes readable with the request, or -1 before catch_stop_signals.
[[nodiscard]] int stop_descriptor() noexcept;

/// Returns the exit code after a request to stop, 128 + signal; `code` without one.
[[nodiscard]] int exit_code_after_stop(int code) noexcept;

/// Returns the exit code of a command that runs until it is stopped: 0 after SIGTERM, by which supervisors end what has
/// done its work. Ctrl-C and a lost terminal interrupt a script as well as the command, which the code must tell it: as
/// exit_code_after_stop.
[[nodiscard]] int exit_code_of_service(int code) noexcept;

/// Makes a closed output pipe an error of write(2) instead of the end, and sees to it that descriptors 0 to 2 are
/// taken, so that no file of ours becomes the standard output.
void prepare_standard_streams();

}  // namespace mankai::command
