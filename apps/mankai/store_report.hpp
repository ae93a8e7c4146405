#pragma once

#include "apps/mankai/report.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {

/// Returns all facts about a filter except its seed, which may be secret.
[[nodiscard]] Report report_on(const AnyFilter& filter, const std::string& file);

/// Returns the warning for a filter with more keys than its capacity; otherwise empty.
[[nodiscard]] std::string capacity_warning(std::uint64_t keys, std::uint64_t capacity);
/// The same of a filter; empty for kinds without a capacity.
[[nodiscard]] std::string capacity_warning(const AnyFilter& filter);

/// Kinds that count, and those whose keys expire, change with every key, also with a known one.
[[nodiscard]] bool takes_every_key(const AnyFilter& filter);

void add_recovery(const RecoveryReport& recovery, Report& report);
void add_position(const SourcePosition& position, Report& report);
/// Adds all facts about a store except those of its filter.
void add_store(const StoreInfo& info, Report& report);

/// How many bytes of a journal were dropped for a reason; 0 if it was truncated between two records.
[[nodiscard]] std::string dropped_bytes(std::uint64_t bytes);

/// Describes the bytes dropped from the journal's end; empty if none were.
[[nodiscard]] std::string dropped_words(const RecoveryReport& recovery);

/// Warns if opening the file dropped bytes of its journal.
void warn_of_loss(const std::string& file, const RecoveryReport& recovery);

}  // namespace mankai::command
