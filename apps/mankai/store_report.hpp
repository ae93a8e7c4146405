#pragma once

#include "apps/mankai/report.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {

/// Everything that there is to say about a filter; its seed, which may be a secret, is not.
[[nodiscard]] Report report_on(const AnyFilter& filter, const std::string& file);

/// The warning about a filter that holds more keys than it was made for, or nothing.
[[nodiscard]] std::string capacity_warning(std::uint64_t keys, std::uint64_t capacity);

/// Adds what was replayed and dropped.
void add_recovery(const RecoveryReport& recovery, Report& report);
/// Adds where the source of a store's changes stands.
void add_position(const SourcePosition& position, Report& report);
/// Adds everything that there is to say about a store besides its filter.
void add_store(const StoreInfo& info, Report& report);

/// What a journal's end has lost, in a few words; empty where nothing was dropped.
[[nodiscard]] std::string dropped_words(const RecoveryReport& recovery);

/// Says on stderr what opening a file dropped, if anything: whoever goes on without it should know.
void warn_of_loss(const std::string& file, const RecoveryReport& recovery);

}  // namespace mankai::command
