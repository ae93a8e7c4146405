#include "mankai/kernel/decay_ops.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "mankai/base/bits.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/decay_ops_reference.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/decay_ops.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/detail/target_tables.hpp"

#ifndef MANKAI_KERNEL_DECAY_OPS_ONCE
#define MANKAI_KERNEL_DECAY_OPS_ONCE
namespace mankai::kernel {
namespace {

constexpr unsigned kFractionBits = 32;
constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;
// Words decayed by all epochs before the next words are read. They stay in a level-1 cache, so the array is read once,
// and the loop over cells is the same for one epoch and for many.
constexpr std::size_t kChunkWords = 512;
// Decaying one cell by a stretch of equal losses costs two divisions, about a hundred vector steps.
constexpr std::uint64_t kStepsPerStretch = 128;
// Fewer epochs than this cost less than looking up each cell.
[[maybe_unused]] constexpr std::uint64_t kEpochsPerLookup = 24;
// Tables of more steps than this leave a level-2 cache: fewer are needed if the largest cell is small.
[[maybe_unused]] constexpr std::uint64_t kStepsInCache = std::uint64_t{1} << 17;
// Tables of more steps than this take more than 20 MiB.
[[maybe_unused]] constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 20;
// Computing a step takes about as long as decaying a cell by this number of epochs.
[[maybe_unused]] constexpr std::uint64_t kEpochsPerStep = 256;

// The largest value that rounding up never decreases, since it loses less than one unit per epoch. Pre: λ < 1.
[[maybe_unused]] std::uint64_t stuck_value(const DecayStep& step) noexcept {
  return step.rounding == Rounding::ceil ? (kOne - 1) / (kOne - step.lambda_q32) : 0;
}

// A cell's loss in an epoch, rounded in the opposite direction of the remainder.
std::uint64_t loss_of(std::uint64_t cell, std::uint64_t loss_q32, bool is_ceil) noexcept {
  return (cell * loss_q32 + (is_ceil ? 0 : kOne - 1)) >> kFractionBits;
}

// The smallest value with this loss per epoch.
std::uint64_t smallest_losing(std::uint64_t loss, std::uint64_t loss_q32, bool is_ceil) noexcept {
  return is_ceil ? ((loss << kFractionBits) - 1) / loss_q32 + 1 : ((loss - 1) << kFractionBits) / loss_q32 + 1;
}

// Upper bound of the number of stretches of equal losses of the largest cell.
[[maybe_unused]] std::uint64_t stretches(std::uint64_t largest, const DecayStep& step) noexcept {
  return 1 + loss_of(largest, kOne - step.lambda_q32, step.rounding == Rounding::ceil);
}

template <class Cell, class Map>
void map_cells(std::uint64_t* words, std::size_t count, Map map) noexcept {
  Cell* cells = cells_in<Cell>(words);
  for (std::size_t i = 0; i < count * (sizeof(std::uint64_t) / sizeof(Cell)); ++i) {
    store_cell(cells + i, map(load_cell(cells + i)));
  }
}

// What each value becomes. Types of this part of the file, not lambdas of the other one: a function with other
// instructions is not inlined.
template <class Cell>
struct ValueTable {
  const Cell* values;

  [[nodiscard]] std::uint32_t operator()(std::uint32_t cell) const noexcept { return load_cell(values + cell); }
};

struct Stretches {
  const DecayStep& step;
  std::uint64_t epochs;

  [[nodiscard]] std::uint32_t operator()(std::uint32_t cell) const noexcept { return decay_value(cell, step, epochs); }
};

// The factor of 16 bits that rounds products of all cells of 8 bits down as factor_q32 does. It exists, since floors of
// such products change only at fractions with denominators of 8 bits, which are more than 2^-16 apart. Pre: below 1.
[[maybe_unused]] std::uint16_t short_factor(std::uint64_t factor_q32) noexcept {
  std::uint32_t least = 0;
  for (std::uint32_t cell = 1; cell <= largest_cell(8); ++cell) {
    const auto product = static_cast<std::uint32_t>((cell * factor_q32) >> kFractionBits);
    least = std::max(least, divide_up(product << 16, cell));
  }
  return static_cast<std::uint16_t>(least);
}

// Many epochs of cells of 32 bits: the number of steps below a cell, from `stuck` on. Smaller cells never change.
struct DecaySteps {
  std::uint32_t stuck;
  unsigned shift;
  const std::uint32_t* last;  // the largest cell below each step; after the steps two that no cell exceeds
  // Per bucket of 2^shift cells: the number of steps before it, times 2^(shift + 1), and the place in the bucket of the
  // largest cell below its step; 2^shift if it has none, and one more if it has several.
  const std::uint32_t* buckets;

