#pragma once

#include <optional>
#include <string>

#include "mankai/base/region.hpp"
#include "mankai/file/file_calls.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// A journal as it was at one moment: what stands from the superblock's start on, copied, so that it stays as it is.
/// JournalReader(file.superblock, file.records.bytes()) reads it.
struct JournalFile {
  Superblock superblock;
  Region records;
  /// Copies of superblocks that are not what they should be, with another one that serves. A crash leaves one now and
  /// then, and so does damage.
  std::uint64_t damaged_superblocks = 0;
};

/// Where the journal of a filter's file lies, whether there is one or not. Errors: as resolve_links'.
[[nodiscard]] Result<std::string> journal_path_of(const std::string& path, FileCalls& calls = system_calls());

/// Reads a journal, also beside a writer; nothing where there is none. Cost: a copy of it. Errors: io; corrupt;
/// unsupported_version; out_of_space; all name the file.
[[nodiscard]] Result<std::optional<JournalFile>> read_journal_file(const std::string& path,
                                                                   FileCalls& calls = system_calls());

/// Reads the superblock of a journal that counts now. Errors: not_found, io, corrupt, unsupported_version.
[[nodiscard]] Result<Superblock> read_journal_superblock(const std::string& path, FileCalls& calls = system_calls());

}  // namespace mankai
