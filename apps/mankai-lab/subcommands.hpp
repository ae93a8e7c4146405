#pragma once

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// The program `mankai-lab`: what shows and measures Mankai, and the data for it.
[[nodiscard]] Program lab_program();

/// Reads a seed of 64 bits. Errors: invalid_argument.
[[nodiscard]] Result<std::uint64_t> parse_seed_number(std::string_view text);

// One file each.
[[nodiscard]] Subcommand gen_subcommand();
[[nodiscard]] Subcommand lab_subcommand();
[[nodiscard]] Subcommand demo_subcommand();

}  // namespace mankai::command
