#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/gate/detail/gate_memo.hpp"
#include "mankai/gate/gate_answer.hpp"

namespace mankai::detail {

/// Answers queries from a filter that its owner changes or replaces. Threads: any; `exclusive` blocks queries.
class GateCore {
 public:
  GateCore(const CountingBloom& filter, std::size_t memo_bytes) : memo_(memo_bytes), filter_(&filter) {}

  [[nodiscard]] GateAnswer maybe(std::string_view key, std::uint64_t after) noexcept;
  void report(std::string_view key, const GateAnswer& answer) noexcept;

  [[nodiscard]] GateMemo& memo() noexcept { return memo_; }
  [[nodiscard]] Digest digest(std::string_view key) const noexcept { return filter_->hasher()(key); }

  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  /// Sets the position up to which the filter has everything; empty if unknown.
  void set_position(std::optional<std::uint64_t> position) noexcept;
  [[nodiscard]] GateCounts counts() const noexcept;

  /// Calls change(filter pointer) while no query is being answered.
  template <class Change>
  void exclusive(Change&& change) {
    const std::lock_guard turn(entering_);
    is_entering_.store(true, std::memory_order_relaxed);
    std::array<std::unique_lock<std::shared_mutex>, kSlots> locks;
    for (std::size_t i = 0; i < kSlots; ++i) {
      locks[i] = std::unique_lock(slots_[i].asking);
    }
    is_entering_.store(false, std::memory_order_relaxed);
    change(filter_);
  }

 private:
  // Each thread locks and counts in its own slot, so that processors rarely share a cache line.
  static constexpr std::size_t kSlots = 16;
  static constexpr std::size_t kLine = 64;
  struct alignas(kLine) Slot {
    std::shared_mutex asking;
    std::atomic<std::uint64_t> empty{0};
    std::atomic<std::uint64_t> maybe{0};
    std::atomic<std::uint64_t> memo_hits{0};
    std::atomic<std::uint64_t> waiting{0};
  };

  [[nodiscard]] Slot& slot_of_thread() noexcept;
  [[nodiscard]] std::shared_lock<std::shared_mutex> enter(Slot& slot) noexcept;

  GateMemo memo_;
  const CountingBloom* filter_;
  std::atomic<bool> has_position_{false};
  std::atomic<std::uint64_t> position_{0};
  std::atomic<std::uint64_t> reports_{0};
  std::atomic<std::uint64_t> late_reports_{0};
  // A shared_mutex may prefer overlapping readers forever, so queries wait here for `exclusive`.
  std::mutex entering_;
  std::atomic<bool> is_entering_{false};
  std::array<Slot, kSlots> slots_;
};

}  // namespace mankai::detail
