#include "mankai/takeover/count_min.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/hash/murmur2.hpp"

namespace mankai::takeover {
namespace {

constexpr std::uint64_t kMostSketchBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostTotal = std::numeric_limits<std::int64_t>::max();

std::unexpected<Error> count_min_corrupt(const std::string& what) {
  return fail(ErrorCode::corrupt, "not a count-min sketch of RedisBloom: " + what);
}

/// A dimension as an integer; beyond 2^64 the largest one.
std::uint64_t whole(double number) noexcept {
  return number < 0x1p64 ? static_cast<std::uint64_t>(number) : std::numeric_limits<std::uint64_t>::max();
}

/// Σ weight · count, of counts given one by one; nothing if it leaves 0 to `most`, or 64 bits on the way.
class WeightedSum {
 public:
  void add(std::uint64_t count, std::int64_t weight) noexcept {
    std::int64_t product = 0;
    has_overflowed_ |= __builtin_mul_overflow(count, weight, &product);  // also if a total above 2^63 - 1 is subtracted
    has_overflowed_ |= __builtin_add_overflow(sum_, product, &sum_);
  }
  [[nodiscard]] bool is_within(std::uint64_t most) const noexcept {
    return !has_overflowed_ && sum_ >= 0 && static_cast<std::uint64_t>(sum_) <= most;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return static_cast<std::uint64_t>(sum_); }

 private:
  std::int64_t sum_ = 0;
  bool has_overflowed_ = false;
};

}  // namespace

CountMinShape CountMinShape::of_error(double error, double probability) noexcept {
  // RedisBloom computes the depth in binary32, which matters: 0.5 must give 1.
  const float depth = std::ceil(std::log10(static_cast<float>(probability)) / std::log10(0.5F));
  return {.width = whole(std::ceil(2 / error)), .depth = whole(std::max(depth, 0.0F))};
}

Result<std::uint64_t> CountMinShape::bytes() const {
  std::uint64_t cells = 0;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(width, depth, &cells) || __builtin_mul_overflow(cells, cell_bytes, &bytes) || bytes == 0 ||
      bytes > kMostSketchBytes) {
    return fail(ErrorCode::invalid_argument, "a count-min sketch of " + std::to_string(depth) + " rows of " +
                                                 std::to_string(width) + " cells; expected 1 byte to 1 TiB in all");
  }
  if (cell_bytes != 1 && cell_bytes != 2 && cell_bytes != 4 && cell_bytes != 8) {
    return fail(ErrorCode::invalid_argument,
                "cells of " + std::to_string(cell_bytes) + " bytes; expected 1, 2, 4 or 8");
  }
  return bytes;
}

Result<CountMin> CountMin::create(const CountMinShape& shape, const Memory& memory) {
  MANKAI_ASSIGN(const std::uint64_t bytes, shape.bytes());
  MANKAI_ASSIGN(Region cells, Region::allocate(memory, bytes));
  return CountMin(shape, 0, std::move(cells));
}

Result<CountMin> CountMin::load(FieldReader& fields, unsigned encver, const Memory& memory) {
  if (encver > 1) {
    return fail(ErrorCode::unsupported_version,
                "a count-min sketch of a later RedisBloom: encoding " + std::to_string(encver) + ", expected 0 or 1");
  }
  CountMinShape shape;
  MANKAI_ASSIGN(shape.width, fields.unsigned_number());
  MANKAI_ASSIGN(shape.depth, fields.unsigned_number());
  MANKAI_ASSIGN(const std::uint64_t total, fields.unsigned_number());
  if (encver == 1) {
    MANKAI_ASSIGN(const std::uint64_t cell_bytes, fields.unsigned_number());
    shape.cell_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(cell_bytes, 9));
  }
  MANKAI_ASSIGN(const std::span<const std::byte> cells, fields.string());
  if (const Result<std::uint64_t> bytes = shape.bytes(); !bytes || *bytes != cells.size()) {
    return count_min_corrupt(std::to_string(shape.depth) + " rows of " + std::to_string(shape.width) + " cells in " +
                             std::to_string(cells.size()) + " bytes");
  }
  MANKAI_ASSIGN(Region copy, Region::allocate(memory, cells.size()));
  std::ranges::copy(cells, copy.bytes().begin());
  CountMin sketch(shape, total, std::move(copy));
  for (std::uint64_t at = 0; shape.cell_bytes == 8 && at < shape.width * shape.depth; ++at) {
    if (sketch.cell(at) > sketch.cell_max()) {
      return count_min_corrupt("a cell above 2^63 - 1");
    }
  }
  return sketch;
}

void CountMin::save(FieldWriter& fields) const {
  fields.unsigned_number(shape_.width);
  fields.unsigned_number(shape_.depth);
  fields.unsigned_number(total_);
  if (encver() == 1) {
    fields.unsigned_number(shape_.cell_bytes);
  }
  fields.string(cells_.bytes());
}

