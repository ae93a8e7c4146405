#include "mankai/store/journal_writer.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <span>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {
namespace {

// The first word of a record makes it valid, so neither the compiler nor the processor may write it before the rest.
void write_header(std::byte* at, std::uint64_t header) noexcept {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at)).store(header, std::memory_order_release);
}

constexpr std::uint64_t kFirstFileBytes = std::uint64_t{64} << 10;
/// A journal doubles its size up to this step.
constexpr std::uint64_t kMaxStepBytes = std::uint64_t{16} << 20;

void seal(Superblock& block) noexcept {
  block.checksum = checksum(std::as_bytes(std::span(&block, 1)).first(offsetof(Superblock, checksum)));
}

// After a failed sync the page cache may have bytes that the disk lacks. Holes before the records stay.
Result<void> rewrite(const std::string& path, const Superblock& superblock, std::uint64_t end, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::write, calls));
  MANKAI_TRY(file.rewrite(0, kFirstRecord));
  return file.rewrite(superblock.start, end);
}

}  // namespace

JournalWriter::JournalWriter(MappedFile file, const Superblock& superblock, std::uint64_t end,
                             std::uint64_t next_sequence) noexcept
    : file_(std::move(file)),
      superblock_(superblock),
      end_(end),
      next_sequence_(next_sequence),
      allocated_until_(file_.bytes().size()),
      room_until_(allocated_until_) {}

Result<JournalWriter> JournalWriter::create(const std::string& path, std::uint64_t store_id,
                                            std::uint64_t first_sequence, FileCalls& calls) {
  MANKAI_ASSIGN(auto file, MappedFile::create(path, kFirstFileBytes, calls));
  const Superblock superblock{.magic = kJournalMagic,
                              .version = kJournalVersion,
                              .zero = 0,
                              .store_id = store_id,
                              .number = 1,
                              .salt = HashSpec::random().seed[0],
                              .first_sequence = first_sequence,
                              .start = kFirstRecord,
                              .checksum = 0};
  JournalWriter journal(std::move(file), superblock, kFirstRecord, first_sequence);
  journal.write_superblock();
  return journal;
}

Result<JournalWriter> JournalWriter::resume(const std::string& path, const Superblock& superblock, std::uint64_t end,
                                            std::uint64_t next_sequence, FileCalls& calls) {
  MANKAI_TRY(rewrite(path, superblock, end, calls));
  MANKAI_ASSIGN(auto file, MappedFile::open(path, MappedFile::Mode::write, calls));
  JournalWriter journal(std::move(file), superblock, end, next_sequence);
  // Tells a concurrent reader that the records are about to change.
  journal.superblock_.version = kJournalVersion;
  ++journal.superblock_.number;
  journal.write_superblock();
  MANKAI_TRY(journal.cut());
  // The other slot may have version 1: a library that reads only that would take its older superblock for the current.
  ++journal.superblock_.number;
  journal.write_superblock();
  return journal;
}

// Bytes after the valid records must never look like their continuation, and zeros must end the records at all times.
Result<void> JournalWriter::cut() {
  // Not through the mapping: in a copy that was made without its zeros they are a hole, which a full disk cannot fill.
  const std::uint64_t until = std::min<std::uint64_t>(file_.bytes().size(), end_ + kCommitRoom);
  MANKAI_TRY(file_.write_zeros(end_, until));
  // A superblock that the disk lacks may move the start of the records forward: the disk's last one would then
  // point after the end.
  MANKAI_TRY(sync());
  MANKAI_TRY(file_.truncate(static_cast<std::size_t>(until)));
  allocated_until_ = room_until_ = end_;
  has_holes_ = true;
  return reserve(0);
}

void JournalWriter::remove_last(const Place& place) noexcept {
  short_until_ = 0;
  std::memset(file_.bytes().data() + place.end, 0, sizeof(RecordHeader));
  end_ = place.end;
  next_sequence_ = place.next_sequence;
}