  [[nodiscard]] std::uint32_t cells_per_bucket() const noexcept { return std::uint32_t{1} << shift; }

  [[nodiscard]] std::uint32_t operator()(std::uint32_t cell) const noexcept {
    const std::uint32_t before = buckets[cell >> shift] >> (shift + 1);
    // Most buckets have at most two, and branches would be mispredicted.
    std::uint32_t step = before + (cell > last[before] ? 1U : 0U) + (cell > last[before + 1] ? 1U : 0U);
    while (cell > last[step]) [[unlikely]] {
      ++step;
    }
    return std::min(cell, stuck + step);
  }
};

// So many buckets that few have more than one step. There are two to four times as many as steps, or one per cell, so
// number of steps and place fit in 32 bits.
[[maybe_unused]] unsigned bucket_shift(std::uint32_t steps, std::uint32_t largest) noexcept {
  unsigned shift = 0;
  while (largest >> (shift + 1) > 2 * steps) {
    ++shift;
  }
  return shift;
}

[[maybe_unused]] void fill_buckets(const DecaySteps& decay, std::uint32_t steps, std::span<std::uint32_t> buckets) {
  std::uint32_t step = 0;
  for (std::uint64_t bucket = 0; bucket < buckets.size(); ++bucket) {
    const std::uint32_t before = step;
    while (step < steps && decay.last[step] < (bucket + 1) << decay.shift) {
      ++step;
    }
    const std::uint32_t cells = decay.cells_per_bucket();
    const std::uint32_t place = decay.last[before] & (cells - 1);
    buckets[bucket] = before << (decay.shift + 1) | (step == before ? cells : step == before + 1 ? place : cells + 1);
  }
}

}  // namespace
}  // namespace mankai::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

using Tag16 = hn::ScalableTag<std::uint16_t>;
using Tag32 = hn::ScalableTag<std::uint32_t>;
using Tag64 = hn::ScalableTag<std::uint64_t>;
using Vector16 = hn::Vec<Tag16>;
using Vector32 = hn::Vec<Tag32>;
using Vector64 = hn::Vec<Tag64>;

// (c * λ + r) >> 32 in lanes of 32 bits. Pre: λ < 1.
template <Rounding kRounding>
HWY_INLINE Vector32 step32(Vector32 cells, Vector32 lambda, [[maybe_unused]] Vector32 draws) {
  const Tag32 d32;
  const Tag64 d64;
  Vector64 even = hn::MulEven(cells, lambda);
  Vector64 odd = hn::MulEven(hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(d64, cells))), lambda);
  if constexpr (kRounding == Rounding::ceil) {
    const Vector64 addend = hn::Set(d64, kOne - 1);
    even = hn::Add(even, addend);
    odd = hn::Add(odd, addend);
  }
  if constexpr (kRounding == Rounding::stochastic) {
    const Vector64 pairs = hn::BitCast(d64, draws);
    even = hn::Add(even, hn::And(pairs, hn::Set(d64, kOne - 1)));
    odd = hn::Add(odd, hn::ShiftRight<32>(pairs));
  }
  return hn::OddEven(hn::BitCast(d32, odd), hn::BitCast(d32, hn::ShiftRight<32>(even)));
}

// step in lanes of 16 bits, rounding down or up. λ is split into halves: the product's upper 16 of 48 bits are those of
// c times the upper half, plus a carry from the 16 bits below.
template <Rounding kRounding>
HWY_INLINE Vector16 step16(Vector16 cells, Vector16 lambda_high, Vector16 lambda_low) {
  const Tag16 d;
  const Vector16 upper = hn::Mul(cells, lambda_high);
  const Vector16 lower = hn::MulHigh(cells, lambda_low);
  const Vector16 middle = hn::Add(upper, lower);
  // A set mask is -1.
  const Vector16 carry = hn::VecFromMask(d, hn::Ne(middle, hn::SaturatedAdd(upper, lower)));
  const Vector16 down = hn::Sub(hn::MulHigh(cells, lambda_high), carry);
  if constexpr (kRounding == Rounding::ceil) {
    const Vector16 fraction = hn::Or(middle, hn::Mul(cells, lambda_low));
    const Vector16 is_whole = hn::VecFromMask(d, hn::Eq(fraction, hn::Zero(d)));
    return hn::Add(hn::Add(down, hn::Set(d, 1)), is_whole);
  }
  return down;
}

