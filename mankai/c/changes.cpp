#include <mutex>
#include <vector>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {
namespace {

// `use(target, views)` changes the filter. Other arrays have one element per key.
template <class Use>
int change_keys(mankai_filter* filter, const mankai_key* keys, std::size_t count, const Use& use) noexcept {
  return change(filter, [&](auto& target) -> Result<void> {
    MANKAI_TRY(check_keys(keys, count));
    const KeyViews views(keys, count);
    return use(target, views.views());
  });
}

template <class Element>
std::span<Element> array_of(Element* elements, std::size_t count) noexcept {
  return {elements, count};
}

// One-byte enumerators may be written through a pointer to bytes.
static_assert(sizeof(EraseResult) == sizeof(mankai_erase_result));
static_assert(static_cast<int>(EraseResult::erased) == MANKAI_ERASED);
static_assert(static_cast<int>(EraseResult::absent) == MANKAI_ABSENT);
static_assert(static_cast<int>(EraseResult::ambiguous) == MANKAI_AMBIGUOUS);
static_assert(static_cast<int>(EraseResult::below_ids) == MANKAI_BELOW_IDS);
static_assert(static_cast<int>(EraseResult::stuck) == MANKAI_STUCK);

template <class Use>
int erase_keys(mankai_filter* filter, const mankai_key* keys, std::size_t count, mankai_erase_result* results,
               const Use& use) noexcept {
  return change_keys(filter, keys, count, [&](auto& target, std::span<const std::string_view> views) {
    std::vector<EraseResult> unwanted(results == nullptr ? count : 0);
    auto* wanted = reinterpret_cast<EraseResult*>(results);
    return use(target, views, array_of(results == nullptr ? unwanted.data() : wanted, count));
  });
}

// Two merges in opposite directions would deadlock on each other's filters.
std::mutex one_merge;

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_insert(mankai_filter* filter, const mankai_key* keys, size_t count) {
  return change_keys(filter, keys, count, [](auto& target, auto views) { return target.insert(views); });
}

int mankai_insert_one(mankai_filter* filter, const void* key, size_t bytes) {
  const mankai_key one{key, bytes};
  return mankai_insert(filter, &one, 1);
}

int mankai_insert_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count) {
  return change_keys(filter, keys, count, [&](auto& target, auto views) -> Result<void> {
    MANKAI_TRY(check_array(ids, count, "ids"));
    return target.insert(views, array_of(ids, count));
  });
}

int mankai_insert_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id) {
  const mankai_key one{key, bytes};
  return mankai_insert_with_ids(filter, &one, &id, 1);
}

int mankai_insert_at(mankai_filter* filter, const mankai_key* keys, const int64_t* times_us, size_t count) {
  return change_keys(filter, keys, count, [&](auto& target, auto views) -> Result<void> {
    MANKAI_TRY(check_array(times_us, count, "times_us"));
    std::vector<Time> times(count);
    std::transform(times_us, times_us + count, times.begin(), [](int64_t time) { return Time(Duration(time)); });
    return target.insert(views, std::span<const Time>(times));
  });
}

int mankai_insert_one_at(mankai_filter* filter, const void* key, size_t bytes, int64_t time_us) {
  const mankai_key one{key, bytes};
  return mankai_insert_at(filter, &one, &time_us, 1);
}

int mankai_observe(mankai_filter* filter, const mankai_key* keys, size_t count, bool* seen) {
  return change_keys(filter, keys, count, [&](auto& target, auto views) -> Result<void> {
    MANKAI_TRY(check_array(seen, count, "seen"));
    return target.observe(views, array_of(seen, count));
  });
}

int mankai_observe_one(mankai_filter* filter, const void* key, size_t bytes, bool* seen) {
  const mankai_key one{key, bytes};
  return mankai_observe(filter, &one, 1, seen);
}

int mankai_erase(mankai_filter* filter, const mankai_key* keys, size_t count, mankai_erase_result* results) {
  return erase_keys(filter, keys, count, results,
                    [](auto& target, auto views, auto outcomes) { return target.erase(views, outcomes); });
}

int mankai_erase_one(mankai_filter* filter, const void* key, size_t bytes, mankai_erase_result* result) {
  const mankai_key one{key, bytes};
  return mankai_erase(filter, &one, 1, result);
}

int mankai_erase_with_ids(mankai_filter* filter, const mankai_key* keys, const uint64_t* ids, size_t count,
                          mankai_erase_result* results) {
  return erase_keys(filter, keys, count, results, [&](auto& target, auto views, auto outcomes) -> Result<void> {
    MANKAI_TRY(check_array(ids, count, "ids"));
    return target.erase(views, array_of(ids, count), outcomes);
  });
}

int mankai_erase_one_with_id(mankai_filter* filter, const void* key, size_t bytes, uint64_t id,
                             mankai_erase_result* result) {
  const mankai_key one{key, bytes};
  return mankai_erase_with_ids(filter, &one, &id, 1, result);
}

int mankai_put(mankai_filter* filter, const mankai_key* keys, const uint32_t* values, size_t count, double strength) {
  return change_keys(filter, keys, count, [&](auto& target, auto views) -> Result<void> {
    MANKAI_TRY(check_array(values, count, "values"));
    return target.put(views, array_of(values, count), strength);
  });
}

int mankai_put_one(mankai_filter* filter, const void* key, size_t bytes, uint32_t value, double strength) {
  const mankai_key one{key, bytes};
  return mankai_put(filter, &one, &value, 1, strength);
}

int mankai_advance(mankai_filter* filter, int64_t time_us) {
  return change(filter, [&](auto& target) { return target.advance(Time(Duration(time_us))); });
}

int mankai_merge(mankai_filter* filter, const mankai_filter* other) {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(filter, "filter"));
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
        filter->body, other->body);
  });
}

int mankai_clear(mankai_filter* filter) {
  return change(filter, [](auto& target) { return target.clear(); });
}
