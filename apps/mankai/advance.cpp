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
    return fail(ErrorCode::invalid_argument, "--at is missing: say to which time, such as --at now");
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
      .summary = "let time pass for a filter that forgets",
      .description =
          "Moves a filter on to a time: what has faded by then is forgotten, and the file is written. Time "
          "never goes back.\n\n"
          "`add`, `check` and `count` take --at themselves; this is for letting go without adding.",
      .examples = {{"mankai advance seen.mk --at now", "forget what is due"},
                   {"mankai advance hits.mk --at 2026-03-28T12:00:00Z", "as it will be then"}},
  };
  command.options = {positional("FILE", "The filter's file.", ValueKind::file, request->file),
                     at_option("The time to move to:", request->at)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
