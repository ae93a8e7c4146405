#pragma once

/// A kind of filter as one value: its name, capabilities, options, and functions that create, open and size it. The
/// list `kinds()` drives everything that treats all kinds alike: specs, plans, stores, the command, the C ABI, the
/// tests.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/filter/parts/image.hpp"
#include "mankai/filter/parts/sizing.hpp"

namespace mankai {

class AnyFilter;
struct FilterSpec;
struct ForgettingRequest;
struct PlanRow;

/// A class's kKind. The values are part of the image format and are never reused.
enum class Kind : std::uint16_t {};

/// How key bytes become digests for a kind.
enum class KeyShape : std::uint8_t {
  whole,     ///< one digest of all bytes
  numbered,  ///< one digest of all bytes, and an id that selects the sub-filter
  path,      ///< a URL: canonicalized, then one digest per segment
  valued,    ///< one digest of all bytes, and a value stored with it
  named,     ///< one digest of all bytes, and the bytes themselves
};

/// An option of some kinds only.
struct KindOption {
  std::string_view name;                      ///< in specs and, after "--", on the command line
  std::string_view value;                     ///< the placeholder in help texts; empty for a flag, whose value is "yes"
  std::span<const std::string_view> choices;  ///< the only values accepted, the default first; empty: any
  std::string_view help;
};

/// Option names and values that differ from the default, in the order of a kind's list.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

/// A kind of filter. Each kind's folder defines one of these (`define_kind.hpp`).
struct KindDescription {
  Kind kind;
  std::string_view name;
  std::string_view summary;
  KeyShape key_shape;
  bool can_erase;
  bool can_count;  ///< keys have counts (AnyFilter::count); if counts_decay, decayed ones
  bool can_grow;
  bool can_merge;
  bool can_share;     ///< several processes may test and add at once (AnyFilter::observe_concurrent)
  bool counts_decay;  ///< counts decay with time
  bool has_time;      ///< keys expire or decay as the caller passes the time, in some or all filters of the kind
  bool has_ttl;       ///< filters can be created whose keys each have their own time to live
  bool forgets;       ///< keys expire with time, or are overwritten by later keys
  bool has_lock_free_readers;  ///< readers may run beside the single writer

  /// Specs, without the kind's name, of small filters: one per shape that the kind can have. The test suites of specs,
  /// changes, stores, crashes, corruption and contracts run over them.
  std::span<const std::string_view> examples;
  std::span<const KindOption> options;
  /// Checks options and returns those that differ from their default. Errors: invalid_argument that names the option.
  Result<OptionTexts> (*normalize)(const OptionTexts& options);

  /// Errors: invalid_argument for an impossible request; out_of_space.
  Result<AnyFilter> (*create)(const FilterSpec& spec, const HashSpec& hash, const Memory& memory);
  /// Errors: corrupt.
  Result<AnyFilter> (*open)(Region region, Trust trust, const Memory& memory);

  /// Sizes for a number of keys and a rate; nullptr if the kind needs more parameters.
  Result<std::vector<PlanRow>> (*plan)(const SizeRequest& request);
  /// The rate of a filter of `lines` cache lines of cells with `keys` keys; nullptr: not offered.
  std::vector<PlanRow> (*plan_within)(std::uint64_t keys, std::uint64_t lines);
  /// Sizes for a ForgettingRequest; nullptr: not offered.
  Result<std::vector<PlanRow>> (*plan_forgetting)(const ForgettingRequest& request);
};

/// Every kind, the default first.
[[nodiscard]] std::span<const KindDescription* const> kinds() noexcept;
/// The kind of a new filter unless requested otherwise.
[[nodiscard]] Kind default_kind() noexcept;

/// nullptr for an unknown kind.
[[nodiscard]] const KindDescription* find_kind(Kind kind) noexcept;
/// Pre: a kind of the list.
[[nodiscard]] const KindDescription& description_of(Kind kind) noexcept;
/// Errors: not_found, with the names of all kinds.
[[nodiscard]] Result<Kind> parse_kind(std::string_view name);

/// The error "a filter of kind X WHAT; supported by: …", with the kinds for which `can` holds.
[[nodiscard]] std::unexpected<Error> unable(const KindDescription& kind, std::string_view what,
                                            bool (*can)(const KindDescription&));

/// Errors: invalid_argument, with the kinds that several processes can change at once.
[[nodiscard]] Result<void> check_can_share(const KindDescription& kind);

}  // namespace mankai
