#include "mankai/filter/parts/decayed_cells.hpp"

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
// A count of 1/64 may never decay (fraction_bits_for).
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

// The layout of the cells. Passed by value to every loop: stores to cells may alias anything, so members reached by a
// reference would be reloaded after each store.
struct Layout {
  std::uint64_t cells_per_probe;
  std::uint32_t k;
};

Layout layout_of(const DecayedShape& shape) noexcept {
  return {.cells_per_probe = shape.cells_per_probe, .k = shape.k};
}

class Positions {
 public:
  Positions(Layout layout, Digest digest) noexcept : sequence_(digest), cells_per_probe_(layout.cells_per_probe) {}

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

// A window of keys with positions computed and lines prefetched: all first cells, then all second ones.
struct Window {
  static constexpr std::size_t kKeys = 64;

  std::array<std::uint64_t, kernel::kMaxProbes * kKeys> cells;
  std::size_t start = 0;
  std::size_t count = 0;

  template <class Cell>
  void open(const Cell* array, Layout layout, std::span<const Digest> digests, std::size_t first) noexcept {
    start = first;
    count = std::min(kKeys, digests.size() - first);
    for (std::size_t key = 0; key < count; ++key) {
      Positions positions(layout, digests[first + key]);
      for (std::uint32_t probe = 0; probe < layout.k; ++probe) {
        const std::uint64_t cell = positions.next();
        cells[probe * kKeys + key] = cell;
        prefetch_line(array + cell);
      }
    }
  }
};

class InWindow {
 public:
  InWindow(const Window& window, std::size_t key) noexcept : cell_(window.cells.data() + key) {}

  std::uint64_t next() noexcept {
    const std::uint64_t cell = *cell_;
    cell_ += Window::kKeys;
    return cell;
  }

 private:
  const std::uint64_t* cell_;
};

// Calls `use(index of the key, positions)` for each key in order and returns the sum of the results. Computes positions
// on the fly in cache, and a window ahead with prefetch beyond it.
template <class Cell, class Use>
std::uint64_t sum_over_keys(const Cell* array, Layout layout, std::span<const Digest> digests, Use use) {
  std::uint64_t sum = 0;
  if (layout.cells_per_probe * layout.k * sizeof(Cell) <= kernel::kNearBytes) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      sum += use(i, Positions(layout, digests[i]));
    }
    return sum;
  }
  std::array<Window, 2> windows;
  Window* current = windows.data();
  Window* next = current + 1;
  current->open(array, layout, digests, 0);
  while (current->count != 0) {
    next->open(array, layout, digests, current->start + current->count);
    for (std::size_t key = 0; key < current->count; ++key) {
      sum += use(current->start + key, InWindow(*current, key));
    }
    std::swap(current, next);
  }
  return sum;
}

template <class Cell, class At>
std::uint32_t smallest_cell(const Cell* cells, std::uint32_t k, At positions) noexcept {
  std::uint32_t least = ~std::uint32_t{0};
  for (std::uint32_t probe = 0; probe < k; ++probe) {
    least = std::min(least, load_cell(cells + positions.next()));
  }
  return least;
}

// Whether to find the key's smallest cell before the insertion.
enum class Look : bool { no, yes };

// Pre: `Cell` can hold the units.
template <Look kLook, class Cell, class At>
Added add_to_all(Cell* cells, std::uint32_t k, At positions, Cell units) noexcept {
  std::uint32_t least = ~std::uint32_t{0};
  std::uint64_t cut = 0;
  for (std::uint32_t probe = 0; probe < k; ++probe) {
    Cell* cell = cells + positions.next();
    const std::uint32_t before = load_cell(cell);
    Cell sum = 0;
    if (__builtin_add_overflow(before, units, &sum)) [[unlikely]] {
      sum = static_cast<Cell>(~Cell{0});
      ++cut;
    }
    store_cell(cell, sum);
    if constexpr (kLook == Look::yes) {
      least = std::min(least, before);
    }
  }
  return {.cut = cut, .least = least};
}

// Raises each cell at most to the smallest one plus the units.
template <class Cell, class At>
Added add_to_least(Cell* cells, std::uint32_t k, At positions, std::uint64_t units) noexcept {
  constexpr std::uint64_t kLargest = static_cast<Cell>(~Cell{0});
  const std::uint64_t least = smallest_cell(cells, k, positions);
  const std::uint64_t sum = least + units;
  const auto raised = static_cast<std::uint32_t>(std::min(sum, kLargest));
  for (std::uint32_t probe = 0; probe < k; ++probe) {
    Cell* cell = cells + positions.next();
    store_cell(cell, std::max(load_cell(cell), raised));
  }
  return {.cut = sum > kLargest ? k : 0U, .least = static_cast<std::uint32_t>(least)};
}

