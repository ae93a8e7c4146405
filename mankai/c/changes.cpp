#include <mutex>
#include <optional>
#include <vector>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/filter_handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/detail/outcomes.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {
namespace {

// `use(target, keys)` changes the filter. Other arrays have one element per key.
template <class Use>
int change_keys(mankai_filter* filter, KeySource source, const Use& use) noexcept {
  return change(filter, [&](auto& target) -> Result<void> {
    MANKAI_ASSIGN(const auto keys, source.checked());
    return use(target, keys);
  });
}

template <class Use>
int change_key(mankai_filter* filter, const void* key, std::size_t bytes, const Use& use) noexcept {
  return change(filter, [&](auto& target) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    return use(target, std::span(&view, 1));
  });
}

template <class Element>
std::span<Element> array_of(Element* elements, std::size_t count) noexcept {
  return {elements, count};
}

int insert_keys(mankai_filter* filter, KeySource source) noexcept {
  return change_keys(filter, source,
                     [](auto& target, const CheckedKeys& keys) { return target.insert(KeyViews(keys).views()); });
}

int insert_keys_at(mankai_filter* filter, KeySource source, const std::int64_t* times_us) noexcept {
  return change_keys(filter, source, [&](auto& target, const CheckedKeys& keys) -> Result<void> {
    MANKAI_TRY(check_array(times_us, keys.size(), "times_us"));
    const std::vector<Time> times = keys.times(times_us);
    return target.insert(KeyViews(keys).views(), std::span<const Time>(times));
  });
}

int insert_keys_with_ids(mankai_filter* filter, KeySource source, const std::uint64_t* ids) noexcept {
  return change_keys(filter, source, [&](auto& target, const CheckedKeys& keys) -> Result<void> {
    MANKAI_TRY(check_array(ids, keys.size(), "ids"));
    const std::vector<std::uint64_t> kept = keys.ids(ids);
    return target.insert(KeyViews(keys).views(), std::span<const std::uint64_t>(kept));
  });
}

int observe_keys(mankai_filter* filter, KeySource source, bool* seen) noexcept {
  return change_keys(filter, source, [&](auto& target, const CheckedKeys& keys) {
    return use_at_once(keys, seen, "seen", false,
                       [&](auto views, std::span<bool> outcomes) { return target.observe(views, outcomes); });
  });
}

int erase_keys(mankai_filter* filter, KeySource source, mankai_erase_result* results,
               std::optional<const std::uint64_t*> ids = std::nullopt) noexcept {
  return change_keys(filter, source, [&](auto& target, const CheckedKeys& keys) -> Result<void> {
    MANKAI_TRY(check_array(ids.value_or(nullptr), ids ? keys.size() : 0, "ids"));
    return erase_at_once(keys, results, [&](auto views, std::span<EraseResult> outcomes) -> Result<void> {
      if (!ids) {
        return target.erase(views, outcomes);
      }
      const std::vector<std::uint64_t> kept = keys.ids(*ids);
      return target.erase(views, std::span<const std::uint64_t>(kept), outcomes);
    });
  });
}

// Two merges in opposite directions would deadlock on each other's filters.
std::mutex one_merge;

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_insert(mankai_filter* filter, const mankai_key* keys, size_t count) {
  return insert_keys(filter, KeySource(keys, count));
}

int mankai_insert_one(mankai_filter* filter, const void* key, size_t bytes) {
  bool seen = false;
  return mankai_observe_one(filter, key, bytes, &seen);
}

int mankai_insert_packed(mankai_filter* filter, const mankai_packed* keys) {
  return insert_keys(filter, KeySource(keys));
}

int mankai_insert_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count) {
  return insert_keys_with_ids(filter, KeySource(keys, count), ids);
}

int mankai_insert_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id) {
  return change_key(filter, key, bytes, [&](auto& target, auto views) {
    return target.insert(views, std::span<const std::uint64_t>(&id, 1));
  });
}

int mankai_insert_packed_with_ids(mankai_filter* filter, const mankai_packed* keys, const uint64_t* ids) {
  return insert_keys_with_ids(filter, KeySource(keys), ids);
}

