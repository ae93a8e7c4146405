#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {

Subcommand gate_subcommand() {
  return {
      .name = "gate",
      .summary = "in front of a database: is there anything to fetch?",
      .description =
          "Keeps the keys of a table's rows in a filter of a few bytes each, so that who asks for a key without a row "
          "need not ask the database. A key is answered empty, which is certain, or maybe, which is wrong for few.\n\n"
          "A row belongs to the gate while a condition over its own columns is true. Rows come and go in the database, "
          "and `mankai gate sync` keeps the gate in step; between a commit and its application lies a window, which "
          "status shows and check --after closes.",
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
