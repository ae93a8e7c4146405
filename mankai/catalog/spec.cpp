#include "mankai/catalog/spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "mankai/catalog/detail/option_text.hpp"
#include "mankai/catalog/detail/spec_options.hpp"

namespace mankai {
namespace detail {

std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

}  // namespace detail

namespace {

using detail::assign;
using detail::bad;
using detail::shortest;

Result<void> apply(FilterSpec& spec, std::string_view name, std::string_view value) {
  if (name == "keys") {
    return assign(spec.keys, parse_count(value));
  }
  if (name == "fpr") {
    return assign(spec.fpr, parse_rate(value));
  }
  if (name == "hash") {
    return assign(spec.hash, parse_hash(value));
  }
  if (name == "seed") {
    return assign(spec.seed, parse_seed(value));
  }
  std::string known = "keys, fpr, hash, seed";
  for (const SpecOption& option : spec_options()) {
    if (option.name == name) {
      return option.read(spec, value);
    }
    known += ", " + std::string(option.name);
  }
  return fail(ErrorCode::invalid_argument, "unknown option '" + std::string(name) + "' in a spec; there are: " + known);
}

}  // namespace

std::span<const SpecOption> spec_options() noexcept {
  static const std::vector<SpecOption> kAll = [] {
    std::vector<SpecOption> options(detail::keeping_options().begin(), detail::keeping_options().end());
    options.insert(options.end(), detail::forgetting_options().begin(), detail::forgetting_options().end());
    return options;
  }();
  return kAll;
}

Result<void> check_options(const FilterSpec& spec) {
  for (const SpecOption& option : spec_options()) {
    if (option.applies_to(spec.kind) || option.write(spec).empty()) {
      continue;
    }
    std::string kinds_with_it;
    for (const KindInfo& info : kinds()) {
      if (option.applies_to(info.kind)) {
        kinds_with_it += (kinds_with_it.empty() ? "" : " or ") + std::string(info.name);
      }
    }
    return fail(ErrorCode::invalid_argument, std::string(option.name) + " is an option of kind " + kinds_with_it +
                                                 " only, not of " + std::string(info_of(spec.kind).name));
  }
  return {};
}

namespace {

// Whole counts lose up to one at each epoch by rounding: 64 of them in a half-life would be most of what there is.
bool counts_in_wholes(const FilterSpec& spec) {
  if (spec.kind == Kind::decayed_top) {
    return false;
  }
  return spec.kind != Kind::time_decaying_counts || (spec.policy && *spec.policy != DecayPolicy::fixed_point);
}

}  // namespace

Result<Decay> decay_of(const FilterSpec& spec) {
  if (!spec.lambda) {
    const Duration half_life = spec.half_life == Duration::zero() ? kDefaultHalfLife : spec.half_life;
    const bool is_stepped = spec.epoch == Duration::zero() && counts_in_wholes(spec);
    return Decay::of_half_life(half_life, is_stepped ? half_life : spec.epoch);
  }
  if (spec.half_life != Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "lambda and half-life exclude each other: give one of them");
  }
  if (spec.epoch == Duration::zero()) {
    return fail(ErrorCode::invalid_argument,
                "lambda needs an epoch: say how much time passes from one fading to the "
                "next, such as epoch=10m");
  }
  return Decay::of(*spec.lambda, spec.epoch);
}

Result<FilterSpec> parse_spec(std::string_view text) {
  FilterSpec spec;
  std::string_view options = text;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos || text.find('=') == std::string_view::npos) {
    const auto kind = parse_kind(text.substr(0, colon));
    if (!kind) {
      return std::unexpected(kind.error());
    }
    spec.kind = *kind;
    options = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  }
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(options.size(), option.size() + 1));
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) {
      return bad("option", option, "name=value");
    }
    if (auto applied = apply(spec, option.substr(0, equals), option.substr(equals + 1)); !applied) {
      return std::unexpected(applied.error());
    }
  }
  if (auto valid = check_options(spec); !valid) {
    return std::unexpected(valid.error());
  }
  return spec;
}

std::string to_string(const FilterSpec& spec) {
  std::string text(info_of(spec.kind).name);
  text += ":keys=" + std::to_string(spec.keys) + ",fpr=" + shortest(spec.fpr) + ",hash=" + std::string(name(spec.hash));
  if (spec.seed) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += ",seed=";
    for (const std::uint64_t word : {(*spec.seed)[1], (*spec.seed)[0]}) {
      for (int shift = 60; shift >= 0; shift -= 4) {
        text += kDigits[(word >> shift) & 15U];
      }
    }
  }
  for (const SpecOption& option : spec_options()) {
    if (const std::string value = option.write(spec); !value.empty()) {
      text += "," + std::string(option.name) + "=" + value;
    }
  }
  return text;
}

}  // namespace mankai
