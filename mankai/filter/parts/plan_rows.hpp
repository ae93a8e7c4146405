#pragma once

/// Rows of a plan for layouts that several kinds share.

#include <cstdint>
#include <vector>

#include "mankai/filter/parts/sizing.hpp"
#include "mankai/filter/plan.hpp"

namespace mankai {

/// Size of a layout for a number of keys, and its rate by the formula.
struct PlanShape {
  std::uint64_t cells_bytes = 0;
  double fpr = 0;
  unsigned probes = 0;
  double lines = 0;
};

/// For a growing kind, `spec` and the shape are those of its first sub-filter.
[[nodiscard]] PlanRow plan_row(const FilterSpec& spec, const PlanShape& shape);

/// Sizes of blocks of bits, a classic array, and partitions of cells for a number of keys.
[[nodiscard]] PlanShape blocked_bits(std::uint64_t keys, std::uint64_t blocks);
[[nodiscard]] PlanShape classic_bits(std::uint64_t keys, const BloomSize& size);
[[nodiscard]] PlanShape partitioned_cells(std::uint64_t keys, const PartitionedSize& size, unsigned cell_bits);

/// Rows of blocks of bits, sized for `sized_fpr`; a growing kind sizes its first sub-filter for a lower rate.
[[nodiscard]] Result<std::vector<PlanRow>> blocked_rows(Kind kind, const SizeRequest& request, double sized_fpr);
/// Rows of 4-bit counters, blocked and partitioned.
[[nodiscard]] Result<std::vector<PlanRow>> counter_rows(Kind kind, const SizeRequest& request, double sized_fpr);
[[nodiscard]] std::vector<PlanRow> counter_rows_within(Kind kind, std::uint64_t keys, std::uint64_t lines);

/// The rate of a growing kind's first sub-filter, and the target whose first sub-filter has a rate, which may be
/// above 1.
[[nodiscard]] double first_slice_fpr(double target);
[[nodiscard]] double target_of_first_slice(double fpr);

}  // namespace mankai
