#pragma once

/// The files of a digest log, byte by byte: docs/formats/digest_log.md is the specification, this file its constants.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mankai {

/// "MKDLOG", then a byte that ends text and one that line-ending conversion would change; of a run "MKDRUN".
inline constexpr std::array<char, 8> kDigestLogMagic = {'M', 'K', 'D', 'L', 'O', 'G', '\x1a', '\n'};
inline constexpr std::array<char, 8> kDigestRunMagic = {'M', 'K', 'D', 'R', 'U', 'N', '\x1a', '\n'};
inline constexpr std::uint32_t kDigestLogVersion = 1;
/// Runs at most double from one to the next: 2^64 digests have fewer.
inline constexpr std::size_t kMaxDigestRuns = 64;
/// What is checked and read at once: a checksum continues from one piece to the next.
inline constexpr std::size_t kDigestPiece = std::size_t{1} << 16;
inline constexpr std::uint64_t kMaxLoggedDigests = std::uint64_t{1} << 56;

/// A key in the log: digests of it by two seeds.
struct WideDigest {
  std::uint64_t first;
  std::uint64_t second;

  friend constexpr auto operator<=>(const WideDigest&, const WideDigest&) noexcept = default;
};
static_assert(sizeof(WideDigest) == 16);

/// A run that belongs to the log.
struct DigestRunEntry {
  std::uint64_t number;    ///< its file is NAME-run-NUMBER
  std::uint64_t digests;   ///< at least 1
  std::uint64_t checksum;  ///< of all of them

  friend bool operator==(const DigestRunEntry&, const DigestRunEntry&) = default;
};
static_assert(sizeof(DigestRunEntry) == 24);

/// The first page of the log's file.
struct DigestLogHeader {
  std::array<char, 8> magic;                          //    0
  std::uint32_t version;                              //    8
  std::uint32_t canonical_version;                    //   12  of URLs; 0: keys are bytes
  std::uint32_t hash_kind;                            //   16  HashKind
  std::uint32_t run_count;                            //   20
  std::array<std::uint64_t, 2> first_seed;            //   24
  std::array<std::uint64_t, 2> second_seed;           //   40
  std::uint64_t next_run;                             //   56  above the number of every run there ever was
  std::uint32_t retired_count;                        //   64
  std::uint32_t zero;                                 //   68
  std::array<DigestRunEntry, kMaxDigestRuns> runs;    //   72  the oldest first; zeros behind run_count
  std::array<std::uint64_t, kMaxDigestRuns> retired;  // 1608  runs whose files may still be there; zeros behind
  std::uint64_t salt;                                 // 2120  the checksum of the page that this one replaced, or 0
  std::uint64_t durable;                              // 2128  digests that were on the disk when this took its place
  std::array<std::uint64_t, 244> reserved;            // 2136  zeros
  std::uint64_t checksum;                             // 4088  XXH3_64 of bytes 0 to 4087, seed 0
};
static_assert(sizeof(DigestLogHeader) == 4096);
static_assert(std::has_unique_object_representations_v<DigestLogHeader>);

/// In front of the digests of a batch, which follow.
struct DigestBatchHeader {
  std::uint64_t checksum;          ///< XXH3_64 of the other members, seed salt
  std::uint64_t digests_checksum;  ///< XXH3_64 of the digests, seed salt + 1
  std::uint64_t before;            ///< digests in the log before this batch, runs included
  std::uint64_t durable;           ///< so many of them were known to be on the disk when this was written
  std::uint64_t digests;           ///< 0: it only says what was on the disk
};
static_assert(sizeof(DigestBatchHeader) == 40);
static_assert(std::has_unique_object_representations_v<DigestBatchHeader>);

/// The last 64 bytes of a run, behind its digests.
struct DigestRunFooter {
  std::array<char, 8> magic;  //  0
  std::uint32_t version;      //  8
  std::uint32_t zero;         // 12
  DigestRunEntry entry;       // 16
  std::uint64_t log;          // 40  whose it is: XXH3_64 of the log's two seeds
  std::uint64_t reserved;     // 48  zero
  std::uint64_t checksum;     // 56  XXH3_64 of bytes 0 to 55, seed 0
};
static_assert(sizeof(DigestRunFooter) == 64);
static_assert(std::has_unique_object_representations_v<DigestRunFooter>);

}  // namespace mankai
