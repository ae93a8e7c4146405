// Subcommands that change a filter's file as a whole: advance, merge, clear, recover.

#include <fmt/format.h>

#include <filesystem>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {
namespace {

struct UpkeepRequest {
  std::string file;
  std::optional<Time> at;
  std::vector<std::string> sources;
  bool json = false;
};

Result<int> advance(const UpkeepRequest& request) {
  if (!request.at) {
    return fail(ErrorCode::invalid_argument, "--at is missing; give a time, such as --at now");
  }
  catch_stop_signals();
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.file, {}, StoreRun::Mode::whole));
  MANKAI_TRY(within(request.file, check_not_in_past(store_run.store().filter(), *request.at)));
  MANKAI_TRY(within(request.file, store_run.store().advance(*request.at)));
  MANKAI_TRY(store_run.finish());
  return exit_code_after_stop(0);
}

Result<void> check_sources(const UpkeepRequest& request) {
  for (const std::string& path : request.sources) {
    std::error_code failure;  // a missing file is reported later
    if (std::filesystem::equivalent(path, request.file, failure)) {
      return fail(ErrorCode::invalid_argument, path + ": is also the target; a filter cannot be merged with itself");
    }
  }
  return {};
}

Result<void> merge_file(Store& target, const std::string& path) {
  MANKAI_ASSIGN(const auto source, opened_filter(path, open_filter(path, Access::query)));
  return within(path, target.merge(source));
}

Result<int> merge(const UpkeepRequest& request) {
  catch_stop_signals();
  MANKAI_TRY(check_sources(request));
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.file, {}, StoreRun::Mode::whole));
  for (const std::string& path : request.sources) {
    if (auto merged = merge_file(store_run.store(), path); !merged) {
      return store_run.give_up(merged.error());
    }
    if (stop_signal() != 0) {
      break;
    }
  }
  MANKAI_TRY(store_run.finish());
  const std::string warning = capacity_warning(store_run.store().filter());
  if (!warning.empty() && stop_signal() == 0) {
    say("warning: " + request.file + ": " + warning);
  }
  return exit_code_after_stop(0);
}

Result<int> clear(const UpkeepRequest& request) {
  catch_stop_signals();
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.file, {}, StoreRun::Mode::whole));
  if (auto cleared = store_run.store().clear(); !cleared) {
    return store_run.give_up(cleared.error());
  }
  MANKAI_TRY(store_run.finish());
  return exit_code_after_stop(0);
}

std::string outcome_of(const RecoveryReport& report) {
  if (report.was_closed && report.records_replayed == 0 && report.reason.empty()) {
    return "nothing to do: it was closed";
  }
  return report.changes_replayed == 0
             ? "recovered: no changes were missing"
             : fmt::format("recovered: applied {} of {}", counted(report.changes_replayed, "change"),
                           counted(report.records_replayed, "record"));
}

Report report_of(const UpkeepRequest& request, const RecoveryReport& recovery) {
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

// Opening the store recovers it; closing merges the journal into the file.
Result<int> recover(const UpkeepRequest& request) {
  catch_stop_signals();
  MANKAI_ASSIGN(auto store, opened_filter(request.file, Store::open(request.file)));
  MANKAI_TRY(store.close());
  const Report report = report_of(request, store.recovery());
  MANKAI_TRY(write_output(request.json ? report.json() : report.text()));
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand advance_subcommand() {
  auto request = std::make_shared<UpkeepRequest>();
  return {.name = "advance",
          .summary = "move a filter with time to a later time",
          .description =
              "Moves a filter to a later time and writes the file: keys expire, and counts decay. Time never goes "
              "back.\n\nadd, check and count take --at themselves; advance is for expiring keys without adding any.",
          .examples = {{"mankai advance seen.mk --at now", "expire what is due"},
                       {"mankai advance hits.mk --at 2026-03-28T12:00:00Z", "decay counts to that time"}},
          .options = {positional("FILE", "File of the filter.", ValueKind::file, request->file),
                      at_option("Time to move to.", request->at)},
          .run = [request] { return advance(*request); }};
}

Subcommand merge_subcommand() {
  auto request = std::make_shared<UpkeepRequest>();
  return {.name = "merge",
          .summary = "add the keys of other filters to a filter",
          .description =
              "Adds the keys of all SOURCEs to TARGET. They must have its kind, size, hash and seed: create them with "
              "mankai create --like TARGET. Counts are added up; sub-filters of growing kinds are merged or appended, "
              "and their false-positive rates add up. TARGET is replaced at the end, after all sources have been read; "
              "after an error or Ctrl-C it is unchanged.",
          .examples = {{"mankai merge week.mk monday.mk tuesday.mk", "adds their keys to week.mk"}},
          .options = {positional("TARGET", "File of the filter to change.", ValueKind::file, request->file),
                      required(positionals("SOURCE", "Files of the filters to copy keys from.", ValueKind::file,
                                           request->sources))},
          .run = [request] { return merge(*request); }};
}

Subcommand clear_subcommand() {
  auto request = std::make_shared<UpkeepRequest>();
  return {.name = "clear",
          .summary = "remove every key from a filter",
          .description =
              "Empties a filter. Its kind, size, hash, seed and time stay, so it can still be merged with the same "
              "filters.",
          .examples = {{"mankai clear seen.mk", "start over"}},
          .options = {positional("FILE", "File of the filter.", ValueKind::file, request->file)},
          .run = [request] { return clear(*request); }};
}

Subcommand recover_subcommand() {
  auto request = std::make_shared<UpkeepRequest>();
  return {.name = "recover",
          .summary = "apply a filter's journal after a crash",
          .description =
              "Applies the changes in a filter's journal that are not in its file yet, writes the file and removes the "
              "journal. Prints the number of changes, the bytes dropped at the journal's end and why, the last change "
              "and the position of its source.\n\nRecovery is automatic: add, dedup and other writers do the same when "
              "they open the file, and check and other readers include the journal. Use recover before you copy the "
              "file, or to see what happened. Corruption that would lose changes that were on disk is an error, exit "
              "code 3, with its offset; the files are not changed.",
          .examples = {{"mankai recover seen.mk", "after a crash"},
                       {"mankai recover --json hits.mk | jq -r .position",
                        "the position from which its source must continue"}},
          .options = {positional("FILE", "File of the filter.", ValueKind::file, request->file),
                      flag("--json", "Print a JSON object.", request->json)},
          .run = [request] { return recover(*request); }};
}

}  // namespace mankai::command
