#pragma once

#include <cstddef>
#include <cstdint>

namespace mankai::kernel {

/// Cells up to this size stay in a level-2 cache (1 to 2 MiB on today's servers) beside the caller's data: no
/// prefetching, which costs 0.5 to 1 ns per key there.
inline constexpr std::size_t kNearBytes = std::size_t{1} << 20;

/// Keys prepared ahead of the first touch. In cache 32 is best. Beyond it lines arrive while the previous window is
/// visited, until the windows fill the level-1 cache: at 20 MB 64 and 96 keys take 0.97 of the time of 128, and 192
/// keys 1.03 (Zen 4, 32 KiB, when all stages had windows of their own).
inline constexpr std::size_t kNearWindow = 32;
inline constexpr std::size_t kFarWindow = 128;
/// Keys that are prepared at once between visits. Whole windows leave the memory idle meanwhile beyond the cache: at 20
/// and 13 MB they take 1.2 and 1.1 times as long, steps of 32 keys 1.07 and 0.98 times. In cache they let visits wait
/// for products: 1.2 times as long (Zen 4).
inline constexpr std::size_t kNearStep = 8;
inline constexpr std::size_t kFarStep = 16;
/// Beyond kNearBytes a batch requests its keys or digests so many keys before it prepares them: 1e7 integers are
/// inserted in 0.8 of the time (Zen 4).
inline constexpr std::size_t kSourceAhead = 256;

/// Lines requested ahead of fingerprints and of values with keys, for any k.
inline constexpr std::size_t kLinesAhead = 192;

/// The classic layout's windows: for tests in cache and all inserts; for tests beyond the cache, one by one and in
/// vectors.
inline constexpr std::size_t kNearBloomWindow = 32;
inline constexpr std::size_t kFarBloomWindow = 64;
inline constexpr std::size_t kGatherWindow = 256;

/// Cells up to this size are tested by gathering without prefetch. Per key, half of them present: at 6 MB 8 ns against
/// 13 ns in rounds; at 12.5 MB 20 against 18, and 20 against 7.5 for absent keys.
inline constexpr std::size_t kGatherBytes = std::size_t{8} << 20;

/// Partitioned builds: bytes of cells per partition, which stay in a level-2 cache, and the smallest filter and batch
/// for which two passes are faster.
inline constexpr std::size_t kPartitionBytes = std::size_t{512} << 10;
inline constexpr std::size_t kPartitionedBytes = std::size_t{32} << 20;
inline constexpr std::size_t kPartitionedKeysPerBlock = 2;

/// Vector kernels scale to ranges below 2^32 by two 32-bit multiplications; wider ranges are scalar.
inline constexpr std::uint64_t kVectorRangeLimit = 0xffffffffU;

}  // namespace mankai::kernel
