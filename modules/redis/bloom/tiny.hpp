#pragma once

/// A Bloom filter of few items, whose cells are in the memory of its key: one block of the engine for all of it.
///
/// Most keys of a server with very many filters are of this kind. A ScalableBloom in their place takes three blocks,
/// two headers of 128 bytes and a trailer. This class keeps only what the headers cannot be computed from:
///
///     0                    about 56            64
///     | key: TinyBloom …   |                   | cells: lines of 64 bytes |
///
/// It stands for a ScalableBloom of one sub-filter: the same bits, answers and counts, and when it is saved, the same
/// bytes. What it cannot do, which is to grow or to be merged into, is done by that filter (`full`).
///
/// Threads: as ScalableBloom, but a copy in pieces is not made beside a writer: the module does neither.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "modules/redis/image/family.hpp"

namespace mankai::redis {

class TinyBloom {
 public:
  /// From about 5600 items at 1% on, a filter's headers are less than a tenth of its memory.
  static constexpr std::size_t kMostCells = 8192;
  /// Of all filters that this module makes, but those that do not grow and leave nothing of their rate to others.
  static constexpr double kTightening = 0.5;
  static constexpr double kNothingLeft = 0x1p-60;

  /// Its only sub-filter.
  class Slice {
   public:
    explicit Slice(const TinyBloom& filter) noexcept : filter_(filter) {}
    [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return filter_.capacity_keys(); }
    [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return filter_.keys_inserted(); }
    [[nodiscard]] bool is_full() const noexcept { return keys_inserted() >= capacity_keys(); }
    [[nodiscard]] double fpr_target() const noexcept { return slice_fpr(filter_.fpr_target(), filter_.growth(), 0); }
    [[nodiscard]] std::size_t cells_bytes() const noexcept { return filter_.cells_bytes(); }
    [[nodiscard]] unsigned blocks_per_key() const noexcept { return filter_.blocks_per_key_; }
    [[nodiscard]] unsigned probes_per_key() const noexcept { return blocks_per_key() * probes::kBlockLanes; }

   private:
    const TinyBloom& filter_;
  };

  /// An empty filter that can be made as a TinyBloom.
  struct Plan {
    std::uint32_t capacity_keys;
    double fpr_target;
    Growth growth;
    HashSpec hash;
    BlockedSliceSize size;

    [[nodiscard]] std::size_t cells_bytes() const noexcept { return size.blocks * kCacheLineBytes; }
  };
  /// Returns nothing for filters that are too large, unusual, or impossible. Ignores `options.memory`.
  [[nodiscard]] static std::optional<Plan> plan(const ScalableBloom::Options& options);

  /// Makes an empty filter. Pre: `place` has `plan.cells_bytes()` bytes; else as below.
  TinyBloom(const Plan& plan, std::span<std::byte> place) noexcept;

  /// Bytes of the cells, if a filter can be kept as a TinyBloom; else 0.
  [[nodiscard]] static std::size_t cells_for(const ScalableBloom& filter) noexcept;

  /// Copies a filter's cells to `place`. Pre: it has `cells_for(filter)` bytes, is aligned to 64, and is in the block
  /// of this object, less than 128 bytes after it.
  TinyBloom(const ScalableBloom& filter, std::span<std::byte> place) noexcept;
  // Values are moved, but not with their cells.
  TinyBloom(TinyBloom&& /*other*/) noexcept { MANKAI_ASSERT(false); }
  TinyBloom& operator=(TinyBloom&& /*other*/) noexcept {
    MANKAI_ASSERT(false);
    return *this;
  }
  TinyBloom(const TinyBloom&) = delete;
  TinyBloom& operator=(const TinyBloom&) = delete;
  ~TinyBloom();

  /// The filter that this one stands for. Errors: out_of_space.
  [[nodiscard]] Result<ScalableBloom> full() const;
  /// An empty one. Errors: out_of_space.
  [[nodiscard]] Result<ScalableBloom> create_like(const Memory& memory) const;
  /// As of `full`. Errors: std::bad_alloc.
  [[nodiscard]] ImageParts parts() const;

  /// Asks for the cells of a filter of default size: before a key is hashed, which takes as long as they do.
  void prefetch() const noexcept {
    constexpr std::size_t kLines = 3;
    for (std::size_t line = 0; line < kLines; ++line) {
      prefetch_line(reinterpret_cast<const std::byte*>(words()) + line * kCacheLineBytes);
    }
  }

  [[nodiscard, gnu::always_inline]] bool may_contain(Digest digest) const noexcept {
    return BlockedSliceLayout::may_contain(ops(), words(), size(), digest);
  }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    BlockedSliceLayout::may_contain(ops(), words(), size(), digests, outcomes.data());
  }
  // Pre: as many keys as digests have room.
  [[gnu::always_inline]] bool observe(Digest digest) noexcept {
    const bool seen = BlockedSliceLayout::observe(ops(), words(), size(), digest);
    keys_inserted_ += seen ? 0U : 1U;
    return seen;
  }
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
    keys_inserted_ +=
        static_cast<std::uint32_t>(BlockedSliceLayout::observe(ops(), words(), size(), digests, seen.data()));
  }

  [[nodiscard]] Hasher hasher() const noexcept { return Hasher(hash()); }
  [[nodiscard]] HashSpec hash() const noexcept { return {.kind = hash_kind_, .seed = seed_}; }
  [[nodiscard]] Growth growth() const noexcept;
  [[nodiscard]] std::size_t slice_count() const noexcept { return 1; }
  [[nodiscard]] Slice slice(std::size_t /*index*/) const noexcept { return Slice(*this); }
  [[nodiscard]] std::uint64_t initial_keys() const noexcept { return capacity_keys_; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_keys_; }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return keys_inserted_; }
  [[nodiscard]] double fpr_target() const noexcept { return fpr_target_; }
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] std::size_t cells_bytes() const noexcept { return std::size_t{lines_} * kCacheLineBytes; }

 private:
  static const BlockedLayout::Ops& ops() noexcept {
    static const BlockedLayout::Ops& ops = BlockedLayout::ops();
    return ops;
  }
  // The block may be moved: this object has no pointer into it.
  [[nodiscard]] const std::uint64_t* words() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const std::byte*>(this) + cells_offset_);
  }
  [[nodiscard]] std::uint64_t* words() noexcept {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(this) + cells_offset_);
  }
  [[nodiscard]] BlockedSliceSize size() const noexcept { return {.blocks = lines_, .per_key = blocks_per_key_}; }
  [[nodiscard]] std::span<const std::byte> cells() const noexcept {
    return std::as_bytes(std::span(words(), cells_bytes() / sizeof(std::uint64_t)));
  }
  [[nodiscard]] ScalableBloom::Options options(const Memory& memory) const noexcept;

  std::array<std::uint64_t, 2> seed_{};
  double fpr_target_ = 0;
  std::uint32_t capacity_keys_ = 0;
  std::uint32_t keys_inserted_ = 0;
  std::uint16_t growth_factor_ = 0;
  HashKind hash_kind_{};
  FprBound bound_{};
  std::uint8_t lines_ = 0;
  std::uint8_t blocks_per_key_ = 0;
  std::uint8_t cells_offset_ = 0;
  bool leaves_nothing_ = false;
};

}  // namespace mankai::redis
