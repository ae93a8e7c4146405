#pragma once

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

// What is below `mankai guard`.
[[nodiscard]] Subcommand guard_build_subcommand();
[[nodiscard]] Subcommand guard_check_subcommand();
[[nodiscard]] Subcommand guard_add_subcommand();
[[nodiscard]] Subcommand guard_remove_subcommand();
[[nodiscard]] Subcommand guard_allow_subcommand();
[[nodiscard]] Subcommand guard_disallow_subcommand();
[[nodiscard]] Subcommand guard_compact_subcommand();
[[nodiscard]] Subcommand guard_info_subcommand();
[[nodiscard]] Subcommand guard_load_subcommand();
[[nodiscard]] Subcommand guard_serve_subcommand();

}  // namespace mankai::command
