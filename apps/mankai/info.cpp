#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  bool json = false;
};

Result<int> run(const Request& request) {
  const auto filter = open_filter(request.file, Access::query);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  const Report report = report_on(*filter, request.file);
  Output output;
  output.append(request.json ? report.json() : report.text());
  if (auto finished = output.finish(); !finished) {
    return std::unexpected(finished.error());
  }
  return 0;
}

}  // namespace

Subcommand info_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "info",
      .summary = "describe a filter",
      .description =
          "Prints what a filter is, how full it is and how often it is wrong now. The seed of its hash is not shown. "
          "The file is checked as by `mankai verify`.",
      .examples = {{"mankai info seen.mk", "for people"},
                   {"mankai info --json seen.mk | jq .fpr_estimate", "for programs"}},
  };
  command.options = {positional("FILE", "The filter's file.", ValueKind::file, request->file),
                     flag("--json", "Prints a JSON object.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
