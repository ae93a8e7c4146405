#include "apps/mankai/guard_subcommands.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {

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
          "covers is always blocked. Of the other URLs, at most the share --fpr is blocked too; none, if the file is "
          "--exact.",
      .examples = {{"mankai guard build blocked.mkg hosts.txt easylist.txt", "compiles two lists into one file"},
                   {"mankai guard check blocked.mkg https://evil.example/foo", "blocked or ok"},
                   {"mankai guard add blocked.mkg worse.example", "one rule more, at once"},
                   {"mankai guard serve blocked.mkg", "the same over HTTP"},
                   {"mankai guard load blocked.mkg --redis redis://10.0.0.5 --key lists", "the same in Redis"}},
      .children = {guard_build_subcommand(), guard_check_subcommand(), guard_add_subcommand(),
                   guard_remove_subcommand(), guard_allow_subcommand(), guard_disallow_subcommand(),
                   guard_compact_subcommand(), guard_info_subcommand(), guard_load_subcommand(),
                   guard_serve_subcommand()},
  };
}

}  // namespace mankai::command
