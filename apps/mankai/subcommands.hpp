#pragma once

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// The program `mankai`: its own subcommands, and those that it runs as `mankai-lab`, in the order of the help.
[[nodiscard]] Program mankai_program();

// One file each.
[[nodiscard]] Subcommand create_subcommand();
[[nodiscard]] Subcommand add_subcommand();
[[nodiscard]] Subcommand check_subcommand();
[[nodiscard]] Subcommand remove_subcommand();
[[nodiscard]] Subcommand count_subcommand();
[[nodiscard]] Subcommand recall_subcommand();
[[nodiscard]] Subcommand advance_subcommand();
[[nodiscard]] Subcommand info_subcommand();
[[nodiscard]] Subcommand plan_subcommand();
[[nodiscard]] Subcommand merge_subcommand();
[[nodiscard]] Subcommand import_subcommand();
[[nodiscard]] Subcommand clear_subcommand();
[[nodiscard]] Subcommand verify_subcommand();
[[nodiscard]] Subcommand recover_subcommand();
[[nodiscard]] Subcommand journal_subcommand();
[[nodiscard]] Subcommand guard_subcommand();
[[nodiscard]] Subcommand gate_subcommand();
[[nodiscard]] Subcommand dedup_subcommand();
[[nodiscard]] Subcommand hot_subcommand();

}  // namespace mankai::command
