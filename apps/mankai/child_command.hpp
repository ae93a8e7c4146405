#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai::command {

/// A command of the user, run without a shell.
struct ChildCommand {
  std::vector<std::string> words;  ///< the program, searched in PATH, and its arguments
  std::string folder;              ///< where it runs [default: here]
  Duration timeout{};
  std::uint64_t output_bytes_max = 0;
};

/// Runs a command and passes its standard output to `use` as it arrives. Standard input is empty. The environment is
/// ours without MANKAI_..._PASSWORD. When the function returns, the command and the processes of its group have ended.
///
/// Errors: io if it cannot be started, ends with another code than 0 (with the last line of its standard error), or
/// exceeds a limit, and with EINTR after a request to stop; as `use`, which ends the command.
[[nodiscard]] Result<void> run_child(const ChildCommand& command,
                                     const std::function<Result<void>(std::span<const std::byte>)>& use);

}  // namespace mankai::command
