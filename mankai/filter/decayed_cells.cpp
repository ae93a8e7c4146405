#include "mankai/filter/decayed_cells.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/base/time.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai {
namespace {

using kernel::Cell16;
using kernel::Cell32;
using kernel::Cell8;
using kernel::load_cell;
using kernel::store_cell;
using Added = DecayedCells::Added;

constexpr unsigned kWordBits = 64;
// A count of 1/64 may stay for ever (fraction_bits_for).
constexpr std::uint64_t kLargestStuck = 64;

// Calls `use(cells)` with the words as cells of the width.
template <class Word, class Use>
decltype(auto) with_cells(Word* words, unsigned width_bits, const Use& use) {
  switch (width_bits) {
    case 8: return use(kernel::cells_in<Cell8>(words));
    case 16: return use(kernel::cells_in<Cell16>(words));
    default: return use(kernel::cells_in<Cell32>(words));
  }
}

// A key's cells, one after the other.
class Positions {
 public:
  Positions(const DecayedShape& shape, Digest digest) noexcept
      : sequence_(digest), cells_per_probe_(shape.cells_per_probe) {}

  std::uint64_t next() noexcept {
    const std::uint64_t cell = partition_ + sequence_.next(cells_per_probe_);
    partition_ += cells_per_probe_;
    return cell;
  }

 private:
  probes::CellSequence sequence_;
  std::uint64_t cells_per_probe_;
  std::uint64_t partition_ = 0;
};

// A window of keys, their positions computed and their lines on the way: all first cells, then all second ones.
struct Window {
  static constexpr std::size_t kKeys = 64;

  std::array<std::uint64_t, kernel::kMaxProbes * kKeys> cells;
  std::size_t start = 0;
  std::size_t count = 0;

  template <class Cell>
  void open(const Cell* array, const DecayedShape& shape, std::span<const Digest> digests, std::size_t first) noexcept {
    start = first;
    count = std::min(kKeys, digests.size() - first);
    for (std::size_t key = 0; key < count; ++key) {
      Positions positions(shape, digests[first + key]);
      for (std::uint32_t probe = 0; probe < shape.k; ++probe) {
        const std::uint64_t cell = positions.next();
        cells[probe * kKeys + key] = cell;
        __builtin_prefetch(array + cell);
      }
    }
  }
};

struct InWindow {
  const Window& window;
  std::size_t key;
  std::uint32_t probe = 0;

  std::uint64_t next() noexcept { return window.cells[Window::kKeys * probe++ + key]; }
};

// Calls `use(number of the key, positions)` for each key in order. In cache it computes positions on the way; beyond it
// a window ahead, so that the lines arrive meanwhile.
template <class Cell, class Use>
void for_each_key(const Cell* array, const DecayedShape& shape, std::span<const Digest> digests, const Use& use) {
  if (shape.cells_per_probe * shape.k * sizeof(Cell) <= kernel::kNearBytes) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      use(i, Positions(shape, digests[i]));
    }
    return;
  }
  std::array<Window, 2> windows;
  Window* current = windows.data();
  Window* next = current + 1;
  current->open(array, shape, digests, 0);
  while (current->count != 0) {
    next->open(array, shape, digests, current->start + current->count);
    for (std::size_t key = 0; key < current->count; ++key) {
      use(current->start + key, InWindow{.window = *current, .key = key});
    }
    std::swap(current, next);
  }
}

template <class Cell, class At>
std::uint32_t smallest_cell(const Cell* cells, std::uint32_t k, At positions) noexcept {
  std::uint32_t least = ~std::uint32_t{0};
  for (std::uint32_t probe = 0; probe < k; ++probe) {
    least = std::min(least, load_cell(cells + positions.next()));
  }
  return least;
}

template <class Cell, class At>
Added add_to_all(Cell* cells, const DecayedShape& shape, At positions, std::uint64_t units) noexcept {
  const std::uint64_t largest = kernel::largest_cell(shape.width_bits);
  std::uint64_t least = largest;
  std::uint64_t cut = 0;
  for (std::uint32_t probe = 0; probe < shape.k; ++probe) {
    Cell* cell = cells + positions.next();
    const std::uint64_t before = load_cell(cell);
    const std::uint64_t sum = before + units;
    store_cell(cell, static_cast<std::uint32_t>(std::min(sum, largest)));
    cut += static_cast<std::uint64_t>(sum > largest);
    least = std::min(least, before);
  }
  return {.cut = cut, .seen = least != 0};
}