Result<CountMin> CountMin::clone(const Memory& memory) const {
  MANKAI_ASSIGN(Region copy, Region::allocate(memory, cells_.size()));
  std::ranges::copy(cells_.bytes(), copy.bytes().begin());
  return CountMin(shape_, total_, std::move(copy));
}

std::uint64_t CountMin::cell_max() const noexcept {
  return shape_.cell_bytes == 8 ? kMostTotal : (std::uint64_t{1} << 8 * shape_.cell_bytes) - 1;
}

std::uint64_t CountMin::place(std::string_view key, std::uint64_t row) const noexcept {
  return row * shape_.width + murmur2_32(key, static_cast<std::uint32_t>(row)) % shape_.width;
}

std::uint64_t CountMin::cell(std::uint64_t at) const noexcept {
  const std::byte* const from = cells_.bytes().data() + at * shape_.cell_bytes;
  std::uint64_t count = 0;
  if (shape_.cell_bytes == 4) {  // a copy of known length, for almost all sketches
    std::memcpy(&count, from, 4);
  } else {
    std::memcpy(&count, from, shape_.cell_bytes);
  }
  return count;
}

void CountMin::set_cell(std::uint64_t at, std::uint64_t count) noexcept {
  std::memcpy(cells_.bytes().data() + at * shape_.cell_bytes, &count, shape_.cell_bytes);
}

CountMin::Count CountMin::increment(std::string_view key, std::int64_t by, Rule rule) noexcept {
  if (rule == Rule::exact) {
    return increment_exact(key, by);
  }
  MANKAI_ASSERT(by >= 0 && shape_.cell_bytes == 4);
  return increment_saturating(key, static_cast<std::uint64_t>(by));
}

CountMin::Count CountMin::increment_saturating(std::string_view key, std::uint64_t by) noexcept {
  std::uint64_t least = cell_max();
  for (std::uint64_t row = 0; row < shape_.depth; ++row) {
    const std::uint64_t at = place(key, row);
    const std::uint64_t count = by > cell_max() - cell(at) ? cell_max() : cell(at) + by;
    set_cell(at, count);
    least = std::min(least, count);
  }
  total_ += by;
  return least == cell_max() ? Count(std::unexpect, Fault::overflow) : Count(least);
}

CountMin::Count CountMin::increment_exact(std::string_view key, std::int64_t by) noexcept {
  const bool is_less = by < 0;
  const std::uint64_t amount = is_less ? 0 - static_cast<std::uint64_t>(by) : static_cast<std::uint64_t>(by);
  const auto is_possible = [&](std::uint64_t count, std::uint64_t most) {
    return is_less ? amount <= count : count <= most && amount <= most - count;
  };
  bool is_fine = is_possible(total_, kMostTotal);
  for (std::uint64_t row = 0; row < shape_.depth && is_fine; ++row) {
    is_fine = is_possible(cell(place(key, row)), cell_max());
  }
  if (!is_fine) {
    return std::unexpected(is_less ? Fault::underflow : Fault::overflow);
  }
  std::uint64_t least = cell_max();
  for (std::uint64_t row = 0; row < shape_.depth; ++row) {
    const std::uint64_t at = place(key, row);
    const std::uint64_t count = cell(at) + static_cast<std::uint64_t>(by);
    set_cell(at, count);
    least = std::min(least, count);
  }
  total_ += static_cast<std::uint64_t>(by);
  return least;
}

std::uint64_t CountMin::estimate(std::string_view key) const noexcept {
  std::uint64_t least = cell_max();
  for (std::uint64_t row = 0; row < shape_.depth; ++row) {
    least = std::min(least, cell(place(key, row)));
  }
  return least;
}

bool CountMin::merge(std::span<const CountMin* const> sources, std::span<const std::int64_t> weights) noexcept {
  MANKAI_ASSERT(sources.size() == weights.size());
  WeightedSum total;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    MANKAI_ASSERT(sources[i]->shape_ == shape_);
    total.add(sources[i]->total_, weights[i]);
  }
  const auto sum_at = [&](std::uint64_t at) {
    WeightedSum sum;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      sum.add(sources[i]->cell(at), weights[i]);
    }
    return sum;
  };
  const std::uint64_t cells = shape_.width * shape_.depth;
  bool is_fine = total.is_within(kMostTotal);
  for (std::uint64_t at = 0; at < cells && is_fine; ++at) {
    is_fine = sum_at(at).is_within(cell_max());
  }
  for (std::uint64_t at = 0; at < cells && is_fine; ++at) {
    set_cell(at, sum_at(at).value());
  }
  total_ = is_fine ? total.value() : total_;
  return is_fine;
}

}  // namespace mankai::takeover
