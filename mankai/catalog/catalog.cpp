#include "mankai/catalog/catalog.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/filter/fading_size.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {
namespace {

/// What a tier's counters have when nothing else is asked for.
constexpr std::uint32_t kTierBits = 4;

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

Result<TimeDecayingCounts> make(std::type_identity<TimeDecayingCounts>, const FilterSpec& spec, const HashSpec& hash,
                                const Memory& memory) {
  const auto decay = decay_of(spec);
  if (!decay) {
    return std::unexpected(decay.error());
  }
  return TimeDecayingCounts::create({.keys = spec.keys,
                                     .fpr = spec.fpr,
                                     .bytes = spec.bytes,
                                     .k = spec.k,
                                     .decay = *decay,
                                     .width_bits = spec.width,
                                     .policy = spec.policy.value_or(DecayPolicy::fixed_point),
                                     .rule = spec.rule,
                                     .fraction_bits = spec.fraction_bits,
                                     .forced = spec.forced,
                                     .hash = hash,
                                     .memory = memory});
}

Result<RotatingBloom> make(std::type_identity<RotatingBloom>, const FilterSpec& spec, const HashSpec& hash,
                           const Memory& memory) {
  return RotatingBloom::create({.keys = spec.keys,
                                .fpr = spec.fpr,
                                .window = spec.window == Duration::zero() ? kDefaultWindow : spec.window,
                                .generations = spec.generations,
                                .hash = hash,
                                .memory = memory});
}

Result<FadingFingerprints> make(std::type_identity<FadingFingerprints>, const FilterSpec& spec, const HashSpec& hash,
                                const Memory& memory) {
  return FadingFingerprints::create({.keys = spec.keys,
                                     .fpr = spec.fpr,
                                     .slots = spec.slots,
                                     .k = spec.k,
                                     .bits = spec.width,
                                     .min_matches = spec.min_matches,
                                     .hash = hash,
                                     .memory = memory});
}

Result<TimeDecayingPooledCounts> make(std::type_identity<TimeDecayingPooledCounts>, const FilterSpec& spec,
                                      const HashSpec& hash, const Memory& memory) {
  const auto decay = decay_of(spec);
  if (!decay) {
    return std::unexpected(decay.error());
  }
  return TimeDecayingPooledCounts::create({.keys = spec.keys,
                                           .fpr = spec.fpr,
                                           .counters = spec.counters,
                                           .k = spec.k,
                                           .pool_share = spec.pool_share,
                                           .decay = *decay,
                                           .policy = spec.policy.value_or(DecayPolicy::floor),
                                           .lookup = spec.lookup,
                                           .overflow = spec.overflow,
                                           .when_empty = spec.when_empty,
                                           .gate = spec.gate,
                                           .hash = hash,
                                           .memory = memory});
}

Result<TimeDecayingTieredCounts> make(std::type_identity<TimeDecayingTieredCounts>, const FilterSpec& spec,
                                      const HashSpec& hash, const Memory& memory) {
  const auto decay = decay_of(spec);
  if (!decay) {
    return std::unexpected(decay.error());
  }
  return TimeDecayingTieredCounts::create({.keys = spec.keys,
                                           .fpr = spec.fpr,
                                           .counters = spec.counters,
                                           .k = spec.k,
                                           .width_bits = spec.width == 0 ? kTierBits : spec.width,
                                           .shrink_bits = spec.shrink_bits,
                                           .decay = *decay,
                                           .policy = spec.policy.value_or(DecayPolicy::floor),
                                           .remainder = spec.remainder,
                                           .hash = hash,
                                           .memory = memory});
}

Result<RecentValues> make(std::type_identity<RecentValues>, const FilterSpec& spec, const HashSpec& hash,
                          const Memory& memory) {
  const std::uint32_t k = spec.k == 0 ? RecentValues::kDefaultK : spec.k;
  return RecentValues::create({.keys = spec.keys,
                               .cells_per_probe = divide_up<std::uint64_t>(spec.slots, k),
                               .k = k,
                               .hash = hash,
                               .memory = memory});
}

Result<DecayedTop> make(std::type_identity<DecayedTop>, const FilterSpec& spec, const HashSpec& hash,
                        const Memory& memory) {
  const auto decay = decay_of(spec);
  if (!decay) {
    return std::unexpected(decay.error());
  }
  return DecayedTop::create({.keys = spec.keys,
                             .fpr = spec.fpr,
                             .bytes = spec.bytes,
                             .candidates = spec.candidates,
                             .k = spec.k,
                             .decay = *decay,
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

void keep_decay(const Decay& decay, FilterSpec& spec) {
  spec.lambda = decay.lambda();
  spec.epoch = decay.epoch;
}
void keep_shape(const TimeDecayingCounts& filter, FilterSpec& spec) {
  keep_decay(filter.decay(), spec);
  spec.bytes = filter.cells_bytes();
  spec.k = filter.probes_per_key();
  spec.width = filter.width_bits();
  spec.policy = filter.policy();
  spec.rule = filter.rule();
  if (filter.policy() == DecayPolicy::fixed_point) {
    spec.fraction_bits = filter.fraction_bits();
    spec.forced = filter.params().is_forced != 0;
  }
}
void keep_shape(const TimeDecayingPooledCounts& filter, FilterSpec& spec) {
  keep_decay(filter.decay(), spec);
  spec.counters = filter.cell_count();
  spec.k = filter.probes_per_key();
  spec.pool_share = static_cast<double>(filter.use().digits) / static_cast<double>(filter.cell_count());
  spec.policy = filter.policy();
  spec.lookup = filter.lookup();
  spec.overflow = filter.overflow();
  spec.when_empty = filter.when_empty();
  spec.gate = filter.has_gate();
}
void keep_shape(const TimeDecayingTieredCounts& filter, FilterSpec& spec) {
  keep_decay(filter.decay(), spec);
  spec.counters = filter.cell_count();
  spec.k = filter.probes_per_key();
  spec.width = filter.params().width_bits;
  spec.shrink_bits = filter.params().shrink_bits;
  spec.policy = filter.policy();
  spec.remainder = filter.remainder();
}
void keep_shape(const FadingFingerprints& filter, FilterSpec& spec) {
  const FadingShape shape = filter.shape();
  spec.slots = shape.slots;
  spec.k = shape.k;
  spec.width = shape.bits;
  spec.min_matches = shape.min_matches;
}
void keep_shape(const RecentValues& filter, FilterSpec& spec) {
  spec.slots = filter.cell_count();
  spec.k = filter.probes_per_key();
}
void keep_shape(const RotatingBloom& filter, FilterSpec& spec) {
  spec.window = filter.window();
  spec.generations = filter.generations();
}
void keep_shape(const DecayedTop& filter, FilterSpec& spec) {
  keep_decay(filter.decay(), spec);
  spec.bytes = filter.image_bytes();
  spec.k = filter.probes_per_key();
  spec.candidates = static_cast<std::uint32_t>(filter.candidates_capacity());
}

// What only some kinds can say about themselves.

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

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

void describe_time(Tick tick, Duration epoch, FilterInfo& info) {
  info.fields.push_back({"time_seconds", "time, since 1970", seconds(start_of(tick, epoch).time_since_epoch())});
  info.fields.push_back({"epoch_seconds", "epoch", seconds(epoch)});
}
void describe_decay(const Decay& decay, FilterInfo& info) {
  info.fields.push_back({"half_life_seconds", "half-life", decay.half_life_seconds()});
  info.fields.push_back({"lambda", "lambda", decay.lambda()});
}
void describe_shape(const TimeDecayingCounts& filter, FilterInfo& info) {
  info.fpr_formula = "product of the partitions' fill";
  describe_time(filter.tick(), filter.epoch(), info);
  describe_decay(filter.decay(), info);
  info.fields.push_back({"policy", "policy", std::string(name(filter.policy()))});
  info.fields.push_back({"rule", "rule", std::string(name(filter.rule()))});
  info.fields.push_back({"width_bits", "bits a counter", std::uint64_t{filter.width_bits()}});
  info.fields.push_back({"fraction_bits", "of them fraction", std::uint64_t{filter.fraction_bits()}});
  info.fields.push_back({"largest_count", "largest count", filter.largest_count()});
  info.fields.push_back({"stuck_count", "never fades below", filter.stuck_count()});
  info.fields.push_back({"saturations", "saturations", filter.saturations()});
}
void describe_shape(const TimeDecayingPooledCounts& filter, FilterInfo& info) {
  const auto use = filter.use();
  info.fpr_formula = "product of the partitions' fill";
  describe_time(filter.tick(), filter.epoch(), info);
  describe_decay(filter.decay(), info);
  info.fields.push_back({"policy", "policy", std::string(name(filter.policy()))});
  info.fields.push_back({"overflow", "overflow", std::string(name(filter.overflow()))});
  info.fields.push_back({"lookup", "lookup", std::string(name(filter.lookup()))});
  info.fields.push_back({"when_empty", "when the pool is empty", std::string(name(filter.when_empty()))});
  info.fields.push_back({"gate", "gate", std::string(filter.has_gate() ? "yes" : "no")});
  info.fields.push_back({"pool_digits", "digits in the pool", use.digits});
  info.fields.push_back({"pool_digits_used", "of them used", use.digits_in_use});
  info.fields.push_back({"saturations", "saturations", filter.saturations()});
}
void describe_shape(const TimeDecayingTieredCounts& filter, FilterInfo& info) {
  info.fpr_formula = "product of the partitions' fill";
  describe_time(filter.tick(), filter.epoch(), info);
  describe_decay(filter.decay(), info);
  info.fields.push_back({"policy", "policy", std::string(name(filter.policy()))});
  info.fields.push_back({"remainder", "remainder", std::string(name(filter.remainder()))});
  info.fields.push_back({"tiers", "tiers", std::uint64_t{filter.tier_count()}});
  info.fields.push_back({"width_bits", "bits a counter", std::uint64_t{filter.params().width_bits}});
  info.fields.push_back({"saturations", "saturations", filter.saturations()});
}
void describe_shape(const FadingFingerprints& filter, FilterInfo& info) {
  const FadingShape shape = filter.shape();
  info.fpr_formula = "that enough slots hold the fingerprint by chance";
  info.fields.push_back({"slots", "slots", shape.slots});
  info.fields.push_back({"fingerprint_bits", "bits a fingerprint", std::uint64_t{shape.bits}});
  info.fields.push_back({"min_matches", "matches needed", std::uint64_t{shape.min_matches}});
  info.fields.push_back({"half_life_keys", "half-life, in keys", filter.half_life()});
  info.fields.push_back({"plateau", "rate when full", fading_fpr(shape)});
}
void describe_shape(const RecentValues& filter, FilterInfo& info) {
  info.fpr_formula = "that a value never put has a match";
  info.fields.push_back({"slots", "slots", filter.cell_count()});
}
void describe_shape(const RotatingBloom& filter, FilterInfo& info) {
  info.fpr_formula = "that not every generation says no";
  describe_time(filter.tick(), filter.epoch(), info);
  info.fields.push_back({"window_seconds", "window", seconds(filter.window())});
  info.fields.push_back({"generations", "generations", std::uint64_t{filter.generations()}});
  info.fields.push_back({"keys_of_epoch", "keys of this epoch", filter.keys_of_epoch()});
}
void describe_shape(const DecayedTop& filter, FilterInfo& info) {
  info.fpr_formula = "product of the partitions' fill";
  describe_time(filter.tick(), filter.epoch(), info);
  describe_decay(filter.decay(), info);
  info.fields.push_back({"candidates", "keys by name", filter.candidates()});
  info.fields.push_back({"candidates_capacity", "of at most", filter.candidates_capacity()});
  info.fields.push_back({"late_records", "late keys", filter.late_records()});
  info.fields.push_back({"saturations", "saturations", filter.saturations()});
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
  const HashSpec hash = hash_of(spec);
  if (auto valid = check_seed(hash); !valid) {
    return std::unexpected(valid.error());
  }
  if (auto valid = check_options(spec); !valid) {
    return std::unexpected(valid.error());
  }
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
  if (header->canonical_version != 0 && !url::url_rules(header->canonical_version)) {
    return fail(ErrorCode::unsupported_version,
                "its keys were made canonical by version " + std::to_string(header->canonical_version) +
                    " of the URL rules (offset 15), and this library knows versions 1 to " +
                    std::to_string(url::kCanonicalVersion) + "; use the library that made it, or create it again");
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
  return std::visit(
      [&](auto& into) -> Result<void> {
        using F = std::remove_reference_t<decltype(into)>;
        if constexpr (requires { into.merge(std::get<F>(source)); }) {
          return into.merge(std::get<F>(source));
        } else {
          return fail(ErrorCode::invalid_argument, "filters of kind " + std::string(F::kName) + " cannot be merged");
        }
      },
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
