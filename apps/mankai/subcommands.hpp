#pragma once

#include <string_view>

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// The program `mankai`: its own subcommands and those of `mankai-lab`, in help order.
[[nodiscard]] Program mankai_program();

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
[[nodiscard]] Subcommand takeover_subcommand();

// Subcommands of `mankai guard`.
[[nodiscard]] Subcommand guard_build_subcommand();
[[nodiscard]] Subcommand guard_check_subcommand();
[[nodiscard]] Subcommand guard_add_subcommand();
[[nodiscard]] Subcommand guard_remove_subcommand();
[[nodiscard]] Subcommand guard_allow_subcommand();
[[nodiscard]] Subcommand guard_disallow_subcommand();
[[nodiscard]] Subcommand guard_compact_subcommand();
[[nodiscard]] Subcommand guard_info_subcommand();
[[nodiscard]] Subcommand guard_update_subcommand();
[[nodiscard]] Subcommand guard_load_subcommand();
[[nodiscard]] Subcommand guard_serve_subcommand();

// Subcommands of `mankai gate`.
[[nodiscard]] Subcommand gate_build_subcommand();
[[nodiscard]] Subcommand gate_sync_subcommand();
[[nodiscard]] Subcommand gate_check_subcommand();
[[nodiscard]] Subcommand gate_status_subcommand();
[[nodiscard]] Subcommand gate_drop_subcommand();

// Subcommands of `mankai takeover`.
[[nodiscard]] Subcommand takeover_check_subcommand();
[[nodiscard]] Subcommand takeover_compare_subcommand();

// The help of `mankai` lists these commands without containing them.
inline constexpr std::string_view kGenSummary =
    "generate realistic URLs, an access log, or a day of traffic and its block list";
inline constexpr std::string_view kLabSummary = "compare published claims about filters with measurements";
inline constexpr std::string_view kClaimSummary = "measure one published claim again";
inline constexpr std::string_view kDemoSummary =
    "a tour: the four questions about a day of traffic, compared with exact answers";

}  // namespace mankai::command
