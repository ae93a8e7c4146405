#include "modules/redis/engine/reserve.hpp"

#include <charconv>
#include <cstdio>
#include <string>

#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kWordDigits = 16;
constexpr int kHexadecimal = 16;

bool is_fpr(double fpr) noexcept { return fpr > 0 && fpr < 1; }

String* get_fpr(const char* /*name*/, void* data) noexcept {
  auto& defaults = *static_cast<GrowingDefaults*>(data);
  if (defaults.fpr_text == nullptr) {
    constexpr std::size_t kTextBytes = 32;
    std::array<char, kTextBytes> text;
    const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), defaults.fpr);
    defaults.fpr_text = engine.create_string(nullptr, text.data(), static_cast<std::size_t>(end - text.data()));
  }
  return defaults.fpr_text;
}

int set_fpr(const char* /*name*/, String* value, void* data, String** error) noexcept {
  if (static_cast<GrowingDefaults*>(data)->set_fpr(value)) {
    return kOk;
  }
  constexpr std::string_view kText = "the error rate must be above 0 and below 1";
  *error = engine.create_string(nullptr, kText.data(), kText.size());
  return kError;
}

long long get_number(const char* /*name*/, void* data) noexcept { return *static_cast<const long long*>(data); }

int set_number(const char* /*name*/, long long value, void* data, String** /*error*/) noexcept {
  *static_cast<long long*>(data) = value;
  return kOk;
}

const char* read_fpr(const Call& call, std::size_t index, GrowingSettings& settings) noexcept {
  const auto value = call.real(index);
  if (!value) {
    return "ERR bad error rate";
  }
  settings.fpr = *value;
  return is_fpr(*value) ? nullptr : "ERR error rate must be in the range (0.000000, 1.000000)";
}

const char* read_capacity(const Call& call, std::size_t index, GrowingSettings& settings) noexcept {
  const auto value = call.integer(index);
  if (!value) {
    return "ERR bad capacity";
  }
  settings.capacity_keys = static_cast<std::uint64_t>(*value);
  return *value >= 1 && *value <= kMaxCapacity ? nullptr : "ERR capacity must be in the range [1, 1073741824]";
}

const char* read_expansion(const Call& call, std::size_t index, GrowingSettings& settings) noexcept {
  const auto value = call.integer(index);
  if (!value) {
    return "ERR bad expansion";
  }
  settings.expansion = static_cast<std::uint32_t>(*value);
  return *value >= 1 && *value <= kMaxExpansion ? nullptr : "ERR expansion must be in the range [1, 32768]";
}

const char* read_option(const Call& call, std::size_t index, GrowingSettings& settings) noexcept {
  if (call.is(index, "EXPANSION")) {
    return read_expansion(call, index + 1, settings);
  }
  if (!call.is(index, "SEED")) {
    return kUnknownArgument;
  }
  const auto hash = read_seed(call.text(index + 1));
  if (!hash) {
    return "ERR bad seed: give 32 hexadecimal digits";
  }
  settings.hash = *hash;
  return nullptr;
}

}  // namespace

std::optional<HashSpec> read_seed(std::string_view text) noexcept {
  HashSpec hash{.kind = kDefaultHash, .seed = {}};
  if (text.size() != hash.seed.size() * kWordDigits) {
    return std::nullopt;
  }
  for (std::size_t word = 0; word < hash.seed.size(); ++word) {
    const char* first = text.data() + word * kWordDigits;
    const auto [end, problem] = std::from_chars(first, first + kWordDigits, hash.seed[word], kHexadecimal);
    if (problem != std::errc() || end != first + kWordDigits) {
      return std::nullopt;
    }
  }
  return hash;
}

SeedText seed_text(const HashSpec& hash) noexcept {
  SeedText text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.seed[0]),
                static_cast<unsigned long long>(hash.seed[1]));
  return text;
}

bool GrowingDefaults::set_fpr(String* value) noexcept {
  double rate = 0;
  if (engine.string_to_double(value, &rate) != kOk || !is_fpr(rate)) {
    return false;
  }
  std::size_t bytes = 0;
  const char* text = engine.string_ptr_len(value, &bytes);
  if (fpr_text != nullptr) {
    engine.free_string(nullptr, fpr_text);
  }
  fpr_text = engine.create_string(nullptr, text, bytes);
  fpr = rate;
  return true;
}

GrowingSettings GrowingDefaults::settings() const {
  return {.fpr = fpr,
          .capacity_keys = static_cast<std::uint64_t>(capacity_keys),
          .expansion = static_cast<std::uint32_t>(expansion),
          .hash = HashSpec::random()};
}

int register_growing_configs(Context* context, GrowingDefaults& defaults, unsigned flags) noexcept {
  return guarded(
      [&] {
        const std::string prefix = defaults.prefix;
        const bool is_done =
            engine.register_string_config(context, (prefix + "-error-rate").c_str(), "0.01", flags, get_fpr, set_fpr,
                                          nullptr, &defaults) == kOk &&
            engine.register_numeric_config(context, (prefix + "-initial-size").c_str(), defaults.capacity_keys, flags,
                                           1, kMaxCapacity, get_number, set_number, nullptr,
                                           &defaults.capacity_keys) == kOk &&
            engine.register_numeric_config(context, (prefix + "-expansion-factor").c_str(), defaults.expansion, flags,
                                           defaults.least_expansion, kMaxExpansion, get_number, set_number, nullptr,
                                           &defaults.expansion) == kOk;
        return is_done ? kOk : kError;
      },
      [] { return kError; });
}

const char* read_reserve(const Call& call, const GrowingDefaults& defaults, GrowingSettings& settings) {
  settings = defaults.settings();
  if (const char* error = read_fpr(call, 2, settings); error != nullptr) {
    return error;
  }
  if (const char* error = read_capacity(call, 3, settings); error != nullptr) {
    return error;
  }
  constexpr std::size_t kFirstOption = 4;
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    const char* error = i + 1 < call.size() ? read_option(call, i, settings) : kUnknownArgument;
    if (error != nullptr) {
      return error;
    }
  }
  return nullptr;
}

void replicate_reserve(const Call& call, const char* command, String* key, const GrowingSettings& settings) noexcept {
  constexpr std::size_t kTextBytes = 64;
  std::array<char, kTextBytes> fpr;
  std::snprintf(fpr.data(), fpr.size(), "%.17g", settings.fpr);
  engine.replicate(call.context(), command, "sclclcc", key, fpr.data(), static_cast<long long>(settings.capacity_keys),
                   "EXPANSION", static_cast<long long>(settings.expansion), "SEED", seed_text(settings.hash).data());
}

int reply_not_made(const Call& call, const Error& error) {
  return call.error(error.code == ErrorCode::out_of_space ? memory_error(kNoMemory)
                                                          : ("ERR " + error.message()).c_str());
}

}  // namespace mankai::redis
