#include "modules/redis/guard/value.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

std::atomic<std::uint64_t> values_alive = 0;

}  // namespace

GuardValue::GuardValue(Guard guard) noexcept : content_(std::move(guard)) {
  values_alive.fetch_add(1, std::memory_order_relaxed);
}

GuardValue::GuardValue(LoadingGuard loading) noexcept : content_(std::move(loading)) {
  values_alive.fetch_add(1, std::memory_order_relaxed);
}

GuardValue::~GuardValue() { values_alive.fetch_sub(1, std::memory_order_relaxed); }

std::uint64_t GuardValue::alive() noexcept { return values_alive.load(std::memory_order_relaxed); }

LoadingGuard GuardValue::image() const {
  if (const auto* const parts = std::get_if<LoadingGuard>(&content_)) {
    return *parts;
  }
  std::vector<std::byte> bytes = guard()->to_bytes();
  return {.total_bytes = bytes.size(), .bytes = std::move(bytes)};
}

Result<void> GuardValue::finish_if_complete() {
  if (loading() == nullptr || !loading()->is_complete()) {
    return {};
  }
  auto region = Region::allocate(engine_memory(), loading()->bytes.size());
  if (!region) {
    return std::unexpected(region.error());
  }
  std::ranges::copy(loading()->bytes, region->bytes().begin());
  auto guard = Guard::from_region(std::move(*region));
  if (!guard) {
    return std::unexpected(guard.error());
  }
  content_ = std::move(*guard);
  return {};
}

std::size_t GuardValue::memory_bytes() const noexcept {
  if (const auto* const parts = std::get_if<LoadingGuard>(&content_)) {
    return sizeof(GuardValue) + parts->bytes.capacity();
  }
  const GuardFacts facts = guard()->facts();
  const std::uint64_t region = facts.region_bytes == 0 ? 0 : engine_bytes(facts.region_bytes);
  return sizeof(GuardValue) + region + facts.overlay_bytes + facts.removed_bytes + facts.exceptions_bytes;
}

}  // namespace mankai::redis
