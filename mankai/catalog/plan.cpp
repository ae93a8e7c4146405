#include "mankai/catalog/plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "mankai/filter/fading_size.hpp"
#include "mankai/filter/sliced_image.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kByteCells = 8;
constexpr std::uint64_t kByteCounters = 2;
constexpr unsigned kCountBits = 32;
constexpr std::uint64_t kLineBytes = kCacheLineBytes;
constexpr double kNearlyOne = 0.9999999999999999;

using Rows = std::vector<PlanRow>;

/// A shape for so many keys: what it takes, and the rate that its formula gives.
struct Shape {
  std::uint64_t cells_bytes;
  double fpr;
  unsigned probes;
  double lines;
};

PlanRow row(const FilterSpec& spec, const Shape& shape) {
  const std::uint64_t image = image_bytes_for(shape.cells_bytes);
  return {.spec = spec,
          .image_bytes = info_of(spec.kind).can_grow ? sizeof(ImageHeader) + slice_bytes(image) : image,
          .bits_per_key = static_cast<double>(shape.cells_bytes * kByteCells) / static_cast<double>(spec.keys),
          .fpr = shape.fpr,
          .probes_per_key = shape.probes,
          .lines_per_key = shape.lines};
}

Shape blocked_shape(std::uint64_t keys, std::uint64_t blocks) {
  return {blocks * kLineBytes, blocked_bloom_fpr(keys, blocks), probes::kBlockLanes, 1};
}
Shape classic_shape(std::uint64_t keys, const BloomSize& size) {
  return {size.cell_count / kByteCells, bloom_fpr(keys, size), size.k, static_cast<double>(size.k)};
}
Shape blocked_counters(std::uint64_t keys, std::uint64_t blocks) {
  return {blocks * kLineBytes, counting_blocked_fpr(keys, blocks), probes::kBlockLanes, 1};
}
Shape partitioned_counters(std::uint64_t keys, const PartitionedSize& size) {
  const std::uint64_t bytes = divide_up(size.cells_per_probe * size.k, kByteCounters);
  return {divide_up(bytes, kLineBytes) * kLineBytes, partitioned_fpr(keys, size), size.k, static_cast<double>(size.k)};
}

Shape rotating_shape(std::uint64_t keys, std::uint32_t generations, std::uint64_t blocks) {
  const std::uint64_t of_one = divide_up<std::uint64_t>(keys, generations - 1);
  const double others = 1 - blocked_bloom_fpr(of_one, blocks);
  return {blocks * generations * kLineBytes, 1 - std::pow(others, generations), probes::kBlockLanes,
          static_cast<double>(generations)};
}
Shape decayed_shape(std::uint64_t keys, const PartitionedSize& size, unsigned width_bits) {
  const std::uint64_t bytes = divide_up(size.cells_per_probe * size.k * width_bits, kByteCells);
  return {divide_up(bytes, kLineBytes) * kLineBytes, partitioned_fpr(keys, size), size.k, static_cast<double>(size.k)};
}
Shape fading_shape(const FadingShape& size) {
  return {fading_cells_bytes(size), fading_fpr(size), size.k, static_cast<double>(size.k)};
}

FilterSpec fading_spec(std::uint64_t keys, double fpr, const FadingShape& size) {
  return {.kind = Kind::fading_fingerprints,
          .keys = keys,
          .fpr = fpr,
          .k = size.k,
          .width = size.bits,
          .slots = size.slots,
          .min_matches = size.min_matches};
}

/// The rate of a growing kind's first slice, and the target whose first slice has a rate.
double first_slice_fpr(double target) { return slice_fpr(target, Growth{}, 0); }
double target_of_first_slice(double fpr) { return std::min(fpr / (1 - Growth{}.tightening), kNearlyOne); }

// Each kind's rows for a request; a row stands under the spec that makes it.

Result<Rows> blocked_rows(const SizeRequest& request) {
  const auto blocks = blocked_bloom_blocks(request);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  return Rows{row({.kind = Kind::blocked_bloom, .keys = request.keys, .fpr = request.fpr},
                  blocked_shape(request.keys, *blocks))};
}

Result<Rows> classic_rows(const SizeRequest& request) {
  Rows rows;
  for (const auto addressing : {BloomAddressing::range, BloomAddressing::fields}) {
    const auto size = addressing == BloomAddressing::range ? bloom_size(request) : bloom_size_for_fields(request);
    if (!size) {
      return std::unexpected(size.error());
    }
    rows.push_back(row({.kind = Kind::bloom, .keys = request.keys, .fpr = request.fpr, .addressing = addressing},
                       classic_shape(request.keys, *size)));
  }
  return rows;
}

Result<Rows> scalable_rows(const SizeRequest& request) {
  const auto blocks = blocked_bloom_blocks({.keys = request.keys, .fpr = first_slice_fpr(request.fpr)});
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  return Rows{row({.kind = Kind::scalable_bloom, .keys = request.keys, .fpr = request.fpr},
                  blocked_shape(request.keys, *blocks))};
}

