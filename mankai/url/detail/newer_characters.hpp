#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mankai::url {

/// Characters of Unicode 15 to 17 that UTS 46 maps to another one. Debian 12's libunistring has the tables of Unicode
/// 14, and browsers are ahead of it: U+A7F1 is an "s" to them, U+1CCD6 to U+1CCF9 are the ASCII letters and digits.
struct NewerRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t target;  ///< of the first one; the others follow
};

inline constexpr NewerRange kNewerRanges[] = {
    {0x1c89, 0x1c89, 0x1c8a},     // Cyrillic
    {0xa7cb, 0xa7cb, 0x264},      // Latin
    {0xa7cc, 0xa7cc, 0xa7cd},     //
    {0xa7ce, 0xa7ce, 0xa7cf},     //
    {0xa7d2, 0xa7d2, 0xa7d3},     //
    {0xa7d4, 0xa7d4, 0xa7d5},     //
    {0xa7da, 0xa7da, 0xa7db},     //
    {0xa7dc, 0xa7dc, 0x19b},      //
    {0xa7f1, 0xa7f1, 's'},        // modifier letter
    {0x10d50, 0x10d65, 0x10d70},  // Garay
    {0x16ea0, 0x16eb8, 0x16ebb},  // Beria Erfe
    {0x1ccd6, 0x1ccef, 'a'},      // outlined Latin letters
    {0x1ccf0, 0x1ccf9, '0'},      // outlined digits
};

/// U+1E030 and what follows, modifiers of Cyrillic letters.
inline constexpr std::uint32_t kNewerCyrillic = 0x1e030;
inline constexpr std::array<std::uint16_t, 62> kNewerCyrillicTargets = {
    0x430, 0x431, 0x432, 0x433, 0x434, 0x435, 0x436, 0x437, 0x438, 0x43a, 0x43b,  0x43c, 0x43e,  0x43f, 0x440, 0x441,
    0x442, 0x443, 0x444, 0x445, 0x446, 0x447, 0x448, 0x44b, 0x44d, 0x44e, 0xa689, 0x4d9, 0x456,  0x458, 0x4e9, 0x4af,
    0x4cf, 0x430, 0x431, 0x432, 0x433, 0x434, 0x435, 0x436, 0x437, 0x438, 0x43a,  0x43b, 0x43e,  0x43f, 0x441, 0x443,
    0x444, 0x445, 0x446, 0x447, 0x448, 0x44a, 0x44b, 0x491, 0x456, 0x455, 0x45f,  0x4ab, 0xa651, 0x4b1};

/// What such a character is mapped to.
[[nodiscard]] constexpr std::optional<std::uint32_t> newer_target(std::uint32_t character) noexcept {
  if (character >= kNewerCyrillic && character - kNewerCyrillic < kNewerCyrillicTargets.size()) {
    return kNewerCyrillicTargets[character - kNewerCyrillic];
  }
  const auto* const range = std::ranges::find_if(
      kNewerRanges, [&](const NewerRange& each) { return character >= each.first && character <= each.last; });
  return range == std::end(kNewerRanges) ? std::nullopt : std::optional(range->target + (character - range->first));
}

}  // namespace mankai::url
