#pragma once

/// Takes over the files of dablooms [Dablooms2012]: a scaling file becomes a scalable-counting-bloom, a counting file a
/// counting-bloom, which answer for every key as the original does, false positives included, and continue from there.
/// The layout of the files, and what is checked: docs/formats/dablooms.md.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai {

/// What a program of dablooms gives beside the file's name: the file itself says neither.
struct DabloomsRequest {
  std::uint64_t capacity_keys = 0;  ///< of each of its filters
  double fpr = 0;                   ///< of the whole file
  bool take_damaged = false;        ///< takes over what there is of a file that does not add up
  Memory memory = system_memory();
};

/// Which of its two functions made the file, as its size tells: new_scaling_bloom or new_counting_bloom.
enum class DabloomsForm : std::uint8_t { scaling, counting };

/// Returns the name used in reports.
[[nodiscard]] std::string_view name(DabloomsForm form) noexcept;

/// A filter in the file.
struct DabloomsFilter {
  std::uint64_t offset = 0;  ///< of its header
  std::uint64_t first_id = 0;
  std::uint64_t keys = 0;  ///< additions less removals, as its header says
  double fpr = 0;
  std::uint64_t cells_per_probe = 0;
  std::uint32_t k = 0;
  /// What the counters of each probe add up to, the least and the greatest: the keys, where nothing went wrong.
  std::uint64_t least_sum = 0;
  std::uint64_t greatest_sum = 0;
  std::uint64_t full_counters = 0;  ///< at 15, and stuck from now on
};

/// Something that does not add up, and where.
struct DabloomsFinding {
  std::uint64_t offset = 0;
  std::string what;
};

/// What came of a file.
struct DabloomsImport {
  AnyFilter filter;
  DabloomsForm form = DabloomsForm::scaling;
  std::vector<DabloomsFilter> filters;
  // Of a scaling file, else 0.
  std::uint64_t max_id = 0;
  std::uint64_t memory_sequence = 0;
  std::uint64_t disk_sequence = 0;
  /// How many keys were taken out, as changes and keys say, if the file is complete.
  std::uint64_t removals = 0;
  /// What took nothing from any member, but is good to know.
  std::vector<DabloomsFinding> warnings;
  /// Why members may be missing, or be taken out with others; empty unless `take_damaged`.
  std::vector<DabloomsFinding> damage;
};

/// Takes over a file's bytes. Cost: a pass over the counters and a copy of them.
/// Errors:  corrupt (offset and reason) for a size that such filters cannot have, and, unless `take_damaged`, when
///          headers and counters do not add up; invalid_argument for a capacity or rate that its program cannot have;
///          out_of_space. Nothing is allocated for filters before all of them have been checked.
/// Threads: pure.
[[nodiscard]] Result<DabloomsImport> import_dablooms(std::span<const std::byte> bytes, const DabloomsRequest& request);

/// Takes over a file, which is only read. Errors: as import_dablooms, the file named; not_found; io; locked when it
/// changes meanwhile.
[[nodiscard]] Result<DabloomsImport> import_dablooms_file(const std::string& path, const DabloomsRequest& request,
                                                          FileCalls& calls = system_calls());

/// Writes it to a file of its own, a closed store's (durable/store.hpp). The store has made as many changes as the
/// original's mem_seqnum says, so that a program that goes on with it by way of mankai/c/dablooms.h finds that number
/// again. Errors: invalid_argument when the file exists and must not; locked; io; out_of_space.
[[nodiscard]] Result<void> save_import(const std::string& path, DabloomsImport& imported, Existing existing,
                                       FileCalls& calls = system_calls(), FileMode mode = {});

}  // namespace mankai
