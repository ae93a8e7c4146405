#pragma once

/// What a kind of filter is, as one value: its name, abilities, options, and how it is created, opened and sized.
/// `kinds()` lists every kind. Everything that treats all kinds alike (specs, plans, stores, the command, the C ABI,
/// the test suites) is driven by that list.

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

/// The number of a kind: its class's kKind. The values are part of the image format and are never reused.
enum class Kind : std::uint16_t {};

/// How key bytes become digests for a kind.
enum class KeyShape : std::uint8_t {
  whole,     ///< one digest of all bytes
  numbered,  ///< one digest of all bytes, and an id that selects the sub-filter
  path,      ///< a URL: canonicalized, then one digest per segment
  valued,    ///< one digest of all bytes, and a value stored with it
  named,     ///< one digest of all bytes, and the bytes themselves
};

/// An option that only some kinds have.
struct KindOption {
  std::string_view name;                      ///< in specs and, after "--", on the command line
  std::string_view value;                     ///< the placeholder in help texts; empty for a flag, whose value is "yes"
  std::span<const std::string_view> choices;  ///< the only values accepted, the default first; empty: any
  std::string_view help;
};

/// Options as text, in the order of a kind's list: the pairs of name and value that differ from the default.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

/// A kind of filter. Each kind's folder defines one of these (`define_kind.hpp`).
struct KindDescription {
  Kind kind;
  std::string_view name;
  std::string_view summary;
  KeyShape key_shape;
  bool can_erase;
  bool can_count;
  bool can_grow;
  bool can_merge;
  bool counts_decay;           ///< its counts decay with time
  bool has_time;               ///< keys expire or decay with the time that the caller passes, or can be made to
  bool has_ttl;                ///< filters can be created so that each key has a time to live of its own
  bool forgets;                ///< keys are dropped with time, or as other keys arrive
  bool has_lock_free_readers;  ///< readers may run beside the single writer

  /// Small filters of this kind, one of each shape that it can have: specs without the kind's name. The test suites
  /// of specs, changes, stores, crashes, corruption and contracts run over them.
  std::span<const std::string_view> examples;
  std::span<const KindOption> options;
  /// Checks options and returns those that differ from their default. Errors: invalid_argument, naming the option.
  Result<OptionTexts> (*normalize)(const OptionTexts& options);

  /// Errors: invalid_argument for an impossible request; out_of_space.
  Result<AnyFilter> (*create)(const FilterSpec& spec, const HashSpec& hash, const Memory& memory);
  /// Errors: corrupt.
  Result<AnyFilter> (*open)(Region region, Trust trust, const Memory& memory);

  /// Sizes for a number of keys and a rate. nullptr: what the kind needs depends on more than that.
  Result<std::vector<PlanRow>> (*plan)(const SizeRequest& request);
  /// The rate that so many keys reach in so many cache lines of cells. nullptr: not offered.
  std::vector<PlanRow> (*plan_within)(std::uint64_t keys, std::uint64_t lines);
  /// Sizes for remembering so many events. nullptr: not offered.
  Result<std::vector<PlanRow>> (*plan_forgetting)(const ForgettingRequest& request);
};

/// Every kind, the default first.
[[nodiscard]] std::span<const KindDescription* const> kinds() noexcept;
/// The kind that a new filter has unless the request names one.
[[nodiscard]] Kind default_kind() noexcept;

/// Returns the description, or nullptr for a number that no kind has.
[[nodiscard]] const KindDescription* find_kind(Kind kind) noexcept;
/// Pre: a kind of the list.
[[nodiscard]] const KindDescription& description_of(Kind kind) noexcept;
/// Errors: not_found, with the names of all kinds.
[[nodiscard]] Result<Kind> parse_kind(std::string_view name);

/// Returns the error "a filter of kind X WHAT; these can: …", with the kinds for which `can` holds.
[[nodiscard]] std::unexpected<Error> unable(const KindDescription& kind, std::string_view what,
                                            bool (*can)(const KindDescription&));

}  // namespace mankai
