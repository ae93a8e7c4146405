#pragma once

#include <cstddef>
#include <span>

#include "mankai/store/dablooms_import.hpp"

namespace mankai::detail {

/// The report on a file whose filters were found.
struct DabloomsAudit : DabloomsReport {
  bool has_ids_in_order = true;  ///< else an id does not determine the filter of its key
};

/// Returns a filter's counters, two per byte.
[[nodiscard]] std::span<const std::byte> counters_of(std::span<const std::byte> file,
                                                     const DabloomsFilter& filter) noexcept;

/// Finds the filters of a file by its size, and checks everything that can be checked. Cost: one pass over the
/// counters. Errors: corrupt if no filters of this capacity and rate have that size; invalid_argument.
[[nodiscard]] Result<DabloomsAudit> audit_dablooms(std::span<const std::byte> file, const DabloomsRequest& request);

}  // namespace mankai::detail
