#include <fmt/format.h>

#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "mankai/database/row_source.hpp"
#include "mankai/database/source_settings.hpp"
#include "mankai/service/gate.hpp"
#include "mankai/storage/file.hpp"

namespace mankai::command {
namespace {

Result<int> run(const std::string& file) {
  const auto settings = read_source_settings(file);
  if (!settings) {
    return std::unexpected(settings.error());
  }
  // Whoever syncs it would be told that what it reads is gone. A gate that is damaged or missing can be dropped.
  const auto gate = Gate::open(file);
  if (!gate && gate.error().code == ErrorCode::locked) {
    return std::unexpected(gate.error());
  }
  auto source = open_row_source(*settings);
  if (!source) {
    return std::unexpected(source.error());
  }
  const auto removed = (*source)->uninstall();
  if (!removed) {
    return std::unexpected(removed.error().within(settings->source));
  }
  if (auto gone = remove_file(source_settings_path(file)); !gone) {
    return std::unexpected(gone.error());
  }
  say(fmt::format("{}: {} things of it are gone from its database; it can be asked as it is, but not be synced", file,
                  *removed));
  return 0;
}

}  // namespace

Subcommand gate_drop_subcommand() {
  auto file = std::make_shared<std::string>();
  Subcommand command{
      .name = "gate drop",
      .summary = "take a gate's parts out of its database",
      .description =
          "Takes out of the database what `mankai gate build` put there, and removes FILE-source. FILE stays as it is. "
          "What is gone already is no error.",
      .examples = {{"mankai gate drop baskets.mk && rm baskets.mk", "the end of a gate"}},
  };
  command.options = {positional("FILE", "The gate's file.", ValueKind::file, *file)};
  command.run = [file] { return run(*file); };
  return command;
}

}  // namespace mankai::command
