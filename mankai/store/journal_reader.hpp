#pragma once

/// What a journal says: its superblock, and its records up to the first that is not whole.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/filter/change.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// Whose bytes stand in the journal.
struct JournalRecord {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;     ///< of the journal that it takes
  std::uint64_t sequence = 0;  ///< of its first change
  std::uint64_t durable = 0;
  bool more_follows = false;
  bool has_change = false;
  Change change = {};
  std::string_view position = {};

  /// The last change up to here.
  [[nodiscard]] std::uint64_t last_sequence() const noexcept { return sequence + change.keys - 1; }
};

/// How the records end.
struct JournalEnd {
  std::uint64_t offset = 0;         ///< where the next record would begin
  std::uint64_t bytes_dropped = 0;  ///< behind it that were meant to be records
  std::string reason = {};          ///< why they are none; empty where nothing was dropped
};

/// Returns the superblock that counts, of a journal's first kFirstRecord bytes and its length. Errors: corrupt, with
/// the offset, when none is valid; unsupported_version.
[[nodiscard]] Result<Superblock> read_superblock(std::span<const std::byte> bytes, std::uint64_t journal_bytes);

/// Returns how many copies of superblocks are not what they should be: neither what was written there nor untouched.
/// Shape: a journal's first kFirstRecord bytes.
[[nodiscard]] std::uint64_t count_damaged_superblocks(std::span<const std::byte> bytes) noexcept;

/// Reads a journal. The bytes are anybody's: nothing in them is believed before its checksum has been looked at.
/// Threads: one at a time.
class JournalReader {
 public:
  /// Takes a journal as a whole. `bytes` outlives the reader and is aligned to 8. Errors: as read_superblock.
  [[nodiscard]] static Result<JournalReader> open(std::span<const std::byte> bytes);
  /// Takes what stands in the journal from the superblock's start on.
  JournalReader(const Superblock& superblock, std::span<const std::byte> records) noexcept
      : records_(records), superblock_(superblock), sequence_(superblock.first_sequence) {}

  [[nodiscard]] const Superblock& superblock() const noexcept { return superblock_; }
  /// Returns the next record; nothing at the end. Cost: its checksum, at memory speed.
  [[nodiscard]] std::optional<JournalRecord> next();
  /// Where the next record begins.
  [[nodiscard]] std::uint64_t offset() const noexcept { return superblock_.start + at_; }

  /// How the records end, when next() has returned nothing. `base_sequence` is the last change
  /// that is in the file beside it. Errors: corrupt, with the offset, when a record is missing
  /// that a later one says was on the disk, and that one adds to the file: no crash does that, but damage. Cost: a look
  /// at every 8 bytes behind.
  [[nodiscard]] Result<JournalEnd> end(std::uint64_t base_sequence = 0) const;

 private:
  [[nodiscard]] std::optional<RecordHeader> header_at(std::uint64_t at) const noexcept;
  [[nodiscard]] std::optional<JournalRecord> record_at(std::uint64_t at) const noexcept;

  std::span<const std::byte> records_;
  Superblock superblock_;
  std::uint64_t at_ = 0;    // in the records
  std::uint64_t sequence_;  // that the next record must have
};

}  // namespace mankai
