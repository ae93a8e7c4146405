#include "mankai/kernel/detail/partitions.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::kernel {
namespace {

constexpr std::uint64_t kMaxPartitions = 2048;

// Blocks per partition as a power of two: as many as stay in cache, more if there would be too many partitions.
unsigned choose_block_shift(std::uint64_t block_count) noexcept {
  const std::uint64_t blocks =
      std::max<std::uint64_t>(kPartitionBytes / kCacheLineBytes, std::bit_ceil(divide_up(block_count, kMaxPartitions)));
  return static_cast<unsigned>(std::countr_zero(blocks));
}

}  // namespace

Partitions::Partitions(const Target& target, std::size_t count, std::size_t parts, const Memory& scratch) noexcept
    : target_(target) {
  const std::uint64_t region_bytes = target.block_count * probes::kBlockBits / 8;
  shift_ = choose_block_shift(target.block_count);
  partition_count_ = static_cast<std::size_t>(((target.block_count - 1) >> shift_) + 1);
  const std::uint64_t digests = std::min<std::uint64_t>(count, region_bytes / sizeof(Digest)) / parts;
  // Full stages, few enough for a 32-bit count.
  run_digests_ = align_up<std::size_t>(static_cast<std::size_t>(digests) / partition_count_ + 1, kStagedDigests);
  run_digests_ = std::min(run_digests_, std::size_t{1} << 31);
  const std::size_t stage_bytes = partition_count_ * kStagedDigests * sizeof(Digest);
  const std::size_t stored_bytes = partition_count_ * run_digests_ * sizeof(Digest);
  const std::size_t bytes = stored_bytes + stage_bytes + partition_count_ * sizeof(std::uint32_t);
  void* data = scratch.allocate(scratch.context, bytes);
  if (data == nullptr) {
    return;
  }
  memory_ = Region({static_cast<std::byte*>(data), bytes}, scratch.release, scratch.context);
  stored_ = reinterpret_cast<Digest*>(memory_.bytes().data());
  staged_ = reinterpret_cast<Digest*>(memory_.bytes().data() + stored_bytes);
  counts_ = reinterpret_cast<std::uint32_t*>(memory_.bytes().data() + stored_bytes + stage_bytes);
}

void Partitions::drain(std::size_t partition, std::size_t keys) noexcept {
  std::unique_lock<std::mutex> lock;
  if (!target_.locks.empty()) {
    lock = std::unique_lock(target_.locks[partition % kLocks]);
  }
  fresh_ += target_.ops.insert(target_.words, target_.block_count, stored(partition), keys);
  counts_[partition] = 0;
}

std::uint64_t Partitions::finish(std::size_t first) noexcept {
  for (std::size_t i = 0; i < partition_count_; ++i) {
    const std::size_t partition = (first + i) % partition_count_;
    const std::size_t keys = counts_[partition];
    const std::size_t rest = keys % kStagedDigests;
    std::memcpy(stored(partition) + (keys - rest), staged(partition), rest * sizeof(Digest));
    drain(partition, keys);
  }
  return fresh_;
}

}  // namespace mankai::kernel
