#include "mankai/c/detail/memory_filter.hpp"

#include <algorithm>
#include <mutex>

#include "mankai/filter/any_filter.hpp"

namespace mankai::c {

Result<void> MemoryFilter::check_use() const {
  return use_ == Use::change ? Result<void>()
                             : fail(ErrorCode::invalid_argument,
                                    "the filter is read-only; open its file for changes (mankai_open_file)");
}

template <class Encode, class OutcomesOf>
Result<void> MemoryFilter::change_windows(std::size_t count, const Encode& encode, const OutcomesOf& outcomes_of) {
  const std::scoped_lock lock(changing_);
  MANKAI_TRY(check_use());
  for (std::size_t start = 0; start < count; start += ChangeEncoder::kMaxKeys) {
    const std::size_t window = std::min(ChangeEncoder::kMaxKeys, count - start);
    const Result<Change> encoded = encode(start, window);
    if (!encoded) {
      return std::unexpected(encoded.error());
    }
    const std::scoped_lock alone(reading_);
    MANKAI_TRY(filter_.apply(*encoded, outcomes_of(start, window)));
  }
  return {};
}

namespace {

Outcomes no_outcomes(std::size_t /*start*/, std::size_t /*window*/) { return {}; }

}  // namespace

Result<void> MemoryFilter::insert(std::span<const std::string_view> keys) {
  return change_windows(
      keys.size(), [&](std::size_t start, std::size_t window) { return encoder_.insert(keys.subspan(start, window)); },
      no_outcomes);
}

Result<void> MemoryFilter::insert(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids) {
  return change_windows(
      keys.size(),
      [&](std::size_t start, std::size_t window) {
        return encoder_.insert(keys.subspan(start, window), ids.subspan(start, window));
      },
      no_outcomes);
}

Result<void> MemoryFilter::insert(std::span<const std::string_view> keys, std::span<const Time> times) {
  return change_windows(
      keys.size(),
      [&](std::size_t start, std::size_t window) {
        return encoder_.insert(keys.subspan(start, window), times.subspan(start, window));
      },
      no_outcomes);
}

Result<void> MemoryFilter::observe(std::span<const std::string_view> keys, std::span<bool> seen) {
  return change_windows(
      keys.size(), [&](std::size_t start, std::size_t window) { return encoder_.insert(keys.subspan(start, window)); },
      [&](std::size_t start, std::size_t window) { return Outcomes{.seen = seen.subspan(start, window)}; });
}

Result<void> MemoryFilter::erase(std::span<const std::string_view> keys, std::span<EraseResult> results) {
  return change_windows(
      keys.size(), [&](std::size_t start, std::size_t window) { return encoder_.erase(keys.subspan(start, window)); },
      [&](std::size_t start, std::size_t window) { return Outcomes{.erased = results.subspan(start, window)}; });
}

Result<void> MemoryFilter::erase(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids,
                                 std::span<EraseResult> results) {
  return change_windows(
      keys.size(),
      [&](std::size_t start, std::size_t window) {
        return encoder_.erase(keys.subspan(start, window), ids.subspan(start, window));
      },
      [&](std::size_t start, std::size_t window) { return Outcomes{.erased = results.subspan(start, window)}; });
}

Result<void> MemoryFilter::put(std::span<const std::string_view> keys, std::span<const std::uint32_t> values,
                               double strength) {
  return change_windows(
      keys.size(),
      [&](std::size_t start, std::size_t window) {
        return encoder_.put(keys.subspan(start, window), values.subspan(start, window), strength);
      },
      no_outcomes);
}

Result<void> MemoryFilter::advance(Time time) {
  return change_windows(
      1, [&](std::size_t /*start*/, std::size_t /*window*/) { return encoder_.advance(time); }, no_outcomes);
}

Result<void> MemoryFilter::merge(const AnyFilter& other) {
  const std::scoped_lock locks(changing_, reading_);
  auto usable = check_use();
  return usable ? filter_.merge(other) : usable;
}

Result<void> MemoryFilter::clear() {
  const std::scoped_lock locks(changing_, reading_);
  auto usable = check_use();
  if (usable) {
    filter_.clear();
  }
  return usable;
}

}  // namespace mankai::c
