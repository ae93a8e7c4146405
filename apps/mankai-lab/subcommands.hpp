#pragma once

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// The program `mankai-lab`: demo, measurements and data generators.
[[nodiscard]] Program lab_program();

/// Parses a 64-bit seed. Errors: invalid_argument.
[[nodiscard]] Result<std::uint64_t> parse_seed_number(std::string_view text);

[[nodiscard]] Subcommand gen_subcommand();
[[nodiscard]] Subcommand lab_subcommand();
[[nodiscard]] Subcommand claim_subcommand();
[[nodiscard]] Subcommand demo_subcommand();

}  // namespace mankai::command
