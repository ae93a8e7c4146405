#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string_view>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"

namespace mankai::c {

/// A filter in memory with the calls of a Store: what can be done to one can be done to the other, with the same
/// errors. Threads: changes one after the other, questions beside each other.
class MemoryFilter {
 public:
  /// Whether it may be changed: what was mapped from a file for questions may not, since nobody would keep the changes.
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

  [[nodiscard]] Result<void> insert(std::span<const std::string_view> keys);
  [[nodiscard]] Result<void> insert(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids);
  [[nodiscard]] Result<void> insert(std::span<const std::string_view> keys, std::span<const Time> times);
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<bool> seen);
  [[nodiscard]] Result<void> erase(std::span<const std::string_view> keys, std::span<EraseResult> results);
  [[nodiscard]] Result<void> erase(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids,
                                   std::span<EraseResult> results);
  [[nodiscard]] Result<void> put(std::span<const std::string_view> keys, std::span<const std::uint32_t> values,
                                 double strength);
  [[nodiscard]] Result<void> advance(Time time);
  [[nodiscard]] Result<void> merge(const AnyFilter& other);
  [[nodiscard]] Result<void> clear();

 private:
  [[nodiscard]] Result<void> check_use() const;
  template <class Encode, class OutcomesOf>
  Result<void> change_windows(std::size_t count, const Encode& encode, const OutcomesOf& outcomes_of);

  std::mutex changing_;                ///< for a whole batch
  mutable std::shared_mutex reading_;  ///< for a window of one, so that questions do not wait long
  AnyFilter filter_;
  ChangeEncoder encoder_;
  Use use_;
};

}  // namespace mankai::c