// Raises no cell beyond what the smallest one says.
template <class Cell, class At>
Added add_to_least(Cell* cells, const DecayedShape& shape, At positions, std::uint64_t units) noexcept {
  const std::uint64_t largest = kernel::largest_cell(shape.width_bits);
  const std::uint64_t least = smallest_cell(cells, shape.k, positions);
  const std::uint64_t sum = least + units;
  const auto raised = static_cast<std::uint32_t>(std::min(sum, largest));
  for (std::uint32_t probe = 0; probe < shape.k; ++probe) {
    Cell* cell = cells + positions.next();
    if (load_cell(cell) < raised) {
      store_cell(cell, raised);
    }
  }
  return {.cut = sum > largest ? shape.k : 0U, .seen = least != 0};
}

template <class Cell, class At>
Added add(Cell* cells, const DecayedShape& shape, const At& positions, std::uint64_t units) noexcept {
  return shape.rule == IncrementRule::all ? add_to_all(cells, shape, positions, units)
                                          : add_to_least(cells, shape, positions, units);
}

// λ^epochs · 2^64, for λ below 1 and epochs above 0, rounded down, or to one that is no less.
std::uint64_t power_q64(std::uint64_t lambda_q32, std::uint64_t epochs, bool is_up) noexcept {
  const auto multiply = [is_up](std::uint64_t a, std::uint64_t b) {
    return multiply_high(a, b) + static_cast<std::uint64_t>(is_up && a * b != 0);
  };
  constexpr unsigned kToQ64 = 32;
  std::uint64_t square = lambda_q32 << kToQ64;
  while (epochs % 2 == 0) {
    square = multiply(square, square);
    epochs /= 2;
  }
  std::uint64_t power = square;
  while ((epochs /= 2) != 0) {
    square = multiply(square, square);
    power = epochs % 2 != 0 ? multiply(power, square) : power;
  }
  return power;
}

kernel::Rounding rounding_of(DecayPolicy policy) noexcept {
  switch (policy) {
    case DecayPolicy::floor: return kernel::Rounding::floor;
    case DecayPolicy::stochastic: return kernel::Rounding::stochastic;
    default: return kernel::Rounding::ceil;
  }
}

}  // namespace

std::string_view name(DecayPolicy policy) noexcept {
  switch (policy) {
    case DecayPolicy::fixed_point: return "fixed-point";
    case DecayPolicy::floor: return "floor";
    case DecayPolicy::ceil: return "ceil";
    default: return "stochastic";
  }
}

std::string_view name(IncrementRule rule) noexcept { return rule == IncrementRule::all ? "all" : "minimum"; }

std::uint32_t fraction_bits_for(std::uint64_t lambda_q32) noexcept {
  if (lambda_q32 >= kLambdaOne) {
    return 0;
  }
  std::uint32_t bits = 0;
  while (((kLambdaOne - lambda_q32) << bits) < kLargestStuck * kLambdaOne) {
    ++bits;
  }
  return bits;
}

kernel::DecayStep DecayedCells::step() const noexcept {
  return {.lambda_q32 = shape_.lambda_q32, .rounding = rounding_of(shape_.policy), .seed = shape_.seed};
}

Added DecayedCells::insert(Digest digest, std::uint64_t units) noexcept {
  return with_cells(words_.data(), shape_.width_bits,
                    [&](auto* cells) { return add(cells, shape_, Positions(shape_, digest), units); });
}

std::uint64_t DecayedCells::insert(std::span<const Digest> digests, std::uint64_t units) noexcept {
  std::uint64_t cut = 0;
  with_cells(words_.data(), shape_.width_bits, [&](auto* cells) {
    for_each_key(cells, shape_, digests,
                 [&](std::size_t, const auto& positions) { cut += add(cells, shape_, positions, units).cut; });
  });
  return cut;
}

