#include "apps/mankai-lab/subcommands.hpp"

namespace mankai::command {

Program lab_program() {
  return {.name = "mankai-lab",
          .tagline = "shows and measures Mankai: generated data, published claims, a tour",
          .description =
              "Each of these commands is also a command of mankai(1), which runs this program when it is "
              "installed in the same folder or on PATH.",
          .subcommands = {gen_subcommand(), lab_subcommand(), claim_subcommand(), demo_subcommand()}};
}

}  // namespace mankai::command
