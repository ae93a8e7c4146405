#include <fmt/format.h>

#include <filesystem>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string target;
  std::vector<std::string> sources;
};

Result<void> check_sources(const Request& request) {
  for (const std::string& path : request.sources) {
    std::error_code failure;  // a file that is not there is told later
    if (std::filesystem::equivalent(path, request.target, failure)) {
      return fail(ErrorCode::invalid_argument, path + ": is also the target; a filter cannot be merged with itself");
    }
  }
  return {};
}

Result<void> merge_file(Store& target, const std::string& path) {
  MANKAI_ASSIGN(const auto source, open_filter(path, Access::query));
  auto merged = target.merge(source);
  return merged ? merged : std::unexpected(merged.error().within(path));
}

Result<int> run(const Request& request) {
  catch_stop_signals();
  MANKAI_TRY(check_sources(request));
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.target, {}, StoreRun::Mode::whole));
  for (const std::string& path : request.sources) {
    MANKAI_TRY(merge_file(store_run.store(), path));
    if (stop_signal() != 0) {
      break;
    }
  }
  MANKAI_TRY(store_run.finish());
  const AnyFilter& target = store_run.store().filter();
  const std::string warning = capacity_warning(target.keys_inserted(), target.capacity_keys());
  if (!warning.empty() && stop_signal() == 0) {
    say("warning: " + request.target + ": " + warning);
  }
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand merge_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "merge",
      .summary = "add the keys of other filters to a filter",
      .description =
          "Adds the keys of all SOURCEs to TARGET. They must have its kind, size, hash and seed: create them with "
          "mankai create --like TARGET. Counts are added up; sub-filters of growing kinds are merged or appended, and "
          "their false-positive rates add up. TARGET is replaced at the end, after all sources have been read; after "
          "an error or Ctrl-C it is unchanged.",
      .examples = {{"mankai merge week.mk monday.mk tuesday.mk", "adds their keys to week.mk"}},
  };
  Option sources = positionals("SOURCE", "Files of the filters to copy keys from.", ValueKind::file, request->sources);
  sources.is_required = true;
  command.options = {positional("TARGET", "File of the filter to change.", ValueKind::file, request->target),
                     std::move(sources)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
