#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {

Subcommand gate_subcommand() {
  return {
      .name = "gate",
      .summary = "in front of a database: is there anything to fetch?",
      .description =
          "A gate is a Bloom-filter negative cache in front of a database: it keeps the keys of a table's rows in a "
          "few "
          "bytes each, and saves the queries for keys without a row. The answer is empty, which is certain, or maybe, "
          "which is wrong for few keys.\n\n"
          "A row belongs to the gate while a condition over its own columns is true. `mankai gate sync` keeps the gate "
          "in step with the table. Between a commit and its application there is a window, which status shows and "
          "check --after closes.",
      .examples =
          {{"mankai gate build baskets.mk --from sqlite:shop.db --table baskets --key cookie --where 'items > 0' "
            "--install-triggers",
            "the cookies with something in their basket"},
           {"mankai gate sync baskets.mk", "keeps it in step until Ctrl-C"},
           {"mankai gate check baskets.mk 5f21c07a", "empty or maybe"}},
      .children = {gate_build_subcommand(), gate_sync_subcommand(), gate_check_subcommand(), gate_status_subcommand(),
                   gate_drop_subcommand()},
  };
}

}  // namespace mankai::command