Result<Rows> counting_rows_of(Kind kind, const SizeRequest& request, double fpr) {
  const SizeRequest sized{.keys = request.keys, .fpr = fpr};
  const auto blocks = counting_blocked_blocks(sized);
  const auto size = partitioned_size(sized);
  if (!blocks || !size) {
    return std::unexpected(blocks ? size.error() : blocks.error());
  }
  return Rows{row({.kind = kind, .keys = request.keys, .fpr = request.fpr}, blocked_counters(request.keys, *blocks)),
              row({.kind = kind, .keys = request.keys, .fpr = request.fpr, .layout = CountingLayout::partitioned},
                  partitioned_counters(request.keys, *size))};
}

Result<Rows> counting_rows(const SizeRequest& request) {
  return counting_rows_of(Kind::counting_bloom, request, request.fpr);
}

Result<Rows> scalable_counting_rows(const SizeRequest& request) {
  return counting_rows_of(Kind::scalable_counting_bloom, request, first_slice_fpr(request.fpr));
}

Result<Rows> rotating_rows(const SizeRequest& request) {
  const FilterSpec spec{.kind = Kind::rotating_bloom, .keys = request.keys, .fpr = request.fpr};
  const auto blocks = RotatingBloom::blocks_for(request.keys, request.fpr, spec.generations);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  return Rows{row(spec, rotating_shape(request.keys, spec.generations, *blocks))};
}

// Half of the keys are still known after as many others.
Result<Rows> fading_rows(const SizeRequest& request) {
  const auto size = fading_size({.events = request.keys, .survival = 0.5, .fpr = request.fpr});
  if (!size) {
    return std::unexpected(size.error());
  }
  return Rows{row(fading_spec(request.keys, request.fpr, *size), fading_shape(*size))};
}

Result<Rows> decayed_rows(const SizeRequest& request) {
  const auto size = partitioned_size(request);
  if (!size) {
    return std::unexpected(size.error());
  }
  return Rows{row({.kind = Kind::time_decaying_counts, .keys = request.keys, .fpr = request.fpr},
                  decayed_shape(request.keys, *size, kCountBits))};
}

// Each kind's rows for so many lines of cells; growing kinds get as many fewer as their outer header takes.

Rows blocked_rows_within(std::uint64_t keys, std::uint64_t lines) {
  const Shape shape = blocked_shape(keys, lines);
  return {row({.kind = Kind::blocked_bloom, .keys = keys, .fpr = shape.fpr}, shape)};
}

Rows classic_rows_within(std::uint64_t keys, std::uint64_t lines) {
  const std::uint64_t cells = lines * kLineBytes * kByteCells;
  Rows rows;
  for (const auto addressing : {BloomAddressing::range, BloomAddressing::fields}) {
    const std::uint64_t used = addressing == BloomAddressing::range ? cells : std::bit_floor(cells);
    const Shape shape = classic_shape(keys, {.cell_count = used, .k = best_probes(keys, used)});
    rows.push_back(row({.kind = Kind::bloom, .keys = keys, .fpr = shape.fpr, .addressing = addressing}, shape));
  }
  return rows;
}

Rows scalable_rows_within(std::uint64_t keys, std::uint64_t lines) {
  const Shape shape = blocked_shape(keys, lines);
  return {row({.kind = Kind::scalable_bloom, .keys = keys, .fpr = target_of_first_slice(shape.fpr)}, shape)};
}

Rows counting_rows_of_within(Kind kind, std::uint64_t keys, std::uint64_t lines) {
  const Shape blocked = blocked_counters(keys, lines);
  const std::uint64_t counters = lines * kLineBytes * kByteCounters;
  const std::uint32_t k = best_probes(keys, counters);
  const Shape partitioned = partitioned_counters(keys, {.cells_per_probe = counters / k, .k = k});
  return {row({.kind = kind, .keys = keys, .fpr = blocked.fpr}, blocked),
          row({.kind = kind, .keys = keys, .fpr = partitioned.fpr, .k = k, .layout = CountingLayout::partitioned},
              partitioned)};
}

Rows counting_rows_within(std::uint64_t keys, std::uint64_t lines) {
  return counting_rows_of_within(Kind::counting_bloom, keys, lines);
}

Rows scalable_counting_rows_within(std::uint64_t keys, std::uint64_t lines) {
  Rows rows = counting_rows_of_within(Kind::scalable_counting_bloom, keys, lines);
  for (PlanRow& row : rows) {
    row.spec.fpr = target_of_first_slice(row.fpr);
    row.spec.k = 0;
  }
  return rows;
}

struct Planner {
  Kind kind;
  Result<Rows> (*rows)(const SizeRequest& request);
  Rows (*rows_within)(std::uint64_t keys, std::uint64_t lines);  ///< none for kinds that forget
};

