#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/catalog/kind.hpp"

namespace mankai {

/// Everything that says what filter to create. What a kind has no use for must stand at its default.
struct FilterSpec {
  Kind kind = kDefaultKind;
  std::uint64_t keys = 0;
  double fpr = 0.01;
  HashKind hash = kDefaultHash;
  std::optional<std::array<std::uint64_t, 2>> seed{};     ///< unset: drawn at random when the filter is created
  std::uint32_t k = 0;                                    ///< bloom, partitioned counters; 0 for the best
  BloomAddressing addressing = BloomAddressing::range;    ///< bloom
  CountingLayout layout = CountingLayout::blocked;        ///< counting kinds
  Growth growth{};                                        ///< growing kinds
  bool canonical = false;                                 ///< keys are URLs, made canonical; always so for paths
  std::uint64_t first_id = 0;                             ///< scalable-counting-bloom
  std::uint32_t levels{LayeredUrlBloom::kDefaultLevels};  ///< layered-url-bloom, at most
  UrlLayering layering = UrlLayering::repaired;           ///< layered-url-bloom

  // Kinds that forget.
  std::optional<double> lambda{};                      ///< kinds that count lately, with an epoch
  Duration epoch{};                                    ///< 0: half_life / 64; half_life where counts are whole
  Duration half_life{};                                ///< 0, without lambda: kDefaultHalfLife
  std::uint64_t bytes = 0;                             ///< the cells take at most so many, however many keys
  std::uint32_t width = 0;                             ///< bits of a cell; 0 for the kind's own choice
  std::optional<DecayPolicy> policy{};                 ///< unset: the kind's own choice
  IncrementRule rule = IncrementRule::all;             ///< time-decaying-counts
  std::optional<std::uint32_t> fraction_bits{};        ///< time-decaying-counts; unset: as few as are enough
  bool forced = false;                                 ///< time-decaying-counts that stop decaying too early
  std::uint64_t counters = 0;                          ///< pooled and tiered counts; 0: what the keys need
  double pool_share = 0.5;                             ///< pooled counts: digits in the pool for each counter
  PoolLookup lookup = PoolLookup::hash;                ///< pooled counts
  OverflowRule overflow = OverflowRule::per_counter;   ///< pooled counts
  EmptyPool when_empty = EmptyPool::grow;              ///< pooled counts
  bool gate = false;                                   ///< pooled counts
  std::uint32_t shrink_bits = 2;                       ///< tiered counts
  RemainderRule remainder = RemainderRule::both_ways;  ///< tiered counts
  std::uint64_t slots = 0;                             ///< fading kinds; 0: from keys and fpr
  std::uint32_t min_matches = 1;                       ///< fading-fingerprints
  Duration window{};                                   ///< rotating-bloom; 0: kDefaultWindow
  std::uint32_t generations = 4;                       ///< rotating-bloom
  std::uint32_t candidates = 0;                        ///< decayed-top; 0: as many as fit
};

/// What fades within which time, when nothing else is asked for.
inline constexpr Duration kDefaultHalfLife = std::chrono::hours(1);
inline constexpr Duration kDefaultWindow = std::chrono::hours(7 * 24);

/// Returns how the spec's counts fade. Errors: as Decay's; invalid_argument for a lambda without an epoch or beside a
/// half-life.
[[nodiscard]] Result<Decay> decay_of(const FilterSpec& spec);

/// An option of some kinds, by the name that it has in specs and, with dashes, on the command line.
struct SpecOption {
  std::string_view name;
  std::string_view value;                     ///< what a help calls the value; empty for a flag, which is "yes"
  std::span<const std::string_view> choices;  ///< where there are only these, the default first
  std::string_view help;
  bool (*applies_to)(Kind kind);
  Result<void> (*read)(FilterSpec& spec, std::string_view text);
  /// Returns the value, or nothing where it stands at its default.
  std::string (*write)(const FilterSpec& spec);
};

/// The options that not every kind has, in the order in which they are written.
[[nodiscard]] std::span<const SpecOption> spec_options() noexcept;

/// Reads "blocked-bloom:keys=1e7,fpr=0.01,hash=xxh3,seed=42" or "bloom:keys=10M,k=7,addressing=fields".
/// The kind may stand alone or be left out. Errors: not_found for the kind; invalid_argument naming the option.
[[nodiscard]] Result<FilterSpec> parse_spec(std::string_view text);

/// Writes a spec that parse_spec reads back, seed included when there is one.
[[nodiscard]] std::string to_string(const FilterSpec& spec);

/// Checks that the spec sets no option that its kind has not got. Errors: invalid_argument naming it and its kinds.
[[nodiscard]] Result<void> check_options(const FilterSpec& spec);

/// Reads a count of things: 1000000, 1e6, 2.5e6, 10k, 10M, 2G (decimal multiples). Errors: invalid_argument.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text);
/// Reads a size: a count of bytes, or 64KiB, 64MiB, 4GiB, 1TiB. Errors: invalid_argument.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
/// Reads a rate such as 0.01, 1e-3 or 1%. Errors: invalid_argument unless it lies between 0 and 1, both excluded.
[[nodiscard]] Result<double> parse_rate(std::string_view text);
/// Reads a seed: a decimal or 0x-hexadecimal number of 64 bits, or 32 hexadecimal digits for a keyed hash's 128.
[[nodiscard]] Result<std::array<std::uint64_t, 2>> parse_seed(std::string_view text);
[[nodiscard]] Result<HashKind> parse_hash(std::string_view text);

}  // namespace mankai
