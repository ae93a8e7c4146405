#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/decay_policy_options.hpp"
#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"

namespace mankai {
namespace {

constexpr std::array kLookups = {PoolLookup::hash, PoolLookup::links, PoolLookup::array};
constexpr std::array kOverflows = {OverflowRule::per_counter, OverflowRule::all};
constexpr std::array kWhenEmpty = {EmptyPool::grow, EmptyPool::saturate};

struct TimeDecayingPooledCountsOptions : DecayOptions {
  std::uint32_t k = 0;
  DecayPolicy policy = DecayPolicy::floor;
  std::uint64_t counters = 0;
  double pool_share = 0.5;
  PoolLookup lookup = PoolLookup::hash;
  OverflowRule overflow = OverflowRule::per_counter;
  EmptyPool when_empty = EmptyPool::grow;
  bool gate = false;
};

struct TimeDecayingPooledCountsKind : KindDefaults {
  using Filter = TimeDecayingPooledCounts;
  using Options = TimeDecayingPooledCountsOptions;
  static constexpr std::string_view kSummary =
      "how often, weighted by age? digits of 4 bits, and further digits from a pool where needed";
  static constexpr std::array kOptions = {
      probes_option<Options>(),
      half_life_option<Options>(),
      lambda_option<Options>(),
      epoch_option<Options>(),
      policy_option<Options, kWholePolicies>(),
      counters_option<Options>(),
      ratio_option<Options, &Options::pool_share, 7>("pool-share", "SHARE",
                                                     "Digits in the pool per counter, 0 to 7 [default: 0.5]."),
      choice_option<Options, &Options::lookup, kLookups>(
          "lookup", "LOOKUP",
          "How a counter finds its digits in the pool: by a compact hash, two-way links, or an array of links "
          "[default: hash]."),
      choice_option<Options, &Options::overflow, kOverflows>(
          "overflow", "RULE",
          "Which counters of a key carry into the pool: each one that is full, or none until all are [default: "
          "per-counter]."),
      choice_option<Options, &Options::when_empty, kWhenEmpty>(
          "when-empty", "WHAT", "What happens when the pool is empty: it grows, or counters saturate [default: grow]."),
      flag_option<Options, &Options::gate>("gate",
                                           "Put a Bloom filter in front, as in the paper; keys never expire from it.")};
  static constexpr std::array<std::string_view, 4> kExamples = {
      "keys=300,pool-share=0.01,hash=xxh3", "keys=300,pool-share=0.01,lookup=links,gate=yes",
      "keys=300,pool-share=0.01,lookup=array,overflow=all,canonical=yes",
      "keys=300,pool-share=0.02,when-empty=saturate"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    MANKAI_ASSIGN(const Decay decay, decay_from(options, true));
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .counters = options.counters,
                           .k = options.k,
                           .pool_share = options.pool_share,
                           .decay = decay,
                           .policy = options.policy,
                           .lookup = options.lookup,
                           .overflow = options.overflow,
                           .when_empty = options.when_empty,
                           .gate = options.gate,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    Options options{options_from(filter.decay())};
    options.k = filter.probes_per_key();
    options.policy = filter.policy();
    options.counters = filter.cell_count();
    options.pool_share = static_cast<double>(filter.use().digits) / static_cast<double>(filter.cell_count());
    options.lookup = filter.lookup();
    options.overflow = filter.overflow();
    options.when_empty = filter.when_empty();
    options.gate = filter.has_gate();
    return options;
  }

  static void describe(const Filter& filter, FilterInfo& info) {
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
    info.fields.push_back({"pool_digits_used", "digits in use", use.digits_in_use});
    info.fields.push_back({"saturations", "saturations", filter.saturations()});
  }
};

}  // namespace

MANKAI_DEFINE_KIND(time_decaying_pooled_counts, TimeDecayingPooledCountsKind)

}  // namespace mankai
