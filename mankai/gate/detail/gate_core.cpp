#include "mankai/gate/detail/gate_core.hpp"

namespace mankai::detail {
namespace {

void count(std::atomic<std::uint64_t>& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

GateCore::Slot& GateCore::slot_of_thread() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t kNumber = threads.fetch_add(1, std::memory_order_relaxed);
  return slots_[kNumber % kSlots];
}

std::shared_lock<std::shared_mutex> GateCore::enter(Slot& slot) noexcept {
  if (is_entering_.load(std::memory_order_relaxed)) {
    const std::lock_guard wait_for_exclusive(entering_);
  }
  return std::shared_lock(slot.asking);
}

// The order matters. The state is read first, so that every later insertion changes it. The position is read before the
// filter, so that the filter lookup sees everything up to it.
GateAnswer GateCore::maybe(std::string_view key, std::uint64_t after) noexcept {
  Slot& slot = slot_of_thread();
  const auto lock = enter(slot);
  const Digest digest = filter_->hasher()(key);
  const std::uint64_t state = memo_.state(digest);
  if (GateMemo::is_held(state) || after > position_.load(std::memory_order_acquire)) {
    count(slot.maybe);
    count(slot.waiting);
    return {true, state};
  }
  if (!filter_->may_contain(digest)) {
    count(slot.empty);
    return {false, state};
  }
  if (memo_.knows(digest, key)) {
    count(slot.empty);
    count(slot.memo_hits);
    return {false, state};
  }
  count(slot.maybe);
  return {true, state};
}

void GateCore::report(std::string_view key, const GateAnswer& answer) noexcept {
  if (!answer.is_maybe()) {
    return;
  }
  const auto lock = enter(slot_of_thread());
  count(reports_);
  if (!memo_.enter(filter_->hasher()(key), key, answer.state())) {
    count(late_reports_);
  }
}

std::optional<std::uint64_t> GateCore::position() const noexcept {
  if (!has_position_.load(std::memory_order_acquire)) {
    return std::nullopt;
  }
  return position_.load(std::memory_order_acquire);
}

void GateCore::set_position(std::optional<std::uint64_t> position) noexcept {
  position_.store(position.value_or(0), std::memory_order_release);
  has_position_.store(position.has_value(), std::memory_order_release);
}

GateCounts GateCore::counts() const noexcept {
  GateCounts sum;
  for (const Slot& slot : slots_) {
    sum.empty += slot.empty.load(std::memory_order_relaxed);
    sum.maybe += slot.maybe.load(std::memory_order_relaxed);
    sum.memo_hits += slot.memo_hits.load(std::memory_order_relaxed);
    sum.waiting += slot.waiting.load(std::memory_order_relaxed);
  }
  sum.asked = sum.empty + sum.maybe;
  sum.false_positives = reports_.load(std::memory_order_relaxed);
  sum.late_reports = late_reports_.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace mankai::detail
