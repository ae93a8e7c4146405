#include "modules/redis/cms/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ranges>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kCellBytes = sizeof(std::uint32_t);

// 0: there is no such sketch.
std::uint64_t cells_bytes_of(std::uint64_t width, std::uint64_t depth) noexcept {
  const bool is_possible = depth >= 1 && depth <= Sketch::kMaxDepth && width <= kMaxCellsBytes / kCellBytes / depth;
  return is_possible ? align_up(width * depth * kCellBytes, kCacheLineBytes) : 0;
}

/// Nothing if the sum or a part of it has more than 64 bits, or if it lies outside [0, most].
template <class ValueOf>
std::optional<std::int64_t> weighted_sum(std::span<const Sketch::Term> terms, std::int64_t most,
                                         const ValueOf& value_of) noexcept {
  std::int64_t sum = 0;
  bool is_lost = false;
  for (const Sketch::Term& term : terms) {
    std::int64_t product = 0;
    is_lost |= __builtin_mul_overflow(static_cast<std::int64_t>(value_of(*term.sketch)), term.weight, &product);
    is_lost |= __builtin_add_overflow(sum, product, &sum);
  }
  return is_lost || sum < 0 || sum > most ? std::nullopt : std::optional(sum);
}

}  // namespace

Result<Sketch> Sketch::create(const SketchSettings& settings) {
  const std::uint64_t cells_bytes = cells_bytes_of(settings.width, settings.depth);
  if (cells_bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a sketch has at most 65536 rows and 2^48 bytes");
  }
  // The rate is that of counts that are too high by more than 2/width of all increments.
  constexpr int kLeastExponent = -1022;
  const double rate = std::ldexp(1.0, std::max(-static_cast<int>(settings.depth), kLeastExponent));
  MANKAI_ASSIGN(
      auto image,
      Image::create(
          kKind,
          {.capacity_keys = settings.width, .fpr_target = rate, .hash = settings.hash, .cells_bytes = cells_bytes},
          engine_memory()));
  image.set_params(Params{.width = settings.width, .depth = settings.depth});
  return Sketch(std::move(image));
}

Result<Sketch> Sketch::from_image(AssembledImage source) {
  MANKAI_ASSIGN(auto image, Image::adopt(std::move(source.image), Trust::fast));
  MANKAI_TRY(check_kind(image, kKind, sizeof(Params) / sizeof(std::uint64_t), kTotal + 1));
  const auto params = image.params<Params>();
  if (cells_bytes_of(params.width, params.depth) != image.header().cells_bytes) {
    return fail(ErrorCode::corrupt, "width and depth of a sketch at offset 64 do not fill the cells");
  }
  MANKAI_TRY(check_tail(image, params.width * params.depth, kCellBytes * 8));
  return Sketch(std::move(image));
}

/// Calls `visit(i, cell)` for the cell of each item in each row. Row by row, which for the cells of a row is the order
/// of the items: results are those of one item after the other.
template <class Cell, class Visit>
void Sketch::for_each_cell(Cell* table, std::span<const std::string_view> items, const Visit& visit) const noexcept {
  MANKAI_DCHECK(items.size() <= kWindow);
  std::array<Digest, kWindow> digests;
  std::array<std::uint64_t, kWindow> states;
  std::array<Cell*, kWindow> cells;
  const auto [row_cells, rows] = image().params<Params>();
  hasher()(items, std::span(digests).first(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    states[i] = probes::CellSequence::start(digests[i]);
  }
  for (std::uint64_t row = 0; row < rows; ++row, table += row_cells) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      cells[i] = table + fastrange(states[i], row_cells);
      __builtin_prefetch(cells[i], 1);
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
  std::uint64_t sum = total();
  for (const std::uint64_t increment : increments) {
    sum += increment;
  }
  image().set_state(kTotal, sum);
}

void Sketch::count(std::span<const std::string_view> items, std::span<std::uint32_t> counts) const noexcept {
  std::ranges::fill(counts, kMaxCount);
  for_each_cell(table(), items,
                [&](std::size_t i, const std::uint32_t& cell) { counts[i] = std::min(counts[i], cell); });
}

bool Sketch::assign_sum(std::span<const Term> terms) noexcept {
  const auto total = weighted_sum(terms, std::numeric_limits<std::int64_t>::max(),
                                  [](const Sketch& sketch) { return sketch.total(); });
  const auto sum_at = [&](std::size_t i) {
    return weighted_sum(terms, kMaxCount, [i](const Sketch& sketch) { return sketch.table()[i]; });
  };
  const auto places = std::views::iota(std::size_t{0}, static_cast<std::size_t>(width() * depth()));
  if (!total || !std::ranges::all_of(places, [&](std::size_t i) { return sum_at(i).has_value(); })) {
    return false;
  }
  for (const std::size_t i : places) {
    table()[i] = static_cast<std::uint32_t>(*sum_at(i));
  }
  image().set_state(kTotal, static_cast<std::uint64_t>(*total));
  return true;
}

}  // namespace mankai::redis
