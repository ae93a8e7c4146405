#pragma once

#include <array>
#include <cstdint>

#include "mankai/base/error.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {

/// Default number of cells per key of a filter that is sized by its bytes or counters.
inline constexpr std::uint32_t kDefaultProbes = 4;

/// A request for a filter's size.
struct SizeRequest {
  std::uint64_t keys = 0;  ///< distinct keys, at least 1
  double fpr = 0;          ///< false-positive rate with all of them inserted, between 0 and 1, both excluded
};

/// Errors: invalid_argument for 0 keys, more than 2^48 keys, or a rate that is not between 0 and 1.
[[nodiscard]] Result<void> check_request(const SizeRequest& request);

/// False-positive rate of the blocked layout with `keys` distinct keys; block_count >= 1.
///
/// A block of j keys answers yes to an absent key with probability (1 - (63/64)^j)^8: in each of eight lanes every key
/// set one of 64 bits. j is binomial(keys, 1/block_count), and the sum over its distribution is exact.
/// Cost: some hundred multiplications. Source: [Putze2009] §2, eq. 3. Differs: one bit per lane instead of k anywhere,
/// and the binomial distribution instead of Poisson's.
[[nodiscard]] double blocked_bloom_fpr(std::uint64_t keys, std::uint64_t block_count) noexcept;

/// Fewest blocks that keep the rate: 10.10 bits per key at 1 %, 15.73 at 0.1 %. Errors: as check_request;
/// invalid_argument if that is more than 2^48 bytes.
[[nodiscard]] Result<std::uint64_t> blocked_bloom_blocks(const SizeRequest& request);

/// Cells and probes per key of a classic filter.
struct BloomSize {
  std::uint64_t cell_count = 0;
  std::uint32_t k = 0;
};

/// Number of probes, 1 to 64, with the lowest rate for so many cells: (m/n) ln 2.
[[nodiscard]] std::uint32_t best_probes(std::uint64_t keys, std::uint64_t cell_count) noexcept;

/// False-positive rate of a classic Bloom filter, saturation^phase: (1 - (1 - 1/m)^(kn))^k. Source: [Bloom1970]; terms
/// of the gate white paper [Beach2000]. Below about 1000 cells the true rate is higher [Bose2008]. Verified by
/// measurement from 1e3 to 1e6 keys.
[[nodiscard]] double bloom_fpr(std::uint64_t keys, const BloomSize& size) noexcept;

/// The smallest array for the request, in whole cache lines; `k` of 0 means the best one. Errors: as check_request;
/// invalid_argument for k above 64 or more than 2^48 bytes.
[[nodiscard]] Result<BloomSize> bloom_size(const SizeRequest& request, std::uint32_t k = 0);

/// As bloom_size, for a power of two of cells, as field addressing needs.
[[nodiscard]] Result<BloomSize> bloom_size_for_fields(const SizeRequest& request, std::uint32_t k = 0);

/// As blocked_bloom_fpr for blocks of counters, 16 per lane: (1 - (15/16)^j)^8.
[[nodiscard]] double counting_blocked_fpr(std::uint64_t keys, std::uint64_t block_count) noexcept;

/// Fewest blocks of counters that keep the rate: 45.7 bits per key at 1 %, 77.6 at 0.1 %. Errors: as
/// blocked_bloom_blocks.
[[nodiscard]] Result<std::uint64_t> counting_blocked_blocks(const SizeRequest& request);

/// Size of a filter with one partition per probe.
struct PartitionedSize {
  std::uint64_t cells_per_probe = 0;
  std::uint32_t k = 0;
};

/// False-positive rate of a partitioned filter with one probe per key and partition: (1 - (1 - 1/c)^n)^k. Verified by
/// measurement from 1e3 to 1e6 keys.
[[nodiscard]] double partitioned_fpr(std::uint64_t keys, const PartitionedSize& size) noexcept;

/// The most distinct keys, at least 1, that keep the rate: the inverse of partitioned_fpr.
[[nodiscard]] std::uint64_t partitioned_keys(double fpr, const PartitionedSize& size) noexcept;

/// A partitioned filter sized by its counters.
struct CountersRequest {
  std::uint64_t keys = 0;      ///< 0: as many as the counters hold at the rate
  double fpr = 0;              ///< as SizeRequest's
  std::uint64_t counters = 0;  ///< 0: as many as the keys need
  std::uint32_t k = 0;         ///< 0: with counters 4, else ceil(log2(1/fpr))
};

/// The answer to a CountersRequest.
struct CountersSize {
  std::uint64_t keys = 0;
  std::uint64_t cells_per_probe = 0;
  std::uint32_t k = 0;
};

/// Rounds counters down to a multiple of k. Errors: as partitioned_size; invalid_argument for k above 64 or fewer
/// counters than k.
[[nodiscard]] Result<CountersSize> counters_size(const CountersRequest& request);

/// The smallest partitioned filter of 4-bit counters for the request; `k` of 0 means ceil(log2(1/fpr)). Errors: as
/// bloom_size. Source: [Dablooms2012], ceil(n |ln p| / (k ln² 2)) counters per probe. Differs: as many as keep the
/// rate, which is slightly more if k was rounded up: 1.3704 n instead of 1.3693 n at 1 %, where dablooms has 1.004 %.
[[nodiscard]] Result<PartitionedSize> partitioned_size(const SizeRequest& request, std::uint32_t k = 0);

/// Limits of dablooms: its program stores counters per probe in an int, and no rate is below the smallest double.
inline constexpr std::uint64_t kMaxDabloomsCells = (std::uint64_t{1} << 31) - 1;
inline constexpr std::uint32_t kMaxDabloomsProbes = 1024;

/// The size of a dablooms filter, k = ceil(ln(1/p) / ln 2) and ceil(n |ln p| / (k ln² 2)) counters per probe, computed
/// in its order of operations to match to the last bit. Slightly too small if k was rounded up. Errors: as
/// check_request; invalid_argument above kMaxDabloomsCells or kMaxDabloomsProbes. Source: [Dablooms2012].
[[nodiscard]] Result<PartitionedSize> dablooms_size(const SizeRequest& request);

/// Number of distinct keys for this fill with k probes each, the inverse of the expected fill: ln(1 - fill) / (k ln(1 -
/// 1/m)). Infinite if every cell is set. Source: [Swamidass2007].
[[nodiscard]] double estimate_keys(double fill_ratio, double cell_count, double k) noexcept;

/// Fill of a filter's partitions; a key has one cell in each.
struct PartitionFill {
  PartitionedSize size;
  std::array<std::uint64_t, kernel::kMaxProbes> used{};  ///< cells in use, per partition

  [[nodiscard]] double ratio() const noexcept;
  /// Number of distinct keys for this fill; infinite if all cells are used.
  [[nodiscard]] double keys() const noexcept;
  /// Product of the partitions' shares: the probability that an absent key finds only used cells.
  [[nodiscard]] double product() const noexcept;
};

}  // namespace mankai
