#include "modules/redis/bloom/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "modules/redis/bloom/config.hpp"

namespace mankai::redis {

BloomRequest::BloomRequest() noexcept
    : fpr_(bloom_defaults().fpr),
      capacity_keys_(bloom_defaults().capacity_keys),
      expansion_(bloom_defaults().expansion) {}

bool BloomRequest::read_fpr(const Call& call, std::size_t index) noexcept {
  const auto value = call.real(index);
  fpr_ = value.value_or(0);
  return fpr_ > 0 && fpr_ < 1;
}

bool BloomRequest::read_capacity(const Call& call, std::size_t index) noexcept {
  const auto value = call.integer(index);
  capacity_keys_ = value.value_or(0);
  return capacity_keys_ >= 1 && capacity_keys_ <= kMaxCapacity;
}

bool BloomRequest::read_expansion(const Call& call, std::size_t index) noexcept {
  const auto value = call.integer(index);
  expansion_ = value.value_or(-1);
  return expansion_ >= 0 && expansion_ <= kMaxExpansion;
}

BloomSettings BloomRequest::settings() const {
  return {.capacity_keys = static_cast<std::uint64_t>(capacity_keys_),
          .fpr = std::min(fpr_, kMaxFpr),
          .expansion = static_cast<std::uint32_t>(expansion_),
          .is_nonscaling = is_nonscaling_ || expansion_ == 0,
          .is_deletable = is_deletable_,
          .hash = hash_.hash()};
}

void replicate_creation(const Call& call, const BloomSettings& settings) {
  constexpr std::size_t kTextBytes = 64;
  std::array<char, kTextBytes> fpr;
  std::snprintf(fpr.data(), fpr.size(), "%.17g", settings.fpr);
  const HashText hash = hash_text(settings.hash);
  const auto capacity = static_cast<long long>(settings.capacity_keys);
  // An expansion of 0 is a filter that does not scale.
  const long long expansion = settings.is_nonscaling ? 0 : static_cast<long long>(settings.expansion);
  if (settings.is_deletable) {
    engine.replicate(call.context(), "BF.RESERVE", "sclclccccc", call.key(), fpr.data(), capacity, "EXPANSION",
                     expansion, "DELETABLE", "HASH", hash.name.data(), "SEED", hash.seed.data());
  } else {
    engine.replicate(call.context(), "BF.RESERVE", "sclclcccc", call.key(), fpr.data(), capacity, "EXPANSION",
                     expansion, "HASH", hash.name.data(), "SEED", hash.seed.data());
  }
}

}  // namespace mankai::redis
