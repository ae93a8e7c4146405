#pragma once

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/c/detail/errors.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/store/store.hpp"

namespace mankai::c {

/// A filter in memory with the operations of a Store, and the same errors. Threads: one change at a time, concurrent
/// with queries.
class MemoryFilter {
 public:
  using Keys = std::span<const std::string_view>;
  using Ids = std::span<const std::uint64_t>;
  /// A filter opened for queries refuses changes, because nothing would store them.
  enum class Use : std::uint8_t { change, query };

  MemoryFilter(AnyFilter filter, Use use) : filter_(std::move(filter)), encoder_(filter_), use_(use) {}
  MemoryFilter(const MemoryFilter&) = delete;
  MemoryFilter& operator=(const MemoryFilter&) = delete;
  MemoryFilter(MemoryFilter&&) = delete;
  MemoryFilter& operator=(MemoryFilter&&) = delete;
  ~MemoryFilter() = default;

  template <class Ask>
  void read(const Ask& ask) const {
    const std::shared_lock lock(reading_);
    ask(filter_);
  }

  Result<void> insert(Keys keys) {
    return change(keys.size(), {}, [&](auto begin, auto count) { return encoder_.insert(keys.subspan(begin, count)); });
  }
  template <class Value>
  Result<void> insert(Keys keys, std::span<Value> each) {
    return change(keys.size(), {}, [&](auto begin, auto count) {
      return encoder_.insert(keys.subspan(begin, count), each.subspan(begin, count));
    });
  }
  Result<void> observe(Keys keys, std::span<bool> seen) {
    return change(keys.size(), {.seen = seen},
                  [&](auto begin, auto count) { return encoder_.insert(keys.subspan(begin, count)); });
  }
  Result<void> erase(Keys keys, std::span<EraseResult> results) {
    return change(keys.size(), {.erased = results},
                  [&](auto begin, auto count) { return encoder_.erase(keys.subspan(begin, count)); });
  }
  Result<void> erase(Keys keys, Ids ids, std::span<EraseResult> results) {
    return change(keys.size(), {.erased = results}, [&](auto begin, auto count) {
      return encoder_.erase(keys.subspan(begin, count), ids.subspan(begin, count));
    });
  }
  Result<void> put(Keys keys, std::span<const std::uint32_t> values, double strength) {
    return change(keys.size(), {}, [&](auto begin, auto count) {
      return encoder_.put(keys.subspan(begin, count), values.subspan(begin, count), strength);
    });
  }
  Result<void> advance(Time time) {
    return change(1, {}, [&](auto /*begin*/, auto /*count*/) { return encoder_.advance(time); });
  }
  Result<void> merge(const AnyFilter& other) {
    const std::scoped_lock locks(changing_, reading_);
    MANKAI_TRY(check_use());
    return filter_.merge(other);
  }
  Result<void> clear() {
    const std::scoped_lock locks(changing_, reading_);
    MANKAI_TRY(check_use());
    filter_.clear();
    return {};
  }

 private:
  [[nodiscard]] Result<void> check_use() const {
    if (use_ == Use::query) {
      return fail(ErrorCode::invalid_argument,
                  "the filter is open for queries only: open its file with mankai_open_file to change it");
    }
    return {};
  }

  /// Applies the changes that `encode(begin, count)` returns, window by window. Outcomes are empty or have one element
  /// per key.
  template <class Encode>
  Result<void> change(std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
    const std::scoped_lock lock(changing_);
    MANKAI_TRY(check_use());
    for (std::size_t begin = 0; begin < keys; begin += ChangeEncoder::kMaxKeys) {
      const std::size_t count = std::min(ChangeEncoder::kMaxKeys, keys - begin);
      MANKAI_ASSIGN(const Change encoded, encode(begin, count));
      const std::scoped_lock alone(reading_);
      MANKAI_TRY(filter_.apply(encoded, outcomes.part(begin, count)));
    }
    return {};
  }

  std::mutex changing_;                ///< held for a whole batch
  mutable std::shared_mutex reading_;  ///< held for one window of a batch, so that queries wait less
  AnyFilter filter_;
  ChangeEncoder encoder_;
  Use use_;
};

}  // namespace mankai::c

/// The handle of the C interface. It never moves.
struct mankai_filter {  // NOLINT(readability-identifier-naming): C's name for it
  template <class Body, class... Arguments>
  explicit mankai_filter(std::in_place_type_t<Body> type, Arguments&&... arguments)
      : body(type, std::forward<Arguments>(arguments)...) {}

  std::variant<mankai::c::MemoryFilter, mankai::Store> body;
};

namespace mankai::c {

/// Runs a change: `use(target)`, where the target is a MemoryFilter or a Store.
template <class Use>
[[nodiscard]] int change(mankai_filter* filter, const Use& use) noexcept {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(filter, "filter"));
    return std::visit(use, filter->body);
  });
}

/// Runs a query, `use(any)`, concurrently with changes.
template <class Use>
[[nodiscard]] int ask(const mankai_filter* filter, const Use& use) noexcept {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(filter, "filter"));
    Result<void> outcome;
    std::visit([&](const auto& body) { body.read([&](const AnyFilter& any) { outcome = use(any); }); }, filter->body);
    return outcome;
  });
}

}  // namespace mankai::c
