#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {
namespace {

Result<int> run(const std::string& file) {
  catch_stop_signals();
  MANKAI_ASSIGN(auto store_run, StoreRun::open(file, {}, StoreRun::Mode::whole));
  if (auto cleared = store_run.store().clear(); !cleared) {
    return store_run.give_up(cleared.error());
  }
  MANKAI_TRY(store_run.finish());
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand clear_subcommand() {
  auto file = std::make_shared<std::string>();
  Subcommand command{
      .name = "clear",
      .summary = "remove every key from a filter",
      .description =
          "Empties a filter. Its kind, size, hash, seed and time stay, so it can still be merged with the same "
          "filters.",
      .examples = {{"mankai clear seen.mk", "start over"}},
  };
  command.options = {positional("FILE", "File of the filter.", ValueKind::file, *file)};
  command.run = [file] { return run(*file); };
  return command;
}

}  // namespace mankai::command
