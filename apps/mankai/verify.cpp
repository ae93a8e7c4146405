#include <fmt/format.h>

#include "apps/mankai/errors.hpp"
#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::vector<std::string> files;
  bool json = false;
};

// Every file is looked at, and the worst outcome is the command's: damage above trouble with reading.
ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::bad_data || b == ExitCode::fine ? a : b; }

// What was looked at, and found good.
std::string checked_words(const InspectedStore& found) {
  const StoreInfo& info = found.info;
  std::string words =
      fmt::format("{} of {}", info_of(spec_of(found.filter).kind).name, human_bytes(image_bytes(found.filter)));
  if (info.is_store) {
    words += fmt::format(", change {}", human_count(info.recovery.sequence));
  }
  if (info.recovery.had_journal) {
    words += fmt::format("; its journal has {} records of {}", human_count(info.journal_records),
                         human_bytes(info.journal_bytes));
  }
  return words;
}

// What is no damage that anybody can tell from a crash.
std::vector<std::string> remarks_on(const StoreInfo& info) {
  std::vector<std::string> remarks;
  if (!info.recovery.reason.empty()) {
    remarks.push_back("whoever opens it drops " + dropped_words(info.recovery));
  }
  if (info.damaged_footers != 0) {
    remarks.emplace_back(
        "one of the two copies of the footer is damaged; the other one serves, and the next writer repairs it");
  }
  if (info.damaged_superblocks != 0) {
    remarks.push_back(fmt::format("{} copies of the journal's superblocks are damaged; another one serves",
                                  info.damaged_superblocks));
  }
  return remarks;
}

ExitCode verify_file(const std::string& path, Report& report, Output& output, bool json) {
  const auto found = verify_store(path);
  report.add("file", path);
  report.add("ok", found.has_value());
  if (found) {
    report.add("kind", std::string(info_of(spec_of(found->filter).kind).name));
    report.add("image_bytes", image_bytes(found->filter));
    add_store(found->info, report);
    report.add("damaged_footers", found->info.damaged_footers);
    report.add("damaged_superblocks", found->info.damaged_superblocks);
    if (!json) {
      output.append_line(fmt::format("{}: ok, {}", path, checked_words(*found)));
      for (const std::string& remark : remarks_on(found->info)) {
        output.append_line("  " + remark);
      }
    }
    return ExitCode::fine;
  }
  report.add("error", std::string(name(found.error().code)));
  report.add("message", found.error().message());
  if (!json) {
    output.flush();
    say(found.error().message());
  }
  return exit_code_for(found.error().code);
}

Result<int> run(const Request& request) {
  Output output;
  std::vector<Report> reports;
  ExitCode code = ExitCode::fine;
  for (const std::string& path : request.files) {
    code = worse(code, verify_file(path, reports.emplace_back(), output, request.json));
  }
  if (request.json) {
    output.append(json_array(reports));
  }
  if (auto finished = output.finish(); !finished) {
    return std::unexpected(finished.error());
  }
  return static_cast<int>(code);
}

}  // namespace

Subcommand verify_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "verify",
      .summary = "check files for damage",
      .description =
          "Reads each file and its journal completely and checks all that can be checked: the filter's checksums, its "
          "cells and what its header says of them; the footer; each record of the journal, that they follow each other "
          "and fit the filter, and that none is missing that was on the disk. Says ok and what was looked at, or what "
          "is wrong and where. What a crash leaves at a journal's end is told and is no damage. All files are looked "
          "at; "
          "the exit code is 3 if one is damaged, else 4 if one cannot be read. A writer may be at work meanwhile.",
      .examples = {{"mankai verify *.mk", "all of them"}},
  };
  Option files = positionals("FILE", "The filters' files.", ValueKind::file, request->files);
  files.is_required = true;
  command.options = {std::move(files), flag("--json", "Prints a JSON array.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
