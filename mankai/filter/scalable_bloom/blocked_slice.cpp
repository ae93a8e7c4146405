#include "mankai/filter/scalable_bloom/blocked_slice.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kSmallBlocks = 1024 / kCacheLineBytes;
/// Keys whose lines are asked for before the first is tested.
constexpr std::size_t kAhead = 32;

// Where one block more takes a sixth, a tenth and a twelfth fewer bits.
unsigned blocks_for(double fpr) noexcept {
  unsigned per_key = 1;
  for (const double least : {6e-5, 5e-8, 1e-11}) {
    per_key += fpr < least ? 1U : 0U;
  }
  return per_key;
}

template <class Use>
void in_windows(std::size_t count, const Use& use) {
  for (std::size_t start = 0; start < count; start += kAhead) {
    use(start, std::min(count, start + kAhead));
  }
}

}  // namespace

unsigned blocks_per_key(const SizeRequest& request, FprBound bound) noexcept {
  const unsigned per_key = bound == FprBound::gradual ? blocks_for(request.fpr) : 1;
  // Every filter takes log2(1/fpr) bits per key, so few requests need the sum of blocked_bloom_fpr.
  const auto least_bits = static_cast<std::uint64_t>(-std::ilogb(request.fpr) - 1);
  const bool is_small = per_key > 1 && request.keys * least_bits <= kSmallBlocks * probes::kBlockBits &&
                        blocked_bloom_fpr(request.keys, kSmallBlocks) <= request.fpr;
  return is_small ? 1 : per_key;
}

Result<BlockedSliceSize> blocked_slice_size(const SizeRequest& request, FprBound bound) {
  MANKAI_TRY(check_request(request));
  const unsigned per_key = blocks_per_key(request, bound);
  const double block_fpr = per_key == 1 ? request.fpr : std::pow(request.fpr, 1.0 / per_key);
  MANKAI_ASSIGN(const std::uint64_t blocks, blocked_bloom_blocks({.keys = request.keys * per_key, .fpr = block_fpr}));
  return BlockedSliceSize{.blocks = blocks, .per_key = per_key};
}

double blocked_slice_fpr(std::uint64_t keys, const BlockedSliceSize& size) noexcept {
  return std::pow(blocked_bloom_fpr(keys * size.per_key, size.blocks), size.per_key);
}

Result<BlockedSlice> BlockedSlice::create(const Options& options, FprBound bound) {
  MANKAI_ASSIGN(const auto size, blocked_slice_size({.keys = options.keys, .fpr = options.fpr}, bound));
  return create_with(options, size, {}, 0);
}

Result<BlockedSlice> BlockedSlice::create_with(const Options& options, const BlockedSliceSize& size,
                                               std::span<const std::byte> cells, std::uint64_t keys_inserted) {
  MANKAI_ASSIGN(auto image, make_image(options, size.blocks));
  image.set_params(Params{.block_count = size.blocks, .more_per_key = size.per_key - 1});
  std::ranges::copy(cells, std::as_writable_bytes(image.words()).begin());
  image.set_keys_inserted(keys_inserted);
  return from_image(std::move(image));
}

Result<BlockedSlice> BlockedSlice::from_image(Image source) {
  const std::uint64_t more = source.params<Params>().more_per_key;
  MANKAI_ASSIGN(auto blocks, open(std::move(source), sizeof(Params) / sizeof(std::uint64_t)));
  if (more >= kMostPerKey) {
    return fail(ErrorCode::unsupported_version,
                "keys of more than " + std::to_string(kMostPerKey) + " blocks at offset 72: use a newer library");
  }
  return BlockedSlice(std::move(blocks), static_cast<unsigned>(more) + 1);
}

bool BlockedSliceLayout::may_contain_more(const Ops& ops, const std::uint64_t* words, Shape shape,
                                          Digest digest) noexcept {
  bool has_all = true;
  for (unsigned block = 1; has_all && block < shape.per_key; ++block) {
    has_all = BlockedLayout::may_contain(ops, words, shape.blocks, probes::block_digest(digest, block));
  }
  return has_all;
}

bool BlockedSliceLayout::observe_all(const Ops& ops, std::uint64_t* words, Shape shape, Digest digest) noexcept {
  bool seen = true;
  for (unsigned block = 0; block < shape.per_key; ++block) {
    seen &= BlockedLayout::observe(ops, words, shape.blocks, probes::block_digest(digest, block));
  }
  return seen;
}

void BlockedSliceLayout::prefetch(const std::uint64_t* words, Shape shape, Digest digest,
                                  unsigned first_block) noexcept {
  for (unsigned block = first_block; block < shape.per_key; ++block) {
    prefetch_line(words + probes::block_index(probes::block_digest(digest, block), shape.blocks) * probes::kBlockLanes);
  }
}

void BlockedSliceLayout::may_contain(const Ops& ops, const std::uint64_t* words, Shape shape,
                                     std::span<const Digest> digests, bool* outcomes) noexcept {
  ops.may_contain(words, shape.blocks, digests.data(), digests.size(), outcomes);
  if (shape.per_key == 1) {
    return;
  }
  in_windows(digests.size(), [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      if (outcomes[i]) {
        prefetch(words, shape, digests[i], 1);
      }
    }
    for (std::size_t i = first; i < end; ++i) {
      outcomes[i] = outcomes[i] && may_contain_more(ops, words, shape, digests[i]);
    }
  });
}

std::uint64_t BlockedSliceLayout::observe(const Ops& ops, std::uint64_t* words, Shape shape,
                                          std::span<const Digest> digests, bool* seen) noexcept {
  if (shape.per_key == 1) {
    return ops.observe(words, shape.blocks, digests.data(), digests.size(), seen);
  }
  std::uint64_t fresh = 0;
  in_windows(digests.size(), [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      prefetch(words, shape, digests[i], 0);
    }
    for (std::size_t i = first; i < end; ++i) {
      seen[i] = observe_all(ops, words, shape, digests[i]);
      fresh += seen[i] ? 0U : 1U;
    }
  });
  return fresh;
}

Result<void> BlockedSlice::merge(const BlockedSlice& other) {
  MANKAI_TRY(check_mergeable(other));
  kernel::merge_or(words(), other.words(), cells_bytes() / sizeof(std::uint64_t));
  merge_keys(other, keys_estimate());
  return {};
}

double BlockedSlice::fpr_estimate() const noexcept { return std::pow(BlockedBloom::fpr_estimate(), per_key_); }

}  // namespace mankai
