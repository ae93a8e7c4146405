#pragma once

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

// What is below `mankai gate`.
[[nodiscard]] Subcommand gate_build_subcommand();
[[nodiscard]] Subcommand gate_sync_subcommand();
[[nodiscard]] Subcommand gate_check_subcommand();
[[nodiscard]] Subcommand gate_status_subcommand();
[[nodiscard]] Subcommand gate_drop_subcommand();

}  // namespace mankai::command
