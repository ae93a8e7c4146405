#include "apps/mankai/guard_subcommands.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {

Subcommand guard_subcommand() {
  return {
      .name = "guard",
      .summary = "block lists: is a URL blocked?",
      .description =
          "Makes one small file of block lists, and says which URLs they block. A rule is a host, such as "
          "evil.example, and covers the hosts below it, however deep; or a host and a path, and covers everything "
          "below it: evil.example/foo covers /foo/x and /foo?q, but not /foobar; or these and a query, and covers "
          "exactly that. Exceptions, of the same shape, win over rules. URLs and rules are compared in canonical form, "
          "so their spelling does not matter; scheme and port are no part of a rule.\n\n"
          "A URL that a rule covers is always blocked. One that none covers is sometimes blocked too, at most at the "
          "rate --fpr, unless the file is --exact.",
      .examples = {{"mankai guard build blocked.mkg hosts.txt easylist.txt", "one file of several lists"},
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
