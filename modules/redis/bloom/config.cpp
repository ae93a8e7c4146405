#include "modules/redis/bloom/config.hpp"

namespace mankai::redis {
namespace {

constinit GrowingDefaults defaults{.prefix = "bf", .capacity_keys = 100, .least_expansion = 0};

bool read_argument(const Call& arguments, std::size_t index) noexcept {
  if (arguments.is(index, "ERROR_RATE")) {
    return defaults.set_fpr(arguments.arguments()[index + 1]);
  }
  if (arguments.is(index, "CF_MAX_EXPANSIONS")) {
    engine.log(arguments.context(), "notice", "CF_MAX_EXPANSIONS is of cuckoo filters, which this module has not");
    return true;
  }
  const long long capacity = arguments.integer(index + 1).value_or(0);
  if (!arguments.is(index, "INITIAL_SIZE") || capacity < 1 || capacity > kMaxCapacity) {
    return false;
  }
  defaults.capacity_keys = capacity;
  return true;
}

}  // namespace

const GrowingDefaults& bloom_defaults() noexcept { return defaults; }

int register_bloom_configs(Context* context) noexcept {
  // Redis 8 knows configs without the module's name in front; what was built before its release refuses the flag.
  constexpr int kFirstUnprefixed = 0x00080000;
  const bool may_be_short = !engine.is_valkey && engine.get_server_version() >= kFirstUnprefixed;
  if (may_be_short && register_growing_configs(context, defaults, kConfigUnprefixed) == kOk) {
    return kOk;
  }
  return register_growing_configs(context, defaults);
}

int read_bloom_arguments(const Call& arguments) noexcept {
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size() || !read_argument(arguments, i)) {
      engine.log(arguments.context(), "warning", "argument %d of the module is wrong: give ERROR_RATE or INITIAL_SIZE",
                 static_cast<int>(i + 1));
      return kError;
    }
  }
  return kOk;
}

}  // namespace mankai::redis