template <Look kLook, class Cell, class At>
Added add(Cell* cells, std::uint32_t k, IncrementRule rule, const At& positions, std::uint64_t units) noexcept {
  constexpr std::uint64_t kLargest = static_cast<Cell>(~Cell{0});
  if (rule == IncrementRule::minimum) {
    return add_to_least(cells, k, positions, units);
  }
  if (units <= kLargest) [[likely]] {
    return add_to_all<kLook>(cells, k, positions, static_cast<Cell>(units));
  }
  // More than a cell can hold: every cell is cut.
  const Added added = add_to_all<kLook>(cells, k, positions, static_cast<Cell>(kLargest));
  return {.cut = k, .least = added.least};
}

// λ^epochs · 2^64, rounded down or up, for λ < 1 and epochs > 0.
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

DecayedCells::DecayedCells(std::span<std::uint64_t> words, const DecayedShape& shape) noexcept
    : words_(words), shape_(shape), faint_(stuck() * kLargestStuck <= one() ? stuck() : 0) {}

kernel::DecayStep DecayedCells::step() const noexcept {
  return {.lambda_q32 = shape_.lambda_q32, .rounding = rounding_of(shape_.policy), .seed = shape_.seed};
}

Added DecayedCells::insert(Digest digest, std::uint64_t units) noexcept {
  return with_cells(words_.data(), shape_.width_bits, [&](auto* cells) {
    return add<Look::yes>(cells, shape_.k, shape_.rule, Positions(layout_of(shape_), digest), units);
  });
}

std::uint64_t DecayedCells::insert(std::span<const Digest> digests, std::uint64_t units) noexcept {
  const Layout layout = layout_of(shape_);
  return with_cells(words_.data(), shape_.width_bits, [=, rule = shape_.rule](auto* cells) {
    return sum_over_keys(cells, layout, digests, [=](std::size_t, const auto& positions) {
      return add<Look::no>(cells, layout.k, rule, positions, units).cut;
    });
  });
}

std::uint64_t DecayedCells::observe(std::span<const Digest> digests, std::span<bool> seen,
                                    std::uint64_t units) noexcept {
  MANKAI_DCHECK(digests.size() == seen.size());
  const Layout layout = layout_of(shape_);
  return with_cells(words_.data(), shape_.width_bits, [=, rule = shape_.rule, faint = faint_](auto* cells) {
    return sum_over_keys(cells, layout, digests, [=](std::size_t i, const auto& positions) {
      const Added added = add<Look::yes>(cells, layout.k, rule, positions, units);
      seen[i] = added.least > faint;
      return added.cut;
    });
  });
}

std::uint32_t DecayedCells::smallest(Digest digest) const noexcept {
  return with_cells(words_.data(), shape_.width_bits, [&](const auto* cells) {
    return smallest_cell(cells, shape_.k, Positions(layout_of(shape_), digest));
  });
}

void DecayedCells::smallest(std::span<const Digest> digests, std::span<std::uint32_t> found) const noexcept {
  MANKAI_DCHECK(digests.size() == found.size());
  const Layout layout = layout_of(shape_);
  with_cells(words_.data(), shape_.width_bits, [=](const auto* cells) {
    return sum_over_keys(cells, layout, digests, [=](std::size_t i, const auto& positions) {
      found[i] = smallest_cell(cells, layout.k, positions);
      return std::uint64_t{0};
    });
  });
}

void DecayedCells::decay(std::uint64_t tick, std::uint64_t epochs) noexcept {
  kernel::decay_words(words_.data(), words_.size(), shape_.width_bits, step(), {.first_tick = tick, .count = epochs});
}

std::uint32_t DecayedCells::decayed(std::uint32_t units, std::uint64_t epochs) const noexcept {
  return kernel::decay_value(units, step(), epochs);
}

std::uint64_t DecayedCells::stuck() const noexcept {
  if (shape_.lambda_q32 >= kLambdaOne) {
    return largest();
  }
  // Values that lose less than one unit per epoch.
  const bool is_up = rounding_of(shape_.policy) == kernel::Rounding::ceil;
  return is_up ? (kLambdaOne - 1) / (kLambdaOne - shape_.lambda_q32) : 0;
}

CutCells DecayedCells::with_cut(CutCells cells, std::uint64_t cut, std::uint64_t units) const noexcept {
  const CutCells one_more = CutCells::one(largest(), count_of(units));
  for (; cut != 0; --cut) {
    cells = cells.with(one_more);
  }
  return cells;
}

CutCells DecayedCells::decayed(CutCells cells, std::uint64_t epochs) const noexcept {
  return cells.faded(decayed(cells.oldest, epochs), shape_.lambda_q32, epochs);
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

PartitionFill DecayedCells::partitions() const noexcept {
  return with_cells(words_.data(), shape_.width_bits, [this](const auto* cells) {
    PartitionFill fill{.size = {.cells_per_probe = shape_.cells_per_probe, .k = shape_.k}};
    for (std::uint32_t probe = 0; probe < shape_.k; ++probe, cells += shape_.cells_per_probe) {
      fill.used[probe] = static_cast<std::uint64_t>(std::count_if(
          cells, cells + shape_.cells_per_probe, [this](const auto& cell) { return is_left(load_cell(&cell)); }));
    }
    return fill;
  });
}

}  // namespace mankai
