#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "mankai/file/file_calls.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/journal_format.hpp"
#include "mankai/store/recovery_report.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai::detail {

/// Where the records of a journal that is there end, for a writer to go on.
struct JournalState {
  Superblock superblock;
  std::uint64_t end = kFirstRecord;  ///< behind the last whole batch
  std::uint64_t next_sequence = 0;   ///< of the record that would come there
  std::uint64_t records = 0;         ///< of whole batches
  std::uint64_t damaged_superblocks = 0;
};

/// A filter as its files have it.
struct LoadedStore {
  AnyFilter filter;
  std::optional<FoundFooter> footer;    ///< none: a plain image
  std::optional<JournalState> journal;  ///< none: no journal
  std::uint64_t file_bytes = 0;
  RecoveryReport report;
};

/// How to get at a file.
struct LoadRequest {
  Access access = Access::query;
  Trust trust = Trust::checked;
  Memory memory = system_memory();
  FileCalls* calls = &system_calls();
  bool is_writer = false;                      ///< who has the lock, so that nothing changes meanwhile
  std::chrono::milliseconds between_looks{1};  ///< which a writer who is at work is given
  bool was_in_memory = false;                  ///< a moment ago, so that there is room to read it, however large it is
};

/// Reads a filter's file, and does in memory what its journal has beyond it; changes nothing on the disk. Beside a
/// writer it sees one moment, for which it may have to look more than once.
/// Errors: not_found, io, corrupt, unsupported_version, out_of_space; all name the file.
[[nodiscard]] Result<LoadedStore> load_store(const std::string& given, const LoadRequest& request);

}  // namespace mankai::detail
