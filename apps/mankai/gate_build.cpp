// `mankai gate build` and `mankai gate drop`.

#include <fmt/format.h>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/gate/database/gate_build.hpp"
#include "mankai/gate/database/source_settings.hpp"

namespace mankai::command {
namespace {

struct GateBuildRequest {
  std::string file;
  RowSourceSettings settings;
  GateBuild build;
  std::uint64_t keys = 0;
  bool install_triggers = false;
  bool force = false;
};

// An empty condition is more likely an unset shell variable than a request for all rows.
Result<std::string> parse_condition(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the condition is empty; leave it out to select every row");
  }
  return std::string(text);
}

Result<void> check(const GateBuildRequest& request) {
  for (const auto& [name, value] : {std::pair{"--from", &request.settings.source},
                                    {"--table", &request.settings.table},
                                    {"--key", &request.settings.key}}) {
    if (value->empty()) {
      return fail(ErrorCode::invalid_argument, std::string(name) + " is missing; see `mankai gate build --help`");
    }
  }
  if (request.settings.source.starts_with("sqlite:") && !request.install_triggers) {
    return fail(ErrorCode::invalid_argument,
                "a gate of an SQLite table needs triggers on it and two tables beside it, which slow down writes a "
                "little; allow them with --install-triggers; `mankai gate drop` removes them");
  }
  return {};
}

Result<int> build(const GateBuildRequest& request) {
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
    Error error = built.error();
    if (error.detail.ends_with("exists already")) {
      error.detail += "; replace it with --force";
    }
    // What the database does not have is a wrong argument. A missing file has an errno.
    error.code = error.code == ErrorCode::not_found && error.os_error == 0 ? ErrorCode::invalid_argument : error.code;
    return std::unexpected(std::move(error));
  }
  say(fmt::format("{}: {} at {}, as of position {}; `mankai gate sync {}` applies later changes", request.file,
                  counted(built->keys, "key"), human_share(build.fpr), built->position_text, request.file));
  if (!built->replaced_left.empty()) {
    say("the parts of the replaced gate could not be removed from its database: " + built->replaced_left);
  }
  return exit_code_after_stop(0);
}

Options options_of(GateBuildRequest& request) {
  return {
      positional("FILE", "File to create. FILE-source beside it describes the source of the keys.", ValueKind::file,
                 request.file),
      text_option("--from", "SOURCE",
                  "Database: sqlite:PATH, or postgres:DSN with a libpq DSN, such as postgres:dbname=shop. Do not give "
                  "a password: use PGPASSFILE or the server's rules.",
                  ValueKind::text, request.settings.source),
      text_option("--table", "TABLE", "Table.", ValueKind::text, request.settings.table),
      text_option("--key", "COLUMN", "Column with the keys; SQLite needs an index on it.", ValueKind::text,
                  request.settings.key),
      parsed_option("--where", "CONDITION", "SQL condition over the row's own columns [default: every row].",
                    parse_condition, request.settings.where),
      parsed_option("--keys", "N",
                    "Number of distinct keys to size the filter for [default: twice as many as there are].",
                    at_least_one(parse_count), request.keys),
      parsed_option("--fpr", "RATE",
                    "False-positive rate: share of absent keys that are answered maybe [default: 0.01].", parse_rate,
                    request.build.fpr),
      flag("--install-triggers",
           "Allow five triggers and two tables in an SQLite database, without which its changes cannot be read.",
           request.install_triggers),
      flag("--force", "Replace FILE if it exists, and remove its parts from the database.", request.force),
      mode_option(request.build.mode),
  };
}

Result<int> drop(const GateBuildRequest& request) {
  const bool had_settings = read_source_settings(request.file).has_value();
  const auto removed = drop_gate(request.file, request.force);
  if (!removed) {
    const bool may_be_forced = had_settings && !request.force && removed.error().code != ErrorCode::locked;
    return fail(
        removed.error().code,
        removed.error().detail + (may_be_forced ? "; --force drops the gate and leaves its parts in the database" : ""),
        removed.error().os_error);
  }
  say(fmt::format(
      "{}: dropped: its parts were removed from the database ({}); the file still answers, but sync no longer works",
      request.file, counted(*removed, "part")));
  return 0;
}

}  // namespace

Subcommand gate_build_subcommand() {
  auto request = std::make_shared<GateBuildRequest>();
  return {
      .name = "gate build",
      .summary = "build a gate from a table's keys",
      .description =
          "Installs in the database what reports its changes, reads the keys of the rows for which the condition is "
          "true, as of one moment, and writes the gate's file. A build that fails leaves nothing behind. If it is "
          "killed, FILE-leftover lists what is left, and the next build or drop removes it.\n\nPostgreSQL gets a "
          "publication and a replication slot, which retains the server's log until mankai gate sync has read it: do "
          "not leave a gate without sync. SQLite gets triggers, if --install-triggers allows them. mankai gate drop "
          "removes them.",
      .examples = {{"mankai gate build b.mk --from sqlite:shop.db --table baskets --key cookie --where 'items > 0' "
                    "--install-triggers",
                    "the non-empty baskets of an SQLite database"},
                   {"mankai gate build b.mk --from 'postgres:host=db dbname=shop' --table shop.baskets --key cookie",
                    "every row of a PostgreSQL table"}},
      .options = {options_of(*request)},
      .run = [request] { return build(*request); }};
}

Subcommand gate_drop_subcommand() {
  auto request = std::make_shared<GateBuildRequest>();
  return {.name = "gate drop",
          .summary = "remove a gate's parts from its database",
          .description =
              "Removes from the database what mankai gate build installed, and removes FILE-source. FILE is not "
              "changed. Parts that are already gone are not an error; a database that cannot be reached is one without "
              "--force.\n\nA build that was killed leaves its parts in the database and lists them in FILE-leftover: "
              "drop removes these as well, and so does the next build of FILE. If FILE-source is missing or corrupt, "
              "the database is unknown: drop prints what to remove by hand, and --force drops the gate without it.",
          .examples = {{"mankai gate drop baskets.mk && rm baskets.mk", "drops a gate and deletes its file"}},
          .options = {positional("FILE", "File of the gate.", ValueKind::file, request->file),
                      flag("--force",
                           "Drop the gate even if the database cannot be reached or is unknown; its parts stay there.",
                           request->force)},
          .run = [request] { return drop(*request); }};
}

}  // namespace mankai::command