HWY_INLINE Vector32 draw(Vector32 index, reference::RoundingKeys keys) {
  const Tag32 d;
  Vector32 x = hn::Xor(index, hn::Set(d, keys.before));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Add(hn::Mul(x, hn::Set(d, reference::kRoundingFirst)), hn::Set(d, keys.between));
  x = hn::Xor(x, hn::ShiftRight<13>(x));
  x = hn::Mul(x, hn::Set(d, reference::kRoundingSecond));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// One epoch of vectors of words, by width and rounding: `next(words as lanes of 32 bits, number of the first cell)`.
template <unsigned kWidth, Rounding kRounding>
struct Epoch {
  Vector16 lambda_high;
  Vector16 lambda_low;

  HWY_INLINE explicit Epoch(const DecayStep& step)
      : lambda_high(hn::Set(Tag16(), static_cast<std::uint16_t>(step.lambda_q32 >> 16))),
        lambda_low(hn::Set(Tag16(), static_cast<std::uint16_t>(step.lambda_q32))) {}

  HWY_INLINE Epoch at(std::uint64_t /*tick*/) const { return *this; }
  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t /*first*/) const {
    return hn::BitCast(Tag32(), step16<kRounding>(hn::BitCast(Tag16(), words), lambda_high, lambda_low));
  }
};

// One multiplication per cell of 8 bits, by a factor of 16 bits: rounded down by λ, rounded up the loss by 1 - λ.
template <Rounding kRounding>
struct Epoch<8, kRounding> {
  static constexpr bool kIsCeil = kRounding == Rounding::ceil;
  Vector16 factor;

  HWY_INLINE explicit Epoch(const DecayStep& step)
      : factor(hn::Set(Tag16(), short_factor(kIsCeil ? kOne - step.lambda_q32 : step.lambda_q32))) {}

  HWY_INLINE Epoch at(std::uint64_t /*tick*/) const { return *this; }
  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t /*first*/) const {
    const Tag16 d;
    const Vector16 cells = hn::BitCast(d, words);
    const Vector16 low = hn::Set(d, 0xff);
    const Vector16 even = hn::MulHigh(hn::And(cells, low), factor);
    const Vector16 odd = hn::MulHigh(hn::AndNot(low, cells), factor);
    const Vector16 both = hn::Or(even, hn::AndNot(low, odd));
    return hn::BitCast(Tag32(), kIsCeil ? hn::Sub(cells, both) : both);
  }
};

template <Rounding kRounding>
struct Epoch<32, kRounding> {
  Vector32 lambda;

  HWY_INLINE explicit Epoch(const DecayStep& step)
      : lambda(hn::Set(Tag32(), static_cast<std::uint32_t>(step.lambda_q32))) {}

  HWY_INLINE Epoch at(std::uint64_t /*tick*/) const { return *this; }

  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t /*first*/) const {
    return step32<kRounding>(words, lambda, lambda);
  }
};

// Draws are lanes of 32 bits for cells of every width: all first cells of the lanes, then all second ones. Products of
// narrow cells are rounded down together, and each is raised if its fraction and its draw carry.
template <unsigned kWidth>
struct DrawnEpoch {
  Vector32 lambda;
  Epoch<kWidth, Rounding::floor> down;
  std::uint64_t seed;
  reference::RoundingKeys keys{};

  HWY_INLINE explicit DrawnEpoch(const DecayStep& step)
      : lambda(hn::Set(Tag32(), static_cast<std::uint32_t>(step.lambda_q32))), down(step), seed(step.seed) {}

