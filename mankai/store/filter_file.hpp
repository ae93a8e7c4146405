#pragma once

/// Opens, writes and checks a filter's file without changing it; mankai/store/store.hpp changes one.

#include <cstdint>
#include <string>

#include "mankai/file/file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/source_position.hpp"

namespace mankai {

/// How a filter is read from its file.
enum class Access : std::uint8_t {
  query,   ///< mapped: opening takes milliseconds at any size; changes would stay in memory
  change,  ///< read into memory of its own, in huge pages if the system grants them
};

/// What opening a filter's file found in its journal.
struct RecoveryReport {
  bool was_closed = true;              ///< the last writer closed the store, so there was nothing to recover
  bool had_journal = false;            ///< there was a journal
  std::uint64_t records_replayed = 0;  ///< records of the journal that the image lacked
  std::uint64_t changes_replayed = 0;  ///< changes of single keys, and advances, in these records
  /// At the end of the journal, of batches that were not written completely; one that a process with the file's lock
  /// has not committed yet is not counted.
  std::uint64_t bytes_dropped = 0;
  std::uint64_t dropped_at = 0;  ///< offset of these bytes in the journal
  std::string reason = {};       ///< why they were dropped; empty if nothing was
  std::uint64_t sequence = 0;    ///< the last change that the filter has
  SourcePosition position = {};  ///< position of the source at that change
};

/// Opens a filter's file; fills in `report` if it is given. Errors: not_found, io, corrupt, unsupported_version,
/// out_of_space; all name the file.
[[nodiscard]] Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust = Trust::checked,
                                            const Memory& memory = system_memory(), RecoveryReport* report = nullptr);

/// Writes a filter to a file, completely or not at all: a new, closed store without changes, at this position of its
/// source. The journal of a store that it replaces is removed. Errors: invalid_argument if the file or a journal of its
/// name exists and `existing` refuses that; locked if a writer has the file open; io, also for a file that is not
/// regular or not writable; out_of_space.
[[nodiscard]] Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing,
                                       FileMode mode = {}, const SourcePosition& position = {},
                                       FileCalls& calls = system_calls());

/// What a filter's files hold besides the filter.
struct StoreInfo {
  bool is_store = false;  ///< has a footer; a plain image has neither changes nor a position
  bool is_open = false;   ///< a writer has it open and changed it, or ended without closing it
  int writer = 0;         ///< process id of the writer that has it open; 0: none or unknown
  std::uint64_t file_bytes = 0;
  std::uint64_t image_sequence = 0;       ///< the last change that the image has
  std::uint64_t journal_bytes = 0;        ///< of complete batches in the journal
  std::uint64_t journal_records = 0;      ///< in these batches, those included that the image has
  std::uint64_t damaged_superblocks = 0;  ///< of the journal, while another copy is valid: see JournalFile
  std::uint64_t damaged_footers = 0;      ///< copies of the footer, while the other one is valid
  std::uint32_t footer_version = 0;       ///< 0: no footer
  RecoveryReport recovery = {};           ///< what a writer that opens the file would report
};

/// A filter and what its files say about it.
struct InspectedStore {
  AnyFilter filter;
  StoreInfo info;
};

/// Opens a filter's file for queries and describes it; changes nothing, and may run while a writer has it open. Errors:
/// as open_filter.
[[nodiscard]] Result<InspectedStore> inspect_store(const std::string& path, Trust trust = Trust::checked);

/// As inspect_store, and checks also the bytes of the file that opening does not read. Errors: as open_filter.
[[nodiscard]] Result<InspectedStore> verify_store(const std::string& path);

}  // namespace mankai
