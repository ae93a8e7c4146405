#include <array>

#include "mankai/base/duration.hpp"
#include "mankai/catalog/detail/option_text.hpp"
#include "mankai/catalog/detail/spec_options.hpp"

namespace mankai::detail {
namespace {

bool is_decayed_counts(Kind kind) { return kind == Kind::time_decaying_counts; }
bool is_pooled(Kind kind) { return kind == Kind::time_decaying_pooled_counts; }
bool is_tiered(Kind kind) { return kind == Kind::time_decaying_tiered_counts; }
bool is_fading(Kind kind) { return kind == Kind::fading_fingerprints; }
bool is_recent_values(Kind kind) { return kind == Kind::recent_values; }
bool is_rotating(Kind kind) { return kind == Kind::rotating_bloom; }
bool is_decayed_top(Kind kind) { return kind == Kind::decayed_top; }

bool decays(Kind kind) { return is_decayed_counts(kind) || is_pooled(kind) || is_tiered(kind) || is_decayed_top(kind); }
bool has_bytes(Kind kind) { return is_decayed_counts(kind) || is_decayed_top(kind); }
bool has_width(Kind kind) { return is_decayed_counts(kind) || is_tiered(kind) || is_fading(kind); }
bool has_policy(Kind kind) { return is_decayed_counts(kind) || is_pooled(kind) || is_tiered(kind); }
bool has_counters(Kind kind) { return is_pooled(kind) || is_tiered(kind); }
bool has_slots(Kind kind) { return is_fading(kind) || is_recent_values(kind); }

Result<void> read_lambda(FilterSpec& spec, std::string_view text) {
  double lambda = 0;
  if (!reads_whole(text, lambda) || !(lambda >= 0 && lambda <= 1)) {
    return bad("lambda", text, "a number from 0, forget at once, to 1, never forget");
  }
  spec.lambda = lambda;
  return {};
}

template <Duration FilterSpec::* member>
Result<void> read_duration(FilterSpec& spec, std::string_view text) {
  return assign(spec.*member, parse_duration(text));
}

template <Duration FilterSpec::* member>
std::string write_duration(const FilterSpec& spec) {
  return spec.*member == Duration::zero() ? std::string() : to_text(spec.*member);
}

// A whole number from `least` to `most`.
template <auto member, std::uint64_t least, std::uint64_t most>
Result<void> read_number(std::string_view what, FilterSpec& spec, std::string_view text) {
  std::uint64_t number = 0;
  if (!reads_whole(text, number) || number < least || number > most) {
    return bad(what, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  spec.*member = static_cast<std::remove_cvref_t<decltype(spec.*member)>>(number);
  return {};
}

template <auto member>
std::string write_number(const FilterSpec& spec) {
  return unless_default(spec.*member, FilterSpec{}.*member, std::to_string(spec.*member));
}

constexpr std::array<std::string_view, 4> kPolicyNames = {"fixed-point", "floor", "ceil", "stochastic"};
constexpr std::array<std::string_view, 2> kRuleNames = {"all", "minimum"};
constexpr std::array kPolicies = {DecayPolicy::fixed_point, DecayPolicy::floor, DecayPolicy::ceil,
                                  DecayPolicy::stochastic};
constexpr std::array kRules = {IncrementRule::all, IncrementRule::minimum};
constexpr std::uint64_t kMostFractionBits = 31;
constexpr std::uint64_t kMostGenerations = RotatingBloom::kMostGenerations;
constexpr double kMostPoolShare = 7;
constexpr std::uint64_t kMostShrinkBits = 8;
constexpr std::uint64_t kMostCandidates = std::uint64_t{1} << 24;

Result<void> read_width(FilterSpec& spec, std::string_view text) {
  std::uint32_t width = 0;
  if (!reads_whole(text, width) || (width != 4 && width != 8 && width != 16 && width != 32)) {
    return bad("width", text, "4, 8, 16 or 32 bits");
  }
  spec.width = width;
  return {};
}

Result<void> read_policy(FilterSpec& spec, std::string_view text) {
  DecayPolicy policy{};
  if (auto read = read_choice("policy", kPolicies, text, policy); !read) {
    return read;
  }
  spec.policy = policy;
  return {};
}

Result<void> read_pool_share(FilterSpec& spec, std::string_view text) {
  double share = 0;
  if (!reads_whole(text, share) || !(share >= 0 && share <= kMostPoolShare)) {
    return bad("pool-share", text, "a number from 0 to 7, such as 0.5");
  }
  spec.pool_share = share;
  return {};
}

constexpr std::array<std::string_view, 3> kLookupNames = {"hash", "links", "array"};
constexpr std::array kLookups = {PoolLookup::hash, PoolLookup::links, PoolLookup::array};
constexpr std::array<std::string_view, 2> kOverflowNames = {"per-counter", "all"};
constexpr std::array kOverflows = {OverflowRule::per_counter, OverflowRule::all};
constexpr std::array<std::string_view, 2> kWhenEmptyNames = {"grow", "saturate"};
constexpr std::array kWhenEmpty = {EmptyPool::grow, EmptyPool::saturate};
constexpr std::array<std::string_view, 2> kRemainderNames = {"both-ways", "downwards"};
constexpr std::array kRemainders = {RemainderRule::both_ways, RemainderRule::downwards};

constexpr std::array kOptions = {
    SpecOption{.name = "half-life",
               .value = "TIME",
               .choices = {},
               .help = "A count has halved after so long: 90s, 10m, 1h, 7d. 1h unless given.",
               .applies_to = decays,
               .read = read_duration<&FilterSpec::half_life>,
               .write = write_duration<&FilterSpec::half_life>},
    SpecOption{.name = "lambda",
               .value = "L",
               .choices = {},
               .help = "Instead of a half-life: counts are multiplied by L, 0 to 1, at the start of every epoch.",
               .applies_to = decays,
               .read = read_lambda,
               .write = [](const FilterSpec& spec) { return spec.lambda ? shortest(*spec.lambda) : std::string(); }},
    SpecOption{.name = "epoch",
               .value = "TIME",
               .choices = {},
               .help = "The time from one fading to the next. A 64th of the half-life unless given; the "
                       "half-life itself where counts are whole numbers, which lose up to 1 each time.",
               .applies_to = decays,
               .read = read_duration<&FilterSpec::epoch>,
               .write = write_duration<&FilterSpec::epoch>},
    SpecOption{.name = "bytes",
               .value = "SIZE",
               .choices = {},
               .help = "Takes at most so many bytes, instead of as many as --keys at --fpr need.",
               .applies_to = has_bytes,
               .read = [](FilterSpec& spec, std::string_view text) { return assign(spec.bytes, parse_bytes(text)); },
               .write = write_number<&FilterSpec::bytes>},
    SpecOption{.name = "width",
               .value = "BITS",
               .choices = {},
               .help = "The bits of a cell: of counts 8, 16 or 32; of fingerprints 4, 8, 16 or 32; of tiers 4 or 8. "
                       "The kind's own choice unless given.",
               .applies_to = has_width,
               .read = read_width,
               .write = write_number<&FilterSpec::width>},
    SpecOption{.name = "policy",
               .value = "POLICY",
               .choices = kPolicyNames,
               .help = "How a faded count is rounded: fixed-point, with bits behind the point, up, so that it is never "
                       "too low; floor, as the paper has it; ceil; stochastic, right on average. fixed-point unless "
                       "given; pooled and tiered counts take floor, unless given, or ceil.",
               .applies_to = has_policy,
               .read = read_policy,
               .write = [](const FilterSpec& spec) { return std::string(spec.policy ? name(*spec.policy) : ""); }},
    SpecOption{
        .name = "rule",
        .value = "RULE",
        .choices = kRuleNames,
        .help = "Which of a key's counters grow: all, as the paper has it, or minimum, only the smallest, which errs "
                "less. all unless given.",
        .applies_to = is_decayed_counts,
        .read = [](FilterSpec& spec, std::string_view text) { return read_choice("rule", kRules, text, spec.rule); },
        .write = [](const FilterSpec& spec) { return unless_default(spec.rule, IncrementRule::all, name(spec.rule)); }},
    SpecOption{.name = "fraction-bits",
               .value = "N",
               .choices = {},
               .help = "The bits behind the point of the policy fixed-point. As few as fade below 1/64 unless given.",
               .applies_to = is_decayed_counts,
               .read =
                   [](FilterSpec& spec, std::string_view text) {
                     std::uint32_t bits = 0;
                     if (!reads_whole(text, bits) || bits > kMostFractionBits) {
                       return Result<void>(bad("fraction-bits", text, "a whole number from 0 to 31"));
                     }
                     spec.fraction_bits = bits;
                     return Result<void>();
                   },
               .write =
                   [](const FilterSpec& spec) {
                     return spec.fraction_bits ? std::to_string(*spec.fraction_bits) : std::string();
                   }},
    SpecOption{.name = "forced",
               .value = "",
               .choices = {},
               .help = "Makes it although small counts will never fade away.",
               .applies_to = is_decayed_counts,
               .read = [](FilterSpec& spec, std::string_view text) { return read_flag("forced", text, spec.forced); },
               .write = [](const FilterSpec& spec) { return unless_default(spec.forced, false, "yes"); }},
    SpecOption{.name = "counters",
               .value = "N",
               .choices = {},
               .help = "How many counters there are. As many as --keys at --fpr need unless given.",
               .applies_to = has_counters,
               .read = [](FilterSpec& spec, std::string_view text) { return assign(spec.counters, parse_count(text)); },
               .write = write_number<&FilterSpec::counters>},
    SpecOption{.name = "pool-share",
               .value = "SHARE",
               .choices = {},
               .help = "The digits in the pool for each counter, 0 to 7. 0.5 unless given.",
               .applies_to = is_pooled,
               .read = read_pool_share,
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.pool_share, FilterSpec{}.pool_share, shortest(spec.pool_share));
                   }},
    SpecOption{
        .name = "lookup",
        .value = "LOOKUP",
        .choices = kLookupNames,
        .help = "How a counter finds its digits in the pool: by a compact hash, two-way links, or an array of "
                "links. hash unless given.",
        .applies_to = is_pooled,
        .read = [](FilterSpec& spec,
                   std::string_view text) { return read_choice("lookup", kLookups, text, spec.lookup); },
        .write =
            [](const FilterSpec& spec) { return unless_default(spec.lookup, PoolLookup::hash, name(spec.lookup)); }},
    SpecOption{.name = "overflow",
               .value = "RULE",
               .choices = kOverflowNames,
               .help = "Which of a key's counters carry into the pool: each that is full, or none before all are. "
                       "per-counter unless given.",
               .applies_to = is_pooled,
               .read = [](FilterSpec& spec,
                          std::string_view text) { return read_choice("overflow", kOverflows, text, spec.overflow); },
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.overflow, OverflowRule::per_counter, name(spec.overflow));
                   }},
    SpecOption{
        .name = "when-empty",
        .value = "WHAT",
        .choices = kWhenEmptyNames,
        .help = "What happens when the pool is empty: it grows, or counters stay as they are. grow unless given.",
        .applies_to = is_pooled,
        .read = [](FilterSpec& spec,
                   std::string_view text) { return read_choice("when-empty", kWhenEmpty, text, spec.when_empty); },
        .write =
            [](const FilterSpec& spec) {
              return unless_default(spec.when_empty, EmptyPool::grow, name(spec.when_empty));
            }},
    SpecOption{.name = "gate",
               .value = "",
               .choices = {},
               .help = "A Bloom filter in front, as the paper has it, which never forgets.",
               .applies_to = is_pooled,
               .read = [](FilterSpec& spec, std::string_view text) { return read_flag("gate", text, spec.gate); },
               .write = [](const FilterSpec& spec) { return unless_default(spec.gate, false, "yes"); }},
    SpecOption{.name = "shrink-bits",
               .value = "A",
               .choices = {},
               .help = "Each tier has 2 to the power of A times fewer counters than the one below, 0 to 8. 2 unless "
                       "given.",
               .applies_to = is_tiered,
               .read =
                   [](FilterSpec& spec, std::string_view text) {
                     return read_number<&FilterSpec::shrink_bits, 0, kMostShrinkBits>("shrink-bits", spec, text);
                   },
               .write = write_number<&FilterSpec::shrink_bits>},
    SpecOption{
        .name = "remainder",
        .value = "RULE",
        .choices = kRemainderNames,
        .help = "What becomes of what a faded counter cannot hold: see the kind's page. both-ways unless given.",
        .applies_to = is_tiered,
        .read = [](FilterSpec& spec,
                   std::string_view text) { return read_choice("remainder", kRemainders, text, spec.remainder); },
        .write =
            [](const FilterSpec& spec) {
              return unless_default(spec.remainder, RemainderRule::both_ways, name(spec.remainder));
            }},
    SpecOption{.name = "slots",
               .value = "N",
               .choices = {},
               .help = "How many slots there are. As many as --keys need unless given.",
               .applies_to = has_slots,
               .read = [](FilterSpec& spec, std::string_view text) { return assign(spec.slots, parse_count(text)); },
               .write = write_number<&FilterSpec::slots>},
    SpecOption{.name = "min-matches",
               .value = "R",
               .choices = {},
               .help = "A key is seen when at least R of its fingerprints are found. 1 unless given.",
               .applies_to = is_fading,
               .read =
                   [](FilterSpec& spec, std::string_view text) {
                     return read_number<&FilterSpec::min_matches, 1, kernel::kMaxProbes>("min-matches", spec, text);
                   },
               .write = write_number<&FilterSpec::min_matches>},
    SpecOption{.name = "window",
               .value = "TIME",
               .choices = {},
               .help = "How long a key is certainly remembered. 7d unless given.",
               .applies_to = is_rotating,
               .read = read_duration<&FilterSpec::window>,
               .write = write_duration<&FilterSpec::window>},
    SpecOption{.name = "generations",
               .value = "G",
               .choices = {},
               .help =
                   "The more there are, the sooner a key is forgotten after the window: after G / (G - 1) times the "
                   "window at the latest. 4 unless given.",
               .applies_to = is_rotating,
               .read =
                   [](FilterSpec& spec, std::string_view text) {
                     return read_number<&FilterSpec::generations, 2, kMostGenerations>("generations", spec, text);
                   },
               .write = write_number<&FilterSpec::generations>},
    SpecOption{.name = "candidates",
               .value = "N",
               .choices = {},
               .help = "How many keys it knows by name. As many as a quarter of its memory holds unless given.",
               .applies_to = is_decayed_top,
               .read =
                   [](FilterSpec& spec, std::string_view text) {
                     return read_number<&FilterSpec::candidates, 1, kMostCandidates>("candidates", spec, text);
                   },
               .write = write_number<&FilterSpec::candidates>},
};

}  // namespace

std::span<const SpecOption> forgetting_options() noexcept { return kOptions; }

}  // namespace mankai::detail
