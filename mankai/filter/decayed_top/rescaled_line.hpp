#pragma once

/// A cache line of counters in block floating point: the cells have one exponent, and a cell c counts c · 2^exponent.
///
///     | 60 bytes of cells | u32: exponent, 28 bits with sign, above doublings, 4 bits |
///
/// Weights grow with time (forward_decay.hpp). If a sum does not fit its cell, all cells of the line are halved and the
/// exponent is increased, about once per half-life. So a line has as many fraction bits as its highest count permits.
///
/// If few bits would make a unit larger than 2^-kLeastPoint events, rounding up would add more than what is counted.
/// Then neighbors share a cell of twice the width, which gets the higher count; `doublings` says how often. It is
/// undone when all counts fit again, and both neighbors get the count. So both directions keep upper bounds.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai {

/// g++ 12 returns it in the argument's type.
[[nodiscard]] constexpr int bits_of(std::uint64_t x) noexcept { return static_cast<int>(std::bit_width(x)); }

/// count · 2^exponent.
struct Scaled {
  std::uint64_t count = 0;
  std::int32_t exponent = 0;

  /// The position above its highest bit: it is below 2^top.
  [[nodiscard]] constexpr int top() const noexcept { return bits_of(count) + exponent; }

  /// Compares the values.
  friend bool operator<(Scaled left, Scaled right) noexcept {
    if (left.count == 0 || right.count == 0) {
      return left.count < right.count;
    }
    return left.top() != right.top()
               ? left.top() < right.top()
               : left.count << std::countl_zero(left.count) < right.count << std::countl_zero(right.count);
  }
};

/// More than any count; two such can be added.
inline constexpr std::uint64_t kMostScaled = std::uint64_t{1} << 62;

/// x · 2^shift, rounded up, at most kMostScaled.
[[nodiscard]] constexpr std::uint64_t scaled_up(std::uint64_t x, int shift) noexcept {
  if (shift >= 0) {
    return shift + bits_of(x) <= 62 ? x << (shift & 63) : (x == 0 ? 0 : kMostScaled);
  }
  return shift <= -64 ? static_cast<std::uint64_t>(x != 0)
                      : (x >> -shift) + static_cast<std::uint64_t>(x << (64 + shift) != 0);
}

/// Rounded up, if it has more than 61 bits.
[[nodiscard]] constexpr Scaled sum_of(Scaled left, Scaled right) noexcept {
  if (left.count == 0 || right.count == 0) {
    return left.count == 0 ? right : left;
  }
  const int exponent = std::max(std::min(left.exponent, right.exponent), std::max(left.top(), right.top()) - 61);
  return {.count = scaled_up(left.count, left.exponent - exponent) + scaled_up(right.count, right.exponent - exponent),
          .exponent = exponent};
}

/// Rounding of counts. Dithered rounding goes up with a probability equal to the fraction, so it is right on the
/// average, however coarse the unit.
template <bool kDithers>
class Rounding {
 public:
  /// Pre: `state` outlives this; it is used to dither only.
  explicit Rounding(std::uint64_t* state) noexcept : state_(state) {}

  /// A uniform number, or 0 if rounding is up. Source: [Steele2014].
  std::uint64_t draw() const noexcept {
    if constexpr (kDithers) {
      std::uint64_t z = (*state_ += probes::kRemix);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      return z ^ (z >> 31);
    }
    return 0;
  }
  /// x · 2^shift. Equal draws round alike.
  static std::uint64_t scaled(std::uint64_t x, int shift, std::uint64_t drawn) noexcept {
    if (!kDithers || shift >= 0) {
      return scaled_up(x, shift);
    }
    return shift <= -64 ? 0 : (x >> -shift) + static_cast<std::uint64_t>(x << (64 + shift) > drawn);
  }
  [[nodiscard]] std::uint64_t scaled(std::uint64_t x, int shift) const noexcept {
    return scaled(x, shift, shift < 0 ? draw() : 0);
  }

 private:
  std::uint64_t* state_;
};

/// See the top of this file. Zeros are an empty line.
struct alignas(kCacheLineBytes) RescaledLine {
  static constexpr std::uint32_t kDoublingsBits = 4;

  std::array<std::uint8_t, 60> cells;
  std::uint32_t scale;

