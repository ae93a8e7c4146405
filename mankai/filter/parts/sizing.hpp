#pragma once

#include <array>
#include <cstdint>

#include "mankai/base/error.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {

/// What a user asks for.
struct SizeRequest {
  std::uint64_t keys = 0;  ///< distinct keys, at least 1
  double fpr = 0;          ///< false positive rate once they are all in, between 0 and 1, both excluded
};

/// Errors: invalid_argument for 0 keys, more than 2^48 keys, or a rate that is no number between 0 and 1.
[[nodiscard]] Result<void> check_request(const SizeRequest& request);

/// Returns the false positive rate of the blocked layout with `keys` distinct keys in `block_count` blocks.
///
/// A block of j keys says yes to an absent key with probability (1 - (63/64)^j)^8: eight lanes, each with 64 bits
/// of which every key set one. j is binomial(keys, 1/block_count); the sum over its distribution is the rate, exactly.
/// Cost:    some hundred multiplications. Errors: none; block_count >= 1.
/// Source:  [Putze2009] §2, eq. 3. Differs: one bit a lane instead of k anywhere, and the binomial, not the Poisson.
[[nodiscard]] double blocked_bloom_fpr(std::uint64_t keys, std::uint64_t block_count) noexcept;

/// Returns the fewest blocks that keep the rate: 10.10 bits per key at 1 %, 15.73 at 0.1 %.
/// Errors: as check_request, and invalid_argument when 2^48 bytes would not do.
[[nodiscard]] Result<std::uint64_t> blocked_bloom_blocks(const SizeRequest& request);

/// A classic filter's array and its number of probes.
struct BloomSize {
  std::uint64_t cell_count = 0;
  std::uint32_t k = 0;
};

/// Returns the number of probes, 1 to 64, with which a classic array of so many cells has its lowest rate: (m/n) ln 2.
[[nodiscard]] std::uint32_t best_probes(std::uint64_t keys, std::uint64_t cell_count) noexcept;

/// Returns the false positive rate of a classic Bloom filter, saturation^phase: (1 - (1 - 1/m)^(kn))^k.
/// Source: [Bloom1970]; the names are the gate white paper's [Beach2000]. Below about 1000 cells the true rate is
/// higher [Bose2008]; checked against measurement from 1e3 to 1e6 keys.
[[nodiscard]] double bloom_fpr(std::uint64_t keys, const BloomSize& size) noexcept;

/// Returns the smallest array for the request, in whole cache lines; `k` of 0 means the best one.
/// Errors: as check_request, and invalid_argument for k above 64 or more than 2^48 bytes.
[[nodiscard]] Result<BloomSize> bloom_size(const SizeRequest& request, std::uint32_t k = 0);

/// As bloom_size, for an array of a power of two cells, which the white paper's field addressing needs.
[[nodiscard]] Result<BloomSize> bloom_size_for_fields(const SizeRequest& request, std::uint32_t k = 0);

/// As blocked_bloom_fpr for blocks of counters: a lane has 16 of them, (1 - (15/16)^j)^8.
[[nodiscard]] double counting_blocked_fpr(std::uint64_t keys, std::uint64_t block_count) noexcept;

/// Returns the fewest blocks of counters that keep the rate: 45.7 bits per key at 1 %, 77.6 at 0.1 %.
/// Errors: as blocked_bloom_blocks.
[[nodiscard]] Result<std::uint64_t> counting_blocked_blocks(const SizeRequest& request);

/// A partitioned counting filter's arrays: one for each probe.
struct PartitionedSize {
  std::uint64_t cells_per_probe = 0;
  std::uint32_t k = 0;
};

/// Returns the false positive rate of a partitioned filter: (1 - (1 - 1/c)^n)^k, each partition being filled by one
/// probe a key. Checked against measurement from 1e3 to 1e6 keys.
[[nodiscard]] double partitioned_fpr(std::uint64_t keys, const PartitionedSize& size) noexcept;

/// Returns the most distinct keys, at least 1, with which such a filter keeps the rate: partitioned_fpr solved for
/// them.
[[nodiscard]] std::uint64_t partitioned_keys(double fpr, const PartitionedSize& size) noexcept;

/// A partitioned filter that is given by how many counters it has.
struct CountersRequest {
  std::uint64_t keys = 0;      ///< 0: as many as the counters hold at the rate; without counters, distinct keys
  double fpr = 0;              ///< as SizeRequest's
  std::uint64_t counters = 0;  ///< 0: as many as the keys need
  std::uint32_t k = 0;         ///< 0: with counters 4, else ceil(log2(1/fpr))
};

/// What a request for so many counters comes to.
struct CountersSize {
  std::uint64_t keys = 0;
  std::uint64_t cells_per_probe = 0;
  std::uint32_t k = 0;
};

/// Returns its size; counters that k does not divide are left out. Errors: as partitioned_size's; invalid_argument for
/// k above 64 or fewer counters than k.
[[nodiscard]] Result<CountersSize> counters_size(const CountersRequest& request);

/// Returns the smallest partitioned filter of 4-bit counters for the request; `k` of 0 means ceil(log2(1/fpr)).
/// Errors:  as bloom_size.
/// Source:  [Dablooms2012], ceil(n |ln p| / (k ln² 2)) counters a probe. Differs: as many as keep the rate, which with
///          a k that was rounded up is a little more: 1.3704 n instead of 1.3693 n at 1 %, where that one has 1.004 %.
[[nodiscard]] Result<PartitionedSize> partitioned_size(const SizeRequest& request, std::uint32_t k = 0);

/// The most counters per probe and probes per key of dablooms: its program counts the former by int, and has none of a
/// rate below the smallest double.
inline constexpr std::uint64_t kMaxDabloomsCells = (std::uint64_t{1} << 31) - 1;
inline constexpr std::uint32_t kMaxDabloomsProbes = 1024;

/// Returns the size of a dablooms filter: k = ceil(ln(1/p) / ln 2) and ceil(n |ln p| / (k ln² 2)) counters a probe, in
/// the order of its own operations, so that the last bit is the same. A little too few where k was rounded up. Errors:
/// as check_request; invalid_argument for more than kMaxDabloomsCells or kMaxDabloomsProbes. Source: [Dablooms2012].
[[nodiscard]] Result<PartitionedSize> dablooms_size(const SizeRequest& request);

/// Returns how many distinct keys set so large a share of `cell_count` cells with `k` probes each, by inverting the
/// expected fill: ln(1 - fill) / (k ln(1 - 1/m)). Infinite when every cell is set. Source: [Swamidass2007].
[[nodiscard]] double estimate_keys(double fill_ratio, double cell_count, double k) noexcept;

/// How full the partitions of a filter are, one cell of each partition per key.
struct PartitionFill {
  PartitionedSize size;
  std::array<std::uint64_t, kernel::kMaxProbes> used{};  ///< cells of each partition that hold something

  /// Returns the share of used cells.
  [[nodiscard]] double ratio() const noexcept;
  /// Returns how many distinct keys use so many cells; infinite when all are used.
  [[nodiscard]] double keys() const noexcept;
  /// Returns the product of the partitions' shares: the probability that an absent key finds only used cells.
  [[nodiscard]] double product() const noexcept;
};

}  // namespace mankai
