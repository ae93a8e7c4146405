#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {
namespace {

struct InfoRequest {
  std::string file;
  bool json = false;
};

Result<int> describe_remote(const InfoRequest& request) {
  MANKAI_ASSIGN(auto filter, open_remote(request.file));
  MANKAI_ASSIGN(const auto facts, filter.facts(true));
  Report report;
  report.add("filter", to_text(filter.address()), "filter", to_text(filter.address()));
  add_facts(filter, facts, report);
  return write_output(request.json ? report.json() : report.text());
}

Result<int> run(const InfoRequest& request) {
  if (is_remote_address(request.file)) {
    return describe_remote(request);
  }
  MANKAI_ASSIGN(const auto found, opened_filter(request.file, inspect_store(request.file)));
  Report report = report_on(found.filter, request.file);
  add_store(found.info, report);
  return write_output(request.json ? report.json() : report.text());
}

}  // namespace

Subcommand info_subcommand() {
  auto request = std::make_shared<InfoRequest>();
  return {.name = "info",
          .summary = "describe a filter",
          .description =
              "Prints a filter's kind, fill and estimated false-positive rate, the contents of its journal, the number "
              "of changes, the position of their source, and the process that has it open. The seed of the hash is not "
              "shown. The file is checked when it is opened.",
          .examples = {{"mankai info seen.mk", "a table to read"},
                       {"mankai info --json seen.mk | jq .fpr_estimate", "JSON for programs"}},
          .options = {filter_positional(request->file), flag("--json", "Print a JSON object.", request->json)},
          .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
