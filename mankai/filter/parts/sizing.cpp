#include "mankai/filter/parts/sizing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 48;
constexpr std::uint64_t kMaxCells = kMaxCellsBytes * 8;
constexpr std::uint64_t kMaxCounters = kMaxCellsBytes * 2;
constexpr std::uint64_t kLineCells = kCacheLineBytes * 8;
constexpr std::uint64_t kMaxBlocks = kMaxCells / kLineCells;
/// Terms below this share of the largest no longer change a double.
constexpr double kNegligible = 1e-18;
/// An array that is slightly too small grows by 1 / kFineStep.
constexpr std::uint64_t kFineStep = std::uint64_t{1} << 20;
/// With more keys per block, the rate is 1 to the last bit. Without this bound, the search for a size would begin with
/// sums of hundreds of millions of terms.
constexpr double kFullLoad = 10000;

double block_says_yes(double keys_in_block, unsigned lane_cells) noexcept {
  const double empty = std::exp(keys_in_block * std::log1p(-1.0 / lane_cells));
  return std::pow(1 - empty, probes::kBlockLanes);
}

Error too_large() {
  return {.code = ErrorCode::invalid_argument,
          .detail = "the filter would be larger than 2^48 bytes; give fewer keys or a higher false-positive rate"};
}

// The cells that k probes need: the fill at which fill^k is the rate.
double cells_needed(const SizeRequest& request, double k) noexcept {
  const double fill = std::pow(request.fpr, 1 / k);
  // A rate so near 1 that its root rounds to 1: no such k.
  if (fill >= 1) {
    return std::numeric_limits<double>::infinity();
  }
  return -k * static_cast<double>(request.keys) / std::log1p(-fill);
}

std::uint32_t best_k(const SizeRequest& request) noexcept {
  std::uint32_t best = 1;
  for (std::uint32_t k = 2; k <= kernel::kMaxProbes; ++k) {
    if (cells_needed(request, k) < cells_needed(request, best)) {
      best = k;
    }
  }
  return best;
}

Result<void> check_k(std::uint32_t k) {
  if (k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(k) + " is more than " +
                                                 std::to_string(kernel::kMaxProbes) +
                                                 " probes; leave k out for the best");
  }
  return {};
}

// The rate of blocks of eight lanes with `lane_cells` cells each.
double blocked_fpr(std::uint64_t keys, std::uint64_t block_count, unsigned lane_cells) noexcept {
  const auto n = static_cast<double>(keys);
  if (block_count == 1) {
    return block_says_yes(n, lane_cells);
  }
  if (n > kFullLoad * static_cast<double>(block_count)) {
    return 1;
  }
  // Weights relative to the mode, from ratios of neighboring binomial terms, need no factorials.
  const double odds = 1 / (static_cast<double>(block_count) - 1);
  const double mode = std::floor((n + 1) / static_cast<double>(block_count));
  double weights = 1;
  double sum = block_says_yes(mode, lane_cells);
  for (double j = mode, weight = 1; j < n; ++j) {
    weight *= (n - j) / (j + 1) * odds;
    if (weight < kNegligible) {
      break;
    }
    weights += weight;
    sum += weight * block_says_yes(j + 1, lane_cells);
  }
  for (double j = mode, weight = 1; j > 0; --j) {
    weight *= j / ((n - j + 1) * odds);
    if (weight < kNegligible) {
      break;
    }
    weights += weight;
    sum += weight * block_says_yes(j - 1, lane_cells);
  }
  return sum / weights;
}

Result<std::uint64_t> fewest_blocks(const SizeRequest& request, unsigned lane_cells) {
  MANKAI_TRY(check_request(request));
  std::uint64_t enough = 1;
  while (blocked_fpr(request.keys, enough, lane_cells) > request.fpr) {
    if (enough == kMaxBlocks) {
      return std::unexpected(too_large());
    }
    enough = std::min(enough * 2, kMaxBlocks);
  }
  std::uint64_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const std::uint64_t middle = too_few + (enough - too_few) / 2;
    (blocked_fpr(request.keys, middle, lane_cells) > request.fpr ? too_few : enough) = middle;
  }
  return enough;
}

}  // namespace

