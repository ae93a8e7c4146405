#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/c/detail/handle.hpp"
#include "mankai/c/detail/reader_lock.hpp"
#include "mankai/c/mankai.h"
#include "mankai/file/open_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/store.hpp"

namespace mankai::c {

/// What a handle for queries has read from a file.
struct ReadFilter {
  AnyFilter filter;
  FileIdentity identity;
  std::uint64_t sequence;
};

/// Where a handle for queries reads its filter.
struct FilterSource {
  std::string path;
  Trust trust;

  /// Errors: as open_filter.
  [[nodiscard]] Result<ReadFilter> read() const;
};

/// A filter in memory with the operations of a Store, and the same errors. Threads: one change at a time, concurrent
/// with queries.
class MemoryFilter {
 public:
  using Keys = std::span<const std::string_view>;
  using Ids = std::span<const std::uint64_t>;

  explicit MemoryFilter(AnyFilter filter)
      : filter_(std::move(filter)), encoder_(filter_), readers_need_lock_(!filter_.kind().has_lock_free_readers) {}
  /// Refuses changes, because nothing would store them.
  MemoryFilter(ReadFilter read, FilterSource source) : MemoryFilter(std::move(read.filter)) {
    source_ = std::move(source);
    identity_ = read.identity;
    sequence_ = read.sequence;
  }
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
  /// Returns whether the file has changed. Errors: invalid_argument for a filter that is not read from a file; as
  /// FilterSource::read.
  [[nodiscard]] Result<bool> refresh();

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
  Result<bool> observe(std::string_view key) {
    const std::scoped_lock lock(changing_);
    MANKAI_TRY(check_use());
    const auto alone = lock_out_readers();
    return filter_.observe(key);
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
    const std::scoped_lock lock(changing_);
    const std::unique_lock alone(reading_);
    MANKAI_TRY(check_use());
    return filter_.merge(other);
  }
  Result<void> clear() {
    const std::scoped_lock lock(changing_);
    const std::unique_lock alone(reading_);
    MANKAI_TRY(check_use());
    filter_.clear();
    return {};
  }

 private:
  [[nodiscard]] Result<void> check_use() const {
    if (source_) {
      return fail(ErrorCode::invalid_argument, "the filter is open for queries only; open its file for changes");
    }
    return {};
  }

  [[nodiscard]] std::unique_lock<ReaderLock> lock_out_readers() const {
    return readers_need_lock_ ? std::unique_lock(reading_) : std::unique_lock<ReaderLock>();
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
      const auto alone = lock_out_readers();
      MANKAI_TRY(filter_.apply(encoded, outcomes.part(begin, count)));
    }
    return {};
  }

  std::mutex changing_;         ///< held for a whole batch
  mutable ReaderLock reading_;  ///< held for one window of a batch, so that queries wait less
  AnyFilter filter_;
  ChangeEncoder encoder_;
  bool readers_need_lock_;
  std::optional<FilterSource> source_;  ///< of a filter opened for queries
  FileIdentity identity_{};
  std::uint64_t sequence_ = 0;
};

}  // namespace mankai::c

struct mankai_filter : mankai::c::HandleOf<mankai::c::HandleType::filter> {
  template <class Body, class... Arguments>
  explicit mankai_filter(std::in_place_type_t<Body> type, Arguments&&... arguments)
      : HandleOf(std::is_same_v<Body, mankai::Store>), body(type, std::forward<Arguments>(arguments)...) {}

  /// Runs `use(any)` concurrently with changes.
  template <class Use>
  void read(const Use& use) const {
    if (const auto* memory = std::get_if<mankai::c::MemoryFilter>(&body)) {
      memory->read(use);
    } else {
      std::get_if<mankai::Store>(&body)->read(use);
    }
  }

  std::variant<mankai::c::MemoryFilter, mankai::Store> body;
};

namespace mankai::c {

/// Runs a change: `use(target)`, where the target is a MemoryFilter or a Store.
template <class Use>
[[nodiscard]] int change(mankai_filter* filter, const Use& use) noexcept {
  return with_handle(filter, [&](mankai_filter& handle) { return std::visit(use, handle.body); });
}

/// Runs a query, `use(any)`, concurrently with changes.
template <class Use>
[[nodiscard]] int ask(const mankai_filter* filter, const Use& use) noexcept {
  return with_handle(filter, [&](const mankai_filter& handle) {
    Result<void> outcome;
    handle.read([&](const AnyFilter& any) { outcome = use(any); });
    return outcome;
  });
}

}  // namespace mankai::c
