#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "mankai/file/file_calls.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/journal_format.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai::detail {

/// The end of a journal's records, for a writer to continue.
struct JournalState {
  Superblock superblock;
  std::uint64_t end = kFirstRecord;  ///< after the last complete batch
  std::uint64_t next_sequence = 0;   ///< of the record that would follow
  std::uint64_t records = 0;         ///< in complete batches
  std::uint64_t damaged_superblocks = 0;
  bool is_in_batch = false;  ///< a batch follows that was not committed
};

struct LoadedStore {
  AnyFilter filter;
  std::optional<FoundFooter> footer;    ///< none: a plain image
  std::optional<JournalState> journal;  ///< none: no journal
  std::uint64_t file_bytes = 0;
  RecoveryReport report;
};

struct LoadRequest {
  Access access = Access::query;
  Trust trust = Trust::checked;
  Memory memory = system_memory();
  FileCalls* calls = &system_calls();
  bool is_writer = false;                         ///< the caller has the lock, so nobody else changes the files
  std::chrono::milliseconds between_attempts{1};  ///< pause between attempts while a writer is active
  bool was_in_memory = false;                     ///< just now, so there is memory to read it at any size
};

/// Reads a filter's file and replays its journal in memory; changes nothing on the disk. Beside a writer it returns a
/// consistent snapshot, which may take several attempts.
/// Errors: not_found, io, corrupt, unsupported_version, out_of_space; all name the file.
[[nodiscard]] Result<LoadedStore> load_store(const std::string& given, const LoadRequest& request);

}  // namespace mankai::detail
