#include "mankai/filter/parts/plan_rows.hpp"

#include <cmath>
#include <limits>

#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/growth.hpp"
#include "mankai/filter/parts/sliced_image.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kLineBytes = kCacheLineBytes;
constexpr unsigned kByteBits = 8;
constexpr unsigned kCounterBits = 4;

PlanShape blocked_counters(std::uint64_t keys, std::uint64_t blocks) {
  return {blocks * kLineBytes, counting_blocked_fpr(keys, blocks), probes::kBlockLanes, 1};
}

}  // namespace

PlanRow plan_row(const FilterSpec& spec, const PlanShape& shape) {
  const std::uint64_t image = image_bytes_for(shape.cells_bytes);
  const KindDescription& kind = description_of(spec.kind);
  return {.spec = spec,
          .image_bytes = kind.can_grow ? sizeof(ImageHeader) + slice_bytes(image) : image,
          .bits_per_key = static_cast<double>(shape.cells_bytes * kByteBits) / static_cast<double>(spec.keys),
          .fpr = shape.fpr,
          .probes_per_key = shape.probes,
          .lines_per_key = shape.lines,
          .can_erase = kind.can_erase,
          .can_grow = kind.can_grow,
          .forgets = kind.forgets};
}

PlanShape blocked_bits(std::uint64_t keys, std::uint64_t blocks) {
  return {blocks * kLineBytes, blocked_bloom_fpr(keys, blocks), probes::kBlockLanes, 1};
}

PlanShape classic_bits(std::uint64_t keys, const BloomSize& size) {
  return {size.cell_count / kByteBits, bloom_fpr(keys, size), size.k, static_cast<double>(size.k)};
}

PlanShape partitioned_cells(std::uint64_t keys, const PartitionedSize& size, unsigned cell_bits) {
  const std::uint64_t bytes = divide_up<std::uint64_t>(size.cells_per_probe * size.k * cell_bits, kByteBits);
  return {divide_up(bytes, kLineBytes) * kLineBytes, partitioned_fpr(keys, size), size.k, static_cast<double>(size.k)};
}

Result<std::vector<PlanRow>> blocked_rows(Kind kind, const SizeRequest& request, double sized_fpr) {
  MANKAI_ASSIGN(const std::uint64_t blocks, blocked_bloom_blocks({.keys = request.keys, .fpr = sized_fpr}));
  return std::vector{
      plan_row({.kind = kind, .keys = request.keys, .fpr = request.fpr}, blocked_bits(request.keys, blocks))};
}

Result<std::vector<PlanRow>> counter_rows(Kind kind, const SizeRequest& request, double sized_fpr) {
  const SizeRequest sized{.keys = request.keys, .fpr = sized_fpr};
  MANKAI_ASSIGN(const std::uint64_t blocks, counting_blocked_blocks(sized));
  MANKAI_ASSIGN(const PartitionedSize size, partitioned_size(sized));
  FilterSpec spec{.kind = kind, .keys = request.keys, .fpr = request.fpr};
  std::vector<PlanRow> rows{plan_row(spec, blocked_counters(request.keys, blocks))};
  set_option(spec, "layout", "partitioned");
  rows.push_back(plan_row(spec, partitioned_cells(request.keys, size, kCounterBits)));
  return rows;
}

std::vector<PlanRow> counter_rows_within(Kind kind, std::uint64_t keys, std::uint64_t lines) {
  const PlanShape blocked = blocked_counters(keys, lines);
  const std::uint64_t counters = lines * kLineBytes * kByteBits / kCounterBits;
  std::uint32_t k = best_probes(keys, counters);
  const auto with_k = [&] { return partitioned_cells(keys, {.cells_per_probe = counters / k, .k = k}, kCounterBits); };
  PlanShape partitioned = with_k();
  // A filter that is created with this rate has ceil(log2(1 / rate)) probes; with another k it could be larger.
  while (k < kernel::kMaxProbes && std::ceil(-std::log2(partitioned.fpr)) > k) {
    ++k;
    partitioned = with_k();
  }
  return {plan_row({.kind = kind, .keys = keys, .fpr = blocked.fpr}, blocked),
          plan_row({.kind = kind, .keys = keys, .fpr = partitioned.fpr, .options = {{"layout", "partitioned"}}},
                   partitioned)};
}

double first_slice_fpr(double target) { return slice_fpr(target, Growth{}, 0); }
double target_of_first_slice(double fpr) {
  double target = fpr / (1 - Growth{}.tightening);
  // A target that was rounded down would make the sub-filter larger.
  while (first_slice_fpr(target) < fpr) {
    target = std::nextafter(target, std::numeric_limits<double>::infinity());
  }
  return target;
}

}  // namespace mankai
