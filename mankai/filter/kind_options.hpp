#pragma once

/// A kind's own options: a table of OptionOf<Options>, whose entries parse and format the members of the kind's own
/// struct. The functions below make entries for common types of members.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "mankai/filter/detail/option_text.hpp"
#include "mankai/filter/kind.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai {

/// An option, and how to parse it into a kind's struct and format it.
template <class Options>
struct OptionOf {
  KindOption text;
  Result<void> (*read)(std::string_view name, Options& options, std::string_view text);
  /// Empty for the default.
  std::string (*write)(const Options& options);
};

namespace detail {

template <class K>
inline constexpr std::size_t kOptionCount = K::kOptions.size();

template <class K>
inline constexpr auto kOptionTable = [] {
  std::array<KindOption, kOptionCount<K>> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = K::kOptions[i].text;
  }
  return table;
}();

/// Errors: invalid_argument for an unknown option or an invalid value.
template <class K>
Result<typename K::Options> options_from(const OptionTexts& texts) {
  typename K::Options options;
  for (const auto& [name, text] : texts) {
    const auto found = std::ranges::find_if(K::kOptions, [&](const auto& each) { return each.text.name == name; });
    if (found == K::kOptions.end()) {
      return fail(ErrorCode::invalid_argument,
                  "kind " + std::string(K::Filter::kName) + " has no option '" + name + "'");
    }
    MANKAI_TRY(found->read(name, options, text));
  }
  return options;
}

/// The options that differ from their default.
template <class K>
OptionTexts texts_of(const typename K::Options& options) {
  OptionTexts texts;
  for (const auto& each : K::kOptions) {
    if (std::string text = each.write(options); !text.empty()) {
      texts.emplace_back(each.text.name, std::move(text));
    }
  }
  return texts;
}

/// KindDescription::normalize of a kind.
template <class K>
Result<OptionTexts> normalize_options(const OptionTexts& texts) {
  MANKAI_ASSIGN(const typename K::Options options, options_from<K>(texts));
  return texts_of<K>(options);
}

/// The names of a choice's values, which `name` returns.
template <const auto& values>
inline constexpr auto kNamesOf = [] {
  std::array<std::string_view, values.size()> names{};
  std::ranges::transform(values, names.begin(), [](auto value) { return name(value); });
  return names;
}();

template <class Options, auto member>
using MemberType = std::remove_cvref_t<decltype(std::declval<Options&>().*member)>;

}  // namespace detail

/// An integer from `least` to `most`.
template <class Options, auto member, std::uint64_t least, std::uint64_t most>
constexpr OptionOf<Options> number_option(std::string_view name, std::string_view value, std::string_view help) {
  return {.text = {.name = name, .value = value, .choices = {}, .help = help},
          .read = [](std::string_view what, Options& options, std::string_view text) -> Result<void> {
            const auto number = to_number<std::uint64_t>(text);
            if (!number || *number < least || *number > most) {
              return detail::bad(what, text,
                                 "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
            }
            options.*member = static_cast<detail::MemberType<Options, member>>(*number);
            return {};
          },
          .write =
              [](const Options& options) {
                const Options standard;
                if constexpr (requires { (options.*member).has_value(); }) {
                  return options.*member ? std::to_string(*(options.*member)) : std::string();
                } else {
                  return options.*member == standard.*member ? std::string() : std::to_string(options.*member);
                }
              }};
}

/// A count, such as 10M.
template <class Options, auto member>
constexpr OptionOf<Options> count_option(std::string_view name, std::string_view help) {
  return {.text = {.name = name, .value = "N", .choices = {}, .help = help},
          .read = [](std::string_view what, Options& options, std::string_view text) -> Result<void> {
            return detail::assign_positive(what, text, options.*member, parse_count(text));
          },
          .write =
              [](const Options& options) {
                return options.*member == 0 ? std::string() : std::to_string(options.*member);
              }};
}

/// A size in bytes, such as 64MiB.
template <class Options, auto member>
constexpr OptionOf<Options> bytes_option(std::string_view name, std::string_view help) {
  OptionOf<Options> option = count_option<Options, member>(name, help);
  option.text.value = "SIZE";
  option.read = [](std::string_view what, Options& options, std::string_view text) -> Result<void> {
    return detail::assign_positive(what, text, options.*member, parse_bytes(text));
  };
  return option;
}

/// A duration, such as 90s, 10m or 7d. The default is 0.
template <class Options, auto member>
constexpr OptionOf<Options> duration_option(std::string_view name, std::string_view help) {
  return {.text = {.name = name, .value = "TIME", .choices = {}, .help = help},
          .read = [](std::string_view /*what*/, Options& options,
                     std::string_view text) { return detail::assign(options.*member, parse_duration(text)); },
          .write =
              [](const Options& options) {
                return options.*member == Duration::zero() ? std::string() : to_text(options.*member);
              }};
}

/// A number from 0 to `most`, or 1 if `most` is 0; `is_open` excludes both ends.
template <class Options, auto member, int most, bool is_open = false>
constexpr OptionOf<Options> ratio_option(std::string_view name, std::string_view value, std::string_view help) {
  return {.text = {.name = name, .value = value, .choices = {}, .help = help},
          .read = [](std::string_view what, Options& options, std::string_view text) -> Result<void> {
            const double number = to_number<double>(text).value_or(-1);  // -1 is refused, too
            if (!(number >= 0 && number <= most) || (is_open && (number == 0 || number == most))) {
              return detail::bad(what, text,
                                 "a number from 0 to " + std::to_string(most) + (is_open ? ", both excluded" : ""));
            }
            options.*member = number;
            return {};
          },
          .write =
              [](const Options& options) {
                const Options standard;
                if (options.*member == standard.*member) {
                  return std::string();
                }
                if constexpr (requires { (options.*member).has_value(); }) {
                  return detail::shortest(*(options.*member));
                } else {
                  return detail::shortest(options.*member);
                }
              }};
}

/// One of several values: `values` is an array of them, the default first, whose names `name` returns.
template <class Options, auto member, const auto& values>
constexpr OptionOf<Options> choice_option(std::string_view word, std::string_view value, std::string_view help) {
  return {.text = {.name = word, .value = value, .choices = detail::kNamesOf<values>, .help = help},
          .read = [](std::string_view what, Options& options, std::string_view text) -> Result<void> {
            constexpr const auto& kNames = detail::kNamesOf<values>;
            const auto found = std::ranges::find(kNames, text);
            if (found == kNames.end()) {
              std::string known;
              for (const std::string_view& each : kNames) {
                known += (known.empty() ? "" : &each == &kNames.back() ? " or " : ", ") + std::string(each);
              }
              return detail::bad(what, text, known);
            }
            options.*member = values[static_cast<std::size_t>(found - kNames.begin())];
            return {};
          },
          .write =
              [](const Options& options) {
                const Options standard;
                return std::string(options.*member == standard.*member ? "" : name(options.*member));
              }};
}

/// A flag [default: false].
template <class Options, auto member>
constexpr OptionOf<Options> flag_option(std::string_view name, std::string_view help) {
  return {.text = {.name = name, .value = {}, .choices = {}, .help = help},
          .read = [](std::string_view what, Options& options,
                     std::string_view text) { return detail::read_flag(what, text, options.*member); },
          .write = [](const Options& options) { return std::string(options.*member ? "yes" : ""); }};
}

}  // namespace mankai