Result<void> check_request(const SizeRequest& request) {
  if (request.keys == 0) {
    return fail(ErrorCode::invalid_argument, "a filter for 0 keys; give at least 1");
  }
  if (request.keys > kMaxKeys) {
    return fail(ErrorCode::invalid_argument, "more than 2^48 keys: split them over several filters");
  }
  if (!(request.fpr > 0 && request.fpr < 1)) {
    return fail(ErrorCode::invalid_argument,
                "the false positive rate must lie between 0 and 1, both excluded, such as 0.01");
  }
  return {};
}

double blocked_bloom_fpr(std::uint64_t keys, std::uint64_t block_count) noexcept {
  return blocked_fpr(keys, block_count, probes::kLaneBits);
}

Result<std::uint64_t> blocked_bloom_blocks(const SizeRequest& request) {
  // Programs make many filters of one size, and the search takes 10 us even for a small one.
  struct Sized {
    SizeRequest request;
    std::uint64_t blocks = 0;
  };
  static constinit thread_local Sized last{};
  if (last.blocks == 0 || last.request.keys != request.keys || last.request.fpr != request.fpr) {
    MANKAI_ASSIGN(const std::uint64_t blocks, fewest_blocks(request, probes::kLaneBits));
    last = {.request = request, .blocks = blocks};
  }
  return last.blocks;
}

double counting_blocked_fpr(std::uint64_t keys, std::uint64_t block_count) noexcept {
  return blocked_fpr(keys, block_count, probes::kLaneCounters);
}

Result<std::uint64_t> counting_blocked_blocks(const SizeRequest& request) {
  return fewest_blocks(request, probes::kLaneCounters);
}

std::uint32_t best_probes(std::uint64_t keys, std::uint64_t cell_count) noexcept {
  const double bits_per_key = static_cast<double>(cell_count) / static_cast<double>(keys);
  return static_cast<std::uint32_t>(
      std::clamp(std::round(bits_per_key * std::log(2.0)), 1.0, double{kernel::kMaxProbes}));
}

double bloom_fpr(std::uint64_t keys, const BloomSize& size) noexcept {
  const double probes_made = static_cast<double>(keys) * size.k;
  const double fill = -std::expm1(probes_made * std::log1p(-1 / static_cast<double>(size.cell_count)));
  return std::pow(fill, size.k);
}

Result<BloomSize> bloom_size(const SizeRequest& request, std::uint32_t k) {
  MANKAI_TRY(check_request(request));
  MANKAI_TRY(check_k(k));
  const std::uint32_t probes = k == 0 ? best_k(request) : k;
  const double cells = cells_needed(request, probes);
  if (!(cells < static_cast<double>(kMaxCells))) {
    return std::unexpected(too_large());
  }
  BloomSize size{.cell_count = align_up(static_cast<std::uint64_t>(cells) + 1, kLineCells), .k = probes};
  // (1 - 1/m)^kn is slightly below e^(-kn/m), which matters only if a few lines hold the whole filter.
  while (bloom_fpr(request.keys, size) > request.fpr) {
    size.cell_count = align_up(size.cell_count + size.cell_count / kFineStep, kLineCells);
    size.cell_count += kLineCells;
  }
  return size;
}

Result<BloomSize> bloom_size_for_fields(const SizeRequest& request, std::uint32_t k) {
  auto size = bloom_size(request, k);
  if (!size) {
    return size;
  }
  size->cell_count = std::bit_ceil(size->cell_count);
  if (size->cell_count > kMaxCells) {
    return std::unexpected(too_large());
  }
  if (k == 0) {
    // The power of two leaves spare room: recompute the best k.
    size->k = best_probes(request.keys, size->cell_count);
  }
  return size;
}

double partitioned_fpr(std::uint64_t keys, const PartitionedSize& size) noexcept {
  // With one counter per probe the formula below would multiply 0 by infinity.
  if (keys == 0) {
    return 0;
  }
  const double fill =
      -std::expm1(static_cast<double>(keys) * std::log1p(-1 / static_cast<double>(size.cells_per_probe)));
  return std::pow(fill, size.k);
}

