#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mankai/catalog/spec.hpp"

namespace mankai {

/// Creates what the spec says; a seed that is not given is drawn at random.
/// Errors: invalid_argument for an impossible request; out_of_space.
[[nodiscard]] Result<AnyFilter> create_filter(const FilterSpec& spec, const Memory& memory = system_memory());

/// Makes a filter of the kind that the image names. Errors: corrupt; unsupported_version for a kind of a later library.
[[nodiscard]] Result<AnyFilter> filter_from_image(Image image);

/// Makes an empty filter that merges with this one. Errors: out_of_space.
[[nodiscard]] Result<AnyFilter> create_like(const AnyFilter& filter, const Memory& memory = system_memory());

/// Returns the spec that this filter was made by: same kind, size, shape, hash and seed.
[[nodiscard]] FilterSpec spec_of(const AnyFilter& filter);

/// What can be said about a filter without scanning its cells, and what a scan adds.
struct FilterInfo {
  Kind kind;
  std::uint16_t format_version;
  std::uint64_t capacity_keys;
  double fpr_target;
  std::uint64_t keys_inserted;
  HashKind hash;
  std::uint64_t cell_count;
  std::uint64_t cells_bytes;
  std::uint64_t image_bytes;
  unsigned probes_per_key;
  double lines_per_key;
  std::optional<std::uint64_t> block_count;   ///< blocked-bloom
  std::optional<BloomAddressing> addressing;  ///< bloom
  double fill_ratio;
  double fpr_estimate;
  double keys_estimate;
};

/// Cost: two passes over the cells.
[[nodiscard]] FilterInfo describe(const AnyFilter& filter);

/// Merges filters of one kind. Errors: invalid_argument with what differs.
[[nodiscard]] Result<void> merge_filters(AnyFilter& target, const AnyFilter& source);

/// One kind's answer to a request for a size.
struct PlanRow {
  FilterSpec spec;
  std::uint64_t image_bytes;
  double bits_per_key;
  double fpr;  ///< by the kind's formula, with all keys in
  unsigned probes_per_key;
  double lines_per_key;
};

/// Answers a request for every kind (classic filters also with field addressing). Errors: as sizing's.
[[nodiscard]] Result<std::vector<PlanRow>> plan(const SizeRequest& request);
/// Answers which rate each kind reaches with so many keys in at most so many bytes. Errors: invalid_argument when a
/// kind's smallest image is larger or the request makes no sense.
[[nodiscard]] Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes);

}  // namespace mankai
