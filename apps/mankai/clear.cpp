#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai::command {
namespace {

Result<int> run(const std::string& file) {
  catch_stop_signals();
  auto lock = FileLock::acquire(file);
  if (!lock) {
    return std::unexpected(lock.error());
  }
  auto filter = open_filter(file, Access::change);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  std::visit([](auto& f) { f.clear(); }, *filter);
  if (auto saved = save_filter(file, *filter, Existing::replace, &*lock); !saved) {
    return std::unexpected(saved.error());
  }
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand clear_subcommand() {
  auto file = std::make_shared<std::string>();
  Subcommand command{
      .name = "clear",
      .summary = "forget every key of a filter",
      .description =
          "Empties a filter. Kind, size, hash, seed and, where it has one, the time stay, so that it can still be "
          "merged with the same others.",
      .examples = {{"mankai clear seen.mk", "start over"}},
  };
  command.options = {positional("FILE", "The filter's file.", ValueKind::file, *file)};
  command.run = [file] { return run(*file); };
  return command;
}

}  // namespace mankai::command
