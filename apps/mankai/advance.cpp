#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"
#include "apps/mankai/times.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  std::optional<Time> at;
};

Result<int> run(const Request& request) {
  if (!request.at) {
    return fail(ErrorCode::invalid_argument, "--at is missing; give a time, such as --at now");
  }
  catch_stop_signals();
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.file, {}, StoreRun::Mode::whole));
  if (auto advanced = store_run.store().advance(*request.at); !advanced) {
    return std::unexpected(advanced.error().within(request.file));
  }
  MANKAI_TRY(store_run.finish());
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand advance_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "advance",
      .summary = "move a filter with time to a later time",
      .description =
          "Moves a filter to a later time and writes the file: keys expire, and counts decay. Time never goes "
          "back.\n\nadd, check and count take --at themselves; advance is for expiring keys without adding any.",
      .examples = {{"mankai advance seen.mk --at now", "expire what is due"},
                   {"mankai advance hits.mk --at 2026-03-28T12:00:00Z", "decay counts to that time"}},
  };
  command.options = {positional("FILE", "File of the filter.", ValueKind::file, request->file),
                     at_option("Time to move to.", request->at)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
