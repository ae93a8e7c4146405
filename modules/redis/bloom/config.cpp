#include "modules/redis/bloom/config.hpp"

#include <string_view>

namespace mankai::redis {
namespace {

constexpr const char* kInitialFpr = "0.01";

BloomDefaults defaults;
String* fpr_text = nullptr;  // as it was set: the engine asks for it

bool is_fpr(double fpr) noexcept { return fpr > 0 && fpr < 1; }

String* get_fpr(const char* /*name*/, void* /*data*/) noexcept {
  if (fpr_text == nullptr) {
    fpr_text = engine.create_string(nullptr, kInitialFpr, std::string_view(kInitialFpr).size());
  }
  return fpr_text;
}

int set_fpr(const char* /*name*/, String* value, void* /*data*/, String** error) noexcept {
  double fpr = 0;
  if (engine.string_to_double(value, &fpr) != kOk || !is_fpr(fpr)) {
    constexpr std::string_view kText = "the error rate must be above 0 and below 1";
    if (error != nullptr) {
      *error = engine.create_string(nullptr, kText.data(), kText.size());
    }
    return kError;
  }
  std::size_t bytes = 0;
  const char* text = engine.string_ptr_len(value, &bytes);
  if (fpr_text != nullptr) {
    engine.free_string(nullptr, fpr_text);
  }
  fpr_text = engine.create_string(nullptr, text, bytes);
  defaults.fpr = fpr;
  return kOk;
}

long long get_number(const char* /*name*/, void* data) noexcept { return *static_cast<const long long*>(data); }

int set_number(const char* /*name*/, long long value, void* data, String** /*error*/) noexcept {
  *static_cast<long long*>(data) = value;
  return kOk;
}

int register_all(Context* context, unsigned flags) noexcept {
  const bool is_done =
      engine.register_string_config(context, "bf-error-rate", kInitialFpr, flags, get_fpr, set_fpr, nullptr, nullptr) ==
          kOk &&
      engine.register_numeric_config(context, "bf-initial-size", defaults.capacity_keys, flags, 1, kMaxCapacity,
                                     get_number, set_number, nullptr, &defaults.capacity_keys) == kOk &&
      engine.register_numeric_config(context, "bf-expansion-factor", defaults.expansion, flags, 0, kMaxExpansion,
                                     get_number, set_number, nullptr, &defaults.expansion) == kOk;
  return is_done ? kOk : kError;
}

bool read_argument(const Call& arguments, std::size_t index) noexcept {
  if (arguments.is(index, "ERROR_RATE")) {
    return set_fpr(nullptr, arguments.arguments()[index + 1], nullptr, nullptr) == kOk;
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

const BloomDefaults& bloom_defaults() noexcept { return defaults; }

int register_bloom_configs(Context* context) noexcept {
  // Redis 8 knows configs without the module's name in front; what was built before its release refuses the flag.
  constexpr int kFirstUnprefixed = 0x00080000;
  const bool may_be_short = !engine.is_valkey && engine.get_server_version() >= kFirstUnprefixed;
  if (may_be_short && register_all(context, kConfigUnprefixed) == kOk) {
    return kOk;
  }
  return register_all(context, kConfigDefault);
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
