#pragma once

/// Writes a journal (docs/formats/journal.md) through a shared mapping: what was appended survives the end of the
/// process as soon as `append` returns, and a power loss once `sync` has.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/file/mapped_file.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// See the top of this file. Threads: one at a time, but for `sync`, which may be called beside `append` and is not
/// beside anything else of itself.
class JournalWriter {
 public:
  /// What a record says besides its change.
  struct Mark {
    std::uint64_t durable = 0;  ///< the last change that is known to be on the disk
    std::string_view position = {};
    bool more_follows = false;
  };

  /// Makes a journal with no records. Errors: io, also when there is one; out_of_space.
  [[nodiscard]] static Result<JournalWriter> create(const std::string& path, std::uint64_t store_id,
                                                    std::uint64_t first_sequence, FileCalls& calls);
  /// Continues after the records that are good, which end at `end`; what stands behind them is gone. Errors: not_found,
  /// io, out_of_space.
  [[nodiscard]] static Result<JournalWriter> resume(const std::string& path, const Superblock& superblock,
                                                    std::uint64_t end, std::uint64_t next_sequence, FileCalls& calls);

  /// Appends a record. Cost: a copy of the payload and its checksum; now and then the file is made longer. Errors:
  /// out_of_space, io: nothing was appended.
  [[nodiscard]] Result<void> append(const Change& change, const Mark& mark);
  /// Where a record begins.
  struct Place {
    std::uint64_t end;
    std::uint64_t next_sequence;
  };
  [[nodiscard]] Place place() const noexcept { return {.end = end_, .next_sequence = next_sequence_}; }
  /// Makes the last record none: what it says cannot be done. Pre: the place is that before it.
  void take_back(const Place& place) noexcept;
  /// Appends a record without an operation: a commit, which takes so many numbers, 0 or 1. Never fails for lack of
  /// room, which each record leaves for one.
  [[nodiscard]] Result<void> append_commit(std::uint32_t changes, const Mark& mark);

  /// Restarts in front: all records are in the file that the journal belongs to, and on the disk. The file stays as
  /// long as it is. Errors: out_of_space, io where room in front was given back and cannot be had again; then nothing
  /// has changed.
  [[nodiscard]] Result<void> restart(std::uint64_t salt, std::uint64_t next_sequence);
  /// Gives the journal the owner, where that is allowed, and the permissions of another file. Errors: not_found; io.
  [[nodiscard]] Result<void> copy_permissions(const std::string& from) { return file_.copy_permissions(from); }
  /// Forgets the records before an offset, which is where one begins or they end: they are in the file that the journal
  /// belongs to, and on the disk. The next one's first change is given.
  void forget(std::uint64_t before, std::uint64_t first_sequence) noexcept;
  /// Gives the room of what was forgotten back to the disk, when it knows that it was forgotten. Returns whether the
  /// file system can. Pre: `sync` since `forget`. Threads: beside `append`.
  bool release_forgotten() noexcept {
    has_holes_ = true;
    return file_.punch_hole(kFirstRecord, superblock_.start);
  }
  /// Returns when the disk has everything that was appended before the call. Errors: io; then nobody can say what the
  /// disk has, and the journal must not be written any more.
  [[nodiscard]] Result<void> sync() { return file_.sync_all(); }

  /// The change that the next record begins with.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_sequence_; }
  /// Where the records end.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  /// The bytes of records that it holds.
  [[nodiscard]] std::uint64_t record_bytes_held() const noexcept { return end_ - superblock_.start; }

 private:
  JournalWriter(MappedFile file, const Superblock& superblock, std::uint64_t end, std::uint64_t next_sequence) noexcept;

  [[nodiscard]] Result<void> cut();
  /// Whether a record of so many bytes fits into what is reserved, with a commit behind it.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept;
  [[nodiscard]] Result<void> reserve(std::uint64_t bytes);
  void write_superblock() noexcept;
  void write_record(const Change& change, const Mark& mark, std::uint16_t operation) noexcept;

  MappedFile file_;
  Superblock superblock_;
  std::uint64_t end_;
  std::uint64_t next_sequence_;
  /// Up to where the disk's room for records is known to be taken.
  std::uint64_t room_until_;
  /// Whether room in front may have been given back, by us or by an earlier writer.
  bool has_holes_ = false;
};

}  // namespace mankai
