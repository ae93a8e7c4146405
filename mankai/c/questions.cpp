#include <algorithm>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/filter_handle.hpp"
#include "mankai/c/detail/outcomes.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"

namespace mankai::c {
namespace {

// Queries keys window by window: `use(any, views, outcomes)` writes to the caller's array.
template <class T, class Use>
int ask_keys(const mankai_filter* filter, KeySource keys, T* outcomes, T absent, const Use& use) noexcept {
  return ask(filter, [&](const AnyFilter& any) {
    return use_in_windows(keys, outcomes, "the array of outcomes", absent,
                          [&](auto views, std::span<T> filled) { return use(any, views, filled); });
  });
}

int may_contain_each(const mankai_filter* filter, KeySource keys, bool* outcomes) noexcept {
  return ask_keys(filter, keys, outcomes, false, [](const AnyFilter& any, auto views, std::span<bool> filled) {
    any.may_contain(views, filled);
    return Result<void>();
  });
}

template <class Count, class CCount>
int count_each(const mankai_filter* filter, KeySource keys, CCount* counts) noexcept {
  return ask_keys(filter, keys, counts, CCount(),
                  [&](const AnyFilter& any, auto views, std::span<CCount> filled) -> Result<void> {
                    Window<Count> window;
                    const std::span counted(window.first(views.size()), views.size());
                    MANKAI_TRY(any.count(views, counted));
                    std::ranges::transform(counted, filled.begin(), [](const Count& one) { return as_c(one); });
                    return {};
                  });
}

template <class Count, class CCount>
int count_of_one(const mankai_filter* filter, const void* key, std::size_t bytes, CCount* count) noexcept {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(count, "count"));
    Count counted;
    MANKAI_TRY(any.count({&view, 1}, {&counted, 1}));
    *count = as_c(counted);
    return {};
  });
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
          .takes_values = kind.key_shape == KeyShape::valued,
          .can_grow = kind.can_grow,
          .canonical_version = filter.canonical_version(),
          .hash = name(spec.hash).data()};  // NOLINT(bugprone-suspicious-stringview-data-usage): as kind
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_may_contain(const mankai_filter* filter, const mankai_key* keys, size_t count, bool* outcomes) {
  return may_contain_each(filter, KeySource(keys, count), outcomes);
}

int mankai_may_contain_one(const mankai_filter* filter, const void* key, size_t bytes, bool* outcome) {
  if (!is_usable(filter) || !is_key(key, bytes) || outcome == nullptr) [[unlikely]] {
    const mankai_key one{key, bytes};
    return mankai_may_contain(filter, &one, 1, outcome);
  }
  // A Result would cost as much as the answer.
  try {
    filter->read([&](const AnyFilter& any) { *outcome = any.may_contain({static_cast<const char*>(key), bytes}); });
    return MANKAI_OK;
  } catch (...) {
    return note_exception();
  }
}

int mankai_may_contain_packed(const mankai_filter* filter, const mankai_packed* keys, bool* outcomes) {
  return may_contain_each(filter, KeySource(keys), outcomes);
}

int mankai_counts(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_count* counts) {
  return count_each<KeyCount>(filter, KeySource(keys, count), counts);
}

int mankai_count_one(const mankai_filter* filter, const void* key, size_t bytes, mankai_count* count) {
  return count_of_one<KeyCount>(filter, key, bytes, count);
}

int mankai_counts_packed(const mankai_filter* filter, const mankai_packed* keys, mankai_count* counts) {
  return count_each<KeyCount>(filter, KeySource(keys), counts);
}

int mankai_counts_lately(const mankai_filter* filter, const mankai_key* keys, size_t count, mankai_lately* counts) {
  return count_each<DecayedCount>(filter, KeySource(keys, count), counts);
}

int mankai_count_one_lately(const mankai_filter* filter, const void* key, size_t bytes, mankai_lately* count) {
  return count_of_one<DecayedCount>(filter, key, bytes, count);
}

int mankai_recall(const mankai_filter* filter, const void* key, size_t bytes, uint32_t min_matches,
                  mankai_value* values, size_t room, size_t* count) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(count, "count"));
    MANKAI_TRY(check_array(values, room, "values"));
    MANKAI_ASSIGN(const auto recalled, any.recall(view, min_matches));
    *count = std::min(room, recalled.size());
    std::transform(recalled.begin(), recalled.begin() + static_cast<std::ptrdiff_t>(*count), values,
                   [](const ValueMatches& value) { return as_c(value); });
    return {};
  });
}

int mankai_top(const mankai_filter* filter, size_t most, mankai_top_entry** entries, size_t* count) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(entries), "entries"));
    const auto* ranked = any.as<DecayedTop>();
    if (ranked == nullptr) {
      return fail(ErrorCode::invalid_argument,
                  "a filter of kind " + std::string(any.kind().name) +
                      " stores no names of keys; these do: " + std::string(DecayedTop::kName));
    }
    return write_entries([&] { return ranked->top(most); }, entries, count);
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
    *spec = text_for_caller(to_string(any.spec()));
    return {};
  });
}
