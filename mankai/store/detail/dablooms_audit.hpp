#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/store/dablooms_import.hpp"

namespace mankai::detail {

/// A file whose filters have been found, and what is to be said of them.
struct DabloomsAudit {
  DabloomsForm form = DabloomsForm::scaling;
  std::uint64_t max_id = 0;
  std::uint64_t memory_sequence = 0;
  std::uint64_t disk_sequence = 0;
  std::uint64_t removals = 0;
  std::vector<DabloomsFilter> filters;
  std::vector<DabloomsFinding> warnings;
  std::vector<DabloomsFinding> damage;
  bool has_ids_in_order = true;  ///< else no id says in which filter its key is
};

/// Returns a filter's counters, two in a byte.
[[nodiscard]] std::span<const std::byte> counters_of(std::span<const std::byte> file,
                                                     const DabloomsFilter& filter) noexcept;

/// Finds a file's filters by its size, and checks what can be checked. Cost: a pass over the counters.
/// Errors: corrupt when filters of this capacity and rate do not make up the size; invalid_argument.
[[nodiscard]] Result<DabloomsAudit> audit_dablooms(std::span<const std::byte> file, const DabloomsRequest& request);

}  // namespace mankai::detail
