#pragma once

/// Reads the superblock of a journal, and its records up to the first invalid one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/filter/change.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// A record; its change and position refer to the bytes of the journal.
struct JournalRecord {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;     ///< size in the journal
  std::uint64_t sequence = 0;  ///< of its first change
  std::uint64_t durable = 0;   ///< of a short record, that of the long one before it
  bool more_follows = false;
  bool has_change = false;
  Change change = {};
  std::string_view position = {};

  [[nodiscard]] std::uint64_t last_sequence() const noexcept { return sequence + change.keys - 1; }
};

/// The end of the records.
struct JournalEnd {
  std::uint64_t offset = 0;         ///< where the next record would start
  std::uint64_t bytes_dropped = 0;  ///< after it that belong to incomplete records
  std::string reason = {};          ///< why they are invalid; empty if nothing was dropped
};

/// Returns the current superblock, from the first kFirstRecord bytes of a journal and its size. Errors: corrupt, with
/// the offset, if none is valid; unsupported_version.
[[nodiscard]] Result<Superblock> read_superblock(std::span<const std::byte> bytes, std::uint64_t journal_bytes);

/// Returns the number of copies of superblocks that are damaged: neither valid nor still zero.
/// Shape: the first kFirstRecord bytes of a journal.
[[nodiscard]] std::uint64_t count_damaged_superblocks(std::span<const std::byte> bytes) noexcept;

/// Reads a journal, whose bytes are untrusted: every checksum is verified before the bytes are used.
/// Threads: one at a time.
class JournalReader {
 public:
  /// Reads a whole journal. `bytes` outlives the reader and is aligned to 8 bytes. Errors: as read_superblock.
  [[nodiscard]] static Result<JournalReader> open(std::span<const std::byte> bytes);
  /// Reads the bytes from the superblock's first record on.
  JournalReader(const Superblock& superblock, std::span<const std::byte> records) noexcept
      : records_(records), superblock_(superblock), sequence_(superblock.first_sequence) {}

  [[nodiscard]] const Superblock& superblock() const noexcept { return superblock_; }
  /// Returns the next record, or nothing at the end. Cost: its checksum, at memory speed.
  [[nodiscard]] std::optional<JournalRecord> next();
  [[nodiscard]] std::uint64_t offset() const noexcept { return superblock_.start + at_; }

  /// Returns how the records end, after next() has returned nothing. `file_sequence` is the last change that the
  /// store's file has. Errors: corrupt, with the offset, if a record is invalid although a later record, which the file
  /// lacks, says that the disk had it: that is damage, not a crash. Cost: tests every 8th byte up to the end.
  [[nodiscard]] Result<JournalEnd> end(std::uint64_t file_sequence = 0) const;

 private:
  [[nodiscard]] std::optional<RecordHeader> header_at(std::uint64_t at) const noexcept;
  [[nodiscard]] std::optional<JournalRecord> record_at(std::uint64_t at) const noexcept;
  [[nodiscard]] std::optional<JournalRecord> short_record_at(std::uint64_t at) const noexcept;

  std::span<const std::byte> records_;
  Superblock superblock_;
  std::uint64_t at_ = 0;    // in the records
  std::uint64_t sequence_;  // that the next record must have
  std::uint64_t durable_ = 0;
};

}  // namespace mankai
