#include <fmt/format.h>

#include "apps/mankai/escape.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  bool json = false;
};

std::string outcome_of(const RecoveryReport& report) {
  if (report.was_closed && report.records_replayed == 0 && report.reason.empty()) {
    return "nothing to do: it was closed";
  }
  return report.changes_replayed == 0
             ? "recovered: no changes were missing"
             : fmt::format("recovered: {} changes of {} records were applied", human_count(report.changes_replayed),
                           human_count(report.records_replayed));
}

Report report_of(const Request& request, const RecoveryReport& recovery) {
  Report report;
  const std::string outcome = outcome_of(recovery);
  report.add("file", request.file, "file", request.file);
  report.add("was_closed", recovery.was_closed, "outcome", outcome);
  report.add("had_journal", recovery.had_journal);
  add_recovery(recovery, report);
  report.add("sequence", recovery.sequence, "last change", human_count(recovery.sequence));
  add_position(recovery.position, report);
  return report;
}

// Opening recovers; closing makes it one file again.
Result<int> run(const Request& request) {
  catch_stop_signals();
  MANKAI_ASSIGN(auto store, Store::open(request.file));
  MANKAI_TRY(store.close());
  const Report report = report_of(request, store.recovery());
  Output output;
  output.append(request.json ? report.json() : report.text());
  MANKAI_TRY(output.finish());
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand recover_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "recover",
      .summary = "apply a filter's journal after a crash",
      .description =
          "Applies the changes in a filter's journal that are not in its file yet, writes the file and removes the "
          "journal. Prints the number of changes, the bytes dropped at the journal's end and why, the last change and "
          "the position of its source.\n\nRecovery is automatic: add, dedup and other writers do the same when they "
          "open the file, and check and other readers include the journal. Use recover before you copy the file, or to "
          "see what happened. Corruption that would lose changes that were on disk is an error, exit code 3, with its "
          "offset; the files are not changed.",
      .examples = {{"mankai recover seen.mk", "after a crash"},
                   {"mankai recover --json hits.mk | jq -r .position",
                    "the position from which its source must continue"}},
  };
  command.options = {positional("FILE", "File of the filter.", ValueKind::file, request->file),
                     flag("--json", "Print a JSON object.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
