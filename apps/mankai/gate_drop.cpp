#include <fmt/format.h>

#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "mankai/database/gate_sync.hpp"
#include "mankai/database/source_settings.hpp"

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
    return fail(removed.error().code,
                removed.error().detail + (may_be_forced ? "; --force leaves there what is there" : ""),
                removed.error().os_error);
  }
  say(
      fmt::format("{}: dropped: what it had in its database is taken out ({} {}); the file can be asked as it is, but "
                  "not be synced",
                  request.file, *removed, *removed == 1 ? "part" : "parts"));
  return 0;
}

}  // namespace

Subcommand gate_drop_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "gate drop",
      .summary = "take a gate's parts out of its database",
      .description =
          "Takes out of the database what `mankai gate build` put there, and removes FILE-source. FILE stays as it is. "
          "What is gone already is no error; a database that cannot be reached is one, unless --force is given.\n\n"
          "A build that was killed leaves its parts in the database and FILE-leftover, which lists them: this takes "
          "them "
          "out as well, and so does the next build of FILE. Where FILE-source is gone or damaged, nothing says which "
          "database "
          "it is: what to take out there by hand is told, and --force ends the gate without.",
      .examples = {{"mankai gate drop baskets.mk && rm baskets.mk", "the end of a gate"}},
  };
  command.options = {
      positional("FILE", "File of the gate.", ValueKind::file, request->file),
      flag("--force",
           "Also ends the gate if the database cannot be reached, or is not known; what is there stays there.",
           request->force)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
