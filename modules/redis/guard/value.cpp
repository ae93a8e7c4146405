#include "modules/redis/guard/value.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

std::atomic<std::uint64_t> values_alive = 0;

}  // namespace

GuardValue::GuardValue(Guard guard) : guard_(std::make_unique<Guard>(std::move(guard))) {
  values_alive.fetch_add(1, std::memory_order_relaxed);
}

GuardValue::GuardValue(LoadingGuard loading) noexcept : loading_(std::move(loading)) {
  values_alive.fetch_add(1, std::memory_order_relaxed);
}

GuardValue::~GuardValue() { values_alive.fetch_sub(1, std::memory_order_relaxed); }

std::uint64_t GuardValue::alive() noexcept { return values_alive.load(std::memory_order_relaxed); }

LoadingGuard GuardValue::image() const {
  if (!guard_) {
    return loading_;
  }
  std::vector<std::byte> bytes = guard_->to_bytes();
  return {.total_bytes = bytes.size(), .bytes = std::move(bytes)};
}

Result<void> GuardValue::finish_if_complete() {
  if (guard_ || !loading_.is_complete()) {
    return {};
  }
  MANKAI_ASSIGN(auto region, Region::allocate(engine_memory(), loading_.bytes.size()));
  std::ranges::copy(loading_.bytes, region.bytes().begin());
  MANKAI_ASSIGN(auto guard, Guard::from_region(std::move(region)));
  guard_ = std::make_unique<Guard>(std::move(guard));
  loading_ = {};
  return {};
}

std::size_t GuardValue::memory_bytes() const noexcept {
  if (!guard_) {
    return sizeof(GuardValue) + loading_.bytes.capacity();
  }
  const GuardFacts facts = guard_->facts();
  const std::uint64_t region = facts.region_bytes == 0 ? 0 : engine_bytes(facts.region_bytes);
  return sizeof(GuardValue) + sizeof(Guard) + region + facts.overlay_bytes + facts.removed_bytes +
         facts.exceptions_bytes;
}

}  // namespace mankai::redis
