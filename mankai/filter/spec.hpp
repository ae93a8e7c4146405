#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/kind.hpp"

namespace mankai {

/// A filter to create.
struct FilterSpec {
  Kind kind = default_kind();
  std::uint64_t keys = 0;
  double fpr = 0.01;
  HashKind hash = kDefaultHash;
  std::optional<std::array<std::uint64_t, 2>> seed{};  ///< unset: drawn at random when the filter is created
  bool canonical = false;  ///< keys are URLs and are canonicalized; always so for path kinds
  OptionTexts options{};   ///< the kind's own, as text
};

/// Empty if the spec does not set the option.
[[nodiscard]] std::string_view option_of(const FilterSpec& spec, std::string_view name) noexcept;
void set_option(FilterSpec& spec, std::string_view name, std::string value);

/// An option, and the kinds that have it.
struct SharedOption {
  const KindOption* option;  ///< as the first of the kinds describes it
  std::vector<const KindDescription*> kinds;
};

/// Every option of some but not all kinds, in the order of the kinds.
[[nodiscard]] std::span<const SharedOption> shared_options();

/// Parses a spec such as "blocked-bloom:keys=1e7,fpr=0.01,hash=xxh3,seed=42" or "bloom:keys=10M,k=7". The kind may be
/// omitted, or given alone. Errors: not_found for the kind; invalid_argument that names the option.
[[nodiscard]] Result<FilterSpec> parse_spec(std::string_view text);

/// Inverse of parse_spec; includes the seed if set.
[[nodiscard]] std::string to_string(const FilterSpec& spec);

/// Errors: invalid_argument that names the option, and for an option of other kinds those kinds.
[[nodiscard]] Result<void> check_options(const FilterSpec& spec);

/// Parses a count: 1000000, 1e6, 2.5e6, 10k, 10M, 2G (decimal multiples). Errors: invalid_argument.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text);
/// Parses a number of bytes: 64, 64KiB, 64MiB, 4GiB, 1TiB. Errors: invalid_argument.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
/// Parses a rate such as 0.01, 1e-3 or 1%. Errors: invalid_argument unless between 0 and 1, both excluded.
[[nodiscard]] Result<double> parse_rate(std::string_view text);
/// Parses a seed: a decimal or 0x-hexadecimal number of 64 bits, or 32 hexadecimal digits for a keyed hash's 128.
[[nodiscard]] Result<std::array<std::uint64_t, 2>> parse_seed(std::string_view text);
[[nodiscard]] Result<HashKind> parse_hash(std::string_view text);

}  // namespace mankai