Result<PartitionedSize> partitioned_size(const SizeRequest& request, std::uint32_t k) {
  MANKAI_TRY(check_request(request));
  MANKAI_TRY(check_k(k));
  const double usual_k = std::clamp(std::ceil(-std::log2(request.fpr)), 1.0, double{kernel::kMaxProbes});
  const std::uint32_t probes = k == 0 ? static_cast<std::uint32_t>(usual_k) : k;
  const double cells = cells_needed(request, probes) / probes;
  if (!(cells * probes < static_cast<double>(kMaxCounters))) {
    return std::unexpected(too_large());
  }
  PartitionedSize size{.cells_per_probe = static_cast<std::uint64_t>(cells) + 1, .k = probes};
  while (partitioned_fpr(request.keys, size) > request.fpr) {
    size.cells_per_probe += 1 + size.cells_per_probe / kFineStep;
  }
  // Bisects for the smallest, since integer counters round the formula up or down.
  for (std::uint64_t below = 0; size.cells_per_probe - below > 1;) {
    const std::uint64_t middle = std::midpoint(below, size.cells_per_probe);
    const bool is_enough = partitioned_fpr(request.keys, {.cells_per_probe = middle, .k = probes}) <= request.fpr;
    (is_enough ? size.cells_per_probe : below) = middle;
  }
  return size;
}

Result<PartitionedSize> dablooms_size(const SizeRequest& request) {
  MANKAI_TRY(check_request(request));
  const double k = std::ceil(std::log(1 / request.fpr) / std::log(2.0));
  const double cells = std::ceil(static_cast<double>(request.keys) * std::fabs(std::log(request.fpr)) /
                                 (k * std::pow(std::log(2.0), 2)));
  if (!(k <= kMaxDabloomsProbes)) {
    return fail(ErrorCode::invalid_argument, "a rate of " + std::to_string(request.fpr) +
                                                 " takes too many probes: the layout of dablooms has at most " +
                                                 std::to_string(kMaxDabloomsProbes));
  }
  if (!(cells <= static_cast<double>(kMaxDabloomsCells))) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(request.keys) +
                    " keys are too many: the layout of dablooms has at most 2^31 - 1 counters per probe");
  }
  return PartitionedSize{.cells_per_probe = static_cast<std::uint64_t>(cells), .k = static_cast<std::uint32_t>(k)};
}

double estimate_keys(double fill_ratio, double cell_count, double k) noexcept {
  // Also for a single cell, where both logarithms are infinite.
  if (fill_ratio >= 1) {
    return std::numeric_limits<double>::infinity();
  }
  return std::log1p(-fill_ratio) / (k * std::log1p(-1 / cell_count));
}

std::uint64_t partitioned_keys(double fpr, const PartitionedSize& size) noexcept {
  const double most =
      std::log1p(-std::pow(fpr, 1.0 / size.k)) / std::log1p(-1 / static_cast<double>(size.cells_per_probe));
  return static_cast<std::uint64_t>(std::max(most, 1.0));
}

Result<CountersSize> counters_size(const CountersRequest& request) {
  if (request.counters == 0) {
    MANKAI_ASSIGN(const auto size, partitioned_size({.keys = request.keys, .fpr = request.fpr}, request.k));
    return CountersSize{.keys = request.keys, .cells_per_probe = size.cells_per_probe, .k = size.k};
  }
  const std::uint32_t k = request.k == 0 ? kDefaultProbes : request.k;
  if (k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(k) + ": at most 64 counters per key");
  }
  if (request.counters < k) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(request.counters) + " counters: a key has " + std::to_string(k) + " of them");
  }
  MANKAI_TRY(check_request({.keys = std::max<std::uint64_t>(request.keys, 1), .fpr = request.fpr}));
  const std::uint64_t cells = request.counters / k;
  const std::uint64_t keys =
      request.keys == 0 ? partitioned_keys(request.fpr, {.cells_per_probe = cells, .k = k}) : request.keys;
  return CountersSize{.keys = keys, .cells_per_probe = cells, .k = k};
}

double PartitionFill::ratio() const noexcept {
  const std::uint64_t all = std::accumulate(used.begin(), used.end(), std::uint64_t{0});
  return static_cast<double>(all) / static_cast<double>(size.cells_per_probe * size.k);
}

double PartitionFill::keys() const noexcept {
  return estimate_keys(ratio(), static_cast<double>(size.cells_per_probe), 1);
}

double PartitionFill::product() const noexcept {
  double product = 1;
  for (std::uint32_t probe = 0; probe < size.k; ++probe) {
    product *= static_cast<double>(used[probe]) / static_cast<double>(size.cells_per_probe);
  }
  return product;
}

}  // namespace mankai