  [[nodiscard]] std::int32_t exponent() const noexcept { return static_cast<std::int32_t>(scale) >> kDoublingsBits; }
  [[nodiscard]] std::uint32_t doublings() const noexcept { return scale & ((1U << kDoublingsBits) - 1); }
  void rescale(std::int32_t exponent, std::uint32_t doublings) noexcept {
    scale = static_cast<std::uint32_t>(exponent) << kDoublingsBits | doublings;
  }
};
static_assert(sizeof(RescaledLine) == kCacheLineBytes);

/// Operations on lines of cells of kBits. A place is the number of a cell of an undoubled line. `octave` is that of the
/// current weight: an event counts between 2^octave and 2^(octave + 1).
template <unsigned kBits, int kLeastPoint, bool kDithers>
class RescaledCells {
 public:
  static constexpr std::uint32_t kPlaces = sizeof(RescaledLine::cells) * 8 / kBits;
  static constexpr std::uint32_t kMostDoublings = std::countr_zero(32 / kBits);

  explicit RescaledCells(Rounding<kDithers> rounding) noexcept : rounding_(rounding) {}

  static std::uint32_t get(const RescaledLine& line, std::uint32_t place) noexcept {
    return cell(line, place >> line.doublings());
  }

  /// Makes the cell at least `sum`. The same draw rounds a key's cells alike.
  void raise(RescaledLine& line, std::uint32_t place, Scaled sum, int octave, std::uint64_t drawn) const noexcept {
    for (;;) {
      const std::uint64_t count = Rounding<kDithers>::scaled(sum.count, sum.exponent - line.exponent(), drawn);
      if (count <= most(line)) [[likely]] {
        const std::uint32_t at = place >> line.doublings();
        if (cell(line, at) < count) {
          set(line, at, static_cast<std::uint32_t>(count));
        }
        return;
      }
      // A line that was last used long ago, or never, is some thousand octaves too fine.
      if (!fit(line, octave)) {
        make_room(line, octave, std::max(bits_of(count), sum.top() - line.exponent()) - static_cast<int>(width(line)));
      }
    }
  }

  /// Makes sure that an event fits a cell, and that a line is not wide without need. Returns whether it changed the
  /// line.
  bool fit(RescaledLine& line, int octave) const noexcept {
    const int point = octave - line.exponent();
    const bool is_too_fine = point >= (line.doublings() == 0 ? static_cast<int>(kBits) : kNarrowPoint);
    if (is_too_fine) [[unlikely]] {
      settle(line, octave);
    }
    return is_too_fine;
  }

  /// Adds each cell of another line.
  void add(RescaledLine& line, const RescaledLine& added, int octave) const noexcept {
    RescaledLine other = added;
    if (is_empty(line) || is_empty(other)) {
      line = !is_empty(line) ? line : is_empty(other) ? RescaledLine{} : other;
      return;
    }
    while (line.doublings() != other.doublings()) {
      widen(line.doublings() < other.doublings() ? line : other);
    }
    // A finer line is rounded only if it is finer by more bits than a sum has room for.
    constexpr int kRoom = 29;
    const int unit =
        std::max(std::min(line.exponent(), other.exponent()), std::max(line.exponent(), other.exponent()) - kRoom);
    std::array<std::uint64_t, kPlaces> sums;
    for (;;) {
      std::uint64_t highest = 0;
      for (std::uint32_t at = 0; at < count(line); ++at) {
        sums[at] = rounding_.scaled(cell(line, at), line.exponent() - unit) +
                   rounding_.scaled(cell(other, at), other.exponent() - unit);
        highest = std::max(highest, sums[at]);
      }
      int octaves = std::max(bits_of(highest) - static_cast<int>(width(line)), 0);
      octaves += static_cast<int>(scaled_up(highest, -octaves) > most(line));
      if (octave - (unit + octaves) < kLeastPoint && line.doublings() < kMostDoublings) {
        widen(line);
        widen(other);
        continue;
      }
      line.rescale(unit + octaves, line.doublings());
      for (std::uint32_t at = 0; at < count(line); ++at) {
        set(line, at, static_cast<std::uint32_t>(rounding_.scaled(sums[at], -octaves)));
      }
      return;
    }
  }

  static bool is_empty(const RescaledLine& line) noexcept { return is_zero(line.cells); }

