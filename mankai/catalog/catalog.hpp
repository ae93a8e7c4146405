#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mankai/catalog/spec.hpp"

namespace mankai {

/// Creates what the spec says; a seed that is not given is drawn at random.
/// Errors: invalid_argument for an impossible request; out_of_space.
[[nodiscard]] Result<AnyFilter> create_filter(const FilterSpec& spec, const Memory& memory = system_memory());

/// Makes a filter of the kind that the image names, in the Region, such as a mapped file, without copying it; what
/// grows takes more from `memory`. Errors: corrupt; unsupported_version, also for a kind of a later library.
[[nodiscard]] Result<AnyFilter> filter_from_region(Region region, Trust trust, const Memory& memory = system_memory());

/// Makes an empty filter that merges with this one. Errors: out_of_space.
[[nodiscard]] Result<AnyFilter> create_like(const AnyFilter& filter, const Memory& memory = system_memory());

/// Returns the spec that this filter was made by: same kind, size, shape, hash and seed.
[[nodiscard]] FilterSpec spec_of(const AnyFilter& filter);

/// Something that only some kinds have.
struct InfoField {
  std::string name;   ///< for programs
  std::string label;  ///< for people
  std::variant<std::uint64_t, double, std::string> value;
};

/// What can be said about a filter without scanning its cells, and what a scan adds.
struct FilterInfo {
  Kind kind;
  std::uint16_t format_version;
  std::uint64_t capacity_keys;
  double fpr_target;
  std::uint64_t keys_inserted;
  HashKind hash;
  unsigned canonical_version;  ///< of the URL rules by which keys are made canonical; 0: keys as they are
  std::uint64_t cell_count;
  std::uint64_t cells_bytes;
  std::uint64_t image_bytes;
  unsigned probes_per_key;
  double lines_per_key;
  double fill_ratio;
  double fpr_estimate;
  double keys_estimate;
  std::string_view fpr_formula;   ///< what the estimate of the rate is
  std::vector<InfoField> fields;  ///< the kind's own
};

/// Cost: two passes over the cells.
[[nodiscard]] FilterInfo describe(const AnyFilter& filter);

/// Merges filters of one kind. Errors: invalid_argument with what differs; out_of_space.
[[nodiscard]] Result<void> merge_filters(AnyFilter& target, const AnyFilter& source);

/// What every kind has, of a filter whose kind does not matter.
[[nodiscard]] std::uint64_t keys_inserted(const AnyFilter& filter) noexcept;
[[nodiscard]] std::uint64_t capacity_keys(const AnyFilter& filter) noexcept;
[[nodiscard]] std::uint64_t image_bytes(const AnyFilter& filter) noexcept;

}  // namespace mankai
