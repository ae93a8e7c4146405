#pragma once

/// Very many tiny filters, one a number, in one file: a filter for each user, say, of a few hundred bytes.
///
/// All are made like one prototype, so all have the same size, hash and seed, and slots of one size hold them: an image
/// as it is, and behind it whose it is. Which slot an id has is kept in memory and found out anew when the file is
/// opened, so that no index can disagree with the filters. The bytes: docs/formats/filter_pool.md.
///
/// What it promises about the end of a process or of the machine, whatever was going on:
///   - A filter that was not being written is as it was at the last `sync`, or as it was put later.
///   - One that was being written when the process ended is as it was, as it was put, or `get` says `corrupt`.
///   - When the machine ended, what was put or erased since the last `sync` may have happened or not, each by itself; a
///     filter of which only some pages reached the disk is `corrupt`.
///   - Damage is found when a filter is read, each by itself. Where it hits the id, nobody can say which filter is
///   gone:
///     `get` of any id that is not there then says `corrupt`, not `not_found`, until `forget_damaged`. A pool that was
///     closed well knows how many filters it has, and notices missing ones in the same way.
/// Beyond that nothing is kept that the file does not have: there is no journal here.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mankai/durable/detail/slot_index.hpp"
#include "mankai/durable/filter_pool_format.hpp"
#include "mankai/filter/parts/filter_base.hpp"
#include "mankai/storage/file.hpp"
#include "mankai/storage/mapped_file.hpp"

namespace mankai {

/// See the top of this file. Cost: a slot (an image and 32 to 95 bytes) in the file, 16 bytes by 4/3 to 8/3 in memory.
/// Threads: const calls beside each other; the rest alone. Processes: one writer, and readers, which see the filters
/// that were there when they opened it, each as it is now; what changes under their eyes is `corrupt` to them, not
/// wrong, and there again at the next try.
class FilterPool {
 public:
  using Mode = MappedFile::Mode;

  /// Makes a pool for filters like this one, whose image is given, and opens it for writing; the filter's keys do not
  /// matter. Errors: invalid_argument when the file exists, or for images above 16 MiB; corrupt; io; out_of_space.
  [[nodiscard]] static Result<FilterPool> create(const std::string& path, std::span<const std::byte> prototype,
                                                 FileCalls& calls = system_calls());
  /// Cost: a look at each slot. Errors: not_found; io; corrupt and unsupported_version; locked when somebody else
  /// writes and so does this one.
  [[nodiscard]] static Result<FilterPool> open(const std::string& path, Mode mode, FileCalls& calls = system_calls());

  FilterPool(FilterPool&&) noexcept = default;
  FilterPool& operator=(FilterPool&& other) noexcept;
  FilterPool(const FilterPool&) = delete;
  FilterPool& operator=(const FilterPool&) = delete;
  /// Marks the file as closed well. `sync` before, for what must survive the machine.
  ~FilterPool();

  /// Copies a filter's image; `into` is image_bytes() long. With Trust::fast the cells are not checked here, for
  /// callers that open the copy with Trust::checked, which does. Errors: not_found; corrupt.
  [[nodiscard]] Result<void> get(std::uint64_t id, std::span<std::byte> into, Trust trust = Trust::checked) const;
  /// The image where it stands, for `attach`: until the next put, erase or move. A reader's changes stay in its memory;
  /// a writer that changes it seals it and calls `reseal`, without which it is corrupt. Errors: as get.
  [[nodiscard]] Result<std::span<std::byte>> view(std::uint64_t id, Trust trust = Trust::checked);
  /// Accepts a viewed image as it is now. Errors: not_found; corrupt when it was not sealed.
  [[nodiscard]] Result<void> reseal(std::uint64_t id);

  /// Puts a filter in, in place of the one with this id. Errors: invalid_argument when it is not like the prototype;
  /// out_of_space; io. Pre: opened for writing.
  [[nodiscard]] Result<void> put(std::uint64_t id, const FilterBase& filter);
  /// As put, of a sealed image. With Trust::fast its cells are not checked here, but at `get`. Errors: also corrupt.
  [[nodiscard]] Result<void> put(std::uint64_t id, std::span<const std::byte> image, Trust trust = Trust::checked);
  /// Returns whether it was there. Pre: opened for writing.
  bool erase(std::uint64_t id) noexcept;

  [[nodiscard]] bool contains(std::uint64_t id) const noexcept { return index_.find(id).has_value(); }
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }
  /// Calls use(id) for each filter, in no order. The pool must not be changed meanwhile.
  template <class Use>
  void for_each_id(const Use& use) const {
    index_.for_each([&](std::uint64_t id, std::uint32_t /*slot*/) { use(id); });
  }

  /// Filters that are gone, nobody knows whose: slots whose id is damaged, and those that a well-closed file lacks.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_slots_.size() + missing_; }
  /// Gives the damaged slots up: what is not there is `not_found` again. Pre: opened for writing.
  void forget_damaged() noexcept;

  /// Returns when the disk has it all. Errors: io.
  [[nodiscard]] Result<void> sync();

  /// The empty filter that all are like, to be opened and filled.
  [[nodiscard]] std::span<const std::byte> prototype() const noexcept;
  [[nodiscard]] std::size_t image_bytes() const noexcept { return static_cast<std::size_t>(header_.image_bytes); }
  [[nodiscard]] std::size_t file_bytes() const noexcept { return file_.bytes().size(); }
  /// What the index takes in memory.
  [[nodiscard]] std::size_t index_bytes() const noexcept { return index_.bytes(); }

 private:
  FilterPool(MappedFile file, std::vector<FileLock> lock, const PoolHeader& header) noexcept;

  [[nodiscard]] std::size_t slot_count() const noexcept;
  [[nodiscard]] std::span<std::byte> slot(std::uint32_t number) const noexcept;
  [[nodiscard]] std::span<std::byte> image_at(std::uint32_t number) const noexcept;
  [[nodiscard]] PoolTail& tail_at(std::uint32_t number) const noexcept;
  [[nodiscard]] std::unexpected<Error> no_filter(std::uint64_t id) const;
  [[nodiscard]] Result<void> check_like_prototype(std::span<const std::byte> image) const;
  [[nodiscard]] Result<void> check_copy(std::uint64_t id, std::uint32_t number, std::span<const std::byte> image,
                                        Trust trust) const;

  void read_slots();
  void read_slot(std::uint32_t number);
  [[nodiscard]] Result<void> start_writing();
  void finish_writing() noexcept;
  [[nodiscard]] Result<std::uint32_t> slot_for(std::uint64_t id);
  [[nodiscard]] Result<void> enlarge();
  void publish(std::uint32_t number) noexcept;

  MappedFile file_;
  /// One, in a writer.
  std::vector<FileLock> lock_;
  PoolHeader header_;
  detail::SlotIndex index_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> damaged_slots_;
  std::uint64_t missing_ = 0;
  std::uint64_t next_sequence_ = 1;
  /// Slots from here on were never used.
  std::uint32_t fresh_ = 0;
};

}  // namespace mankai
