#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/decay_policy_options.hpp"
#include "mankai/filter/parts/plan_rows.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"

namespace mankai {
namespace {

constexpr std::array kRules = {IncrementRule::all, IncrementRule::minimum};
constexpr unsigned kPlannedBits = 32;

struct TimeDecayingCountsOptions : DecayOptions {
  std::uint32_t k = 0;
  std::uint64_t bytes = 0;
  std::uint32_t width = 0;
  DecayPolicy policy = DecayPolicy::fixed_point;
  IncrementRule rule = IncrementRule::all;
  std::optional<std::uint32_t> fraction_bits = std::nullopt;
  bool forced = false;
};

struct TimeDecayingCountsKind : KindDefaults {
  using Filter = TimeDecayingCounts;
  using Options = TimeDecayingCountsOptions;
  static constexpr std::string_view kSummary = "how often, weighted by age? decayed counts";
  static constexpr std::array kOptions = {
      probes_option<Options>(),
      half_life_option<Options>(),
      lambda_option<Options>(),
      epoch_option<Options>(),
      bytes_limit_option<Options>(),
      width_option<Options>(),
      policy_option<Options, kDecayPolicies>(),
      choice_option<Options, &Options::rule, kRules>(
          "rule", "RULE",
          "Which counters of a key are incremented: all, as in the paper, or minimum, only the smallest, which has a "
          "smaller error [default: all]."),
      number_option<Options, &Options::fraction_bits, 0, 31>(
          "fraction-bits", "N",
          "Fraction bits of the policy fixed-point [default: the fewest with which counts decay below 1/64]."),
      flag_option<Options, &Options::forced>("forced",
                                             "Create the filter although small counts will never decay to 0.")};
  static constexpr std::array<std::string_view, 4> kExamples = {
      "keys=300", "keys=300,policy=stochastic,width=8,canonical=yes", "keys=300,policy=floor,rule=minimum",
      "keys=300,policy=ceil,width=8,lambda=0.875,epoch=1s"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    MANKAI_ASSIGN(const Decay decay, decay_from(options, options.policy != DecayPolicy::fixed_point));
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .bytes = options.bytes,
                           .k = options.k,
                           .decay = decay,
                           .width_bits = options.width,
                           .policy = options.policy,
                           .rule = options.rule,
                           .fraction_bits = options.fraction_bits,
                           .forced = options.forced,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    Options options{options_from(filter.decay())};
    options.k = filter.probes_per_key();
    options.bytes = filter.cells_bytes();
    options.width = filter.width_bits();
    options.policy = filter.policy();
    options.rule = filter.rule();
    if (filter.policy() == DecayPolicy::fixed_point) {
      options.fraction_bits = filter.fraction_bits();
      options.forced = filter.params().is_forced != 0;
    }
    return options;
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "product of the partitions' fill";
    describe_time(filter.tick(), filter.epoch(), info);
    describe_decay(filter.decay(), info);
    info.fields.push_back({"policy", "policy", std::string(name(filter.policy()))});
    info.fields.push_back({"rule", "rule", std::string(name(filter.rule()))});
    info.fields.push_back({"width_bits", "bits per counter", std::uint64_t{filter.width_bits()}});
    info.fields.push_back({"fraction_bits", "fraction bits", std::uint64_t{filter.fraction_bits()}});
    info.fields.push_back({"largest_count", "largest count", filter.largest_count()});
    info.fields.push_back({"stuck_count", "never decays below", filter.stuck_count()});
    info.fields.push_back({"saturations", "saturations", filter.saturations()});
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    MANKAI_ASSIGN(const PartitionedSize size, partitioned_size(request));
    return std::vector{plan_row({.kind = Kind{Filter::kKind}, .keys = request.keys, .fpr = request.fpr},
                                partitioned_cells(request.keys, size, kPlannedBits))};
  }
};

}  // namespace

MANKAI_DEFINE_KIND(time_decaying_counts, TimeDecayingCountsKind)

}  // namespace mankai
