#pragma once

#include <cstdint>
#include <string>

#include "mankai/store/filter_file.hpp"
#include "mankai/store/recovery_report.hpp"

namespace mankai {

/// What a filter's files say besides the filter.
struct StoreInfo {
  bool is_store = false;  ///< has a footer; a plain image has no changes and no position
  bool is_open = false;   ///< a writer has it open and changed it, or ended without closing it
  int writer = 0;         ///< the process that has it open, where the system tells; 0: none, or unknown
  std::uint64_t file_bytes = 0;
  std::uint64_t image_sequence = 0;       ///< the last change that is in the image
  std::uint64_t journal_bytes = 0;        ///< of whole batches in the journal
  std::uint64_t journal_records = 0;      ///< in those, also what is in the image by now
  std::uint64_t damaged_superblocks = 0;  ///< of the journal, where another one serves: see JournalFile
  std::uint64_t damaged_footers = 0;      ///< copies of the footer, where the other one serves
  std::uint32_t footer_version = 0;       ///< 0: no footer
  RecoveryReport recovery = {};           ///< what a writer that opens it would be told
};

/// A filter and what its files say of it.
struct InspectedStore {
  AnyFilter filter;
  StoreInfo info;
};

/// Opens a filter's file to ask it, as open_filter, and tells what was found; changes nothing, also beside a writer.
/// Errors: as open_filter's.
[[nodiscard]] Result<InspectedStore> inspect_store(const std::string& path, Trust trust = Trust::checked);

/// Checks everything that can be checked of a filter's file and its journal: also what opening has no use for. Errors:
/// as open_filter's.
[[nodiscard]] Result<InspectedStore> verify_store(const std::string& path);

}  // namespace mankai