// In the order of the table.
constexpr std::array kPlanners = {
    Planner{Kind::blocked_bloom, blocked_rows, blocked_rows_within},
    Planner{Kind::bloom, classic_rows, classic_rows_within},
    Planner{Kind::scalable_bloom, scalable_rows, scalable_rows_within},
    Planner{Kind::counting_bloom, counting_rows, counting_rows_within},
    Planner{Kind::scalable_counting_bloom, scalable_counting_rows, scalable_counting_rows_within},
    Planner{Kind::rotating_bloom, rotating_rows, nullptr},
    Planner{Kind::fading_fingerprints, fading_rows, nullptr},
    Planner{Kind::time_decaying_counts, decayed_rows, nullptr},
};

/// What plan_forgetting compares.
constexpr std::array<std::uint32_t, 2> kFadingBits = {8, 16};
constexpr std::array<std::uint32_t, 2> kMinMatches = {1, 2};
constexpr std::array<std::uint32_t, 3> kGenerations = {2, 4, 8};

Result<PlanRow> fading_row_for(const ForgettingRequest& request, std::uint32_t bits, std::uint32_t min_matches) {
  const auto size = fading_size({.events = request.events,
                                 .survival = request.survival,
                                 .fpr = request.fpr,
                                 .bits = bits,
                                 .min_matches = min_matches});
  if (!size) {
    return std::unexpected(size.error());
  }
  PlanRow made = row(fading_spec(request.events, request.fpr, *size), fading_shape(*size));
  made.survival = fading_survival(*size, static_cast<double>(request.events));
  return made;
}

Result<PlanRow> rotating_row_for(const ForgettingRequest& request, std::uint32_t generations) {
  const auto blocks = RotatingBloom::blocks_for(request.events, request.fpr, generations);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  return row({.kind = Kind::rotating_bloom, .keys = request.events, .fpr = request.fpr, .generations = generations},
             rotating_shape(request.events, generations, *blocks));
}

// The most lines of cells whose image, checksums included, is no larger than `bytes`.
std::uint64_t lines_within(std::uint64_t bytes) {
  std::uint64_t lines = bytes / kLineBytes;
  while (lines > 0 && image_bytes_for(lines * kLineBytes) > bytes) {
    lines -= std::max<std::uint64_t>(1, (image_bytes_for(lines * kLineBytes) - bytes) / (2 * kLineBytes));
  }
  return lines;
}

// A growing kind's image: an outer header, and the slice filled up to a line.
std::uint64_t lines_within(Kind kind, std::uint64_t bytes) {
  if (!info_of(kind).can_grow) {
    return lines_within(bytes);
  }
  const std::uint64_t around = sizeof(ImageHeader);
  return bytes <= around ? 0 : lines_within((bytes - around) / kLineBytes * kLineBytes);
}

}  // namespace

Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
  Rows all;
  Result<Rows> refused;
  for (const Planner& planner : kPlanners) {
    const auto rows = planner.rows(request);
    if (!rows) {
      refused = refused ? rows : refused;
      continue;
    }
    all.insert(all.end(), rows->begin(), rows->end());
  }
  return all.empty() ? refused : Result<Rows>(std::move(all));
}

Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes) {
  // The rate is the answer here, so any valid one passes the check of the request.
  if (auto valid = check_request({.keys = keys, .fpr = 0.5}); !valid) {
    return std::unexpected(valid.error());
  }
  Rows all;
  for (const Planner& planner : kPlanners) {
    const std::uint64_t lines = lines_within(planner.kind, std::min(bytes, kMaxImageBytes));
    if (planner.rows_within != nullptr && lines > 0) {
      const Rows rows = planner.rows_within(keys, lines);
      all.insert(all.end(), rows.begin(), rows.end());
    }
  }
  if (all.empty()) {
    return fail(ErrorCode::invalid_argument, "no filter fits in " + std::to_string(bytes) +
                                                 " bytes: the smallest takes " +
                                                 std::to_string(image_bytes_for(kLineBytes)));
  }
  return all;
}

Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request) {
  if (!(request.survival > 0 && request.survival < 1)) {
    return fail(ErrorCode::invalid_argument, "the share of keys still known must lie between 0 and 1, both excluded");
  }
  Rows all;
  Result<PlanRow> refused = PlanRow{};
  const auto keep = [&](const Result<PlanRow>& made) {
    if (made) {
      all.push_back(*made);
    } else {
      refused = refused ? made : refused;
    }
  };
  for (const std::uint32_t bits : kFadingBits) {
    for (const std::uint32_t min_matches : kMinMatches) {
      keep(fading_row_for(request, bits, min_matches));
    }
  }
  for (const std::uint32_t generations : kGenerations) {
    keep(rotating_row_for(request, generations));
  }
  return all.empty() ? Result<Rows>(std::unexpected(refused.error())) : Result<Rows>(std::move(all));
}

}  // namespace mankai