  HWY_INLINE DrawnEpoch at(std::uint64_t tick) const {
    DrawnEpoch drawn = *this;
    drawn.keys = reference::rounding_keys(seed, tick);
    return drawn;
  }

  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t first) const {
    const Tag32 d;
    constexpr std::uint32_t kPerLane = 32 / kWidth;
    Vector32 index =
        hn::Add(hn::Mul(hn::Iota(d, 0), hn::Set(d, kPerLane)), hn::Set(d, static_cast<std::uint32_t>(first)));
    if constexpr (kPerLane == 1) {
      return step32<Rounding::stochastic>(words, lambda, draw(index, keys));
    }
    const Vector32 mask = hn::Set(d, largest_cell(kWidth));
    Vector32 result = down.next(words, first);
    for (std::uint32_t part = 0; part < kPerLane; ++part) {
      const int shift = static_cast<int>(part * kWidth);
      const Vector32 fraction = hn::Mul(hn::And(hn::ShiftRightSame(words, shift), mask), lambda);
      const auto carries = hn::Lt(hn::Add(fraction, draw(index, keys)), fraction);
      result = hn::Add(result, hn::IfThenElseZero(carries, hn::Set(d, std::uint32_t{1} << shift)));
      index = hn::Add(index, hn::Set(d, 1));
    }
    return result;
  }
};

// Decays words by one epoch; returns whether the next epoch may change them.
template <unsigned kWidth, Rounding kRounding, class OneEpoch>
HWY_INLINE bool decay_chunk(std::uint64_t* words, std::size_t count, std::uint64_t first_word, const OneEpoch& epoch) {
  const Tag64 d64;
  const Tag32 d32;
  const std::size_t lanes = hn::Lanes(d64);
  constexpr std::uint64_t kPerWord = 64 / kWidth;
  Vector32 seen = hn::Zero(d32);
  const auto advance = [&](const std::uint64_t* at, std::size_t i) HWY_ATTR {
    const Vector32 before = hn::BitCast(d32, hn::LoadU(d64, at));
    const Vector32 after = epoch.next(before, (first_word + i) * kPerWord);
    seen = hn::Or(seen, kRounding == Rounding::stochastic ? after : hn::Xor(before, after));
    return hn::BitCast(d64, after);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(advance(words + i, i), d64, words + i);
  }
  if (i < count) {
    HWY_ALIGN std::uint64_t rest[hn::MaxLanes(d64)] = {};
    std::memcpy(rest, words + i, (count - i) * sizeof(std::uint64_t));
    hn::Store(advance(rest, i), d64, rest);
    std::memcpy(words + i, rest, (count - i) * sizeof(std::uint64_t));
  }
  return !hn::AllTrue(d32, hn::Eq(seen, hn::Zero(d32)));
}

template <unsigned kWidth, Rounding kRounding, class OneEpoch>
void decay_chunks(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) {
  const OneEpoch one(step);
  for (std::size_t start = 0; start < count; start += kChunkWords) {
    const std::size_t in_chunk = std::min(kChunkWords, count - start);
    bool is_changing = true;
    for (std::uint64_t epoch = 0; epoch < epochs.count && is_changing; ++epoch) {
      is_changing = decay_chunk<kWidth, kRounding>(words + start, in_chunk, start, one.at(epochs.first_tick + epoch));
    }
  }
}

template <class Cell>
void limit_cells(std::uint64_t* words, std::size_t count, std::uint32_t limit) {
  const hn::ScalableTag<Cell> d;
  const Tag64 d64;
  const auto limits = hn::Set(d, static_cast<Cell>(limit));
  const std::size_t lanes = hn::Lanes(d64);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::BitCast(d64, hn::Min(hn::BitCast(d, hn::LoadU(d64, words + i)), limits)), d64, words + i);
  }
  Cell* cells = cells_in<Cell>(words);
  constexpr std::size_t kPerWord = sizeof(std::uint64_t) / sizeof(Cell);
  for (std::size_t cell = i * kPerWord; cell < count * kPerWord; ++cell) {
    store_cell(cells + cell, std::min(load_cell(cells + cell), limit));
  }
}

HWY_INLINE std::uint32_t largest_in(const std::uint64_t* words, std::size_t count) {
  const Tag32 d;
  const auto* cells = cells_in<Cell32>(words);
  const std::size_t lanes = hn::Lanes(d);
  Vector32 most = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= 2 * count; i += lanes) {
    most = hn::Max(most, hn::BitCast(d, hn::LoadU(Tag64(), words + i / 2)));
  }
  std::uint32_t largest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < 2 * count; ++i) {
    largest = std::max(largest, load_cell(cells + i));
  }
  return largest;
}