Result<void> JournalWriter::append_commit(std::uint32_t changes, const Mark& mark) {
  // There is room unless this commit follows another one.
  if (auto room = reserve(record_bytes(mark.position.size(), 0)); !room && room_until_ - end_ < kCommitRoom) {
    return room;
  }
  write_long({.operation = {}, .keys = changes, .payload = {}}, mark, 0);
  return {};
}

Result<void> JournalWriter::restart(std::uint64_t salt, std::uint64_t next_sequence) {
  if (has_holes_) {
    MANKAI_TRY(file_.take_room(kFirstRecord, kFirstFileBytes));
    allocated_until_ = room_until_ = kFirstFileBytes;
  }
  // The new superblock must not find old records at the front.
  std::ranges::fill(file_.bytes().subspan(kFirstRecord, sizeof(RecordHeader)), std::byte{0});
  ++superblock_.number;
  superblock_.salt = salt;
  superblock_.first_sequence = next_sequence;
  superblock_.start = kFirstRecord;
  next_sequence_ = next_sequence;
  end_ = kFirstRecord;
  unloaded_until_ = kFirstRecord;
  write_superblock();
  return {};
}

void JournalWriter::forget(std::uint64_t before, std::uint64_t first_sequence) noexcept {
  ++superblock_.number;
  superblock_.first_sequence = first_sequence;
  superblock_.start = before;
  // After an in-memory batch the file has changes that the journal never had.
  next_sequence_ = before == end_ ? first_sequence : next_sequence_;
  write_superblock();
}

// A write through the mapping ends the process (SIGBUS) if the disk is full, so room is reserved first.
Result<void> JournalWriter::allocate(std::uint64_t until) {
  if (const std::uint64_t size = file_.bytes().size(); allocated_until_ < size) {
    MANKAI_TRY(file_.take_room(allocated_until_, std::min(size, until)));
  }
  if (until > file_.bytes().size()) {
    MANKAI_TRY(file_.grow(static_cast<std::size_t>(until)));
  }
  allocated_until_ = until;
  return {};
}

// Where the system's cache has large pages (ext4 of Linux 6.18), one that was written at once is mapped at once: 4 to
// 8 ns less per record; on tmpfs 1 ns more; not measured elsewhere. But each sync, or the system's own writing, then
// writes all of it, so only if many pages are written between two syncs.
Result<void> JournalWriter::reserve(std::uint64_t bytes) {
  if (has_room(bytes)) {
    return {};
  }
  const std::uint64_t needed = end_ + bytes + kCommitRoom;
  if (needed > allocated_until_) {
    const std::uint64_t step = std::clamp(allocated_until_, kFirstFileBytes, kMaxStepBytes);
    const std::uint64_t least = align_up(needed, kFirstFileBytes);
    auto allocated = allocate(std::max(least, align_up(allocated_until_ + step, kFirstFileBytes)));
    if (!allocated && allocated.error().code == ErrorCode::out_of_space) {
      allocated = allocate(least);  // a disk that is nearly full
    }
    MANKAI_TRY(std::move(allocated));
  }
  const std::uint64_t until = std::min(allocated_until_, align_up(needed, kFirstFileBytes));
  if (last_durable_ == durable_at_reserve_) {
    // Of a record that is larger, only the end.
    MANKAI_TRY(file_.write_zeros(std::max(room_until_, until - kFirstFileBytes), until));
  }
  durable_at_reserve_ = last_durable_;
  room_until_ = until;
  return {};
}

// Called by long records only, of which each page has one.
void JournalWriter::unload_written() noexcept {
  const std::uint64_t until = (end_ - kLoadedBytes) / kLoadedBytes * kLoadedBytes;
  file_.unload(unloaded_until_, until);
  unloaded_until_ = until;
}

void JournalWriter::write_superblock() noexcept {
  short_until_ = 0;
  seal(superblock_);
  for (std::uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
    std::memcpy(file_.bytes().data() + superblock_offset(superblock_.number, copy), &superblock_, sizeof(superblock_));
  }
}

