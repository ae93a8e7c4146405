#include "modules/redis/bloom/settings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "modules/redis/engine/fields.hpp"
#include "modules/redis/engine/repeated_command.hpp"
#include "modules/redis/image/expiring.hpp"

namespace mankai::redis {
namespace {

constinit GrowingDefaults defaults{.prefix = "bf",
                                   .capacity_keys = capacity_setting(100),
                                   .fpr = {.initial = 0.01, .most = kMaxFpr},
                                   .expansion = {.initial = 2, .least = 0, .most = kMaxExpansion}};
// Of filters in valkey-bloom's layout: the ratio of the rates of consecutive sub-filters, and whether clients get a
// random seed; its primaries send both.
constinit RateSetting tightening{.initial = 0.5};
constinit FlagSetting is_seed_random{.initial = true};

takeover::ValkeyBloom::Seed new_valkey_seed() {
  takeover::ValkeyBloom::Seed seed = takeover::ValkeyBloom::kFixedSeed;
  if (is_seed_random.value) {
    const std::array halves = {random_hash().seed, random_hash().seed};
    static_assert(sizeof(halves) == sizeof(seed));
    std::memcpy(seed.data(), halves.data(), sizeof(seed));
  }
  return seed;
}

}  // namespace

const GrowingDefaults& bloom_defaults() noexcept { return defaults; }

int register_bloom_configs(Context* context) noexcept {
  const bool is_done = register_short_setting(context, "bf-error-rate", defaults.fpr) == kOk &&
                       register_short_setting(context, "bf-initial-size", defaults.capacity_keys) == kOk &&
                       register_short_setting(context, "bf-expansion-factor", defaults.expansion) == kOk &&
                       register_setting(context, "bloom-fp-rate", defaults.fpr) == kOk &&
                       register_setting(context, "bloom-capacity", defaults.capacity_keys) == kOk &&
                       register_setting(context, "bloom-expansion", defaults.expansion) == kOk &&
                       register_setting(context, "bloom-tightening-ratio", tightening) == kOk &&
                       register_setting(context, "bloom-use-random-seed", is_seed_random) == kOk;
  return is_done ? kOk : kError;
}

BloomRequest::BloomRequest() noexcept
    : fpr_(bloom_defaults().fpr.value),
      capacity_keys_(bloom_defaults().capacity_keys.value),
      expansion_(bloom_defaults().expansion.value),
      tightening_(tightening.value) {}

bool BloomRequest::read_fpr(const Call& call, std::size_t index) noexcept {
  const auto value = call.real(index);
  fpr_ = value.value_or(0);
  return fpr_ > 0 && fpr_ < 1;
}

bool BloomRequest::read_capacity(const Call& call, std::size_t index) noexcept {
  const auto value = call.integer(index);
  capacity_keys_ = value.value_or(0);
  return capacity_keys_ >= 1 && (capacity_keys_ <= kMaxCapacity || !call.is_from_client());
}

bool BloomRequest::read_expansion(const Call& call, std::size_t index) noexcept {
  const auto value = call.integer(index);
  expansion_ = value.value_or(-1);
  const long long most = call.is_from_client() ? kMaxExpansion : std::numeric_limits<std::uint32_t>::max();
  return expansion_ >= 0 && expansion_ <= most;
}

bool BloomRequest::read_tightening(const Call& call, std::size_t index) noexcept {
  tightening_ = call.real(index).value_or(0);
  return tightening_ > 0 && tightening_ < 1;
}

bool BloomRequest::read_valkey_seed(const Call& call, std::size_t index) noexcept {
  const std::string_view text = call.text(index);
  valkey_seed_.emplace();
  if (text.size() != valkey_seed_->size()) {
    return false;
  }
  std::memcpy(valkey_seed_->data(), text.data(), text.size());
  return true;
}

Result<void> BloomRequest::read_bound(const Call& call, std::size_t index) {
  for (const FprBound bound : {FprBound::total, FprBound::gradual}) {
    if (index + 1 < call.size() && call.is(index + 1, name(bound))) {
      bound_ = bound;
      return {};
    }
  }
  return refuse("ERR bad bound: give gradual or total");
}

Result<void> BloomRequest::read_ttl(const Call& call, std::size_t index) {
  if (index + 1 == call.size()) {
    return refuse(kUnknownArgument);
  }
  const bool is_ttl = call.is(index, "TTL");
  MANKAI_ASSIGN((is_ttl ? max_ttl_ : ttl_resolution_), read_seconds(call, index + 1, is_ttl ? "TTL" : "RESOLUTION"));
  return {};
}

Layout BloomRequest::layout(const Call& call) const noexcept {
  if (valkey_seed_) {
    return Layout::valkey_bloom;
  }
  if (hash_.is_given() || bound_ || is_deletable_ || max_ttl_ != Duration::zero() ||
      ttl_resolution_ != Duration::zero()) {
    return Layout::mankai;
  }
  return layout_of_new_bloom_filter(call);
}

Result<BloomSettings> BloomRequest::settings(const Call& call) const {
  const Layout in = layout(call);
  const bool has_rate_limit = in == Layout::mankai || (in == Layout::redisbloom && is_redisbloom_8());
  const BloomSettings settings{.layout = in,
                               .capacity_keys = static_cast<std::uint64_t>(capacity_keys_),
                               .fpr = has_rate_limit ? std::min(fpr_, kMaxFpr) : fpr_,
                               .expansion = static_cast<std::uint32_t>(expansion_),
                               .is_nonscaling = is_nonscaling_ || expansion_ == 0,
                               .is_deletable = is_deletable_,
                               // Older versions named the hash, and no bound.
                               .bound = bound_.value_or(hash_.is_given() ? FprBound::total : FprBound::gradual),
                               .max_ttl = max_ttl_,
                               .ttl_resolution = ttl_resolution_,
                               .hash = in == Layout::mankai ? hash_.hash() : HashSpec{},
                               .tightening = tightening_,
                               .valkey_seed = valkey_seed_.value_or(
                                   in == Layout::valkey_bloom ? new_valkey_seed() : takeover::ValkeyBloom::Seed{})};
  if (max_ttl_ != Duration::zero() || ttl_resolution_ != Duration::zero()) {
    if (const auto possible = BloomValue::check_cuckoo(settings); !possible) {
      return refuse("ERR " + possible.error().detail);
    }
  }
  return settings;
}

void replicate_creation(const Call& call, const BloomSettings& settings, const BloomValue& created) {
  if (settings.layout == Layout::redisbloom) {
    created.rewrite_foreign(replicate_to(call));
    return;
  }
  if (settings.layout == Layout::valkey_bloom) {  // as valkey-bloom does: BF.LOAD would have all cells
    static constinit RepeatedCommand insert("BF.INSERT");
    insert.begin().add("CAPACITY").add(static_cast<long long>(settings.capacity_keys));
    insert.add("ERROR").add(settings.fpr).add("TIGHTENING").add(settings.tightening);
    insert.add("SEED").add({chars(std::as_bytes(std::span(settings.valkey_seed))), settings.valkey_seed.size()});
    if (settings.is_nonscaling) {
      insert.add("NONSCALING");
    } else {
      insert.add("EXPANSION").add(static_cast<long long>(settings.expansion));
    }
    insert.replicate(call);
    return;
  }
  static constinit RepeatedCommand reserve("BF.RESERVE");
  reserve.begin().add(settings.fpr).add(static_cast<long long>(settings.capacity_keys));
  // An expansion of 0 is a filter that does not scale.
  reserve.add("EXPANSION").add(settings.is_nonscaling ? 0LL : static_cast<long long>(settings.expansion));
  reserve.add(settings.hash);
  if (const auto growth = created.growth(); growth && growth->bound == FprBound::gradual) {
    reserve.add("BOUND").add("gradual");
  }
  if (settings.is_deletable) {
    reserve.add("DELETABLE");
  }
  add_expiry(reserve, settings.max_ttl, settings.ttl_resolution);
  reserve.replicate(call);
}

}  // namespace mankai::redis