// Replaces each of the values by the smallest cell that is at least this value an epoch later. Such a cell is the next
// whole number from the quotient on, or one below: the product tells.
HWY_INLINE void rise(std::uint64_t* values, std::size_t count, const DecayStep& step) {
  const Tag64 d;
  const hn::Repartition<double, Tag64> df;
  const hn::Repartition<std::uint32_t, Tag64> d32;
  const bool is_ceil = step.rounding == Rounding::ceil;
  // Whole numbers below 2^52 are the lower bits of a double of 2^52 and more.
  const auto large = hn::Set(df, 0x1p52);
  const auto quotient = hn::Set(df, static_cast<double>(kOne) / static_cast<double>(step.lambda_q32));
  // Rounds down, except just below a whole number.
  const auto half = hn::Set(df, -0.5 + 0x1p-10);
  const auto lambda = hn::BitCast(d32, hn::Set(d, step.lambda_q32));
  const auto addend = hn::Set(d, is_ceil ? kOne - 1 : 0);
  const auto one = hn::Set(d, std::uint64_t{is_ceil ? 1U : 0U});
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto value = hn::Load(d, values + i);
    const auto whole = hn::Sub(hn::BitCast(df, hn::Or(hn::Sub(value, one), hn::BitCast(d, large))), large);
    const auto below =
        hn::Xor(hn::BitCast(d, hn::Add(hn::MulAdd(whole, quotient, half), large)), hn::BitCast(d, large));
    const auto after = hn::ShiftRight<32>(hn::Add(hn::MulEven(hn::BitCast(d32, below), lambda), addend));
    // A difference of less than 2^32 in its sign.
    hn::Store(hn::Add(below, hn::ShiftRight<63>(hn::Sub(after, value))), d, values + i);
  }
}

// Fills in the largest cell that decays to each value from `stuck` on. If v is the largest cell that becomes u in one
// epoch, then last[v] is the largest cell that becomes last[u] in one epoch. This puts all values in chains. All epochs
// are computed only for the first value of each chain, which becomes in one epoch what the next larger value becomes.
HWY_INLINE void fill_last(std::span<std::uint32_t> last, std::uint32_t stuck, const DecayStep& step,
                          std::uint64_t epochs) {
  const std::uint64_t addend = step.rounding == Rounding::ceil ? kOne - 1 : 0;
  const auto after = [&](std::uint64_t cell) { return (cell * step.lambda_q32 + addend) >> kFractionBits; };
  // The largest cell that is at most this one an epoch later.
  const auto before = [&](std::uint64_t cell) {
    return ((cell << kFractionBits) + (kOne - 1 - addend)) / step.lambda_q32;
  };
  const std::uint64_t end = stuck + last.size();
  std::uint64_t firsts[kChunkWords];
  HWY_ALIGN std::uint64_t values[kChunkWords] = {};
  for (std::uint64_t next = stuck; next < end;) {
    std::size_t count = 0;
    for (; next < end && count < kChunkWords; ++next) {
      firsts[count] = next;
      count += after(next) == after(next + 1) ? 1 : 0;
    }
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = firsts[i] + 1;
    }
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      rise(values, count, step);
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t below = values[i] - 1;
      for (std::uint64_t cell = firsts[i]; cell < end; cell = before(cell), below = before(below)) {
        last[cell - stuck] = static_cast<std::uint32_t>(below);
      }
    }
  }
}

// Replaces cells of 16 bits by their entries of a table, which one more entry follows: a lane reads two, and keeps one.
HWY_INLINE void map_values(std::uint64_t* words, std::size_t count, const Cell16* values) {
  const Tag32 d;
  const Tag64 d64;
  const hn::RebindToSigned<Tag32> di;
  const auto* entries = reinterpret_cast<const std::uint32_t*>(values);
  const auto entry = hn::Set(d, largest_cell(16));
  const std::size_t lanes = hn::Lanes(d64);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector32 cells = hn::BitCast(d, hn::LoadU(d64, words + i));
    const Vector32 even = hn::GatherOffset(d, entries, hn::BitCast(di, hn::ShiftLeft<1>(hn::And(cells, entry))));
    const Vector32 odd = hn::GatherOffset(d, entries, hn::BitCast(di, hn::ShiftLeft<1>(hn::ShiftRight<16>(cells))));
    hn::StoreU(hn::BitCast(d64, hn::Or(hn::And(even, entry), hn::ShiftLeft<16>(odd))), d64, words + i);
  }
  map_cells<Cell16>(words + i, count - i, ValueTable<Cell16>{values});
}

