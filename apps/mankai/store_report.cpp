#include "apps/mankai/store_report.hpp"

#include <fmt/format.h>

#include "apps/mankai/escape.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"

namespace mankai::command {
namespace {

std::string journal_words(const StoreInfo& info) {
  return fmt::format("{} changes that are not in the file yet, {} records, {}",
                     human_count(info.recovery.changes_replayed), human_count(info.journal_records),
                     human_bytes(info.journal_bytes));
}

std::string open_words(const StoreInfo& info) {
  if (info.writer != 0) {
    return fmt::format("by process {}", info.writer);
  }
  return "by a writer that is running or was killed; the next writer, or mankai recover, closes it";
}

}  // namespace

std::string dropped_words(const RecoveryReport& recovery) {
  return recovery.reason.empty() ? ""
                                 : fmt::format("{} bytes at offset {} of the journal: {}", recovery.bytes_dropped,
                                               recovery.dropped_at, recovery.reason);
}

void warn_of_loss(const std::string& file, const RecoveryReport& recovery) {
  if (!recovery.reason.empty()) {
    say(fmt::format("warning: {}: dropped {}", file, dropped_words(recovery)));
  }
}

void add_recovery(const RecoveryReport& recovery, Report& report) {
  report.add("records_replayed", recovery.records_replayed);
  report.add("changes_replayed", recovery.changes_replayed);
  report.add("bytes_dropped", recovery.bytes_dropped, recovery.reason.empty() ? "" : "dropped",
             dropped_words(recovery));
  if (!recovery.reason.empty()) {
    report.add("dropped_at", recovery.dropped_at);
    report.add("reason", recovery.reason);
  }
}

void add_position(const SourcePosition& position, Report& report) {
  if (!position.empty()) {
    add_bytes("position", position.view(), report, "position");
  }
}

void add_store(const StoreInfo& info, Report& report) {
  report.add("file_bytes", info.file_bytes);
  report.add("is_store", info.is_store);
  report.add("sequence", info.recovery.sequence, info.is_store ? "last change" : "",
             human_count(info.recovery.sequence));
  add_position(info.recovery.position, report);
  const bool is_open = info.is_open || info.writer != 0;
  report.add("is_open", is_open, is_open ? "open" : "", open_words(info));
  if (info.writer != 0) {
    report.add("writer", static_cast<std::uint64_t>(info.writer));
  }
  report.add("journal_bytes", info.journal_bytes, info.recovery.had_journal ? "journal" : "", journal_words(info));
  report.add("journal_records", info.journal_records);
  add_recovery(info.recovery, report);
}

}  // namespace mankai::command
