#pragma once

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

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
[[nodiscard]] Subcommand gen_subcommand();
[[nodiscard]] Subcommand lab_subcommand();
[[nodiscard]] Subcommand demo_subcommand();

}  // namespace mankai::command
