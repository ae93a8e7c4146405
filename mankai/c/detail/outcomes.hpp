#pragma once

/// Results of the library as the C interface's own.

#include <vector>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"

namespace mankai::c {

[[nodiscard]] inline mankai_count as_c(const KeyCount& count) noexcept { return {count.value, count.is_saturated}; }
[[nodiscard]] inline mankai_lately as_c(const DecayedCount& count) noexcept {
  return {count.raw, count.rate, count.is_saturated};
}
[[nodiscard]] inline mankai_value as_c(const ValueMatches& value) noexcept { return {value.value, value.matches}; }

// One-byte enumerators may be written through a pointer to bytes.
static_assert(sizeof(EraseResult) == sizeof(mankai_erase_result));
static_assert(static_cast<int>(EraseResult::erased) == MANKAI_ERASED);
static_assert(static_cast<int>(EraseResult::absent) == MANKAI_ABSENT);
static_assert(static_cast<int>(EraseResult::ambiguous) == MANKAI_AMBIGUOUS);
static_assert(static_cast<int>(EraseResult::below_ids) == MANKAI_BELOW_IDS);
static_assert(static_cast<int>(EraseResult::stuck) == MANKAI_STUCK);

/// As use_at_once with results of erasing; the caller may want none (NULL).
template <class Use>
[[nodiscard]] Result<void> erase_at_once(const CheckedKeys& keys, mankai_erase_result* results, const Use& use) {
  std::vector<EraseResult> unwanted(results == nullptr ? keys.size() : 0);
  auto* wanted = results == nullptr ? unwanted.data() : reinterpret_cast<EraseResult*>(results);
  return use_at_once(keys, wanted, "results", EraseResult::absent, use);
}

/// Copies the entries, followed by their keys, into one block of memory; NULL if there are none.
[[nodiscard]] mankai_top_entry* entries_for_caller(const std::vector<DecayedTop::Entry>& top);

/// Writes the result of mankai_top and similar functions; `rank()` returns the entries.
template <class Rank>
[[nodiscard]] Result<void> write_entries(const Rank& rank, mankai_top_entry** entries, std::size_t* count) {
  MANKAI_TRY(check_given(static_cast<const void*>(entries), "entries"));
  MANKAI_TRY(check_given(count, "count"));
  const std::vector<DecayedTop::Entry> top = rank();
  *entries = entries_for_caller(top);
  *count = top.size();
  return {};
}

}  // namespace mankai::c
