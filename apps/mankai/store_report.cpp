#include "apps/mankai/store_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kMostMicroseconds = 9e18;

std::string hash_words(HashKind hash) {
  return std::string(name(hash)) + (is_keyed(hash) ? ", keyed; the key is not shown" : ", seeded");
}

// Rounds to the precision of λ, a multiple of 2^-32: a half-life of an hour is stored as 3600.0000035 s.
std::string human_duration(double seconds) {
  constexpr double kThousandths = 1e3;
  const Duration exact(std::llround(std::min(seconds * kMicroseconds, kMostMicroseconds)));
  const Duration rounded(std::llround(std::min(seconds * kThousandths, kMostMicroseconds / kThousandths)) * 1000);
  return exact < Duration(1'000'000) ? fmt::format("{:.6g}s", seconds) : to_text(rounded);
}

void add_field(const InfoField& field, Report& report) {
  if (field.name == "time_seconds") {
    const double seconds = std::get<double>(field.value);
    report.add(field.name, seconds, "time", format_time(Time(Duration(std::llround(seconds * kMicroseconds)))));
    return;
  }
  std::visit(
      [&](const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::uint64_t>) {
          report.add(field.name, value, field.label, human_count(value));
        } else if constexpr (std::is_same_v<Value, double>) {
          const bool is_time = field.name.ends_with("_seconds") && std::isfinite(value);
          report.add(field.name, value, field.label, is_time ? human_duration(value) : fmt::format("{:.4g}", value));
        } else {
          report.add(field.name, value, field.label, value);
        }
      },
      field.value);
}

std::string journal_words(const StoreInfo& info) {
  return fmt::format("{} not in the file yet, {}, {}",
                     counted(info.recovery.changes_replayed, "change that is", "changes that are"),
                     counted(info.journal_records, "record"), human_bytes(info.journal_bytes));
}

std::string open_words(const StoreInfo& info) {
  if (info.writer != 0) {
    return fmt::format("by process {}", info.writer);
  }
  return "by a writer that is running or was killed; the next writer, or mankai recover, closes it";
}

}  // namespace

Report report_on(const AnyFilter& filter, const std::string& file) {
  const FilterInfo info = filter.describe();
  const std::string kind(description_of(info.kind).name);
  const bool expires = description_of(info.kind).forgets && !description_of(info.kind).has_ttl;
  Report report;
  report.add("file", file, "file", file);
  report.add("kind", kind, "kind", kind);
  report.add("format_version", std::uint64_t{info.format_version}, "format version",
             std::to_string(info.format_version));
  report.add("bytes", info.image_bytes, "size",
             fmt::format("{} ({} bytes)", human_bytes(info.image_bytes), human_count(info.image_bytes)));
  report.add("keys_inserted", info.keys_inserted, "keys inserted",
             human_count(info.keys_inserted) + (expires ? ", expired keys included" : ""));
  report.add("keys_estimate", info.keys_estimate, "keys, estimated", human_estimate(info.keys_estimate));
  report.add("capacity_keys", info.capacity_keys, "capacity",
             fmt::format("{} at a false-positive rate of {}", counted(info.capacity_keys, "key"),
                         human_share(info.fpr_target)));
  const double keys_now = expires ? info.keys_estimate : static_cast<double>(info.keys_inserted);
  report.add("over_capacity", keys_now > static_cast<double>(info.capacity_keys));
  report.add("fpr_target", info.fpr_target);
  report.add("fpr_estimate", info.fpr_estimate, "false-positive rate", human_share(info.fpr_estimate));
  report.add("fpr_formula", std::string(info.fpr_formula), "  estimated as", std::string(info.fpr_formula));
  report.add("fill_ratio", info.fill_ratio, "cells set", human_share(info.fill_ratio));
  report.add("hash", std::string(name(info.hash)), "hash", hash_words(info.hash));
  report.add("canonical_version", std::uint64_t{info.canonical_version}, info.canonical_version == 0 ? "" : "keys",
             fmt::format("canonical URLs, version {}", info.canonical_version));
  report.add("cell_count", info.cell_count, "cells", human_count(info.cell_count));
  report.add("cells_bytes", info.cells_bytes);
  for (const InfoField& field : info.fields) {
    add_field(field, report);
  }
  report.add("probes_per_key", std::uint64_t{info.probes_per_key}, "probes per key",
             std::to_string(info.probes_per_key));
  report.add("lines_per_key", info.lines_per_key, "cache lines per key", fmt::format("{:.3g}", info.lines_per_key));
  report.add("bits_per_key", static_cast<double>(info.cells_bytes) * 8 / static_cast<double>(info.capacity_keys),
             "bits per key",
             fmt::format("{:.2f} when full",
                         static_cast<double>(info.cells_bytes) * 8 / static_cast<double>(info.capacity_keys)));
  return report;
}

std::string capacity_warning(std::uint64_t keys, std::uint64_t capacity) {
  if (keys <= capacity) {
    return "";
  }
  return fmt::format("{} in a filter for {}: the false-positive rate is higher than requested", counted(keys, "key"),
                     human_count(capacity));
}

bool takes_every_key(const AnyFilter& filter) {
  const KindDescription& info = filter.kind();
  return info.can_count || info.forgets;
}

namespace {

// Kinds that grow have no capacity, nor have those in which new keys replace old ones.
bool has_capacity(const AnyFilter& filter) {
  const KindDescription& info = filter.kind();
  return !info.can_grow && (!info.forgets || info.has_time);
}

// Distinct keys, which fill a filter: kinds that count insert a repeated key again, but their estimate counts it once.
std::uint64_t distinct_keys(const AnyFilter& filter) {
  const std::uint64_t keys = filter.keys_inserted();
  if (keys <= filter.capacity_keys() || !takes_every_key(filter)) {
    return keys;
  }
  const double estimate = filter.describe().keys_estimate;
  return estimate < static_cast<double>(keys) ? static_cast<std::uint64_t>(estimate) : keys;
}

}  // namespace

std::string capacity_warning(const AnyFilter& filter) {
  // Each epoch of a window has a share of the capacity; while other epochs have less, the rate may still be as
  // requested.
  const auto* const rotating = filter.as<RotatingBloom>();
  if (rotating != nullptr && rotating->keys_of_epoch() > rotating->epoch_capacity_keys() &&
      rotating->fpr_estimate() > rotating->fpr_target()) {
    return fmt::format("{} within {} in a filter for {}: the false-positive rate is higher than requested",
                       counted(rotating->keys_of_epoch(), "key"), to_text(rotating->epoch()),
                       human_count(rotating->epoch_capacity_keys()));
  }
  return has_capacity(filter) ? capacity_warning(distinct_keys(filter), filter.capacity_keys()) : "";
}

std::string dropped_bytes(std::uint64_t bytes) {
  return bytes == 0 ? "an unknown number of bytes" : counted(bytes, "byte");
}

std::string dropped_words(const RecoveryReport& recovery) {
  return recovery.reason.empty()
             ? ""
             : fmt::format("{} at offset {} of the journal: {}", dropped_bytes(recovery.bytes_dropped),
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
