#include "mankai/kernel/decay_ops.hpp"

#include <algorithm>
#include <cstring>

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

template <class Cell>
void decay_by_stretches(std::uint64_t* words, std::size_t count, const DecayStep& step, std::uint64_t epochs) noexcept {
  Cell* cells = cells_in<Cell>(words);
  for (std::size_t i = 0; i < count * (sizeof(std::uint64_t) / sizeof(Cell)); ++i) {
    if (const std::uint32_t before = load_cell(cells + i); before != 0) {
      store_cell(cells + i, decay_value(before, step, epochs));
    }
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

  HWY_INLINE Epoch(const DecayStep& step, std::uint64_t /*tick*/)
      : lambda_high(hn::Set(Tag16(), static_cast<std::uint16_t>(step.lambda_q32 >> 16))),
        lambda_low(hn::Set(Tag16(), static_cast<std::uint16_t>(step.lambda_q32))) {}

  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t /*first*/) const {
    const Tag16 d16;
    const Vector16 cells = hn::BitCast(d16, words);
    if constexpr (kWidth == 16) {
      return hn::BitCast(Tag32(), step16<kRounding>(cells, lambda_high, lambda_low));
    } else {
      const Vector16 even = hn::And(cells, hn::Set(d16, 0xff));
      const Vector16 odd = hn::ShiftRight<8>(cells);
      return hn::BitCast(Tag32(), hn::Or(step16<kRounding>(even, lambda_high, lambda_low),
                                         hn::ShiftLeft<8>(step16<kRounding>(odd, lambda_high, lambda_low))));
    }
  }
};

template <Rounding kRounding>
struct Epoch<32, kRounding> {
  Vector32 lambda;

  HWY_INLINE Epoch(const DecayStep& step, std::uint64_t /*tick*/)
      : lambda(hn::Set(Tag32(), static_cast<std::uint32_t>(step.lambda_q32))) {}

  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t /*first*/) const {
    return step32<kRounding>(words, lambda, lambda);
  }
};

// Draws are lanes of 32 bits for cells of every width: all first cells of the lanes, then all second ones.
template <unsigned kWidth>
struct DrawnEpoch {
  Vector32 lambda;
  reference::RoundingKeys keys;

  HWY_INLINE DrawnEpoch(const DecayStep& step, std::uint64_t tick)
      : lambda(hn::Set(Tag32(), static_cast<std::uint32_t>(step.lambda_q32))),
        keys(reference::rounding_keys(step.seed, tick)) {}

  HWY_INLINE Vector32 next(Vector32 words, std::uint64_t first) const {
    const Tag32 d;
    constexpr std::uint32_t kPerLane = 32 / kWidth;
    const Vector32 mask = hn::Set(d, largest_cell(kWidth));
    Vector32 index =
        hn::Add(hn::Mul(hn::Iota(d, 0), hn::Set(d, kPerLane)), hn::Set(d, static_cast<std::uint32_t>(first)));
    Vector32 result = hn::Zero(d);
    for (std::uint32_t part = 0; part < kPerLane; ++part) {
      const int shift = static_cast<int>(part * kWidth);
      const Vector32 cells = hn::And(hn::ShiftRightSame(words, shift), mask);
      const Vector32 drawn = step32<Rounding::stochastic>(cells, lambda, draw(index, keys));
      result = hn::Or(result, hn::ShiftLeftSame(drawn, shift));
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
  for (std::size_t start = 0; start < count; start += kChunkWords) {
    const std::size_t in_chunk = std::min(kChunkWords, count - start);
    bool is_changing = true;
    for (std::uint64_t epoch = 0; epoch < epochs.count && is_changing; ++epoch) {
      is_changing =
          decay_chunk<kWidth, kRounding>(words + start, in_chunk, start, OneEpoch(step, epochs.first_tick + epoch));
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

template <class Cell, Rounding kRounding>
void decay_rounding(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) {
  constexpr unsigned kWidth = sizeof(Cell) * 8;
  // If the largest value decays to one that never changes again, so does every larger cell than that.
  const std::uint32_t largest = largest_cell(kWidth);
  if (const std::uint32_t most = decay_value(largest, step, epochs.count); most <= stuck_value(step)) {
    limit_cells<Cell>(words, count, most);
  } else if (epochs.count / kStepsPerStretch > stretches(largest, step)) {
    decay_by_stretches<Cell>(words, count, step, epochs.count);
  } else {
    decay_chunks<kWidth, kRounding, Epoch<kWidth, kRounding>>(words, count, step, epochs);
  }
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
    decay_by_stretches<Cell>(words, count, step, epochs.count);
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
