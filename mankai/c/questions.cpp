#include <algorithm>
#include <cstring>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"

namespace mankai::c {
namespace {

// Queries keys window by window: `use(any, start, views)` writes to the caller's array.
template <class Use>
int ask_keys(const mankai_filter* filter, const mankai_key* keys, std::size_t count, const void* outcomes,
             const Use& use) noexcept {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_keys(keys, count));
    MANKAI_TRY(check_array(outcomes, count, "the array of outcomes"));
    return for_each_key_window(keys, count, [&](std::size_t start, std::span<const std::string_view> views) {
      return use(any, start, views);
    });
  });
}

mankai_count as_c(const KeyCount& count) noexcept { return {count.value, count.is_saturated}; }
mankai_lately as_c(const DecayedCount& count) noexcept { return {count.raw, count.rate, count.is_saturated}; }
mankai_value as_c(const ValueMatches& value) noexcept { return {value.value, value.matches}; }

template <class Count, class CCount>
int count_each(const mankai_filter* filter, const mankai_key* keys, std::size_t count, CCount* counts) noexcept {
  return ask_keys(filter, keys, count, counts,
                  [&](const AnyFilter& any, std::size_t start, auto views) -> Result<void> {
                    std::array<Count, kQuestionWindow> window;
                    const auto counted = std::span(window).first(views.size());
                    MANKAI_TRY(any.count(views, counted));
                    std::ranges::transform(counted, counts + start, [](const Count& one) { return as_c(one); });
                    return {};
                  });
}

// Copies the entries, followed by their keys, into one block of memory.
mankai_top_entry* copy_of(const std::vector<DecayedTop::Entry>& top) {
  std::size_t key_bytes = 0;
  for (const auto& entry : top) {
    key_bytes += entry.key.size();
  }
  void* memory = allocate_for_caller(top.size() * sizeof(mankai_top_entry) + key_bytes);
  auto* entries = static_cast<mankai_top_entry*>(memory);
  char* key = static_cast<char*>(memory) + top.size() * sizeof(mankai_top_entry);
  for (std::size_t i = 0; i < top.size(); ++i) {
    const auto& from = top[i];
    std::ranges::copy(from.key, key);
    new (entries + i) mankai_top_entry{.key = key,
                                       .bytes = from.key.size(),
                                       .count = as_c(from.count),
                                       .last_seen_us = from.last_seen.time_since_epoch().count(),
                                       .is_cut = from.is_cut};
    key += from.key.size();
  }
  return entries;
}

std::int64_t time_of(const AnyFilter& filter) {
  const auto time = filter.time();
  return time ? time->time_since_epoch().count() : 0;
}

mankai_info info_of(const AnyFilter& filter, bool is_in_file) {
  const FilterSpec spec = filter.spec();
  const KindDescription& kind = filter.kind();
  return {.size = sizeof(mankai_info),
          .kind = kind.name.data(),  // NOLINT(bugprone-suspicious-stringview-data-usage): a literal, closed by a zero
          .capacity_keys = filter.capacity_keys(),
          .keys_inserted = filter.keys_inserted(),
          .image_bytes = filter.image_bytes(),
          .fpr_target = spec.fpr,
          .time_us = time_of(filter),
          .is_in_file = is_in_file,
          .has_time = kind.has_time,
          .can_erase = kind.can_erase,
          .can_count = kind.can_count,
          .takes_ids = kind.key_shape == KeyShape::numbered,
          .takes_values = kind.key_shape == KeyShape::valued};
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_may_contain(const mankai_filter* filter, const mankai_key* keys, size_t count, bool* outcomes) {
  return ask_keys(filter, keys, count, outcomes, [&](const AnyFilter& any, std::size_t start, auto views) {
    any.may_contain(views, std::span(outcomes + start, views.size()));
    return Result<void>();
  });
}

int mankai_may_contain_one(const mankai_filter* filter, const void* key, size_t bytes, bool* outcome) {
  const mankai_key one{key, bytes};
  return mankai_may_contain(filter, &one, 1, outcome);
}

int mankai_counts(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_count* counts) {
  return count_each<KeyCount>(filter, keys, count, counts);
}

int mankai_count_one(const mankai_filter* filter, const void* key, size_t bytes, mankai_count* count) {
  const mankai_key one{key, bytes};
  return mankai_counts(filter, &one, 1, count);
}

int mankai_counts_lately(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_lately* counts) {
  return count_each<DecayedCount>(filter, keys, count, counts);
}

int mankai_count_one_lately(const mankai_filter* filter, const void* key, size_t bytes, mankai_lately* count) {
  const mankai_key one{key, bytes};
  return mankai_counts_lately(filter, &one, 1, count);
}

int mankai_recall(const mankai_filter* filter, const void* key, size_t bytes, uint32_t min_matches,
                  mankai_value* values, size_t room, size_t* count) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    const mankai_key one{key, bytes};
    MANKAI_TRY(check_keys(&one, 1));
    MANKAI_TRY(check_given(count, "count"));
    MANKAI_TRY(check_array(values, room, "values"));
    MANKAI_ASSIGN(const auto recalled, any.recall(view_of(one), min_matches));
    *count = std::min(room, recalled.size());
    std::transform(recalled.begin(), recalled.begin() + static_cast<std::ptrdiff_t>(*count), values,
                   [](const ValueMatches& value) { return as_c(value); });
    return {};
  });
}

int mankai_top(const mankai_filter* filter, size_t most, mankai_top_entry** entries, size_t* count) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(entries), "entries"));
    MANKAI_TRY(check_given(count, "count"));
    const auto* ranked = any.as<DecayedTop>();
    if (ranked == nullptr) {
      return fail(ErrorCode::invalid_argument,
                  "a filter of kind " + std::string(any.kind().name) +
                      " stores no names of keys; these do: " + std::string(DecayedTop::kName));
    }
    const auto top = ranked->top(most);
    *entries = top.empty() ? nullptr : copy_of(top);
    *count = top.size();
    return {};
  });
}

int mankai_get_info(const mankai_filter* filter, mankai_info* info) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    return write_sized(info_of(any, std::holds_alternative<Store>(filter->body)), info, "info");
  });
}

int mankai_estimate(const mankai_filter* filter, mankai_estimates* estimates) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    const FilterInfo described = any.describe();
    return write_sized(mankai_estimates{.size = sizeof(mankai_estimates),
                                        .fill_ratio = described.fill_ratio,
                                        .fpr_estimate = described.fpr_estimate,
                                        .keys_estimate = described.keys_estimate},
                       estimates, "estimates");
  });
}

int mankai_spec(const mankai_filter* filter, char** spec) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(spec), "spec"));
    const std::string text = to_string(any.spec());
    *spec = static_cast<char*>(allocate_for_caller(text.size() + 1));
    std::memcpy(*spec, text.c_str(), text.size() + 1);
    return {};
  });
}
