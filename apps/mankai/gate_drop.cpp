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
    return fail(removed.error().code,
                removed.error().detail + (may_be_forced ? "; --force leaves the parts there" : ""),
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
      .summary = "uninstall a gate's parts from its database",
      .description =
          "Uninstalls from the database what `mankai gate build` installed, and removes FILE-source. FILE stays. Parts "
          "that are already gone are no error; a database that cannot be reached is one, unless --force is given.\n\n"
          "A build that was killed leaves its parts in the database and lists them in FILE-leftover: this removes them "
          "too, and so does the next build of FILE. If FILE-source is missing or corrupt, the database is not known: "
          "an error names what to remove there by hand, and --force ends the gate without that.",
      .examples = {{"mankai gate drop baskets.mk && rm baskets.mk", "the end of a gate"}},
  };
  command.options = {
      positional("FILE", "The gate's file.", ValueKind::file, request->file),
      flag("--force", "End the gate even if the database cannot be reached or is not known; its parts stay there.",
           request->force)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
