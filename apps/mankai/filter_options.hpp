#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai::command {

/// The options that say what filter to make, each unset by default.
struct FilterOptions {
  std::optional<Kind> kind;
  std::optional<std::uint64_t> keys;
  std::optional<double> fpr;
  std::optional<HashKind> hash;
  std::optional<std::array<std::uint64_t, 2>> seed;
};

/// --kind, --keys, --fpr, --hash and --seed; `keys_default` and `fpr_default` are words for the help.
[[nodiscard]] std::vector<Option> filter_options(FilterOptions& options, const std::string& keys_default,
                                                 const std::string& fpr_default);

/// Everything that there is to say about a filter; its seed, which may be a secret, is not.
[[nodiscard]] Report report_on(const AnyFilter& filter, const std::string& file);

/// The warning about a filter that holds more keys than it was made for, or nothing.
[[nodiscard]] std::string capacity_warning(std::uint64_t keys, std::uint64_t capacity);

}  // namespace mankai::command
