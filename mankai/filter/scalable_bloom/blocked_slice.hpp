#pragma once

/// A sub-filter of a ScalableBloom: the blocks of BlockedBloom, of which a key has one or, at low rates in a filter
/// whose bound is `gradual`, up to four. With other bounds a key has one, as in earlier versions: a filter that is
/// changed by commands on two servers of different versions must get the same bits on both.
///
/// Blocks are loaded unevenly and have eight bits of a key, so that one block per key takes many bits at low rates. A
/// key with L blocks has them by L digests that follow from its own, and a false positive needs all of them.
///
/// Formula: rate f(L n)^L of n keys, with f as in blocked_bloom.hpp: measured within 3% down to 1e-8; in the smallest
/// filters with several blocks the rate is up to 1.06 times that at 1e-9, and 1.7 times at 1e-12. Bits per key, beside
/// one block and `bloom`:
///
///              1e-4   1e-5   1e-6   1e-7   1e-8   1e-9
///     here     23.6   25.4   31.5   38.6   40.9   47.2
///     L = 1    23.6   35.0   51.9   77.7  118.7  186.8
///     bloom    19.2   24.0   28.8   33.5   38.3   43.1
///
/// Cost: an absent key seldom has a false positive in its first block, so that it touches one line; a member L lines.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/growth.hpp"

namespace mankai {

/// Blocks of a sub-filter, and how many of them a key has.
struct BlockedSliceSize {
  std::uint64_t blocks = 0;
  unsigned per_key = 1;
};

/// One block per key with a bound other than `gradual`, down to a rate of 6e-5, and where 1 KiB is enough with one:
/// a key's blocks would often be one and the same there, and the rate higher. Pre: check_request(request).
[[nodiscard]] unsigned blocks_per_key(const SizeRequest& request, FprBound bound) noexcept;
/// Errors: as blocked_bloom_blocks.
[[nodiscard]] Result<BlockedSliceSize> blocked_slice_size(const SizeRequest& request, FprBound bound);
/// The rate of such a sub-filter that has `keys` keys.
[[nodiscard]] double blocked_slice_fpr(std::uint64_t keys, const BlockedSliceSize& size) noexcept;

/// Where a key's bits are in a sub-filter, wherever its words are. Batches: shapes digests[c], outcomes[c].
struct BlockedSliceLayout {
  using Shape = BlockedSliceSize;
  using Ops = BlockedLayout::Ops;

  [[gnu::always_inline]] static bool may_contain(const Ops& ops, const std::uint64_t* words, Shape shape,
                                                 Digest digest) noexcept {
    return BlockedLayout::may_contain(ops, words, shape.blocks, digest) &&
           (shape.per_key == 1 || may_contain_more(ops, words, shape, digest));
  }
  [[gnu::always_inline]] static bool observe(const Ops& ops, std::uint64_t* words, Shape shape,
                                             Digest digest) noexcept {
    return shape.per_key == 1 ? BlockedLayout::observe(ops, words, shape.blocks, digest)
                              : observe_all(ops, words, shape, digest);
  }
  static void may_contain(const Ops& ops, const std::uint64_t* words, Shape shape, std::span<const Digest> digests,
                          bool* outcomes) noexcept;
  /// Returns how many were new.
  static std::uint64_t observe(const Ops& ops, std::uint64_t* words, Shape shape, std::span<const Digest> digests,
                               bool* seen) noexcept;

 private:
  static bool may_contain_more(const Ops& ops, const std::uint64_t* words, Shape shape, Digest digest) noexcept;
  static bool observe_all(const Ops& ops, std::uint64_t* words, Shape shape, Digest digest) noexcept;
  static void prefetch(const std::uint64_t* words, Shape shape, Digest digest, unsigned first_block) noexcept;
};

/// See the top of this file. Threads: as BlockedBloom; a reader beside the writer may see a part of a new key.
class BlockedSlice : public BlockedBloom {
 public:
  /// Of the image format.
  static constexpr unsigned kMostPerKey = 8;

  struct Params {
    std::uint64_t block_count;
    std::uint64_t more_per_key;  ///< blocks of a key besides its first
  };

  [[nodiscard]] static Result<BlockedSlice> create(const Options& options, FprBound bound);
  /// One of this size with cells and a number of keys; without cells it is empty. Errors: out_of_space.
  [[nodiscard]] static Result<BlockedSlice> create_with(const Options& options, const BlockedSliceSize& size,
                                                        std::span<const std::byte> cells, std::uint64_t keys_inserted);
  [[nodiscard]] static Result<BlockedSlice> from_image(Image source);

  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    return BlockedSliceLayout::may_contain(ops(), words(), size(), digest);
  }
  bool observe(Digest digest) noexcept {
    const bool seen = BlockedSliceLayout::observe(ops(), words(), size(), digest);
    if (!seen) {
      image().add_keys(1);
    }
    return seen;
  }
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(digests.size() == outcomes.size());
    BlockedSliceLayout::may_contain(ops(), words(), size(), digests, outcomes.data());
  }
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
    MANKAI_ASSERT(digests.size() == seen.size());
    image().add_keys(BlockedSliceLayout::observe(ops(), words(), size(), digests, seen.data()));
  }
  /// These set one block per key.
  void insert_concurrent(Digest digest) = delete;
  void observe_concurrent(std::span<const Digest> digests, std::span<bool> seen) = delete;
  void insert_bulk(std::span<const Digest> digests) = delete;

  [[nodiscard]] Result<void> merge(const BlockedSlice& other);

  [[nodiscard]] BlockedSliceSize size() const noexcept { return {.blocks = shape(), .per_key = per_key_}; }
  [[nodiscard]] unsigned blocks_per_key() const noexcept { return per_key_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return per_key_ * BlockedBloom::probes_per_key(); }
  [[nodiscard]] double keys_estimate() const noexcept { return BlockedBloom::keys_estimate() / per_key_; }
  [[nodiscard]] double lines_per_key() const noexcept { return per_key_; }
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept { return blocked_slice_fpr(keys, size()); }

 private:
  BlockedSlice(BlockedBloom blocks, unsigned per_key) noexcept : BlockedBloom(std::move(blocks)), per_key_(per_key) {}

  unsigned per_key_;
};

}  // namespace mankai
