#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/decay_policy_options.hpp"
#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"

namespace mankai {
namespace {

constexpr std::array kRemainders = {RemainderRule::both_ways, RemainderRule::downwards};
constexpr std::uint32_t kDefaultWidth = 4;

struct TimeDecayingTieredCountsOptions : DecayOptions {
  std::uint32_t k = 0;
  std::uint32_t width = 0;
  DecayPolicy policy = DecayPolicy::floor;
  std::uint64_t counters = 0;
  std::uint32_t shrink_bits = 2;
  RemainderRule remainder = RemainderRule::both_ways;
};

struct TimeDecayingTieredCountsKind : KindDefaults {
  using Filter = TimeDecayingTieredCounts;
  using Options = TimeDecayingTieredCountsOptions;
  static constexpr std::string_view kSummary =
      "how often, weighted by age? a small counter per key, larger ones shared";
  static constexpr std::array kOptions = {
      probes_option<Options>(),
      half_life_option<Options>(),
      lambda_option<Options>(),
      epoch_option<Options>(),
      width_option<Options>(),
      policy_option<Options, kWholePolicies>(),
      counters_option<Options>(),
      number_option<Options, &Options::shrink_bits, 0, 8>(
          "shrink-bits", "A",
          "Each tier has 2 to the power of A times fewer counters than the one below, 0 to 8 [default: 2]."),
      choice_option<Options, &Options::remainder, kRemainders>(
          "remainder", "RULE",
          "What happens to the part of a decayed counter that its tier cannot hold: see the kind's page [default: "
          "both-ways].")};
  static constexpr std::array<std::string_view, 3> kExamples = {
      "keys=300,hash=xxh3", "keys=300,hash=siphash,canonical=yes",
      "keys=300,width=8,shrink-bits=1,remainder=downwards,policy=ceil"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    MANKAI_ASSIGN(const Decay decay, decay_from(options, true));
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .counters = options.counters,
                           .k = options.k,
                           .width_bits = options.width == 0 ? kDefaultWidth : options.width,
                           .shrink_bits = options.shrink_bits,
                           .decay = decay,
                           .policy = options.policy,
                           .remainder = options.remainder,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    Options options{options_from(filter.decay())};
    options.k = filter.probes_per_key();
    options.width = filter.params().width_bits;
    options.policy = filter.policy();
    options.counters = filter.cell_count();
    options.shrink_bits = filter.params().shrink_bits;
    options.remainder = filter.remainder();
    return options;
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "product of the partitions' fill";
    describe_time(filter.tick(), filter.epoch(), info);
    describe_decay(filter.decay(), info);
    info.fields.push_back({"policy", "policy", std::string(name(filter.policy()))});
    info.fields.push_back({"remainder", "remainder", std::string(name(filter.remainder()))});
    info.fields.push_back({"tiers", "tiers", std::uint64_t{filter.tier_count()}});
    info.fields.push_back({"width_bits", "bits per counter", std::uint64_t{filter.params().width_bits}});
    info.fields.push_back({"saturations", "saturations", filter.saturations()});
  }
};

}  // namespace

MANKAI_DEFINE_KIND(time_decaying_tiered_counts, TimeDecayingTieredCountsKind)

}  // namespace mankai
