#include <fmt/format.h>

#include "apps/mankai/format.hpp"
#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/gate/database/gate_build.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  RowSourceSettings settings;
  GateBuild build;
  std::uint64_t keys = 0;
  bool install_triggers = false;
  bool force = false;
};

// An empty condition is more likely an unset variable of a script than a request for every row.
Result<std::string> parse_condition(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the condition is empty; omit --where for every row");
  }
  return std::string(text);
}

Result<void> check(const Request& request) {
  for (const auto& [name, value] : {std::pair{"--from", &request.settings.source},
                                    {"--table", &request.settings.table},
                                    {"--key", &request.settings.key}}) {
    if (value->empty()) {
      return fail(ErrorCode::invalid_argument, std::string(name) + " is missing; see `mankai gate build --help`");
    }
  }
  if (request.settings.source.starts_with("sqlite:") && !request.install_triggers) {
    return fail(ErrorCode::invalid_argument,
                "a gate of an SQLite table needs triggers on it and two tables beside it, which add a small cost to "
                "each write; allow them with --install-triggers, and uninstall them with `mankai gate drop`");
  }
  return {};
}

Result<int> run(const Request& request) {
  MANKAI_TRY(check(request));
  catch_stop_signals();
  GateBuild build = request.build;
  build.keys = request.keys == 0 ? std::nullopt : std::optional(request.keys);
  build.existing = request.force ? Existing::replace : Existing::refuse;
  build.should_stop = [] { return stop_signal() != 0; };
  const auto built = build_gate(request.file, request.settings, build);
  if (!built) {
    if (stop_signal() != 0) {
      return exit_code_after_stop(0);
    }
    const bool exists = built.error().detail.ends_with("exists already");
    return exists ? fail(built.error().code, built.error().detail + "; --force replaces it")
                  : Result<int>(std::unexpected(built.error()));
  }
  say(fmt::format("{}: {} keys at {}, as of position {}; `mankai gate sync {}` keeps it in step", request.file,
                  human_count(built->keys), human_share(build.fpr), built->position_text, request.file));
  if (!built->replaced_left.empty()) {
    say("what the replaced gate had installed in its database could not be removed: " + built->replaced_left);
  }
  return exit_code_after_stop(0);
}

std::vector<Option> options_of(Request& request) {
  return {
      positional("FILE", "The file to make; FILE-source beside it names the source of the keys.", ValueKind::file,
                 request.file),
      text_option("--from", "SOURCE",
                  "sqlite:PATH, or postgres:DSN with a DSN of libpq, such as postgres:dbname=shop. No password: "
                  "PGPASSFILE or the server's own rules.",
                  ValueKind::text, request.settings.source),
      text_option("--table", "TABLE", "The table.", ValueKind::text, request.settings.table),
      text_option("--key", "COLUMN", "The column of the keys; SQLite needs an index on it.", ValueKind::text,
                  request.settings.key),
      parsed_option("--where", "CONDITION",
                    "A condition in the database's SQL over the row's own columns [default: every row].",
                    parse_condition, request.settings.where),
      parsed_option("--keys", "N", "Number of keys to size the gate for [default: twice the table's].", parse_count,
                    request.keys),
      parsed_option("--fpr", "RATE", "Share of keys without a row that are answered maybe [default: 0.01].", parse_rate,
                    request.build.fpr),
      flag("--install-triggers",
           "Allow five triggers and two tables in an SQLite database; without them its changes cannot be seen.",
           request.install_triggers),
      flag("--force", "Replace FILE if it exists, and uninstall what it had in its database.", request.force),
      mode_option(request.build.mode),
  };
}

}  // namespace

Subcommand gate_build_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "gate build",
      .summary = "make a gate of a table's keys",
      .description =
          "Installs in the database what reports its changes, reads the keys of the rows that satisfy the condition in "
          "one snapshot, and makes the gate's file from them. If it fails, nothing is left behind; if it is killed, "
          "FILE-leftover lists what is left, and the next build or drop uninstalls it.\n\n"
          "PostgreSQL gets a publication and a replication slot, which keeps the server's log until `mankai gate sync` "
          "has read it: drop a gate that no process syncs. SQLite gets triggers, if --install-triggers allows them. "
          "`mankai gate drop` uninstalls them.",
      .examples = {{"mankai gate build b.mk --from sqlite:shop.db --table baskets --key cookie --where 'items > 0' "
                    "--install-triggers",
                    "the baskets of an SQLite database that have something in them"},
                   {"mankai gate build b.mk --from 'postgres:host=db dbname=shop' --table shop.baskets --key cookie",
                    "every row of a PostgreSQL table"}},
  };
  command.options = options_of(*request);
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
