#include "modules/redis/cms/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/filter_base.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kCellBytes = sizeof(std::uint32_t);
constexpr std::size_t kTotal = 0;  // word of the kind's state

// 0: there is no such sketch.
std::uint64_t cells_bytes_of(std::uint64_t width, std::uint64_t depth) noexcept {
  const bool is_possible = depth >= 1 && depth <= Sketch::kMaxDepth && width <= kMaxCellsBytes / kCellBytes / depth;
  return is_possible ? align_up(width * depth * kCellBytes, kCacheLineBytes) : 0;
}

/// Sums up weighted values; `values_of(sketch)` points to those of a sketch. Returns false if a sum lies outside
/// [0, most], 2^n - 1, or a part of one outside 64 bits.
template <class ValuesOf>
bool sum_up(std::span<const Sketch::Term> terms, const ValuesOf& values_of, std::uint64_t most,
            std::span<std::int64_t> sums) noexcept {
  std::ranges::fill(sums, 0);
  // No sum of cells is lost while all weights together are below this; without checks it takes less than half the time.
  constexpr double kFewBits = 1U << 31U;
  double weights = 0;
  bool is_lost = false;
  for (const Sketch::Term& term : terms) {
    const auto* values = values_of(*term.sketch);
    weights += std::abs(static_cast<double>(term.weight));
    if (sizeof(*values) == kCellBytes && weights < kFewBits) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += static_cast<std::int64_t>(values[i]) * term.weight;
      }
      continue;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::int64_t product = 0;
      is_lost |= __builtin_mul_overflow(static_cast<std::int64_t>(values[i]), term.weight, &product);
      is_lost |= __builtin_add_overflow(sums[i], product, &sums[i]);
    }
  }
  std::uint64_t bits = 0;
  for (const std::int64_t sum : sums) {
    bits |= static_cast<std::uint64_t>(sum);
  }
  return !is_lost && bits <= most;
}

}  // namespace

Result<Sketch> Sketch::create(const SketchSettings& settings) {
  const std::uint64_t cells_bytes = cells_bytes_of(settings.width, settings.depth);
  if (cells_bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a sketch has at most 65536 rows and 2^48 bytes");
  }
  MANKAI_ASSIGN(Region memory, Region::allocate(engine_memory(), cells_bytes));
  return Sketch(settings, std::move(memory), 0);
}

Result<Sketch> Sketch::from_image(AssembledImage source) {
  // Copied to a block of their own, cells take the memory that they took before they were saved.
  constexpr std::size_t kMostCopied = std::size_t{1} << 20;
  MANKAI_ASSIGN(const auto image, Image::adopt(Region::borrow(source.image.bytes()), Trust::fast));
  MANKAI_TRY(check_kind(image, kKind, sizeof(Params) / sizeof(std::uint64_t), kTotal + 1));
  const auto params = image.params<Params>();
  const std::uint64_t cells_bytes = image.header().cells_bytes;
  if (cells_bytes_of(params.width, params.depth) != cells_bytes) {
    return fail(ErrorCode::corrupt, "width and depth of a sketch at offset 64 do not fill the cells");
  }
  MANKAI_TRY(check_tail(image, params.width * params.depth, kCellBytes * 8));
  const SketchSettings settings{.width = params.width, .depth = params.depth, .hash = image.hash()};
  const std::uint64_t total = image.state(kTotal);
  Region memory = std::move(source.image);
  std::uint32_t start = sizeof(ImageHeader);
  if (cells_bytes <= kMostCopied) {
    MANKAI_ASSIGN(Region copy, Region::allocate(engine_memory(), cells_bytes));
    std::memcpy(copy.bytes().data(), memory.bytes().data() + start, cells_bytes);
    memory = std::move(copy);
    start = 0;
  }
  Sketch sketch(settings, std::move(memory), start);
  sketch.total_ = total;
  return sketch;
}

