#pragma once

/// Writes a journal (docs/formats/journal.md) through a shared mapping: a record survives a process crash after
/// `append` has returned, and power loss after `sync` has.

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/file/mapped_file.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// See the top of this file. Threads: one at a time; `sync` and `release_forgotten` may run concurrently with `append`.
class JournalWriter {
 public:
  struct Mark {
    std::uint64_t durable = 0;  ///< the last change that is known to be on the disk
    std::string_view position = {};
    bool more_follows = false;
  };

  /// Creates a journal without records. Errors: io, also if it exists; out_of_space.
  [[nodiscard]] static Result<JournalWriter> create(const std::string& path, std::uint64_t store_id,
                                                    std::uint64_t first_sequence, FileCalls& calls);
  /// Continues a journal whose valid records end at `end`, and drops what follows them. Errors: not_found, io,
  /// out_of_space.
  [[nodiscard]] static Result<JournalWriter> resume(const std::string& path, const Superblock& superblock,
                                                    std::uint64_t end, std::uint64_t next_sequence, FileCalls& calls);

  /// Whether there is room for a record of this size (record_bytes) and a commit.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept { return end_ + bytes + kCommitRoom <= room_until_; }
  /// Makes that room; the file may grow. Errors: out_of_space, io.
  [[nodiscard]] Result<void> reserve(std::uint64_t bytes);
  /// Writes a record without a position, a short one if it can be; the other arguments are a Mark's. Cost: a copy of
  /// the payload and its checksum. Pre: room for a long one.
  void write(const Change& change, std::uint64_t durable, bool more_follows) noexcept;
  /// Makes room and writes. Errors: as reserve's; then nothing was appended.
  [[nodiscard]] Result<void> append(const Change& change, const Mark& mark) {
    MANKAI_TRY(reserve(record_bytes(mark.position.size(), change.payload.size())));
    if (mark.position.empty()) {
      write(change, mark.durable, mark.more_follows);
    } else {
      write_long(change, mark, static_cast<std::uint16_t>(change.operation));
    }
    return {};
  }
  /// Where a record starts.
  struct Place {
    std::uint64_t end;
    std::uint64_t next_sequence;
  };
  [[nodiscard]] Place place() const noexcept { return {.end = end_, .next_sequence = next_sequence_}; }
  /// Removes the last record, whose change cannot be applied. Pre: `place` is that before it.
  void remove_last(const Place& place) noexcept;
  /// Appends a commit, a record without an operation that takes 0 or 1 sequence numbers. Has room even on a full disk
  /// if the record before it is not a commit. Errors: as append.
  [[nodiscard]] Result<void> append_commit(std::uint32_t changes, const Mark& mark);

  /// Restarts the journal at its front and keeps the size of its file. Pre: the store's file has all records, on the
  /// disk. Errors: out_of_space, io if the front was released and has no room again; then nothing has changed.
  [[nodiscard]] Result<void> restart(std::uint64_t salt, std::uint64_t next_sequence);
  /// Copies the permissions of another file and, if allowed, its owner. Errors: not_found; io.
  [[nodiscard]] Result<void> copy_permissions(const std::string& from) { return file_.copy_permissions(from); }
  /// Forgets the records before an offset, the start of a record or the end of all. `first_sequence` is the first
  /// change after them. Pre: the store's file has these records, on the disk.
  void forget(std::uint64_t before, std::uint64_t first_sequence) noexcept;
  /// Releases the room of forgotten records to the file system; returns whether it supports that. Pre: `sync` since
  /// `forget`, so that the disk has the superblock that forgets them.
  bool release_forgotten() noexcept {
    has_holes_ = true;
    return file_.punch_hole(kFirstRecord, superblock_.start);
  }
  /// Returns once the disk has everything appended before the call. Errors: io; then the state of the disk is unknown,
  /// and the journal must not be written again.
  [[nodiscard]] Result<void> sync() { return file_.sync(); }

  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_sequence_; }
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  /// Returns the size of the records that are not forgotten.
  [[nodiscard]] std::uint64_t record_bytes_held() const noexcept { return end_ - superblock_.start; }

 private:
  /// At least so much before the end stays mapped, and at most twice as much, a page and a record.
  static constexpr std::uint64_t kLoadedBytes = std::uint64_t{64} << 10;
  /// Room that each record leaves: for a commit with a position, and the zeros after it.
  static constexpr std::uint64_t kCommitRoom = record_bytes(kMaxPositionBytes, 0) + sizeof(RecordHeader);

  JournalWriter(MappedFile file, const Superblock& superblock, std::uint64_t end, std::uint64_t next_sequence) noexcept;

  [[nodiscard]] Result<void> cut();
  [[nodiscard]] Result<void> allocate(std::uint64_t until);
  void write_superblock() noexcept;
  void write_short(std::uint64_t tag, const std::byte* payload, std::uint64_t words) noexcept;
  void write_long(const Change& change, const Mark& mark, std::uint16_t operation) noexcept;
  [[gnu::cold]] void unload_written() noexcept;

  MappedFile file_;
  Superblock superblock_;
  std::uint64_t end_;
  std::uint64_t next_sequence_;
  /// The disk is known to have room for records up to this offset.
  std::uint64_t allocated_until_;
  /// Records are written up to this offset without another reserve; at most allocated_until_.
  std::uint64_t room_until_;
  std::uint64_t durable_at_reserve_ = ~std::uint64_t{0};  ///< last_durable_ when room_until_ was set
  /// Records before this offset may be short while nothing more is known to be on the disk. 0: none.
  std::uint64_t short_until_ = 0;
  std::uint64_t unloaded_until_ = kFirstRecord;  ///< records in whole pages before this offset are not mapped
  std::uint64_t last_durable_ = 0;               ///< of the last long record
  /// This or an earlier writer may have released room at the front.
  bool has_holes_ = false;
};

}  // namespace mankai
