// Any bytes as a journal. Byte 0 says what happens to the rest: it is the journal, or 64 bytes of a superblock and then
// records; their checksums, and their sequences, may be made right, so that what lies behind them is reached.
//
// Whatever the reader takes lies within the journal, in order, and follows what came before; and it says where the
// records end, or that they are damaged.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/store/journal_reader.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/journal_edit.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;
using Input = std::span<const std::byte>;

enum Mode : std::uint8_t {
  whole = 1,           ///< the input is the journal
  fix_superblock = 2,  ///< its magic, version and checksum
  fix_front = 4,       ///< the records begin behind the superblocks
  fix_records = 8,     ///< their checksums
  fix_sequences = 16,
};

Bytes journal_of(std::uint8_t mode, Input input) {
  Superblock block{};
  if ((mode & whole) != 0 || input.size() < sizeof(block)) {
    return {input.begin(), input.end()};
  }
  std::memcpy(&block, input.data(), sizeof(block));
  if ((mode & fix_front) != 0) {
    block.start = kFirstRecord;
  }
  if ((mode & fix_superblock) != 0) {
    block.magic = kJournalMagic;
    block.version = kJournalVersion;
    block = test::with_checksum(block);
  }
  Bytes journal(kFirstRecord);
  test::put_superblock(journal, block);
  journal.insert(journal.end(), input.begin() + sizeof(block), input.end());
  if ((mode & fix_records) != 0) {
    test::fix_records(std::span(journal).subspan(kFirstRecord), block, (mode & fix_sequences) != 0);
  }
  return journal;
}

void check_record(const JournalRecord& record, std::span<const std::byte> bytes) {
  const auto lies_within = [&](const void* data, std::size_t size) {
    const auto* at = static_cast<const std::byte*>(data);
    return at >= bytes.data() + record.offset && at + size <= bytes.data() + record.offset + record.bytes;
  };
  MANKAI_ASSERT(record.offset + record.bytes <= bytes.size());
  MANKAI_ASSERT(record.position.size() <= kMaxPositionBytes);
  MANKAI_ASSERT(record.position.empty() || lies_within(record.position.data(), record.position.size()));
  MANKAI_ASSERT(lies_within(record.change.payload.data(), record.change.payload.size()));
  MANKAI_ASSERT(reinterpret_cast<std::uintptr_t>(record.change.payload.data()) % sizeof(std::uint64_t) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  test::AlignedBytes bytes(journal_of(data[0], std::as_bytes(std::span(data + 1, size - 1))));
  const std::span<const std::byte> journal = bytes.span();
  auto reader = JournalReader::open(journal);
  if (!reader) {
    const ErrorCode code = reader.error().code;
    MANKAI_ASSERT(code == ErrorCode::corrupt || code == ErrorCode::unsupported_version);
    return 0;
  }
  std::uint64_t offset = reader->offset();
  std::uint64_t sequence = reader->superblock().first_sequence;
  while (const auto record = reader->next()) {
    check_record(*record, journal);
    MANKAI_ASSERT(record->offset == offset && record->sequence == sequence);
    offset += record->bytes;
    sequence += record->change.keys;
  }
  MANKAI_ASSERT(reader->offset() == offset);
  const auto end = reader->end();
  if (end) {
    MANKAI_ASSERT(end->offset == offset && end->bytes_dropped <= journal.size() - offset);
  } else {
    MANKAI_ASSERT(end.error().code == ErrorCode::corrupt);
  }
  return 0;
}