int mankai_insert_at(mankai_filter* filter, const mankai_key* keys, const int64_t* times_us, size_t count) {
  return insert_keys_at(filter, KeySource(keys, count), times_us);
}

int mankai_insert_one_at(mankai_filter* filter, const void* key, size_t bytes, int64_t time_us) {
  const Time time = time_of_us(time_us);
  return change_key(filter, key, bytes,
                    [&](auto& target, auto views) { return target.insert(views, std::span<const Time>(&time, 1)); });
}

int mankai_insert_packed_at(mankai_filter* filter, const mankai_packed* keys, const int64_t* times_us) {
  return insert_keys_at(filter, KeySource(keys), times_us);
}

int mankai_observe(mankai_filter* filter, const mankai_key* keys, size_t count, bool* seen) {
  return observe_keys(filter, KeySource(keys, count), seen);
}

int mankai_observe_one(mankai_filter* filter, const void* key, size_t bytes, bool* seen) {
  return change_key(filter, key, bytes, [&](auto& target, auto views) -> Result<void> {
    MANKAI_TRY(check_given(seen, "seen"));
    if constexpr (std::is_same_v<decltype(target), MemoryFilter&>) {
      MANKAI_ASSIGN(*seen, target.observe(views.front()));
      return {};
    } else {
      return target.observe(views, array_of(seen, 1));
    }
  });
}

int mankai_observe_packed(mankai_filter* filter, const mankai_packed* keys, bool* seen) {
  return observe_keys(filter, KeySource(keys), seen);
}

int mankai_erase(mankai_filter* filter, const mankai_key* keys, size_t count, mankai_erase_result* results) {
  return erase_keys(filter, KeySource(keys, count), results);
}

int mankai_erase_one(mankai_filter* filter, const void* key, size_t bytes, mankai_erase_result* result) {
  const mankai_key one{key, bytes};
  return mankai_erase(filter, &one, 1, result);
}

int mankai_erase_packed(mankai_filter* filter, const mankai_packed* keys, mankai_erase_result* results) {
  return erase_keys(filter, KeySource(keys), results);
}

int mankai_erase_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count,
                          mankai_erase_result* results) {
  return erase_keys(filter, KeySource(keys, count), results, ids);
}

int mankai_erase_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id,
                             mankai_erase_result* result) {
  const mankai_key one{key, bytes};
  return mankai_erase_with_ids(filter, &one, &id, 1, result);
}

int mankai_erase_packed_with_ids(mankai_filter* filter, const mankai_packed* keys, const uint64_t* ids,
                                 mankai_erase_result* results) {
  return erase_keys(filter, KeySource(keys), results, ids);
}

int mankai_put(mankai_filter* filter, const mankai_key* keys, const uint32_t* values, size_t count, double strength) {
  return change_keys(filter, KeySource(keys, count), [&](auto& target, const CheckedKeys& checked) -> Result<void> {
    MANKAI_TRY(check_array(values, count, "values"));
    return target.put(KeyViews(checked).views(), array_of(values, count), strength);
  });
}

int mankai_put_one(mankai_filter* filter, const void* key, size_t bytes, uint32_t value, double strength) {
  const mankai_key one{key, bytes};
  return mankai_put(filter, &one, &value, 1, strength);
}

int mankai_advance(mankai_filter* filter, int64_t time_us) {
  return change(filter, [&](auto& target) { return target.advance(time_of_us(time_us)); });
}

int mankai_merge(mankai_filter* filter, const mankai_filter* other) {
  if (other != nullptr && !is_usable(other)) {
    return refuse_handle(other, HandleType::filter);
  }
  return with_handle(filter, [&](mankai_filter& into) -> Result<void> {
    MANKAI_TRY(check_given(other, "other"));
    if (filter == other) {
      return fail(ErrorCode::invalid_argument, "a filter cannot be merged with itself");
    }
    const std::scoped_lock lock(one_merge);
    return std::visit(
        [](auto& target, const auto& from) {
          Result<void> merged;
          from.read([&](const AnyFilter& any) { merged = target.merge(any); });
          return merged;
        },
        into.body, other->body);
  });
}

int mankai_clear(mankai_filter* filter) {
  return change(filter, [](auto& target) { return target.clear(); });
}
