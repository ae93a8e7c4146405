#include "modules/redis/cuckoo/settings.hpp"

#include <bit>
#include <string>

#include "modules/redis/engine/fields.hpp"
#include "modules/redis/engine/repeated_command.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/engine/settings.hpp"
#include "modules/redis/image/expiring.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstOption = 3;
constexpr long long kMostBucketSize = 255;
constexpr long long kMostIterations = 65535;

/// What the configs cf-* set. Threads: the engine's main thread.
struct Defaults {
  IntegerSetting bucket_size{.initial = 2, .least = 1, .most = kMostBucketSize};
  IntegerSetting capacity = capacity_setting(1024, 2);
  IntegerSetting max_iterations{.initial = 20, .least = 1, .most = kMostIterations};
  IntegerSetting expansion{.initial = 1, .least = 0, .most = kMaxExpansion};
  IntegerSetting max_expansions{.initial = 32, .least = 1, .most = 65536};
};
constinit Defaults defaults{};

/// A power of 2 as the library grows by; 0: it does not grow.
std::uint32_t growth_of(std::uint32_t expansion) noexcept { return expansion == 0 ? 0 : std::bit_ceil(expansion); }

Result<void> read_capacity(const Call& call, std::size_t index, CuckooSettings& settings) {
  const auto capacity = call.integer(index);
  settings.capacity_keys = static_cast<std::uint64_t>(capacity.value_or(0));
  return capacity ? Result<void>() : refuse("Bad capacity");
}

// RedisBloom's limits, whatever our buckets hold.
Result<void> check_capacity(const CuckooSettings& settings, const char* least) {
  const bool is_possible = settings.capacity_keys >= 2 * std::uint64_t{settings.bucket_size} &&
                           settings.capacity_keys <= static_cast<std::uint64_t>(kMaxCapacity);
  return is_possible ? Result<void>()
                     : refuse("Capacity must be in the range [" + std::string(least) + ", 1073741824]");
}

/// Reads an option of RESERVE that is a whole number.
Result<std::uint32_t> read_whole(const Call& call, std::size_t index, const char* name, long long least,
                                 long long most) {
  const auto value = call.integer(index);
  if (!value) {
    return refuse("Couldn't parse " + std::string(name));
  }
  if (*value < least || *value > most) {
    return refuse(std::string(name) + ": value must be in the range [" + std::to_string(least) + ", " +
                  std::to_string(most) + "]");
  }
  return static_cast<std::uint32_t>(*value);
}

Result<void> read_option(const Call& call, std::size_t index, CuckooSettings& settings, HashRequest& hash) {
  if (HashRequest::is_option(call, index)) {
    return hash.read(call, index);
  }
  const std::size_t value = index + 1;
  if (value == call.size()) {
    return refuse(kUnknownArgument);
  }
  if (call.is(index, "BUCKETSIZE")) {
    MANKAI_ASSIGN(settings.bucket_size, read_whole(call, value, "BUCKETSIZE", 1, kMostBucketSize));
  } else if (call.is(index, "MAXITERATIONS")) {
    MANKAI_ASSIGN(settings.max_iterations, read_whole(call, value, "MAXITERATIONS", 1, kMostIterations));
  } else if (call.is(index, "EXPANSION")) {
    MANKAI_ASSIGN(const std::uint32_t expansion, read_whole(call, value, "EXPANSION", 0, kMaxExpansion));
    settings.expansion = growth_of(expansion);
  } else if (call.is(index, "ERROR")) {
    const auto fpr = call.real(value);
    if (!fpr || !(*fpr > 0 && *fpr < 1)) {
      return refuse("ERR error rate must be in the range (0.000000, 1.000000)");
    }
    settings.fpr = *fpr;
  } else if (call.is(index, "TTL")) {
    MANKAI_ASSIGN(settings.max_ttl, read_seconds(call, value, "TTL"));
  } else if (call.is(index, "RESOLUTION")) {
    MANKAI_ASSIGN(settings.ttl_resolution, read_seconds(call, value, "RESOLUTION"));
  } else {
    return refuse(kUnknownArgument);
  }
  return {};
}