  /// The number of places whose cell is above `least`.
  static std::uint32_t places_above(const RescaledLine& line, Scaled least) noexcept {
    std::uint32_t above = 0;
    for (std::uint32_t at = 0; at < count(line); ++at) {
      above += static_cast<std::uint32_t>(scaled_up(cell(line, at), line.exponent() - least.exponent) > least.count);
    }
    return above << line.doublings();
  }

 private:
  /// Above it, an event is some units of a wide line.
  static constexpr int kNarrowPoint = std::max(kLeastPoint + 3, 2);

  static std::uint32_t width(const RescaledLine& line) noexcept { return kBits << line.doublings(); }
  static std::uint32_t count(const RescaledLine& line) noexcept { return kPlaces >> line.doublings(); }
  static std::uint64_t most(const RescaledLine& line) noexcept { return (std::uint64_t{1} << width(line)) - 1; }

  static std::uint32_t cell(const RescaledLine& line, std::uint32_t at) noexcept {
    if (kBits == 8 && line.doublings() == 0) [[likely]] {
      return line.cells[at];
    }
    const std::uint32_t bit = at * width(line);
    return (word_at(line, bit) >> bit % 8) & static_cast<std::uint32_t>(most(line));
  }
  static void set(RescaledLine& line, std::uint32_t at, std::uint32_t count) noexcept {
    if (kBits == 8 && line.doublings() == 0) [[likely]] {
      line.cells[at] = static_cast<std::uint8_t>(count);
      return;
    }
    const std::uint32_t bit = at * width(line);
    const std::uint32_t mask = static_cast<std::uint32_t>(most(line)) << bit % 8;
    const std::uint32_t word = (word_at(line, bit) & ~mask) | count << bit % 8;
    std::memcpy(reinterpret_cast<std::byte*>(&line) + bit / 8, &word, sizeof(word));
  }
  // The word after the last cells is the scale, so four bytes can be read anywhere.
  static std::uint32_t word_at(const RescaledLine& line, std::uint32_t bit) noexcept {
    std::uint32_t word;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(&line) + bit / 8, sizeof(word));
    return word;
  }

  static std::uint32_t highest(const RescaledLine& line) noexcept {
    std::uint32_t highest = 0;
    for (std::uint32_t at = 0; at < count(line); ++at) {
      highest = std::max(highest, cell(line, at));
    }
    return highest;
  }

  void settle(RescaledLine& line, int octave) const noexcept {
    const int point = octave - line.exponent();
    if (is_empty(line)) {
      line.rescale(octave - static_cast<int>(kBits) + 2, 0);
    } else if (line.doublings() == 0) {
      halve(line, point - static_cast<int>(kBits) + 1);
    } else {
      halve(line, std::max(1, point - kLeastPoint - 1));
      const auto bits = static_cast<std::uint32_t>(bits_of(highest(line)));
      while (line.doublings() != 0 && bits <= width(line) / 2) {
        narrow(line);
      }
    }
  }

  // Coarser by at most `octaves`, or wider if that would be too coarse.
  void make_room(RescaledLine& line, int octave, int octaves) const noexcept {
    const int spare = octave - line.exponent() - kLeastPoint;
    if (line.doublings() == kMostDoublings) {
      halve(line, octaves);
    } else if (spare > 0) {
      halve(line, std::min(octaves, spare));
    } else {
      widen(line);
    }
  }

  void halve(RescaledLine& line, int octaves) const noexcept {
    for (std::uint32_t at = 0; at < count(line); ++at) {
      if (const std::uint32_t old = cell(line, at); old != 0) {
        set(line, at, static_cast<std::uint32_t>(rounding_.scaled(old, -octaves)));
      }
    }
    line.rescale(line.exponent() + octaves, line.doublings());
  }

  static void widen(RescaledLine& line) noexcept {
    RescaledLine wide{};
    wide.rescale(line.exponent(), line.doublings() + 1);
    for (std::uint32_t at = 0; at < count(wide); ++at) {
      set(wide, at, std::max(cell(line, 2 * at), cell(line, 2 * at + 1)));
    }
    line = wide;
  }
  static void narrow(RescaledLine& line) noexcept {
    RescaledLine thin{};
    thin.rescale(line.exponent(), line.doublings() - 1);
    for (std::uint32_t at = 0; at < count(thin); ++at) {
      set(thin, at, cell(line, at / 2));
    }
    line = thin;
  }

  Rounding<kDithers> rounding_;
};

}  // namespace mankai
