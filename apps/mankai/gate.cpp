#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {

Subcommand gate_subcommand() {
  return {
      .name = "gate",
      .summary = "a filter in front of a database: is there anything to fetch?",
      .description =
          "Keeps the keys of a table's rows in a filter of a few bytes per key, so that queries for absent keys need "
          "not reach the database. The answer empty is certain; maybe is wrong at the filter's false-positive "
          "rate.\n\nA row belongs to the gate while a condition over its own columns is true. mankai gate sync applies "
          "the database's changes to the gate. A change is missing from the gate between its commit and its "
          "application: status prints that lag, and check --after answers maybe meanwhile.",
      .examples =
          {{"mankai gate build baskets.mk --from sqlite:shop.db --table baskets --key cookie --where 'items > 0' "
            "--install-triggers",
            "the cookies with a basket that is not empty"},
           {"mankai gate sync baskets.mk", "applies changes until Ctrl-C"},
           {"mankai gate check baskets.mk 5f21c07a", "empty or maybe"}},
      .children = {gate_build_subcommand(), gate_sync_subcommand(), gate_check_subcommand(), gate_status_subcommand(),
                   gate_drop_subcommand()},
  };
}

}  // namespace mankai::command