// Looks up cells in vectors, then those of buckets with several steps.
HWY_INLINE void map_steps(std::uint64_t* words, std::size_t count, const DecaySteps& steps) {
  const Tag32 d;
  const Tag64 d64;
  const hn::RebindToSigned<Tag32> di;
  const std::size_t lanes = hn::Lanes(d);
  const int shift = static_cast<int>(steps.shift);
  const auto per_bucket = hn::Set(d, steps.cells_per_bucket());
  const auto in_bucket = hn::Set(d, steps.cells_per_bucket() - 1);
  const auto places = hn::Set(d, 2 * steps.cells_per_bucket() - 1);
  const auto stuck = hn::Set(d, steps.stuck);
  Cell32* cells = cells_in<Cell32>(words);
  constexpr std::size_t kChunkCells = 2 * kChunkWords;
  std::uint32_t others[kChunkCells + hn::MaxLanes(d)];
  for (std::size_t start = 0; start < 2 * count; start += kChunkCells) {
    const std::size_t in_chunk = std::min(kChunkCells, 2 * count - start);
    std::size_t other = 0;
    std::size_t i = 0;
    for (; i + lanes <= in_chunk; i += lanes) {
      std::uint64_t* const at = words + (start + i) / 2;
      const Vector32 cell = hn::BitCast(d, hn::LoadU(d64, at));
      const Vector32 bucket = hn::GatherIndex(d, steps.buckets, hn::BitCast(di, hn::ShiftRightSame(cell, shift)));
      const Vector32 place = hn::And(bucket, places);
      const auto is_above = hn::VecFromMask(d, hn::Gt(hn::And(cell, in_bucket), place));
      // A set mask is -1.
      const Vector32 step = hn::Sub(hn::ShiftRightSame(bucket, shift + 1), is_above);
      const auto has_several = hn::Gt(place, per_bucket);
      const Vector32 decayed = hn::IfThenElse(has_several, cell, hn::Min(cell, hn::Add(stuck, step)));
      hn::StoreU(hn::BitCast(d64, decayed), d64, at);
      const Vector32 index = hn::Add(hn::Iota(d, 0), hn::Set(d, static_cast<std::uint32_t>(i)));
      // CompressStore takes more than 100 cycles on Zen 4.
      hn::StoreU(hn::Compress(index, has_several), d, others + other);
      other += hn::CountTrue(d, has_several);
    }
    for (; i < in_chunk; ++i) {
      others[other++] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t j = 0; j < other; ++j) {
      Cell32* const cell = cells + start + others[j];
      store_cell(cell, steps(load_cell(cell)));
    }
  }
}

// Decays cells of 32 bits by the steps of all epochs, if they have few. Returns whether it did.
inline bool decay_by_steps(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs,
                           std::uint32_t most) {
  const auto stuck = static_cast<std::uint32_t>(stuck_value(step));
  const std::uint64_t most_steps =
      std::min(kMostSteps, 2 * count * std::min(epochs.count, kMostSteps) / kEpochsPerStep);
  std::uint32_t largest = largest_cell(32);
  if (most - stuck > std::min(most_steps, kStepsInCache)) {
    largest = largest_in(words, count);
    most = decay_value(largest, step, epochs.count);
  }
  if (most <= stuck) {
    limit_cells<Cell32>(words, count, most);
    return true;
  }
  const std::uint32_t steps = most - stuck;
  if (steps > most_steps) {
    return false;
  }
  const unsigned shift = bucket_shift(steps, largest);
  const std::size_t buckets = (largest >> shift) + std::size_t{1};
  const std::unique_ptr<std::uint32_t[]> table(new (std::nothrow) std::uint32_t[steps + 2 + buckets]);
  if (table == nullptr) {
    return false;
  }
  const std::span last(table.get(), steps + 2);
  fill_last(last.first(steps), stuck, step, epochs.count);
  last[steps] = last[steps + 1] = largest_cell(32);
  const std::span in_buckets(last.data() + last.size(), buckets);
  const DecaySteps by_steps{.stuck = stuck, .shift = shift, .last = last.data(), .buckets = in_buckets.data()};
  fill_buckets(by_steps, steps, in_buckets);
  map_steps(words, count, by_steps);
  return true;
}

