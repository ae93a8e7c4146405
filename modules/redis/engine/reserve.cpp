#include "modules/redis/engine/reserve.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/base/number.hpp"
#include "mankai/url/canonical_url.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kWordDigits = 16;
constexpr int kHexadecimal = 16;

bool is_fpr(double fpr) noexcept { return fpr > 0 && fpr < 1; }

Result<double> read_fpr(const Call& call, std::size_t index) {
  const auto value = call.real(index);
  if (!value || !is_fpr(*value)) {
    return refuse(value ? "ERR error rate must be in the range (0.000000, 1.000000)" : "ERR bad error rate");
  }
  return *value;
}

template <class Number>
Result<Number> read_number(const Call& call, std::size_t index, const std::string& name, Number most) {
  const auto value = call.integer(index);
  if (!value || *value < 1 || *value > static_cast<long long>(most)) {
    return refuse(value ? "ERR " + name + " must be in the range [1, " + std::to_string(most) + "]"
                        : "ERR bad " + name);
  }
  return static_cast<Number>(*value);
}

Result<unsigned> read_url_rules(const Call& call, std::size_t index) {
  const auto value = call.integer(index);
  const bool is_known = value == url::kCanonicalVersion || value == url::kSafeBrowsingVersion;
  return is_known ? Result<unsigned>(static_cast<unsigned>(*value))
                  : refuse("ERR bad rules: give 1 or 2, the version of the rules by which URLs are made canonical");
}

class GrowingOptions {
 public:
  explicit GrowingOptions(unsigned url_rules) noexcept : default_rules_(url_rules) {}

  Result<void> read(const Call& call, std::size_t index, GrowingSettings& settings) {
    if (HashRequest::is_option(call, index)) {
      return hash_.read(call, index);
    }
    const bool has_value = index + 1 < call.size();
    if (has_value && call.is(index, "EXPANSION")) {
      MANKAI_ASSIGN(settings.expansion, read_number<std::uint32_t>(call, index + 1, "expansion", kMaxExpansion));
    } else if (has_value && default_rules_ != 0 && call.is(index, "RULES")) {
      MANKAI_ASSIGN(rules_, read_url_rules(call, index + 1));
    } else {
      return refuse(kUnknownArgument);
    }
    return {};
  }
  void finish(GrowingSettings& settings) const {
    settings.hash = hash_.hash();
    if (default_rules_ != 0) {
      // Versions that sent replicas no hash sent no rules either; they had one version of the rules.
      settings.url_rules = rules_.value_or(hash_.is_of_old_form() ? url::kSafeBrowsingVersion : default_rules_);
    }
  }

 private:
  unsigned default_rules_;
  HashRequest hash_;
  std::optional<unsigned> rules_;
};

std::optional<HashKind> read_hash_kind(const Call& call, std::size_t index) noexcept {
  // Items are untrusted, so only keyed hashes are accepted.
  const auto* const found = std::ranges::find_if(
      kHashKinds, [&](HashKind kind) { return is_keyed(kind) && equal_words(call.text(index), name(kind)); });
  return found != kHashKinds.end() ? std::optional(*found) : std::nullopt;
}

std::optional<std::array<std::uint64_t, 2>> read_seed(std::string_view text) noexcept {
  std::array<std::uint64_t, 2> seed;
  if (text.size() != seed.size() * kWordDigits) {
    return std::nullopt;
  }
  for (std::size_t word = 0; word < seed.size(); ++word) {
    const auto value = to_number<std::uint64_t>(text.substr(word * kWordDigits, kWordDigits), kHexadecimal);
    if (!value) {
      return std::nullopt;
    }
    seed[word] = *value;
  }
  return seed;
}

}  // namespace

HashSpec random_hash(HashKind kind) noexcept {
  static std::array<std::array<std::uint64_t, 2>, 32> seeds;
  static std::size_t left = 0;
  if (left == 0) {
    draw_random(std::as_writable_bytes(std::span(seeds)));
    left = seeds.size();
  }
  return trimmed({.kind = kind, .seed = std::exchange(seeds[--left], {})});
}

bool HashRequest::is_option(const Call& call, std::size_t index) noexcept {
  return call.is(index, "SEED") || call.is(index, "HASH");
}

Result<void> HashRequest::read(const Call& call, std::size_t index) {
  const bool has_value = index + 1 < call.size();
  if (call.is(index, "HASH")) {
    kind_ = has_value ? read_hash_kind(call, index + 1) : std::nullopt;
    return kind_ ? Result<void>() : refuse("ERR bad hash: give nh-siphash, aes4-prf or siphash");
  }
  seed_ = has_value ? read_seed(call.text(index + 1)) : std::nullopt;
  return seed_ ? Result<void>() : refuse("ERR bad seed: give 32 hexadecimal digits");
}

HashSpec HashRequest::hash() const {
  const HashKind kind = kind_.value_or(seed_ ? HashKind::siphash : kDefaultHash);
  return seed_ ? HashSpec{.kind = kind, .seed = *seed_} : random_hash(kind);
}

bool is_reserve_of_redisbloom(const Call& call, std::size_t first_option) noexcept {
  for (std::size_t i = first_option; i < call.size(); ++i) {
    if (HashRequest::is_option(call, i)) {
      return false;
    }
  }
  return !call.is_from_client();
}

GrowingSettings GrowingDefaults::settings() const {
  return {.fpr = fpr.value,
          .capacity_keys = static_cast<std::uint64_t>(capacity_keys.value),
          .expansion = static_cast<std::uint32_t>(expansion.value),
          .url_rules = url_rules,
          .hash = random_hash()};
}

int register_growing_configs(Context* context, GrowingDefaults& defaults) noexcept {
  const auto register_as = [&](const char* name, auto& setting) {
    return register_setting(context, (std::string(defaults.prefix) + name).c_str(), setting) == kOk;
  };
  return guarded(
      [&] {
        const bool is_done = register_as("-error-rate", defaults.fpr) &&
                             register_as("-initial-size", defaults.capacity_keys) &&
                             register_as("-expansion-factor", defaults.expansion);
        return is_done ? kOk : kError;
      },
      [] { return kError; });
}

Result<GrowingSettings> read_reserve(const Call& call, const GrowingDefaults& defaults) {
  GrowingSettings settings = defaults.settings();
  MANKAI_ASSIGN(settings.fpr, read_fpr(call, 2));
  MANKAI_ASSIGN(settings.capacity_keys, read_number<std::uint64_t>(call, 3, "capacity", kMaxCapacity));
  constexpr std::size_t kFirstOption = 4;
  GrowingOptions options(defaults.url_rules);
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    MANKAI_TRY(must_be_once(call, kFirstOption, i));
    MANKAI_TRY(options.read(call, i, settings));
  }
  options.finish(settings);
  return settings;
}

void replicate_reserve(const Call& call, RepeatedCommand& reserve, const GrowingSettings& settings) noexcept {
  reserve.begin().add(settings.fpr).add(static_cast<long long>(settings.capacity_keys));
  reserve.add("EXPANSION").add(static_cast<long long>(settings.expansion)).add(settings.hash);
  if (settings.url_rules != 0) {
    reserve.add("RULES").add(static_cast<long long>(settings.url_rules));
  }
  reserve.replicate(call);
}

Error not_made(const Error& error) {
  const bool is_memory = error.code == ErrorCode::out_of_space;
  return refuse(is_memory ? memory_error(kNoMemory) : "ERR " + error.message()).error();
}

}  // namespace mankai::redis
