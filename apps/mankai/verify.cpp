#include <fmt/format.h>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommand.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/file/file.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/gate/gate_counts_file.hpp"
#include "mankai/guard/guard_file.hpp"
#include "mankai/seen/digest_log.hpp"
#include "mankai/store/journal_file.hpp"
#include "mankai/store/journal_reader.hpp"

namespace mankai::command {
namespace {

struct VerifyRequest {
  std::vector<std::string> files;
  bool json = false;
};

// The exit code is that of the worst file: corrupt, then unreadable.
ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::bad_data || b == ExitCode::fine ? a : b; }

/// A file without damage.
struct Verified {
  std::string words = {};
  std::vector<std::string> remarks = {};  ///< losses that look like a crash, not like damage
};

std::string words_on(const InspectedStore& found) {
  const StoreInfo& info = found.info;
  std::string words = fmt::format("{} of {}", found.filter.kind().name, human_bytes(found.filter.image_bytes()));
  if (info.is_store) {
    words += fmt::format(", change {}", human_count(info.recovery.sequence));
  }
  if (info.recovery.had_journal) {
    words += fmt::format("; its journal has {} of {}", counted(info.journal_records, "record"),
                         human_bytes(info.journal_bytes));
  }
  return words;
}

std::vector<std::string> remarks_on(const StoreInfo& info) {
  std::vector<std::string> remarks;
  if (!info.recovery.reason.empty()) {
    remarks.push_back("the next writer drops " + dropped_words(info.recovery));
  }
  if (info.damaged_footers != 0) {
    remarks.emplace_back(
        "one of the two copies of the footer is corrupt; the other one is valid, and the next writer repairs it");
  }
  if (info.damaged_superblocks != 0) {
    remarks.push_back(fmt::format("{} corrupt; another one is valid",
                                  counted(info.damaged_superblocks, "copy of the journal's superblock is",
                                          "copies of the journal's superblock are")));
  }
  return remarks;
}

Result<Verified> verify_filter(const std::string& path, Report& report) {
  MANKAI_ASSIGN(const auto found, verify_store(path));
  report.add("kind", std::string(found.filter.kind().name));
  report.add("image_bytes", found.filter.image_bytes());
  add_store(found.info, report);
  report.add("damaged_footers", found.info.damaged_footers);
  report.add("damaged_superblocks", found.info.damaged_superblocks);
  return Verified{.words = words_on(found), .remarks = remarks_on(found.info)};
}

Result<Verified> verify_journal(const std::string& path, Report& report) {
  MANKAI_ASSIGN(const auto file, read_journal_file(path));
  if (!file) {
    return fail(ErrorCode::not_found, path + ": is gone");
  }
  JournalReader journal(file->superblock, file->records.bytes());
  std::uint64_t records = 0;
  while (journal.next()) {
    ++records;
  }
  MANKAI_ASSIGN(const auto end, within(path, journal.end()));
  report.add("journal_records", records);
  report.add("damaged_superblocks", file->damaged_superblocks);
  Verified verified{.words = fmt::format("a journal of {}; verify the filter's file to check them against it",
                                         counted(records, "record"))};
  if (!end.reason.empty()) {
    verified.remarks.push_back("the records end at offset " + std::to_string(end.offset) + ": " + end.reason);
  }
  return verified;
}

Result<Verified> verify_guard(const std::string& path, Report& report) {
  MANKAI_ASSIGN(const auto file, GuardFile::open(path));
  const std::uint64_t rules = file.guard().facts().rules_in_force();
  report.add("rules", rules);
  return Verified{.words =
                      fmt::format("a guard of {}; `mankai guard check` looks up URLs in it", counted(rules, "rule"))};
}

Result<Verified> words_on(const Result<DigestLogFacts>& facts, std::string_view what, Report& report) {
  MANKAI_TRY(facts);
  report.add("digests", facts->digests);
  report.add("runs", facts->runs);
  report.add("file_bytes", facts->file_bytes);
  report.add("bytes_dropped", facts->dropped_bytes);
  Verified verified{
      .words = fmt::format("{} with {}, {}", what, counted(facts->digests, "digest"), human_bytes(facts->file_bytes))};
  if (facts->dropped_bytes != 0) {
    verified.remarks.push_back(fmt::format("the next writer drops an incomplete batch of {} at its end",
                                           counted(facts->dropped_bytes, "byte")));
  }
  return verified;
}

Result<std::string> read_text(const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  if (const auto size = read_start(path, {}); size && *size > kMostBytes) {
    return fail(ErrorCode::corrupt, path + ": is longer than its first line says");
  }
  MANKAI_ASSIGN(const auto bytes, read_file(path));
  return std::string(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size());
}

// These files have no checksum: checks only that they can be parsed.
template <class Parse>
Result<Verified> verify_text(const std::string& path, FileKind kind, const Parse& parse) {
  MANKAI_ASSIGN(const auto text, read_text(path));
  MANKAI_TRY(within(path, parse(text)));
  return Verified{.words = std::string(description_of(kind))};
}

Result<Verified> verify_as(FileKind kind, const std::string& path, Report& report) {
  switch (kind) {
    case FileKind::filter: return verify_filter(path, report);
    case FileKind::journal: return verify_journal(path, report);
    case FileKind::guard: return verify_guard(path, report);
    case FileKind::digest_log: return words_on(verify_digest_log(path), "a log of digests", report);
    case FileKind::digest_run: return words_on(verify_digest_run(path), "a run of a log of digests", report);
    case FileKind::gate_counts: return verify_text(path, kind, parse_gate_counts);
    case FileKind::gate_source: return verify_text(path, kind, parse_source_list);
  }
  return fail(ErrorCode::invalid_argument, path);
}

ExitCode verify_file(const std::string& path, Report& report, Output& output, bool json) {
  const auto kind = kind_of_file(path);
  report.add("file", path);
  Report facts;
  const auto found = kind ? verify_as(*kind, path, facts) : Result<Verified>(std::unexpected(kind.error()));
  report.add("ok", found.has_value());
  if (kind) {
    report.add("file_kind", std::string(name(*kind)));
  }
  if (found) {
    for (const Report::Line& line : facts.lines()) {
      report.add(line.name, line.value);
    }
    if (!json) {
      output.append_line(fmt::format("{}: ok, {}", path, found->words));
      for (const std::string& remark : found->remarks) {
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

Result<int> run(const VerifyRequest& request) {
  Output output;
  std::vector<Report> reports;
  ExitCode code = ExitCode::fine;
  for (const std::string& path : request.files) {
    code = worse(code, verify_file(path, reports.emplace_back(), output, request.json));
  }
  if (request.json) {
    output.append(json_array(reports));
  }
  MANKAI_TRY(output.finish());
  return static_cast<int>(code);
}

}  // namespace

Subcommand verify_subcommand() {
  auto request = std::make_shared<VerifyRequest>();
  return {.name = "verify",
          .summary = "check files for corruption",
          .description =
              "Reads each file completely. For a filter and its journal, checks checksums, cells, both copies of the "
              "footer, and that no record is missing that was on disk. For a guard, a log of digests with its runs, a "
              "run or a journal, checks checksums and that nothing is missing. A gate's text files have no checksums; "
              "they are parsed. Prints ok and what was checked, or what is wrong and where. An incomplete record that "
              "a crash left at the end of a journal or log is printed and is not an error. The exit code is 3 if a "
              "file is corrupt, otherwise 4 if one cannot be read. Writers may run meanwhile.",
          .examples = {{"mankai verify *.mk", "checks all filters of a folder"}},
          .options = {required(positionals("FILE", "Files written by Mankai.", ValueKind::file, request->files)),
                      flag("--json", "Print a JSON array.", request->json)},
          .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
