#pragma once

#include <cstdint>
#include <string>

#include "mankai/store/source_position.hpp"

namespace mankai {

/// What opening a store found and did.
struct RecoveryReport {
  bool was_closed = true;              ///< the last writer ended well: there was nothing to do
  bool had_journal = false;            ///< there was a journal
  std::uint64_t records_replayed = 0;  ///< of the journal
  std::uint64_t changes_replayed = 0;  ///< of single keys, and advances
  std::uint64_t bytes_dropped = 0;     ///< at the journal's end, of batches that were not written to their end
  std::uint64_t dropped_at = 0;        ///< where in the journal
  std::string reason = {};             ///< why; empty where nothing was dropped
  std::uint64_t sequence = 0;          ///< the last change that is in
  SourcePosition position = {};        ///< where the source stood then
};

}  // namespace mankai
