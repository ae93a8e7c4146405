#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"

#include <string>

#include "mankai/kernel/scan_ops.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kBlockBytes = probes::kBlockBits / 8;

}  // namespace

Result<Image> BlockedBloom::make_image(const Options& options, std::uint64_t blocks) {
  return Image::create(kKind,
                       {.capacity_keys = options.keys,
                        .fpr_target = options.fpr,
                        .hash = options.hash,
                        .cells_bytes = blocks * kBlockBytes,
                        .slice_tag = options.slice_tag},
                       options.memory);
}

Result<BlockedBloom> BlockedBloom::create(const Options& options) {
  MANKAI_ASSIGN(const auto blocks, blocked_bloom_blocks({.keys = options.keys, .fpr = options.fpr}));
  MANKAI_ASSIGN(auto image, make_image(options, blocks));
  image.set_params(Params{.block_count = blocks});
  return BlockedBloom(std::move(image), blocks);
}

Result<BlockedBloom> BlockedBloom::from_image(Image source) { return open(std::move(source), 1); }

Result<BlockedBloom> BlockedBloom::open(Image source, std::size_t param_words) {
  MANKAI_TRY(check_kind(source, kKind, param_words));
  // Divides instead of multiplying: a hostile count must not overflow to a match.
  const std::uint64_t blocks = source.params<Params>().block_count;
  if (blocks != source.header().cells_bytes / kBlockBytes) {
    return fail(ErrorCode::corrupt, std::to_string(blocks) + " blocks at offset 64 do not fill the cells");
  }
  return BlockedBloom(std::move(source), blocks);
}

void BlockedBloom::insert_bulk(std::span<const Digest> digests, const BulkOptions& options) noexcept {
  image().add_keys(kernel::insert_partitioned(ops(), words(), shape(), digests.data(), digests.size(), options));
}

void BlockedBloom::insert_bulk(std::span<const std::uint64_t> keys, const BulkOptions& options) noexcept {
  const HashSpec spec = hash();
  if (spec.kind != HashKind::xxh3) {
    insert(keys);
    return;
  }
  image().add_keys(
      kernel::insert_partitioned(ops(), words(), shape(), keys.data(), spec.seed[0], keys.size(), options));
}

double BlockedBloom::fpr_estimate() const noexcept { return kernel::mean_block_fpr(words(), shape()); }

}  // namespace mankai
