#include <fmt/format.h>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/journal_file.hpp"
#include "mankai/store/journal_reader.hpp"

namespace mankai::command {
namespace {

struct JournalRequest {
  std::string file;
  bool json = false;
};

struct Totals {
  std::uint64_t records = 0;
  std::uint64_t changes = 0;
};

// Returns the file itself if it is a journal, otherwise the path of its journal.
Result<std::string> journal_of(const std::string& file) {
  MANKAI_ASSIGN(const auto kind, kind_of_file(file));
  return kind == FileKind::journal ? Result<std::string>(file) : journal_path_of(file);
}

std::string operation_of(const JournalRecord& record) {
  return record.has_change ? std::string(name(record.change.operation)) : "-";
}

std::string changes_of(const JournalRecord& record) {
  return record.change.keys == 0 ? "-" : fmt::format("{}-{}", record.sequence, record.last_sequence());
}

constexpr std::string_view kRow = "{:<12} {:<25} {:<16} {:<6} {:<12} {:<6} {}\n";

std::string row_of(const JournalRecord& record) {
  return fmt::format(fmt::runtime(kRow), record.offset, changes_of(record), operation_of(record), record.change.keys,
                     record.durable, record.more_follows ? "no" : "yes",
                     record.position.empty() ? "" : printable(record.position));
}

Report report_of(const JournalRecord& record) {
  Report report;
  report.add("offset", record.offset);
  report.add("bytes", record.bytes);
  if (record.change.keys != 0) {
    report.add("first", record.sequence);
    report.add("last", record.last_sequence());
  }
  report.add("operation", record.has_change ? operation_of(record) : "none");
  report.add("keys", std::uint64_t{record.change.keys});
  report.add("durable", record.durable);
  report.add("commits", !record.more_follows);
  if (!record.position.empty()) {
    add_bytes("position", record.position, report);
  }
  return report;
}

void print_end(const JournalEnd& end, const Totals& totals, bool json, Output& output) {
  if (!json) {
    output.append(fmt::format("{:<12} end: {}, {}\n", end.offset, counted(totals.records, "record"),
                              counted(totals.changes, "change")));
    if (!end.reason.empty()) {
      output.append(fmt::format("{:<12} {} dropped: {}\n", "", dropped_bytes(end.bytes_dropped), end.reason));
    }
    return;
  }
  Report report;
  report.add("end", end.offset);
  report.add("records", totals.records);
  report.add("changes", totals.changes);
  report.add("bytes_dropped", end.bytes_dropped);
  report.add("reason", end.reason);
  output.append(report.json());
}

Result<void> dump(const JournalFile& file, bool json, Output& output) {
  JournalReader reader(file.superblock, file.records.bytes());
  Totals totals;
  if (!json) {
    output.append(
        fmt::format(fmt::runtime(kRow), "offset", "changes", "operation", "keys", "durable", "commit", "position"));
  }
  while (const auto record = reader.next()) {
    ++totals.records;
    totals.changes += record->change.keys;
    output.append(json ? report_of(*record).json() : row_of(*record));
    if (output.has_failed()) {
      return {};
    }
  }
  MANKAI_ASSIGN(const auto end, reader.end());
  print_end(end, totals, json, output);
  return {};
}

Result<int> run(const JournalRequest& request) {
  MANKAI_ASSIGN(const auto path, journal_of(request.file));
  MANKAI_ASSIGN(const auto file, read_journal_file(path));
  if (!file) {
    // A writer that was killed needs its journal: without it, this is an error.
    MANKAI_TRY(opened_filter(request.file, open_filter(request.file, Access::query, Trust::fast)));
    say(request.file + ": has no journal: everything is in the file");
    return 0;
  }
  Output output;
  const auto dumped = within(path, dump(*file, request.json, output));
  MANKAI_TRY(output.finish());
  MANKAI_TRY(dumped);
  return 0;
}

}  // namespace

Subcommand journal_subcommand() {
  auto request = std::make_shared<JournalRequest>();
  return {
      .name = "journal",
      .summary = "print the journal of a filter",
      .description =
          "Prints the records of a filter's journal, one per line: offset; first and last change; operation; number of "
          "keys; last change known to be on disk when the record was written; whether it ends a batch; and the "
          "position of the source, if set. The last line is the offset at which the records end, and the bytes after "
          "it that are dropped. A journal contains hashes, not keys, except for kinds that store names.\n\nOnly reads, "
          "also while a writer runs. A missing record that was on disk is an error, exit code 3, with its offset.",
      .examples = {{"mankai journal seen.mk", "the changes that are not in the file yet"},
                   {"mankai journal --json seen.mk-journal | jq -s 'map(.keys // 0) | add'", "the number of changes"}},
      .options = {positional("FILE", "File of the filter, or its journal.", ValueKind::file, request->file),
                  flag("--json", "Print an object per line; the last one is the end.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
