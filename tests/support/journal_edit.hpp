#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "mankai/store/journal_format.hpp"
#include "mankai/store/store_footer_format.hpp"

// For tests of hostile stores: journals and footers whose checksums are right over wrong fields. Written from the
// formats' specifications, not by calling the writers.

namespace mankai::test {

inline Superblock with_checksum(Superblock block) {
  block.checksum = XXH3_64bits(&block, offsetof(Superblock, checksum));
  return block;
}

inline StoreFooter with_checksum(StoreFooter footer) {
  footer.checksum = XXH3_64bits(&footer, offsetof(StoreFooter, checksum));
  return footer;
}

/// Puts a superblock where its number says, twice. Pre: both pages are there.
inline void put_superblock(std::span<std::byte> journal, const Superblock& block) {
  for (std::uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
    std::memcpy(journal.data() + superblock_offset(block.number, copy), &block, sizeof(block));
  }
}

/// Completes a short record of which there is the tag, without a checksum; returns its size, or 0 if it is none.
inline std::size_t fix_short_record(std::span<std::byte> records, const Superblock& block, std::uint64_t sequence) {
  ShortHeader tag = 0;
  std::memcpy(&tag, records.data(), sizeof(tag));
  const std::uint64_t payload = (tag >> kShortWordsShift & kMaxShortWords) * sizeof(std::uint64_t);
  if (tag >> kTagBits != 0 || (tag & kMaxShortOperation) == 0 || payload == 0 ||
      short_record_bytes(payload) > records.size()) {
    return 0;
  }
  const std::uint64_t sum = XXH3_64bits_withSeed(records.data() + sizeof(tag), payload, block.salt + tag) + sequence;
  tag |= sum << kTagBits;
  std::memcpy(records.data(), &tag, sizeof(tag));
  return short_record_bytes(payload);
}

/// Makes the checksums right of as many records as their sizes can be followed, and their sequences, where that is
/// asked for; `durable` is left alone. What begins with a tag without a checksum is a short record.
inline void fix_records(std::span<std::byte> records, const Superblock& block, bool fixes_sequences) {
  std::uint64_t sequence = block.first_sequence;
  while (records.size() >= sizeof(RecordHeader)) {
    if (const std::size_t bytes = fix_short_record(records, block, sequence); bytes != 0) {
      ++sequence;
      records = records.subspan(bytes);
      continue;
    }
    RecordHeader header;
    std::memcpy(&header, records.data(), sizeof(header));
    const std::uint64_t bytes = record_bytes(header.position_bytes, header.payload_bytes);
    if (header.payload_bytes % sizeof(std::uint64_t) != 0 || bytes > records.size()) {
      return;
    }
    header.sequence = fixes_sequences ? sequence : header.sequence;
    header.payload_checksum = XXH3_64bits_withSeed(records.data() + sizeof(header),
                                                   static_cast<std::size_t>(bytes) - sizeof(header), block.salt + 1);
    header.checksum = XXH3_64bits_withSeed(reinterpret_cast<const std::byte*>(&header) + sizeof(header.checksum),
                                           sizeof(header) - sizeof(header.checksum), block.salt);
    std::memcpy(records.data(), &header, sizeof(header));
    sequence += header.changes;
    records = records.subspan(static_cast<std::size_t>(bytes));
  }
}

}  // namespace mankai::test
