#include "mankai/catalog/catalog.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <type_traits>

namespace mankai {
namespace {

template <class F>
Result<AnyFilter> widen(Result<F> filter) {
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return AnyFilter(std::move(*filter));
}

HashSpec hash_of(const FilterSpec& spec) {
  return spec.seed ? HashSpec{.kind = spec.hash, .seed = *spec.seed} : HashSpec::random(spec.hash);
}

void describe_shape(const BlockedBloom& filter, FilterInfo& info) { info.block_count = filter.params().block_count; }
void describe_shape(const Bloom& filter, FilterInfo& info) { info.addressing = filter.addressing(); }

void keep_shape(const BlockedBloom& /*filter*/, FilterSpec& /*spec*/) {}
void keep_shape(const Bloom& filter, FilterSpec& spec) {
  spec.k = filter.phase();
  spec.addressing = filter.addressing();
}

constexpr std::uint64_t kByteCells = 8;
constexpr std::uint64_t kLineBytes = kCacheLineBytes;

PlanRow row(const FilterSpec& spec, std::uint64_t cells_bytes, double fpr, unsigned probes, double lines) {
  const std::uint64_t bytes = image_bytes_for(cells_bytes);
  return {.spec = spec,
          .image_bytes = bytes,
          .bits_per_key = static_cast<double>(cells_bytes * kByteCells) / static_cast<double>(spec.keys),
          .fpr = fpr,
          .probes_per_key = probes,
          .lines_per_key = lines};
}

PlanRow blocked_row(std::uint64_t keys, double fpr_target, std::uint64_t blocks) {
  return row({.kind = Kind::blocked_bloom, .keys = keys, .fpr = fpr_target}, blocks * kLineBytes,
             blocked_bloom_fpr(keys, blocks), probes::kBlockLanes, 1);
}

PlanRow classic_row(std::uint64_t keys, double fpr_target, const BloomSize& size, BloomAddressing addressing) {
  return row({.kind = Kind::bloom, .keys = keys, .fpr = fpr_target, .addressing = addressing},
             size.cell_count / kByteCells, bloom_fpr(keys, size), size.k, size.k);
}

// The most cells whose image, checksums included, is no larger than `bytes`.
std::uint64_t cells_within(std::uint64_t bytes) {
  std::uint64_t lines = bytes / kLineBytes;
  while (lines > 0 && image_bytes_for(lines * kLineBytes) > bytes) {
    lines -= std::max<std::uint64_t>(1, (image_bytes_for(lines * kLineBytes) - bytes) / (2 * kLineBytes));
  }
  return lines * kLineBytes;
}

}  // namespace

Result<AnyFilter> create_filter(const FilterSpec& spec, const Memory& memory) {
  if (spec.seed && spec.hash == HashKind::xxh3 && (*spec.seed)[1] != 0) {
    return fail(ErrorCode::invalid_argument, "a seed of 128 bits goes with hash siphash; xxh3 takes 64");
  }
  switch (spec.kind) {
    case Kind::bloom:
      return widen(Bloom::create({.keys = spec.keys,
                                  .fpr = spec.fpr,
                                  .k = spec.k,
                                  .addressing = spec.addressing,
                                  .hash = hash_of(spec),
                                  .memory = memory}));
    case Kind::blocked_bloom:
      return widen(BlockedBloom::create({.keys = spec.keys, .fpr = spec.fpr, .hash = hash_of(spec), .memory = memory}));
  }
  return fail(ErrorCode::invalid_argument, "a kind that is not in the catalog");
}

Result<AnyFilter> create_like(const AnyFilter& filter, const Memory& memory) {
  return std::visit([&](const auto& f) { return widen(f.create_like(memory)); }, filter);
}

Result<AnyFilter> filter_from_image(Image image) {
  const std::uint16_t kind = image.header().kind;
  switch (static_cast<Kind>(kind)) {
    case Kind::bloom: return widen(Bloom::from_image(std::move(image)));
    case Kind::blocked_bloom: return widen(BlockedBloom::from_image(std::move(image)));
  }
  return fail(ErrorCode::unsupported_version,
              "kind " + std::to_string(kind) + " at offset 10 is unknown to this library: use a newer one");
}

FilterSpec spec_of(const AnyFilter& filter) {
  return std::visit(
      [](const auto& f) {
        using F = std::remove_cvref_t<decltype(f)>;
        FilterSpec spec{.kind = Kind{F::kKind},
                        .keys = f.capacity_keys(),
                        .fpr = f.fpr_target(),
                        .hash = f.hash().kind,
                        .seed = f.hash().seed};
        keep_shape(f, spec);
        return spec;
      },
      filter);
}

FilterInfo describe(const AnyFilter& filter) {
  return std::visit(
      [](const auto& f) {
        using F = std::remove_cvref_t<decltype(f)>;
        FilterInfo info{.kind = Kind{F::kKind},
                        .format_version = kImageVersion,
                        .capacity_keys = f.capacity_keys(),
                        .fpr_target = f.fpr_target(),
                        .keys_inserted = f.keys_inserted(),
                        .hash = f.hash().kind,
                        .cell_count = f.cell_count(),
                        .cells_bytes = f.cells_bytes(),
                        .image_bytes = f.image_bytes(),
                        .probes_per_key = f.probes_per_key(),
                        .lines_per_key = f.lines_per_key(),
                        .block_count = {},
                        .addressing = {},
                        .fill_ratio = f.fill_ratio(),
                        .fpr_estimate = f.fpr_estimate(),
                        .keys_estimate = f.keys_estimate()};
        describe_shape(f, info);
        return info;
      },
      filter);
}

Result<void> merge_filters(AnyFilter& target, const AnyFilter& source) {
  if (target.index() != source.index()) {
    return fail(ErrorCode::invalid_argument,
                "the filters are of different kinds (" + std::string(info_of(spec_of(target).kind).name) + " and " +
                    std::string(info_of(spec_of(source).kind).name) + "); create the second one like the first");
  }
  return std::visit([&](auto& into) { return into.merge(std::get<std::remove_reference_t<decltype(into)>>(source)); },
                    target);
}

Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
  const auto blocks = blocked_bloom_blocks(request);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  std::vector<PlanRow> rows = {blocked_row(request.keys, request.fpr, *blocks)};
  const auto classic = bloom_size(request);
  if (!classic) {
    return std::unexpected(classic.error());
  }
  rows.push_back(classic_row(request.keys, request.fpr, *classic, BloomAddressing::range));
  const auto fields = bloom_size_for_fields(request);
  if (!fields) {
    return std::unexpected(fields.error());
  }
  rows.push_back(classic_row(request.keys, request.fpr, *fields, BloomAddressing::fields));
  return rows;
}

Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes) {
  // The rate is the answer here, so any valid one passes the check of the request.
  if (auto valid = check_request({.keys = keys, .fpr = 0.5}); !valid) {
    return std::unexpected(valid.error());
  }
  const std::uint64_t cells = cells_within(std::min(bytes, kMaxImageBytes));
  if (cells == 0) {
    return fail(ErrorCode::invalid_argument, "no filter fits in " + std::to_string(bytes) +
                                                 " bytes: the smallest takes " +
                                                 std::to_string(image_bytes_for(kLineBytes)));
  }
  const double blocked = blocked_bloom_fpr(keys, cells / kLineBytes);
  std::vector<PlanRow> rows = {blocked_row(keys, blocked, cells / kLineBytes)};
  const BloomSize classic{.cell_count = cells * kByteCells, .k = best_probes(keys, cells * kByteCells)};
  rows.push_back(classic_row(keys, bloom_fpr(keys, classic), classic, BloomAddressing::range));
  const std::uint64_t power = std::bit_floor(cells * kByteCells);
  const BloomSize fields{.cell_count = power, .k = best_probes(keys, power)};
  rows.push_back(classic_row(keys, bloom_fpr(keys, fields), fields, BloomAddressing::fields));
  return rows;
}

}  // namespace mankai
