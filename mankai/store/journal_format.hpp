#pragma once

/// Constants of the journal of a store; docs/formats/journal.md is the specification.

#include <array>
#include <cstddef>
#include <cstdint>

#include "mankai/base/bits.hpp"

namespace mankai {

/// "MKJRNL", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kJournalMagic = {'M', 'K', 'J', 'R', 'N', 'L', '\x1a', '\n'};
/// Version 1 has no short records; it is read, and continued as version 2.
inline constexpr std::uint32_t kJournalVersion = 2;
inline constexpr std::uint32_t kShortVersion = 2;
[[nodiscard]] constexpr bool is_journal_version(std::uint32_t version) noexcept {
  return version >= 1 && version <= kJournalVersion;
}

/// Two superblocks are written in turn, each with two copies in different pages: neither a torn write nor a damaged
/// page destroys both.
inline constexpr std::uint64_t kSuperblockSlots = 2;
inline constexpr std::uint64_t kSuperblockPage = 4096;
inline constexpr std::uint64_t kSuperblockCopies = 2;
inline constexpr std::uint64_t kSuperblockCopy = 2048;
/// The records start after the superblocks, here or later.
inline constexpr std::uint64_t kFirstRecord = kSuperblockSlots * kSuperblockPage;

/// Defines which records are valid: those with its salt, from its start. The valid superblock with the highest number
/// is the current one.
struct Superblock {
  std::array<char, 8> magic;     //  0
  std::uint32_t version;         //  8
  std::uint32_t zero;            // 12
  std::uint64_t store_id;        // 16  that of the footer of the file to which the journal belongs
  std::uint64_t number;          // 24  from 1, one more each time
  std::uint64_t salt;            // 32  with which the records' checksums are seeded
  std::uint64_t first_sequence;  // 40  of the first record's first change
  std::uint64_t start;           // 48  offset of that record; the file has all earlier changes
  std::uint64_t checksum;        // 56  XXH3_64 of bytes 0 to 55, seed 0

  friend bool operator==(const Superblock&, const Superblock&) = default;
};
static_assert(sizeof(Superblock) == 64);
static_assert(std::has_unique_object_representations_v<Superblock>);

/// The start of a long record. The position follows, padded with zeros to a multiple of 8 bytes, then the payload. 48
/// zeros end the records.
struct RecordHeader {
  std::uint64_t checksum;          //  0  XXH3_64 of bytes 8 to 47, seed salt
  std::uint64_t sequence;          //  8  of its first change; without a change, of the next one
  std::uint64_t durable;           // 16  the last change that was known to be on the disk at that time
  std::uint64_t payload_checksum;  // 24  XXH3_64 of what follows the header, seed salt + 1
  std::uint32_t payload_bytes;     // 32  a multiple of 8
  std::uint32_t changes;           // 36  of single keys; 1 in a commit of a position only
  std::uint16_t operation;         // 40  Operation; 0: none
  std::uint16_t flags;             // 42  kMoreFollows or 0
  std::uint16_t position_bytes;    // 44  at most 64; 0: the position is as before
  std::uint16_t zero;              // 46
};
static_assert(sizeof(RecordHeader) == 48);
static_assert(std::has_unique_object_representations_v<RecordHeader>);

/// The start of a short record, of one key without a position: the payload follows. Its lower 8 bits are the tag; the
/// others are the sequence plus XXH3_64 of the payload, seed salt + tag, modulo 2^56. So the sequence costs no room,
/// and a reader that knows the payload can tell which one it is.
using ShortHeader = std::uint64_t;
inline constexpr unsigned kTagBits = 8;
inline constexpr std::uint8_t kMaxShortOperation = 15;  ///< the tag's lower 4 bits
inline constexpr unsigned kShortWordsShift = 4;         ///< the next 3: the payload's size in words of 8 bytes
inline constexpr std::uint64_t kMaxShortWords = 7;
inline constexpr std::uint8_t kShortMoreFollows = 0x80;  ///< as kMoreFollows

/// Short records repeat nothing of what a long one says, so the first record that begins in a page is long, and so is
/// each that knows of more on the disk than the one before.
inline constexpr std::uint64_t kJournalPage = 4096;

/// The batch continues in the next record. A record without this flag commits all records since the last commit.
inline constexpr std::uint16_t kMoreFollows = 1;

inline constexpr std::size_t kMaxPositionBytes = 64;
/// Limit of a payload: a window of keys with long names needs less, and sizes are far from overflow.
inline constexpr std::uint32_t kMaxPayloadBytes = std::uint32_t{1} << 30;

/// Returns the offset of a copy of a superblock; its two copies are in different pages.
[[nodiscard]] constexpr std::uint64_t superblock_offset(std::uint64_t number, std::uint64_t copy) noexcept {
  return (number + copy) % kSuperblockSlots * kSuperblockPage + copy * kSuperblockCopy;
}

[[nodiscard]] constexpr std::uint64_t record_bytes(std::uint64_t position_bytes, std::uint64_t payload_bytes) noexcept {
  return sizeof(RecordHeader) + align_up(position_bytes, std::uint64_t{8}) + payload_bytes;
}

[[nodiscard]] constexpr std::uint64_t short_record_bytes(std::uint64_t payload_bytes) noexcept {
  return sizeof(ShortHeader) + payload_bytes;
}

}  // namespace mankai
