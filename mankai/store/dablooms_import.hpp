#pragma once

/// Imports files of dablooms [Dablooms2012]: a scaling file becomes a scalable-counting-bloom, a counting file a
/// counting-bloom. The imported filter gives the same answer as the original for every key, false positives included,
/// and can be changed. docs/formats/dablooms.md has the layout of the files, and what is checked.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai {

/// The parameters that a program gives to dablooms; the file does not contain them.
struct DabloomsRequest {
  std::uint64_t capacity_keys = 0;  ///< of each of its filters
  double fpr = 0;                   ///< of the whole file
  bool take_damaged = false;        ///< imports what is left of an inconsistent file
  Memory memory = system_memory();
};

/// The function that made the file, new_scaling_bloom or new_counting_bloom; the size determines it.
enum class DabloomsForm : std::uint8_t { scaling, counting };

/// Returns the name used in reports.
[[nodiscard]] std::string_view name(DabloomsForm form) noexcept;

/// A filter in the file.
struct DabloomsFilter {
  std::uint64_t offset = 0;  ///< of its header
  std::uint64_t first_id = 0;
  std::uint64_t keys = 0;  ///< additions minus removals, from its header
  double fpr = 0;
  std::uint64_t cells_per_probe = 0;
  std::uint32_t k = 0;
  /// The smallest and the largest sum of the counters of a probe; both equal `keys` in a consistent file.
  std::uint64_t least_sum = 0;
  std::uint64_t greatest_sum = 0;
  std::uint64_t full_counters = 0;  ///< at 15, where they stay
};

/// An inconsistency, and its offset.
struct DabloomsFinding {
  std::uint64_t offset = 0;
  std::string what;
};

/// What a file says about its filters.
struct DabloomsReport {
  DabloomsForm form = DabloomsForm::scaling;
  std::vector<DabloomsFilter> filters;
  // Of a scaling file, else 0.
  std::uint64_t max_id = 0;
  std::uint64_t memory_sequence = 0;
  std::uint64_t disk_sequence = 0;
  /// Number of keys that were removed, computed from changes and keys; right if the file is complete.
  std::uint64_t removals = 0;
  /// Inconsistencies that cause no false negatives.
  std::vector<DabloomsFinding> warnings;
  /// Reasons why members may be missing, or be removed together with other keys; empty unless `take_damaged`.
  std::vector<DabloomsFinding> damage;
};

/// An imported filter, and the report on its file.
struct DabloomsImport : DabloomsReport {
  AnyFilter filter;
};

/// Imports the bytes of a file. Cost: one pass over the counters and a copy of them.
/// Errors:  corrupt (offset and reason) for a size that such filters cannot have and, unless `take_damaged`, for
///          inconsistent headers and counters; invalid_argument for a capacity or rate that dablooms does not accept;
///          out_of_space. All filters are checked before any of them is allocated.
/// Threads: pure.
[[nodiscard]] Result<DabloomsImport> import_dablooms(std::span<const std::byte> bytes, const DabloomsRequest& request);

/// Imports a file, which is only read. Errors: as import_dablooms, and name the file; not_found; io; locked if the file
/// changes while it is read.
[[nodiscard]] Result<DabloomsImport> import_dablooms_file(const std::string& path, const DabloomsRequest& request,
                                                          FileCalls& calls = system_calls());

/// Writes the imported filter to a new, closed store (mankai/store/store.hpp). Its sequence is that of the original's
/// mem_seqnum, which a program that continues with mankai/c/dablooms.h reads again. Errors: as save_filter.
[[nodiscard]] Result<void> save_import(const std::string& path, DabloomsImport& imported, Existing existing,
                                       FileCalls& calls = system_calls(), FileMode mode = {});

}  // namespace mankai