std::uint64_t DecayedCells::observe(std::span<const Digest> digests, std::span<bool> seen,
                                    std::uint64_t units) noexcept {
  MANKAI_DCHECK(digests.size() == seen.size());
  std::uint64_t cut = 0;
  with_cells(words_.data(), shape_.width_bits, [&](auto* cells) {
    for_each_key(cells, shape_, digests, [&](std::size_t i, const auto& positions) {
      const Added added = add(cells, shape_, positions, units);
      cut += added.cut;
      seen[i] = added.seen;
    });
  });
  return cut;
}

std::uint32_t DecayedCells::smallest(Digest digest) const noexcept {
  return with_cells(words_.data(), shape_.width_bits,
                    [&](const auto* cells) { return smallest_cell(cells, shape_.k, Positions(shape_, digest)); });
}

void DecayedCells::smallest(std::span<const Digest> digests, std::span<std::uint32_t> found) const noexcept {
  MANKAI_DCHECK(digests.size() == found.size());
  with_cells(words_.data(), shape_.width_bits, [&](const auto* cells) {
    for_each_key(cells, shape_, digests,
                 [&](std::size_t i, const auto& positions) { found[i] = smallest_cell(cells, shape_.k, positions); });
  });
}

void DecayedCells::decay(std::uint64_t tick, std::uint64_t epochs) noexcept {
  kernel::decay_words(words_.data(), words_.size(), shape_.width_bits, step(), {.first_tick = tick, .count = epochs});
}

std::uint32_t DecayedCells::decayed(std::uint32_t units, std::uint64_t epochs) const noexcept {
  return kernel::decay_value(units, step(), epochs);
}

std::uint64_t DecayedCells::late_units(std::uint64_t epochs, std::uint64_t draw) const noexcept {
  if (epochs == 0 || shape_.lambda_q32 >= kLambdaOne) {
    return one();
  }
  const bool is_up = rounding_of(shape_.policy) == kernel::Rounding::ceil;
  const std::uint64_t power = power_q64(shape_.lambda_q32, epochs, is_up);
  const std::uint64_t whole = shape_.fraction_bits == 0 ? 0 : power >> (kWordBits - shape_.fraction_bits);
  const std::uint64_t fraction = power << shape_.fraction_bits;
  const bool is_raised = is_up ? fraction != 0 : shape_.policy == DecayPolicy::stochastic && draw < fraction;
  return whole + static_cast<std::uint64_t>(is_raised);
}

std::uint64_t DecayedCells::merge(std::span<const std::uint64_t> other) noexcept {
  MANKAI_ASSERT(other.size() == words_.size());
  return with_cells(words_.data(), shape_.width_bits, [&]<class Cell>(Cell* into) {
    const Cell* from = kernel::cells_in<Cell>(other.data());
    const std::uint64_t largest = this->largest();
    std::uint64_t cut = 0;
    for (std::uint64_t i = 0; i < cell_count(); ++i) {
      const std::uint64_t sum = std::uint64_t{load_cell(into + i)} + load_cell(from + i);
      cut += static_cast<std::uint64_t>(sum > largest);
      store_cell(into + i, static_cast<std::uint32_t>(std::min(sum, largest)));
    }
    return cut;
  });
}

std::uint64_t DecayedCells::count_nonzero(std::uint32_t probe) const noexcept {
  return with_cells(words_.data(), shape_.width_bits, [&](const auto* cells) {
    const auto* partition = cells + probe * shape_.cells_per_probe;
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < shape_.cells_per_probe; ++i) {
      count += static_cast<std::uint64_t>(load_cell(partition + i) != 0);
    }
    return count;
  });
}

bool DecayedCells::is_tail_zero() const noexcept {
  return with_cells(words_.data(), shape_.width_bits, [&]<class Cell>(const Cell* cells) {
    bool is_zero = true;
    for (std::uint64_t i = cell_count(); i < words_.size_bytes() / sizeof(Cell); ++i) {
      is_zero = is_zero && load_cell(cells + i) == 0;
    }
    return is_zero;
  });
}

}  // namespace mankai
