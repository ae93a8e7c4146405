#include "mankai/catalog/catalog.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include "mankai/url/canonical_url.hpp"

namespace mankai {
namespace {

template <class F>
concept Sliced = requires(const F filter) { filter.initial_keys(); };

template <class F>
Result<AnyFilter> widen(Result<F> filter) {
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return AnyFilter(std::move(*filter));
}

// Calls `use` with the type of the kind's filter; nothing where the catalog has no such kind.
template <class Use, std::size_t... index>
std::optional<Result<AnyFilter>> for_kind(std::uint16_t kind, const Use& use, std::index_sequence<index...>) {
  std::optional<Result<AnyFilter>> made;
  const auto try_one = [&]<class F>(std::type_identity<F> type) {
    if (F::kKind == kind) {
      made.emplace(widen(use(type)));
    }
  };
  (try_one(std::type_identity<std::variant_alternative_t<index, AnyFilter>>{}), ...);
  return made;
}

template <class Use>
std::optional<Result<AnyFilter>> for_kind(std::uint16_t kind, const Use& use) {
  return for_kind(kind, use, std::make_index_sequence<std::variant_size_v<AnyFilter>>{});
}

// What each kind makes of a spec.

Result<Bloom> make(std::type_identity<Bloom>, const FilterSpec& spec, const HashSpec& hash, const Memory& memory) {
  return Bloom::create(
      {.keys = spec.keys, .fpr = spec.fpr, .k = spec.k, .addressing = spec.addressing, .hash = hash, .memory = memory});
}

Result<BlockedBloom> make(std::type_identity<BlockedBloom>, const FilterSpec& spec, const HashSpec& hash,
                          const Memory& memory) {
  return BlockedBloom::create({.keys = spec.keys, .fpr = spec.fpr, .hash = hash, .memory = memory});
}

Result<CountingBloom> make(std::type_identity<CountingBloom>, const FilterSpec& spec, const HashSpec& hash,
                           const Memory& memory) {
  return CountingBloom::create(
      {.keys = spec.keys, .fpr = spec.fpr, .layout = spec.layout, .k = spec.k, .hash = hash, .memory = memory});
}

Result<ScalableBloom> make(std::type_identity<ScalableBloom>, const FilterSpec& spec, const HashSpec& hash,
                           const Memory& memory) {
  return ScalableBloom::create(
      {.keys = spec.keys, .fpr = spec.fpr, .growth = spec.growth, .hash = hash, .memory = memory});
}

Result<ScalableCountingBloom> make(std::type_identity<ScalableCountingBloom>, const FilterSpec& spec,
                                   const HashSpec& hash, const Memory& memory) {
  return ScalableCountingBloom::create({.keys = spec.keys,
                                        .fpr = spec.fpr,
                                        .growth = spec.growth,
                                        .layout = spec.layout,
                                        .first_id = spec.first_id,
                                        .hash = hash,
                                        .memory = memory});
}

Result<LayeredUrlBloom> make(std::type_identity<LayeredUrlBloom>, const FilterSpec& spec, const HashSpec& hash,
                             const Memory& memory) {
  return LayeredUrlBloom::create({.keys = spec.keys,
                                  .fpr = spec.fpr,
                                  .layering = spec.layering,
                                  .max_levels = spec.levels,
                                  .hash = hash,
                                  .memory = memory});
}

// What a spec must say beside keys, rate and hash to make such a filter again.

void keep_shape(const BlockedBloom& /*filter*/, FilterSpec& /*spec*/) {}
void keep_shape(const Bloom& filter, FilterSpec& spec) {
  spec.k = filter.phase();
  spec.addressing = filter.addressing();
}
void keep_shape(const CountingBloom& filter, FilterSpec& spec) {
  spec.layout = filter.layout();
  spec.k = filter.layout() == CountingLayout::partitioned ? filter.probes_per_key() : 0;
}
void keep_shape(const ScalableBloom& filter, FilterSpec& spec) { spec.growth = filter.growth(); }
void keep_shape(const ScalableCountingBloom& filter, FilterSpec& spec) {
  spec.growth = filter.growth();
  spec.layout = filter.layout();
  spec.first_id = filter.first_id();
}
void keep_shape(const LayeredUrlBloom& filter, FilterSpec& spec) {
  spec.layering = filter.layering();
  spec.levels = static_cast<std::uint32_t>(filter.max_levels());
}

// What only some kinds can say about themselves.

void describe_shape(const BlockedBloom& filter, FilterInfo& info) {
  info.fpr_formula = "mean over blocks of the product of the lanes' fill";
  info.fields.push_back({"block_count", "blocks", filter.params().block_count});
}
void describe_shape(const Bloom& filter, FilterInfo& info) {
  info.fpr_formula = "saturation^phase";
  info.fields.push_back({"saturation", "saturation", info.fill_ratio});
  info.fields.push_back({"phase", "phase", std::uint64_t{filter.phase()}});
  info.fields.push_back({"addressing", "addressing", std::string(name(filter.addressing()))});
}
void describe_shape(const CountingBloom& filter, FilterInfo& info) {
  info.fpr_formula = filter.layout() == CountingLayout::blocked ? "mean over blocks of the product of the lanes' fill"
                                                                : "product of the partitions' fill";
  info.fields.push_back({"layout", "layout", std::string(name(filter.layout()))});
  info.fields.push_back({"saturated_cells", "stuck counters", filter.saturated_cells()});
}
void describe_growth(const Growth& growth, FilterInfo& info) {
  info.fields.push_back({"growth", "growth", std::uint64_t{growth.factor}});
  info.fields.push_back({"tightening", "tightening", growth.tightening});
  info.fields.push_back({"bound", "bound", std::string(name(growth.bound))});
}
void describe_shape(const ScalableBloom& filter, FilterInfo& info) {
  info.fpr_formula = "that not every slice says no";
  info.fields.push_back({"slices", "slices", std::uint64_t{filter.slice_count()}});
  info.fields.push_back({"initial_keys", "first slice", filter.initial_keys()});
  describe_growth(filter.growth(), info);
}

void describe_shape(const ScalableCountingBloom& filter, FilterInfo& info) {
  info.fpr_formula = "that not every slice says no";
  info.fields.push_back({"slices", "slices", std::uint64_t{filter.slice_count()}});
  info.fields.push_back({"overfilled_slices", "overfilled slices", std::uint64_t{filter.overfilled_slices()}});
  info.fields.push_back({"initial_keys", "first slice", filter.initial_keys()});
  info.fields.push_back({"first_id", "first id", filter.first_id()});
  info.fields.push_back({"max_id", "greatest id", filter.max_id()});
  info.fields.push_back({"layout", "layout", std::string(name(filter.layout()))});
  info.fields.push_back({"saturated_cells", "stuck counters", filter.saturated_cells()});
  describe_growth(filter.growth(), info);
}
void describe_shape(const LayeredUrlBloom& filter, FilterInfo& info) {
  info.fpr_formula = "saturation^phase of the array of whole URLs";
  info.fields.push_back({"levels", "levels", std::uint64_t{filter.levels()}});
  info.fields.push_back({"max_levels", "levels at most", std::uint64_t{filter.max_levels()}});
  info.fields.push_back({"layering", "layering", std::string(name(filter.layering()))});
  info.fields.push_back({"phase", "probes an array", std::uint64_t{filter.params().k}});
}

template <class F>
std::uint64_t asked_keys(const F& filter) {
  if constexpr (Sliced<F>) {
    return filter.initial_keys();
  } else {
    return filter.capacity_keys();
  }
}

HashSpec hash_of(const FilterSpec& spec) {
  return spec.seed ? HashSpec{.kind = spec.hash, .seed = *spec.seed} : HashSpec::random(spec.hash);
}

template <class F>
Result<F> open(Region region, Trust trust, const Memory& memory) {
  if constexpr (Sliced<F>) {
    return F::from_region(std::move(region), trust, memory);
  } else {
    auto image = Image::adopt(std::move(region), trust);
    return image ? F::from_image(std::move(*image)) : Result<F>(std::unexpected(image.error()));
  }
}

}  // namespace

Result<AnyFilter> create_filter(const FilterSpec& spec, const Memory& memory) {
  if (spec.seed && spec.hash == HashKind::xxh3 && (*spec.seed)[1] != 0) {
    return fail(ErrorCode::invalid_argument, "a seed of 128 bits goes with hash siphash; xxh3 takes 64");
  }
  if (auto valid = check_options(spec); !valid) {
    return std::unexpected(valid.error());
  }
  const HashSpec hash = hash_of(spec);
  const bool is_canonical = spec.canonical || info_of(spec.kind).key_shape == KeyShape::path;
  auto made = for_kind(static_cast<std::uint16_t>(spec.kind), [&](auto type) {
    auto filter = make(type, spec, hash, memory);
    if (filter && is_canonical) {
      filter->set_canonical_version(url::kCanonicalVersion);
    }
    return filter;
  });
  return made ? std::move(*made) : fail(ErrorCode::invalid_argument, "a kind that is not in the catalog");
}

Result<AnyFilter> create_like(const AnyFilter& filter, const Memory& memory) {
  return std::visit([&](const auto& f) { return widen(f.create_like(memory)); }, filter);
}

Result<AnyFilter> filter_from_region(Region region, Trust trust, const Memory& memory) {
  const auto header = read_header(region.bytes(), region.size());
  if (!header) {
    return std::unexpected(header.error());
  }
  if (header->canonical_version != 0 && header->canonical_version != url::kCanonicalVersion) {
    return fail(ErrorCode::unsupported_version,
                "its keys were made canonical by version " + std::to_string(header->canonical_version) +
                    " of the URL rules (offset 15), and this library has version " +
                    std::to_string(url::kCanonicalVersion) + ": use the library that made it, or make it anew");
  }
  auto opened =
      for_kind(header->kind, [&]<class F>(std::type_identity<F>) { return open<F>(std::move(region), trust, memory); });
  return opened ? std::move(*opened)
                : fail(ErrorCode::unsupported_version, "kind " + std::to_string(header->kind) +
                                                           " at offset 10 is unknown to this library: use a newer one");
}

FilterSpec spec_of(const AnyFilter& filter) {
  return std::visit(
      [](const auto& f) {
        using F = std::remove_cvref_t<decltype(f)>;
        FilterSpec spec{.kind = Kind{F::kKind},
                        .keys = asked_keys(f),
                        .fpr = f.fpr_target(),
                        .hash = f.hash().kind,
                        .seed = f.hash().seed};
        spec.canonical = f.canonical_version() != 0 && info_of(spec.kind).key_shape != KeyShape::path;
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
                        .canonical_version = f.canonical_version(),
                        .cell_count = f.cell_count(),
                        .cells_bytes = f.cells_bytes(),
                        .image_bytes = f.image_bytes(),
                        .probes_per_key = f.probes_per_key(),
                        .lines_per_key = f.lines_per_key(),
                        .fill_ratio = f.fill_ratio(),
                        .fpr_estimate = f.fpr_estimate(),
                        .keys_estimate = f.keys_estimate(),
                        .fpr_formula = {},
                        .fields = {}};
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

std::uint64_t keys_inserted(const AnyFilter& filter) noexcept {
  return std::visit([](const auto& f) { return f.keys_inserted(); }, filter);
}

std::uint64_t capacity_keys(const AnyFilter& filter) noexcept {
  return std::visit([](const auto& f) { return f.capacity_keys(); }, filter);
}

std::uint64_t image_bytes(const AnyFilter& filter) noexcept {
  return std::visit([](const auto& f) { return std::uint64_t{f.image_bytes()}; }, filter);
}

}  // namespace mankai
