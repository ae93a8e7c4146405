#include <fmt/format.h>

#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "mankai/gate/database/gate_build.hpp"
#include "mankai/gate/database/source_settings.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  bool force = false;
};

Result<int> run(const Request& request) {
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
      "{}: dropped: its parts were removed from the database ({} {}); the file still answers, but sync no longer works",
      request.file, *removed, *removed == 1 ? "part" : "parts"));
  return 0;
}

}  // namespace

Subcommand gate_drop_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "gate drop",
      .summary = "remove a gate's parts from its database",
      .description =
          "Removes from the database what mankai gate build installed, and removes FILE-source. FILE is not changed. "
          "Parts that are already gone are not an error; a database that cannot be reached is one without "
          "--force.\n\nA build that was killed leaves its parts in the database and lists them in FILE-leftover: drop "
          "removes these as well, and so does the next build of FILE. If FILE-source is missing or corrupt, the "
          "database is unknown: drop prints what to remove by hand, and --force drops the gate without it.",
      .examples = {{"mankai gate drop baskets.mk && rm baskets.mk", "drops a gate and deletes its file"}},
  };
  command.options = {
      positional("FILE", "File of the gate.", ValueKind::file, request->file),
      flag("--force", "Drop the gate even if the database cannot be reached or is unknown; its parts stay there.",
           request->force)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
