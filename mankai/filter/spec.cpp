#include "mankai/filter/spec.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "mankai/filter/detail/option_text.hpp"

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

bool has_option(const KindDescription& kind, std::string_view name) {
  return std::ranges::find(kind.options, name, &KindOption::name) != kind.options.end();
}

std::unexpected<Error> unknown_option(const FilterSpec& spec, std::string_view name) {
  std::string kinds_with_it;
  for (const KindDescription* kind : kinds()) {
    if (has_option(*kind, name)) {
      kinds_with_it += (kinds_with_it.empty() ? "" : ", ") + std::string(kind->name);
    }
  }
  if (!kinds_with_it.empty()) {
    return fail(ErrorCode::invalid_argument, std::string(name) + " is valid for kind " + kinds_with_it +
                                                 " only, not for " + std::string(description_of(spec.kind).name) +
                                                 "; leave it out");
  }
  std::string known = "keys, fpr, hash, seed, canonical";
  for (const SharedOption& option : shared_options()) {
    known += ", " + std::string(option.option->name);
  }
  return fail(ErrorCode::invalid_argument,
              "unknown option '" + std::string(name) + "' in a spec; the options are: " + known);
}

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
  if (name == "canonical") {
    return detail::read_flag(name, value, spec.canonical);
  }
  set_option(spec, name, std::string(value));
  return {};
}

}  // namespace

std::string_view option_of(const FilterSpec& spec, std::string_view name) noexcept {
  const auto found = std::ranges::find(spec.options, name, &OptionTexts::value_type::first);
  return found == spec.options.end() ? std::string_view() : found->second;
}

void set_option(FilterSpec& spec, std::string_view name, std::string value) {
  const auto found = std::ranges::find(spec.options, name, &OptionTexts::value_type::first);
  if (found != spec.options.end()) {
    found->second = std::move(value);
  } else {
    spec.options.emplace_back(name, std::move(value));
  }
}

std::span<const SharedOption> shared_options() {
  static const std::vector<SharedOption> kAll = [] {
    std::vector<SharedOption> all;
    for (const KindDescription* kind : kinds()) {
      for (const KindOption& option : kind->options) {
        const auto found =
            std::ranges::find_if(all, [&](const SharedOption& each) { return each.option->name == option.name; });
        SharedOption& entry = found == all.end() ? all.emplace_back(&option) : *found;
        entry.kinds.push_back(kind);
      }
    }
    return all;
  }();
  return kAll;
}

Result<void> check_options(const FilterSpec& spec) {
  const KindDescription& kind = description_of(spec.kind);
  if (spec.canonical && kind.key_shape == KeyShape::path) {
    return fail(ErrorCode::invalid_argument, "canonical has no effect with kind " + std::string(kind.name) +
                                                 ", which always canonicalizes its keys");
  }
  for (const auto& [name, text] : spec.options) {
    if (!has_option(kind, name)) {
      return unknown_option(spec, name);
    }
  }
  MANKAI_TRY(kind.normalize(spec.options));
  return {};
}

Result<FilterSpec> parse_spec(std::string_view text) {
  FilterSpec spec;
  std::string_view options = text;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos || text.find('=') == std::string_view::npos) {
    MANKAI_ASSIGN(spec.kind, parse_kind(text.substr(0, colon)));
    options = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  }
  std::vector<std::string_view> given;
  for (bool is_more = !options.empty(); is_more;) {
    const std::string_view option = options.substr(0, options.find(','));
    is_more = option.size() < options.size();  // also after a trailing comma
    options.remove_prefix(option.size() + (is_more ? 1 : 0));
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) {
      return bad("option", option, "name=value");
    }
    const std::string_view name = option.substr(0, equals);
    if (std::ranges::find(given, name) != given.end()) {
      return fail(ErrorCode::invalid_argument, "option '" + std::string(name) + "' is given twice; give it once");
    }
    given.push_back(name);
    MANKAI_TRY(apply(spec, name, option.substr(equals + 1)));
  }
  MANKAI_TRY(check_options(spec));
  return spec;
}

std::string to_string(const FilterSpec& spec) {
  const KindDescription& kind = description_of(spec.kind);
  std::string text(kind.name);
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
  text += spec.canonical ? ",canonical=yes" : "";
  for (const auto& [name, value] : kind.normalize(spec.options).value_or(spec.options)) {
    text.append(",").append(name).append("=").append(value);
  }
  return text;
}

}  // namespace mankai
