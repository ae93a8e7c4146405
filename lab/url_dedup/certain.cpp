#include <array>

#include "lab/parts.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

Digest word(std::uint64_t number, std::uint64_t seed) noexcept { return mix_integer(number, seed); }

// Every other host has a member a/x/x, the others a member a. Every x is a known segment at levels 2 and 3.
struct Repeats {
  Urls members{};
  Urls hosts_of_repeats{};  ///< a, if a/x/x is a member
  Urls repeats_of_hosts{};  ///< a/x/x, if a is a member
};

Repeats make_repeats(std::uint64_t hosts, std::uint64_t seed) {
  constexpr std::uint64_t kDirectories = 1000;
  Repeats repeats;
  for (std::uint64_t i = 0; i < hosts; ++i) {
    const Digest directory = word(~(i / 2 % kDirectories), seed);
    const std::array<Digest, 3> url = {word(i, seed), directory, directory};
    const bool is_repeat = i % 2 == 0;
    repeats.members.add(std::span(url).first(is_repeat ? 3 : 1));
    (is_repeat ? repeats.hosts_of_repeats : repeats.repeats_of_hosts).add(std::span(url).first(is_repeat ? 1 : 3));
  }
  return repeats;
}

void judge_repeat(const char* id, const char* what, double printed, const Estimate& faithful, const Estimate& repaired,
                  double last, Findings& findings) {
  findings.judged({"even-repeat-{}", id, what}, at_most(printed), faithful);
  findings.judged({"even-repeat-certain-{}", id, what}, equals(1), faithful);
  findings.judged({"even-repeat-repaired-{}", id, what}, equals(last), repaired);
}

Result<void> measure_repeats(const Context& context, Findings& findings) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 23);
  const std::uint64_t keys = keys_for(cells, kRepository);
  MANKAI_ASSIGN(auto faithful, make_layered(keys, kRepository.fpr, UrlLayering::faithful, context));
  MANKAI_ASSIGN(auto repaired, make_layered(keys, kRepository.fpr, UrlLayering::repaired, context));
  const Repeats repeats = make_repeats(keys, context.seed);
  faithful.insert(repeats.members);
  repaired.insert(repeats.members);
  const double last = last_rate(repaired.filter());
  const auto printed = [&](std::size_t levels) {
    return printed_rate(static_cast<double>(keys), static_cast<double>(cells), kRepository.k, levels);
  };
  judge_repeat("host", "the host alone, where a/x/x is a member", printed(1), faithful.rate(repeats.hosts_of_repeats),
               repaired.rate(repeats.hosts_of_repeats), last, findings);
  judge_repeat("pair", "a/x/x, where a is a member and x a known directory", printed(3),
               faithful.rate(repeats.repeats_of_hosts), repaired.rate(repeats.repeats_of_hosts), last, findings);
  return {};
}

// Without the last array.
Result<void> measure_layers_alone(const Context& context, Findings& findings) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 23);
  const std::uint64_t keys = keys_for(cells, kRepository);
  MANKAI_ASSIGN(auto faithful, make_layered(keys, kRepository.fpr, UrlLayering::faithful, context));
  const Site site(keys, context.seed);
  faithful.insert(site.members(0, keys));
  const Urls recombined = site.absent_keys(QueryClass::recombined, keys, keys);
  std::uint64_t yes = 0;
  for (std::size_t i = 0; i < recombined.size(); ++i) {
    bool is_known = true;
    for (std::size_t level = 0; level < Site::kLevels; ++level) {
      is_known &= faithful.filter().slice(level + 1).may_contain(recombined[i][level]);
    }
    yes += static_cast<std::uint64_t>(is_known);
  }
  // If the fault drops keys, some segments are missing, and this claim fails.
  findings.judged("layers-alone-accept-recombined", equals(1),
                  exact(static_cast<double>(yes) / static_cast<double>(recombined.size())));
  return {};
}

// LAddr as an index into m cells, with the conference paper's m.
void measure_range(const Context& context, Findings& findings) {
  constexpr std::uint64_t kCells = 16'829'152;
  const std::uint64_t trials = context.trials(1'000'000, 10'000'000);
  Random random(context.seed);
  std::uint64_t outside = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    std::uint64_t address = 0;
    for (std::size_t level = 0; level < Site::kLevels; ++level) {
      address ^= random.below(kCells);
    }
    outside += static_cast<std::uint64_t>(address >= kCells);
  }
  findings.judged("xor-stays-in-range", equals(0), share(outside, trials));
}

}  // namespace

Result<void> measure_certain(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_layers_alone(context, findings));
  measure_range(context, findings);
  return measure_repeats(context, findings);
}

}  // namespace mankai::lab::dedup
