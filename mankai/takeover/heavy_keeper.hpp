#pragma once

/// RedisBloom's list of the k items with the highest counts (TOPK.*), in its own memory layout: a HeavyKeeper sketch of
/// `depth` rows, and a min-heap of the k items. Every answer is RedisBloom's, except where it depends on chance.
///
///     cell of an item in row r: r · width + MurmurHash2(item, r) mod width      fingerprint: MurmurHash2(item, 1919)
///     cells: u32 fingerprint, u32 count     heap: k places of 24 bytes, the order of which decides who is expelled
///            | u32 fingerprint | u32 length | u64 dead: a pointer of the process that saved it | u32 count | u32 0 |
///
/// Chance:  an increment that finds a cell of another item takes 1 from its count with probability decay^count.
///          RedisBloom draws from the C library, so its own replicas differ. Here the generator is a counter
///          (SplitMix64) that is part of the value, and is saved in the dead bytes of the first place: loaded values,
///          copies, and replicas that run the same commands stay equal. With decay 1 nothing is drawn, and RedisBloom
///          agrees too.
/// Differs: items with 0 bytes stay whole, where RedisBloom lists and saves them up to the first one; the empty item
///          survives saving; counts stay at 2^32 - 1, where RedisBloom's start at 0 again.
/// Source:  [Gong2018] in RedisBloom's variant: redisbloom-takeover.md §1 and §5, and fixtures of RedisBloom 2.8.20.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/takeover/fields.hpp"

namespace mankai::takeover {

/// What a list is, without its items.
struct HeavyKeeperShape {
  std::uint32_t most = 0;  ///< items that are listed: k
  std::uint32_t width = 8;
  std::uint32_t depth = 7;
  double decay = 0.9;  ///< in (0, 1]

  /// Bytes of the sketch. Pre: check().
  [[nodiscard]] std::uint64_t cell_bytes() const noexcept { return std::uint64_t{8} * width * depth; }
  [[nodiscard]] std::uint64_t heap_bytes() const noexcept { return std::uint64_t{24} * most; }
  /// Errors: invalid_argument if a number is not within its bounds, or the sketch has more than 2^40 bytes.
  [[nodiscard]] Result<void> check() const;
};

/// See the top of this file.
///
/// Cost:    `depth` cache lines, and a pass over the heap when the count reaches the lowest one of the list.
/// Threads: const calls are safe together; changes need the list alone.
class HeavyKeeper {
 public:
  static constexpr const char* kTypeName = "TopK-TYPE";
  /// The encoding that `save` writes, and the only one that `load` reads.
  static constexpr std::uint32_t kEncver = 0;
  [[nodiscard]] static constexpr unsigned encver() noexcept { return kEncver; }
  /// Of an item at once.
  static constexpr std::uint32_t kMostIncrement = 100'000;

  /// The item's bytes belong to the list.
  struct Item {
    std::string_view text;
    std::uint32_t count;
  };

  /// `seed`: lists with the same seed that get the same items are equal. Errors: invalid_argument as
  /// HeavyKeeperShape::check; out_of_space.
  [[nodiscard]] static Result<HeavyKeeper> create(const HeavyKeeperShape& shape, const Memory& memory = system_memory(),
                                                  std::uint64_t seed = 0);
  /// Reads RedisBloom's RDB value. Memory follows the payload. Errors: the reader's; corrupt; out_of_space;
  /// unsupported_version for encodings other than 0; std::bad_alloc.
  [[nodiscard]] static Result<HeavyKeeper> load(FieldReader& fields, unsigned encver,
                                                const Memory& memory = system_memory());
  /// Errors: std::bad_alloc; it copies the heap.
  void save(FieldWriter& fields) const;
  /// Errors: out_of_space; std::bad_alloc.
  [[nodiscard]] Result<HeavyKeeper> clone(const Memory& memory = system_memory()) const;

  /// Counts an item `by` times. Returns the item that it expels from the list, if any. Errors: std::bad_alloc; then
  /// nothing has changed. Pre: by <= kMostIncrement.
  std::optional<std::string> add(std::string_view item, std::uint32_t by = 1);
  /// Whether the item is in the heap; with count 0 it is there and not in list().
  [[nodiscard]] bool is_listed(std::string_view item) const noexcept { return find(item) < places().size(); }
  [[nodiscard]] std::uint32_t count(std::string_view item) const noexcept;
  /// By descending counts, equal ones in the order of the heap. Valid until the next change. Errors: std::bad_alloc.
  [[nodiscard]] std::vector<Item> list() const;

  [[nodiscard]] const HeavyKeeperShape& shape() const noexcept { return shape_; }
  /// Bytes of memory of the sketch, the heap and the items.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  /// Blocks of memory, for a defragmenting allocator. Items are not among them.
  [[nodiscard]] static constexpr std::size_t memory_pieces() noexcept { return 2; }
  /// Lets a block move. Pre: piece < memory_pieces().
  void relocate(std::size_t piece, const Mover& mover) noexcept { (piece == 0 ? cells_ : heap_).relocate(mover); }

 private:
  struct Cell {
    std::uint32_t fingerprint;
    std::uint32_t count;
  };
  struct Place {
    std::uint32_t fingerprint;
    std::uint32_t length;
    std::uint64_t text;  ///< 1 + the index of its text; 0: an empty place. In a saved value, the dead bytes
    std::uint32_t count;
    std::uint32_t zero;
  };

  HeavyKeeper(const HeavyKeeperShape& shape, std::uint64_t draws, Region cells, Region heap) noexcept
      : shape_(shape), draws_(draws), cells_(std::move(cells)), heap_(std::move(heap)) {}

  [[nodiscard]] std::span<Cell> cells() noexcept;
  [[nodiscard]] std::span<const Cell> cells() const noexcept;
  [[nodiscard]] std::span<Place> places() noexcept;
  [[nodiscard]] std::span<const Place> places() const noexcept;
  [[nodiscard]] std::size_t cell_of(std::string_view item, std::uint32_t row) const noexcept;
  [[nodiscard]] std::string_view text(const Place& place) const noexcept;
  /// The item's place; k if it has none.
  [[nodiscard]] std::size_t find(std::string_view item) const noexcept;
  [[nodiscard]] double decay_at(std::uint32_t count) const noexcept;
  [[nodiscard]] std::uint64_t draw() noexcept;
  /// Returns the cell's count if it is the item's afterwards, else 0.
  [[nodiscard]] std::uint32_t count_in(Cell& cell, std::uint32_t fingerprint, std::uint32_t by) noexcept;
  [[nodiscard]] std::uint32_t count_in_sketch(std::string_view item, std::uint32_t fingerprint,
                                              std::uint32_t by) noexcept;
  [[nodiscard]] std::uint32_t largest_cell(std::string_view item, std::uint32_t fingerprint) const noexcept;
  void sink(std::size_t at) noexcept;

  HeavyKeeperShape shape_;
  std::uint64_t draws_ = 0;  // state of the generator
  Region cells_;
  Region heap_;
  std::vector<std::string> texts_;
  std::uint64_t text_bytes_ = 0;  // that the texts allocate
};

}  // namespace mankai::takeover