std::size_t Sketch::cells_bytes() const noexcept { return cells_bytes_of(width(), depth()); }

ImageParts Sketch::parts() const {
  // The rate is that of counts that are too high by more than 2/width of all increments.
  constexpr int kLeastExponent = -1022;
  const double rate = std::ldexp(1.0, std::max(-static_cast<int>(depth()), kLeastExponent));
  ImageHeader header =
      make_header(kKind, ImageLayout::flat,
                  {.capacity_keys = width(), .fpr_target = rate, .hash = hash_, .cells_bytes = cells_bytes()});
  set_params(header, Params{.width = width(), .depth = depth()});
  header.kind_state[kTotal] = total_;
  seal_header(header);
  ImageParts parts;
  parts.headers.push_back(header);
  parts.cells.push_back(cells());
  return parts;
}

/// Calls `visit(i, cell)` for the cell of each item in each row. Row by row, which for the cells of a row is the order
/// of the items: results are those of one item after the other.
template <class Cell, class Visit>
void Sketch::for_each_cell(Cell* table, std::span<const std::string_view> items, const Visit& visit) const noexcept {
  MANKAI_DCHECK(items.size() <= kWindow);
  std::array<Digest, kWindow> digests;
  std::array<std::uint64_t, kWindow> states;
  std::array<Cell*, kWindow> cells;
  const std::uint64_t row_cells = width();
  const std::uint64_t rows = depth();
  hasher()(items, std::span(digests).first(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    states[i] = probes::CellSequence::start(digests[i]);
  }
  for (std::uint64_t row = 0; row < rows; ++row, table += row_cells) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      cells[i] = table + fastrange(states[i], row_cells);
      prefetch_line(cells[i]);
      states[i] *= probes::CellSequence::kMultiplier;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      visit(i, *cells[i]);
    }
  }
}

void Sketch::add(std::span<const std::string_view> items, std::span<const std::uint64_t> increments,
                 std::span<std::uint32_t> counts) noexcept {
  std::ranges::fill(counts, kMaxCount);
  for_each_cell(table(), items, [&](std::size_t i, std::uint32_t& cell) {
    cell = static_cast<std::uint32_t>(std::min<std::uint64_t>(cell + increments[i], kMaxCount));
    counts[i] = std::min(counts[i], cell);
  });
  for (const std::uint64_t increment : increments) {
    total_ += increment;
  }
}

void Sketch::count(std::span<const std::string_view> items, std::span<std::uint32_t> counts) const noexcept {
  std::ranges::fill(counts, kMaxCount);
  for_each_cell(table(), items,
                [&](std::size_t i, const std::uint32_t& cell) { counts[i] = std::min(counts[i], cell); });
}

bool Sketch::assign_sum(std::span<const Term> terms) noexcept {
  std::int64_t sum_of_totals = 0;
  const auto totals = [](const Sketch& sketch) { return &sketch.total_; };
  if (!sum_up(terms, totals, std::numeric_limits<std::int64_t>::max(), std::span(&sum_of_totals, 1))) {
    return false;
  }
  // The first pass only checks. Blocks stay in the cache beside those of a few sources.
  constexpr std::size_t kBlock = 512;
  std::array<std::int64_t, kBlock> block;
  const std::size_t cells = cell_count();
  for (const bool is_check : {true, false}) {
    for (std::size_t start = 0; start < cells; start += kBlock) {
      const auto sums = std::span(block).first(std::min(kBlock, cells - start));
      const auto row = [start](const Sketch& sketch) { return sketch.table() + start; };
      if (!sum_up(terms, row, kMaxCount, sums)) {
        return false;
      }
      if (!is_check) {
        std::ranges::transform(sums, table() + start, [](std::int64_t sum) { return static_cast<std::uint32_t>(sum); });
      }
    }
  }
  total_ = static_cast<std::uint64_t>(sum_of_totals);
  return true;
}

}  // namespace mankai::redis
