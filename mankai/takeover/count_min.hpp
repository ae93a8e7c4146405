#pragma once

/// RedisBloom's count-min sketch (CMS.*), in its own memory layout: `depth` rows of `width` cells. A count is never too
/// low, unless an increment overflowed or counts were subtracted.
///
///     cell of a key in row r: r · width + MurmurHash2(key, r) mod width
///
/// Source:  [Cormode2005]; redisbloom-takeover.md §1 and §4, and fixtures of RedisBloom 2.8.20. The rules of 8.12 were
/// read, not seen.

#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/takeover/fields.hpp"

namespace mankai::takeover {

/// What a sketch is, without its counts.
struct CountMinShape {
  std::uint64_t width = 0;
  std::uint64_t depth = 0;
  std::uint32_t cell_bytes = 4;  ///< 1, 2, 4 or 8; RedisBloom below 8.12 has 4

  /// RedisBloom's dimensions for an error, a share of all counts, that is exceeded with a probability. 0 or the largest
  /// number where no sketch has them. Pre: both in (0, 1).
  [[nodiscard]] static CountMinShape of_error(double error, double probability) noexcept;
  /// Bytes of the cells. Errors: invalid_argument if there are none, or more than 2^40.
  [[nodiscard]] Result<std::uint64_t> bytes() const;
  friend bool operator==(const CountMinShape&, const CountMinShape&) = default;
};

/// See the top of this file.
///
/// Cost:    a cache line per row.
/// Threads: const calls are safe together; changes need the sketch alone.
class CountMin {
 public:
  static constexpr const char* kTypeName = "CMSk-TYPE";

  /// What happens when a cell would leave its range.
  enum class Rule : std::uint8_t {
    saturating,  ///< up to 8.10: the cell stays at its maximum, and the total counts on, modulo 2^64
    exact,       ///< from 8.12 on: the increment changes nothing
  };
  enum class Fault : std::uint8_t { overflow, underflow };
  using Count = std::expected<std::uint64_t, Fault>;

  /// Errors: invalid_argument as CountMinShape::bytes; out_of_space.
  [[nodiscard]] static Result<CountMin> create(const CountMinShape& shape, const Memory& memory = system_memory());
  /// Reads RedisBloom's RDB value. Memory follows the payload. Errors: the reader's; corrupt; out_of_space;
  /// unsupported_version for encodings other than 0 and 1.
  [[nodiscard]] static Result<CountMin> load(FieldReader& fields, unsigned encver,
                                             const Memory& memory = system_memory());
  /// Writes RedisBloom's RDB value in `encver()`.
  void save(FieldWriter& fields) const;
  /// 0 with cells of 4 bytes, which every RedisBloom loads; else 1, which 8.12 and later load.
  [[nodiscard]] unsigned encver() const noexcept { return shape_.cell_bytes == 4 ? 0 : 1; }
  /// Errors: out_of_space.
  [[nodiscard]] Result<CountMin> clone(const Memory& memory = system_memory()) const;

  /// Counts a key `by` times, and returns its count.
  ///
  /// saturating: overflow also if the key's cells were at their maximum before. Pre: `by` is not negative, and cells
  ///             have 4 bytes.
  /// exact:      `by` may be negative. After overflow and underflow, of a cell or of the total, nothing has changed.
  Count increment(std::string_view key, std::int64_t by, Rule rule) noexcept;
  /// By the rule of the versions that have such cells at all: saturating with 4 bytes, else exact. Pre: as above.
  Count increment(std::string_view key, std::int64_t by) noexcept { return increment(key, by, default_rule()); }
  [[nodiscard]] Rule default_rule() const noexcept { return shape_.cell_bytes == 4 ? Rule::saturating : Rule::exact; }
  [[nodiscard]] std::uint64_t estimate(std::string_view key) const noexcept;

  /// Replaces this sketch by the sum of weight · source; it may be one of the sources. Returns false, with nothing
  /// changed, if a cell or the total leaves its range, or a sum leaves 64 bits. Shape: sources[c], weights[c].
  /// Pre: all have this shape.
  [[nodiscard]] bool merge(std::span<const CountMin* const> sources, std::span<const std::int64_t> weights) noexcept;

  [[nodiscard]] const CountMinShape& shape() const noexcept { return shape_; }
  /// Of all increments; RedisBloom's `count`, which it returns as a signed number.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return cells_.size(); }

  /// Lets the cells move.
  void relocate(const Mover& mover) noexcept { cells_.relocate(mover); }

 private:
  CountMin(const CountMinShape& shape, std::uint64_t total, Region cells) noexcept
      : shape_(shape), total_(total), cells_(std::move(cells)) {}

  [[nodiscard]] std::uint64_t cell_max() const noexcept;
  [[nodiscard]] std::uint64_t place(std::string_view key, std::uint64_t row) const noexcept;
  [[nodiscard]] std::uint64_t cell(std::uint64_t at) const noexcept;
  void set_cell(std::uint64_t at, std::uint64_t count) noexcept;
  Count increment_saturating(std::string_view key, std::uint64_t by) noexcept;
  Count increment_exact(std::string_view key, std::int64_t by) noexcept;

  CountMinShape shape_;
  std::uint64_t total_ = 0;
  Region cells_;
};

}  // namespace mankai::takeover