// Writes from back to front: the zeros that end the records, the payload, then the header, which makes it a record.
inline void JournalWriter::write_short(std::uint64_t tag, const std::byte* payload, std::uint64_t words) noexcept {
  const std::uint64_t bytes = words * sizeof(std::uint64_t);
  const std::uint64_t check = checksum({payload, bytes}, superblock_.salt + tag) + next_sequence_;
  std::byte* const at = file_.bytes().data() + end_;
  end_ += short_record_bytes(bytes);
  ++next_sequence_;
  std::byte* const body = at + sizeof(ShortHeader);
  std::memset(body + bytes, 0, sizeof(RecordHeader));
  // Word by word, as callers have just written them: a wider load would wait until those stores have left the
  // processor.
#pragma GCC unroll 1
  for (std::uint64_t offset = 0; offset != bytes; offset += sizeof(std::uint64_t)) {
    std::memcpy(body + offset, payload + offset, sizeof(std::uint64_t));
  }
  write_header(at, check << kTagBits | tag);
  // The next records' lines: a lock that is released waits for all stores before it.
  prefetch_line(at + 4 * kCacheLineBytes);
}

void JournalWriter::write(const Change& change, std::uint64_t durable, bool more_follows) noexcept {
  static_assert(static_cast<std::uint16_t>(Operation::insert_until) <= kMaxShortOperation);
  // Too large to be one of so many words if the size is no multiple of 8.
  const std::uint64_t words = std::rotr(std::uint64_t{change.payload.size()}, std::countr_zero(sizeof(std::uint64_t)));
  if (change.keys == 1 && end_ < short_until_ && durable == last_durable_ && words - 1 < kMaxShortWords) [[likely]] {
    write_short(static_cast<std::uint64_t>(change.operation) | words << kShortWordsShift |
                    (more_follows ? kShortMoreFollows : 0U),
                change.payload.data(), words);
  } else {
    write_long(change, {.durable = durable, .position = {}, .more_follows = more_follows},
               static_cast<std::uint16_t>(change.operation));
  }
}

// As write_short. The first record that begins in the next page is long again.
void JournalWriter::write_long(const Change& change, const Mark& mark, std::uint16_t operation) noexcept {
  MANKAI_ASSERT(change.payload.size() <= kMaxPayloadBytes && change.payload.size() % sizeof(std::uint64_t) == 0);
  if (end_ >= unloaded_until_ + 2 * kLoadedBytes) [[unlikely]] {
    unload_written();
  }
  std::byte* const at = file_.bytes().data() + end_;
  std::byte* const body = at + sizeof(RecordHeader);
  const std::uint64_t position_room = align_up<std::uint64_t>(mark.position.size(), sizeof(std::uint64_t));
  const std::uint64_t body_bytes = position_room + change.payload.size();
  std::memset(body + body_bytes, 0, sizeof(RecordHeader));
  if (position_room != 0) {
    std::memset(body, 0, position_room);
    std::ranges::copy(std::as_bytes(std::span(mark.position)), body);
  }
  std::ranges::copy(change.payload, body + position_room);
  RecordHeader header{.checksum = 0,
                      .sequence = next_sequence_,
                      .durable = mark.durable,
                      .payload_checksum = checksum({body, body_bytes}, superblock_.salt + 1),
                      .payload_bytes = static_cast<std::uint32_t>(change.payload.size()),
                      .changes = change.keys,
                      .operation = operation,
                      .flags = mark.more_follows ? kMoreFollows : std::uint16_t{0},
                      .position_bytes = static_cast<std::uint16_t>(mark.position.size()),
                      .zero = 0};
  const auto rest = std::as_bytes(std::span(&header, 1)).subspan(sizeof(header.checksum));
  header.checksum = checksum(rest, superblock_.salt);
  std::ranges::copy(rest, at + sizeof(header.checksum));
  write_header(at, header.checksum);
  const bool is_news = mark.durable != last_durable_;
  short_until_ = align_up(end_ + 1, kJournalPage);
  last_durable_ = mark.durable;
  end_ += sizeof(RecordHeader) + body_bytes;
  if (is_news) {
    // Said once more in the next sector: this one may be lost together with the records that it speaks of.
    constexpr std::uint64_t kSector = 512;
    short_until_ = std::min(short_until_, align_up(end_, kSector));
  }
  next_sequence_ += change.keys;
}

}  // namespace mankai
