#include "apps/mankai/guard_report.hpp"
#include "apps/mankai/guard_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "mankai/guard/guard_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  bool json = false;
  bool prometheus = false;
};

std::string text_of(const Request& request, const GuardFacts& facts) {
  if (request.prometheus) {
    PrometheusText text;
    add_metrics(facts, text);
    return text.text();
  }
  const Report report = report_on(facts, request.file);
  return request.json ? report.json() : report.text();
}

Result<int> run(const Request& request) {
  if (request.json && request.prometheus) {
    return fail(ErrorCode::invalid_argument, "--json and --prometheus cannot be combined");
  }
  MANKAI_ASSIGN(const auto file, GuardFile::open(request.file));
  Output output;
  output.append(text_of(request, file.guard().facts()));
  MANKAI_TRY(output.finish());
  return 0;
}

}  // namespace

Subcommand guard_info_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "guard info",
      .summary = "describe a guard's file",
      .description =
          "Prints the number of rules and where they are stored, their size, and the false-positive rate: for the URLs "
          "with the most lookups, and for URLs whose domain is in no rule, by formula.",
      .examples = {{"mankai guard info blocked.mkg", "a table to read"},
                   {"mankai guard info --prometheus blocked.mkg > guard.prom", "for a textfile collector"}},
  };
  command.options = {positional("FILE", "File of the guard.", ValueKind::file, request->file),
                     flag("--json", "Print JSON.", request->json),
                     flag("--prometheus", "Print metrics in the Prometheus text format.", request->prometheus)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
