#pragma once

#include <optional>
#include <string>

#include "mankai/base/region.hpp"
#include "mankai/file/file_calls.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// A snapshot of a journal, copied from its first record on.
///
///     JournalReader reader(file.superblock, file.records.bytes());
struct JournalFile {
  Superblock superblock;
  Region records;
  /// Copies of superblocks that are invalid while another copy is valid. Both a crash and damage can cause one.
  std::uint64_t damaged_superblocks = 0;
};

/// Returns the path of the journal of a filter's file, which need not exist. Errors: as resolve_links.
[[nodiscard]] Result<std::string> journal_path_of(const std::string& path, FileCalls& calls = system_calls());

/// Reads a journal, even while its writer changes it; returns nothing if there is none. Cost: a copy of it. Errors: io;
/// corrupt; unsupported_version; out_of_space; all name the file.
[[nodiscard]] Result<std::optional<JournalFile>> read_journal_file(const std::string& path,
                                                                   FileCalls& calls = system_calls());

/// Reads the current superblock of a journal. Errors: not_found, io, corrupt, unsupported_version.
[[nodiscard]] Result<Superblock> read_journal_superblock(const std::string& path, FileCalls& calls = system_calls());

}  // namespace mankai
