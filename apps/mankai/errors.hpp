#pragma once

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// Returns the exit code that docs/cli.md gives for a cause.
[[nodiscard]] constexpr ExitCode exit_code_for(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return ExitCode::usage;
    case ErrorCode::corrupt:
    case ErrorCode::unsupported_version: return ExitCode::bad_data;
    case ErrorCode::not_found:
    case ErrorCode::io:
    case ErrorCode::out_of_space:
    case ErrorCode::locked: return ExitCode::input_output;
  }
  return ExitCode::input_output;
}

}  // namespace mankai::command
