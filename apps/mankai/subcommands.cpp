#include "apps/mankai/subcommands.hpp"

namespace mankai::command {
namespace {

Subcommand of_lab(std::string_view name, std::string_view summary) {
  return {.name = std::string(name), .summary = std::string(summary), .program = "mankai-lab"};
}

}  // namespace

Subcommand guard_subcommand() {
  return {
      .name = "guard",
      .summary = "block lists: is a URL blocked?",
      .description =
          "Compiles block lists into one small file and checks URLs against it. A rule is a host, such as "
          "evil.example, and covers all hosts below it; or a host and a path, and covers everything below it: "
          "evil.example/foo covers /foo/x and /foo?q, but not /foobar; or a host, a path and a query, and covers "
          "exactly that. Exceptions have the same form and take precedence over rules. URLs and rules are compared in "
          "canonical form, so spelling does not matter; scheme and port are not part of a rule.\n\nA URL that a rule "
          "covers is always blocked, unless an exception covers it too. Of the URLs that no rule covers, at most the "
          "share --fpr is blocked; none, if the file is --exact.",
      .examples = {{"mankai guard build blocked.mkg hosts.txt easylist.txt", "compiles two lists into one file"},
                   {"mankai guard check blocked.mkg https://evil.example/foo", "blocked or ok"},
                   {"mankai guard add blocked.mkg worse.example", "adds a rule, which takes effect immediately"},
                   {"mankai guard serve blocked.mkg", "the same over HTTP"},
                   {"mankai guard load redis://10.0.0.5 lists blocked.mkg", "the same in Redis"},
                   {"mankai guard update lists.mkg --from sources.toml",
                    "fetches lists and compiles them into a guard of its own"}},
      .children = {guard_build_subcommand(), guard_check_subcommand(), guard_add_subcommand(),
                   guard_remove_subcommand(), guard_allow_subcommand(), guard_disallow_subcommand(),
                   guard_compact_subcommand(), guard_info_subcommand(), guard_update_subcommand(),
                   guard_load_subcommand(), guard_serve_subcommand()},
  };
}

Subcommand gate_subcommand() {
  return {
      .name = "gate",
      .summary = "a filter in front of a database: can a row with this key exist?",
      .description =
          "Keeps the keys of a table's rows in a filter of a few bytes per key, so that queries for absent keys need "
          "not reach the database. The answer empty is certain; maybe is wrong at the filter's false-positive "
          "rate.\n\nA row belongs to the gate while a condition over its own columns is true. mankai gate sync applies "
          "the database's changes to the gate. A change is missing from the gate between its commit and its "
          "application: status prints that lag, and check --after answers maybe meanwhile.",
      .examples = {{"mankai gate build baskets.mk --from sqlite:shop.db --table baskets --key cookie --where 'items > "
                    "0' --install-triggers",
                    "the cookies with a basket that is not empty"},
                   {"mankai gate sync baskets.mk", "applies changes until Ctrl-C"},
                   {"mankai gate check baskets.mk 5f21c07a", "empty or maybe"}},
      .children = {gate_build_subcommand(), gate_sync_subcommand(), gate_check_subcommand(), gate_status_subcommand(),
                   gate_drop_subcommand()},
  };
}

Subcommand takeover_subcommand() {
  return {
      .name = "takeover",
      .summary = "replace a server of RedisBloom or valkey-bloom",
      .description =
          "A server with Mankai's module loads the filters of RedisBloom and valkey-bloom, from a dump or as a "
          "replica, and answers as they do. `takeover check` reports what will be refused; `takeover compare` reports "
          "what differs afterwards.",
      .examples = {{"mankai takeover check dump.rdb", "before: what will be refused"},
                   {"mankai takeover compare redis://old redis://new", "afterwards: whether anything differs"}},
      .children = {takeover_check_subcommand(), takeover_compare_subcommand()},
  };
}

Program mankai_program() {
  return {.name = "mankai",
          .tagline = "remembers millions of keys in little memory",
          .description =
              "Mankai answers questions about keys, such as URLs, from probabilistic filters of one or two bytes per "
              "key. A filter has no false negatives: every key that was added is found. Absent keys are reported as "
              "present at a false-positive rate that is chosen when the filter is created.",
          .subcommands = {create_subcommand(),
                          add_subcommand(),
                          check_subcommand(),
                          remove_subcommand(),
                          count_subcommand(),
                          recall_subcommand(),
                          advance_subcommand(),
                          info_subcommand(),
                          plan_subcommand(),
                          merge_subcommand(),
                          import_subcommand(),
                          clear_subcommand(),
                          verify_subcommand(),
                          recover_subcommand(),
                          journal_subcommand(),
                          guard_subcommand(),
                          gate_subcommand(),
                          dedup_subcommand(),
                          hot_subcommand(),
                          takeover_subcommand(),
                          of_lab("gen", kGenSummary),
                          of_lab("lab", kLabSummary),
                          of_lab("claim", kClaimSummary),
                          of_lab("demo", kDemoSummary)}};
}

}  // namespace mankai::command