// Returns the index of the first such word with a word after it, or 0.
std::size_t first_of(const Call& call, const char* word) noexcept {
  for (std::size_t i = 1; i + 1 < call.size(); ++i) {
    if (call.is(i, word)) {
      return i;
    }
  }
  return 0;
}

// As RedisBloom does: the first of each option counts, wherever it is, and other words are ignored.
Result<void> read_replayed_options(const Call& call, CuckooSettings& settings) {
  HashRequest none;
  for (const char* option : {"BUCKETSIZE", "MAXITERATIONS", "EXPANSION"}) {
    if (const std::size_t index = first_of(call, option); index != 0) {
      MANKAI_TRY(read_option(call, index, settings, none));
    }
  }
  settings.layout = Layout::redisbloom;
  return {};
}

Result<void> read_options(const Call& call, CuckooSettings& settings) {
  settings.fpr = 0;  // not given
  HashRequest hash;
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    MANKAI_TRY(must_be_once(call, kFirstOption, i));
    MANKAI_TRY(read_option(call, i, settings, hash));
  }
  const bool has_own_options = hash.is_given() || settings.fpr != 0 || settings.max_ttl != Duration::zero() ||
                               settings.ttl_resolution != Duration::zero();
  settings.layout = has_own_options ? Layout::mankai : layout_of_new_value(call);
  settings.fpr = settings.fpr != 0 ? settings.fpr : CuckooSettings().fpr;
  settings.hash = settings.layout == Layout::mankai ? hash.hash() : HashSpec{};
  return check_capacity(settings, "2 * BUCKETSIZE");
}

}  // namespace

int register_cuckoo_configs(Context* context) noexcept {
  const bool is_done = register_short_setting(context, "cf-bucket-size", defaults.bucket_size) == kOk &&
                       register_short_setting(context, "cf-initial-size", defaults.capacity) == kOk &&
                       register_short_setting(context, "cf-max-iterations", defaults.max_iterations) == kOk &&
                       register_short_setting(context, "cf-expansion-factor", defaults.expansion) == kOk &&
                       register_short_setting(context, "cf-max-expansions", defaults.max_expansions) == kOk;
  return is_done ? kOk : kError;
}

std::uint64_t most_cuckoo_filters() noexcept { return static_cast<std::uint64_t>(defaults.max_expansions.value); }

CuckooSettings default_cuckoo_settings() noexcept {
  return {.capacity_keys = static_cast<std::uint64_t>(defaults.capacity.value),
          .expansion = growth_of(static_cast<std::uint32_t>(defaults.expansion.value)),
          .bucket_size = static_cast<std::uint32_t>(defaults.bucket_size.value),
          .max_iterations = static_cast<std::uint32_t>(defaults.max_iterations.value),
          .hash = {}};
}

Result<void> read_cuckoo_capacity(const Call& call, std::size_t index, CuckooSettings& settings) {
  MANKAI_TRY(read_capacity(call, index, settings));
  return call.is_from_client() ? check_capacity(settings, "cf-bucket-size * 2") : Result<void>();
}

Result<CuckooSettings> read_cuckoo_settings(const Call& call) {
  CuckooSettings settings = default_cuckoo_settings();
  MANKAI_TRY(read_capacity(call, 2, settings));
  MANKAI_TRY(is_reserve_of_redisbloom(call, kFirstOption) ? read_replayed_options(call, settings)
                                                          : read_options(call, settings));
  return settings;
}

void replicate_creation(const Call& call, const CuckooSettings& settings, const CuckooValue& created) {
  if (settings.layout == Layout::redisbloom) {
    replicate_to(call)("CF.LOADCHUNK", 1, created.redisbloom()->shape().header());  // all of an empty filter
    return;
  }
  static constinit RepeatedCommand reserve("CF.RESERVE");
  reserve.begin().add(static_cast<long long>(settings.capacity_keys));
  reserve.add("BUCKETSIZE").add(static_cast<long long>(settings.bucket_size));
  reserve.add("MAXITERATIONS").add(static_cast<long long>(settings.max_iterations));
  reserve.add("EXPANSION").add(static_cast<long long>(settings.expansion));
  reserve.add("ERROR").add(settings.fpr).add(settings.hash);
  add_expiry(reserve, settings.max_ttl, settings.ttl_resolution);
  reserve.replicate(call);
}

}  // namespace mankai::redis