template <class Cell, Rounding kRounding>
void decay_rounding(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) {
  constexpr unsigned kWidth = sizeof(Cell) * 8;
  // If the largest value decays to one that never changes again, so does every larger cell than that.
  const std::uint32_t largest = largest_cell(kWidth);
  const std::uint32_t most = decay_value(largest, step, epochs.count);
  if (most <= stuck_value(step)) {
    limit_cells<Cell>(words, count, most);
    return;
  }
  if constexpr (kWidth < 32) {
    // A table of all values.
    constexpr std::size_t kTableWords = (std::size_t{1} << kWidth) * sizeof(Cell) / sizeof(std::uint64_t);
    if (epochs.count >= kEpochsPerLookup && count >= 2 * kTableWords) {
      const std::unique_ptr<std::uint64_t[]> table(new (std::nothrow) std::uint64_t[kTableWords + 1]);
      if (table != nullptr) {
        auto* values = cells_in<Cell>(table.get());
        for (std::uint32_t value = 0; value <= largest; ++value) {
          store_cell(values + value, value);
        }
        decay_rounding<Cell, kRounding>(table.get(), kTableWords, step, epochs);
        if constexpr (kWidth == 16) {
          map_values(words, count, values);
        } else {
          map_cells<Cell>(words, count, ValueTable<Cell>{values});
        }
        return;
      }
    }
  }
  if (epochs.count / kStepsPerStretch > stretches(largest, step)) {
    map_cells<Cell>(words, count, Stretches{step, epochs.count});
    return;
  }
  if constexpr (kWidth == 32) {
    if (epochs.count >= kEpochsPerLookup && decay_by_steps(words, count, step, epochs, most)) {
      return;
    }
  }
  decay_chunks<kWidth, kRounding, Epoch<kWidth, kRounding>>(words, count, step, epochs);
}

template <class Cell>
void decay(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept {
  if (step.lambda_q32 >= kOne || epochs.count == 0) {
    return;
  }
  switch (step.rounding) {
    case Rounding::floor: return decay_rounding<Cell, Rounding::floor>(words, count, step, epochs);
    case Rounding::ceil: return decay_rounding<Cell, Rounding::ceil>(words, count, step, epochs);
    default:
      constexpr unsigned kWidth = sizeof(Cell) * 8;
      return decay_chunks<kWidth, Rounding::stochastic, DrawnEpoch<kWidth>>(words, count, step, epochs);
  }
}

#else

// Without vectors: a cell skips many epochs in one step while its losses are equal.
template <class Cell>
void decay(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept {
  if (step.lambda_q32 >= kOne) {
    return;
  }
  if (epochs.count > 1 && step.rounding != Rounding::stochastic) {
    map_cells<Cell>(words, count, Stretches{step, epochs.count});
  } else {
    reference::decay<Cell>(words, count, step, epochs);
  }
}

#endif

}  // namespace

// Highway's table needs names with external linkage.
const DecayOps* target_decay_ops() {
  static const DecayOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .decay8 = decay<Cell8>,
      .decay16 = decay<Cell16>,
      .decay32 = decay<Cell32>,
  };
  return &kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

MANKAI_EXPORT_TABLES(DecayOps, decay_ops)

void decay_words(std::uint64_t* words, std::size_t count, unsigned width_bits, const DecayStep& step,
                 Epochs epochs) noexcept {
  const DecayOps& ops = decay_ops();
  (width_bits == 8 ? ops.decay8 : width_bits == 16 ? ops.decay16 : ops.decay32)(words, count, step, epochs);
}

// While losses are equal, many epochs are one step.
std::uint32_t decay_value(std::uint32_t value, const DecayStep& step, std::uint64_t epochs) noexcept {
  const bool is_ceil = step.rounding == Rounding::ceil;
  const std::uint64_t loss_q32 = kOne - step.lambda_q32;
  std::uint64_t left = value;
  while (epochs != 0) {
    const std::uint64_t loss = loss_of(left, loss_q32, is_ceil);
    if (loss == 0) {
      break;
    }
    const std::uint64_t alike = (left - smallest_losing(loss, loss_q32, is_ceil)) / loss + 1;
    const std::uint64_t taken = std::min(alike, epochs);
    left -= taken * loss;
    epochs -= taken;
  }
  return static_cast<std::uint32_t>(left);
}

}  // namespace mankai::kernel
#endif  // HWY_ONCE
