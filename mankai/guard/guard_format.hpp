#pragma once

/// The byte format of a guard: constants only. docs/formats/guard.md is the specification.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mankai {

inline constexpr std::array<char, 8> kGuardMagic = {'M', 'K', 'G', 'U', 'A', 'R', '\x1a', '\n'};
inline constexpr std::uint32_t kGuardVersion = 1;

/// In file order; each section begins at a multiple of kGuardAlignment.
enum class GuardSectionKind : std::uint8_t { cells, classes, rules, overlay, tombstones, exceptions };
inline constexpr std::size_t kGuardSections = 6;
inline constexpr std::size_t kGuardAlignment = 64;

/// The place of a section in the file.
struct GuardSection {
  std::uint64_t offset;    ///< from the start
  std::uint64_t bytes;     ///< 0: the section is absent
  std::uint64_t checksum;  ///< XXH3_64, seeded with the section's number
};

/// Bits of GuardHeader::flags.
inline constexpr std::uint8_t kGuardKeepsRules = 1;
inline constexpr std::uint8_t kGuardIsExact = 2;

/// The first 256 bytes.
struct GuardHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t canonical_version;  ///< url::kSafeBrowsingVersion
  std::uint8_t hash;                ///< HashKind
  std::uint8_t flags;               ///< kGuardKeepsRules, kGuardIsExact
  std::array<std::uint8_t, 6> zero;
  std::array<std::uint64_t, 2> seed;
  double fpr;           ///< promised, per URL
  std::uint64_t bytes;  ///< of the whole guard
  std::array<GuardSection, kGuardSections> sections;
  std::array<std::uint64_t, 6> reserved;
  std::uint64_t checksum;  ///< XXH3_64 of the bytes before it, seed kGuardHeaderSeed
};
inline constexpr std::uint64_t kGuardHeaderSeed = 100;

static_assert(sizeof(GuardHeader) == 256 && std::is_trivially_copyable_v<GuardHeader>);
static_assert(offsetof(GuardHeader, sections) == 56 && offsetof(GuardHeader, checksum) == 248);

}  // namespace mankai
