#pragma once

/// Constants of the files of a digest log; docs/formats/digest_log.md is the specification.

#include <array>
#include <cstddef>
#include <cstdint>

namespace mankai {

/// "MKDLOG" or, in a run, "MKDRUN", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kDigestLogMagic = {'M', 'K', 'D', 'L', 'O', 'G', '\x1a', '\n'};
inline constexpr std::array<char, 8> kDigestRunMagic = {'M', 'K', 'D', 'R', 'U', 'N', '\x1a', '\n'};
inline constexpr std::uint32_t kDigestLogVersion = 1;
/// Each run is more than twice as large as the next one, so 2^64 digests have fewer.
inline constexpr std::size_t kMaxDigestRuns = 64;
/// Digests that are read at once; a checksum continues from one piece to the next.
inline constexpr std::size_t kDigestPiece = std::size_t{1} << 16;
inline constexpr std::uint64_t kMaxLoggedDigests = std::uint64_t{1} << 56;

/// A key in the log: its digests with two seeds.
struct WideDigest {
  std::uint64_t first;
  std::uint64_t second;

  friend constexpr auto operator<=>(const WideDigest&, const WideDigest&) noexcept = default;
};
static_assert(sizeof(WideDigest) == 16);

/// A run of the log, as its header lists it.
struct DigestRunEntry {
  std::uint64_t number;    ///< its file is NAME-run-NUMBER
  std::uint64_t digests;   ///< at least 1
  std::uint64_t checksum;  ///< of all digests

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
  std::uint64_t next_run;                             //   56  above the number of every earlier run
  std::uint32_t retired_count;                        //   64
  std::uint32_t zero;                                 //   68
  std::array<DigestRunEntry, kMaxDigestRuns> runs;    //   72  the oldest first; zeros after run_count
  std::array<std::uint64_t, kMaxDigestRuns> retired;  // 1608  runs whose files may still exist; then zeros
  std::uint64_t salt;                                 // 2120  the checksum of the page that this one replaced, or 0
  std::uint64_t durable;                    // 2128  number of digests on the disk when this page was put in place
  std::array<std::uint64_t, 244> reserved;  // 2136  zeros
  std::uint64_t checksum;                   // 4088  XXH3_64 of bytes 0 to 4087, seed 0
};
static_assert(sizeof(DigestLogHeader) == 4096);
static_assert(std::has_unique_object_representations_v<DigestLogHeader>);

/// The header of a batch; its digests follow.
struct DigestBatchHeader {
  std::uint64_t checksum;          ///< XXH3_64 of the other members, seed salt
  std::uint64_t digests_checksum;  ///< XXH3_64 of the digests, seed salt + 1
  std::uint64_t before;            ///< number of digests in the log before this batch, including runs
  std::uint64_t durable;           ///< number of these that the disk was known to have at that time
  std::uint64_t digests;           ///< number of digests; 0: the batch only records `durable`
};
static_assert(sizeof(DigestBatchHeader) == 40);
static_assert(std::has_unique_object_representations_v<DigestBatchHeader>);

/// The last 64 bytes of a run, after its digests.
struct DigestRunFooter {
  std::array<char, 8> magic;  //  0
  std::uint32_t version;      //  8
  std::uint32_t zero;         // 12
  DigestRunEntry entry;       // 16
  std::uint64_t log;          // 40  id of the log: XXH3_64 of its two seeds
  std::uint64_t reserved;     // 48  zero
  std::uint64_t checksum;     // 56  XXH3_64 of bytes 0 to 55, seed 0
};
static_assert(sizeof(DigestRunFooter) == 64);
static_assert(std::has_unique_object_representations_v<DigestRunFooter>);

}  // namespace mankai
