#include <fmt/format.h>

#include <array>
#include <string>

#include "lab/url_dedup/filters.hpp"
#include "lab/url_dedup/parts.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr const char* kPlace = "Algorithms 3 and 4";

Digest word(std::uint64_t number, std::uint64_t seed) noexcept { return mix_integer(number, seed); }

// Hosts of which every other one has a member a/x/x and the rest a member a; every x is known at levels 2 and 3.
struct Repeats {
  Urls members{};
  Urls hosts_of_repeats{};  ///< a, where a/x/x is a member
  Urls repeats_of_hosts{};  ///< a/x/x, where a is a member
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
  findings.judged({.id = std::string("even-repeat-") + id,
                   .place = kPlace,
                   .claim = fmt::format("The rate is the product of the layers' rates: {}.", what),
                   .formula = "printed: f^L",
                   .expected = {.value = printed, .relation = Relation::at_most},
                   .measured = faithful,
                   .recorded = Verdict::refuted,
                   .basis = "x XOR x = 0, and the number of layers is in no hash: both URLs have one address."});
  findings.judged({.id = std::string("even-repeat-certain-") + id,
                   .place = kPlace,
                   .claim = fmt::format("XOR makes the yes certain: {}.", what),
                   .formula = "1",
                   .expected = {.value = 1},
                   .measured = faithful});
  findings.judged({.id = std::string("even-repeat-repaired-") + id,
                   .place = kPlace,
                   .claim = fmt::format("Repaired, they are absent keys like any other: {}.", what),
                   .formula = "fill^k of the last array, all segments being known",
                   .expected = {.value = last},
                   .measured = repaired});
}

Result<void> measure_repeats(const Context& context, Findings& findings) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 23);
  const std::uint64_t keys = keys_for(cells, kRepository);
  auto faithful = make_layered(keys, kRepository.fpr, UrlLayering::faithful, context);
  auto repaired = make_layered(keys, kRepository.fpr, UrlLayering::repaired, context);
  if (!faithful || !repaired) {
    return fail(ErrorCode::out_of_space, "no memory for two multi-layer filters");
  }
  const Repeats repeats = make_repeats(keys, context.seed);
  faithful->insert(repeats.members);
  repaired->insert(repeats.members);
  const double last = last_rate(repaired->filter());
  const auto printed = [&](std::size_t levels) {
    return printed_rate(static_cast<double>(keys), static_cast<double>(cells), kRepository.k, levels);
  };
  judge_repeat("host", "the host alone, where a/x/x is a member", printed(1), faithful->rate(repeats.hosts_of_repeats),
               repaired->rate(repeats.hosts_of_repeats), last, findings);
  judge_repeat("pair", "a/x/x, where a is a member and x a known directory", printed(3),
               faithful->rate(repeats.repeats_of_hosts), repaired->rate(repeats.repeats_of_hosts), last, findings);
  return {};
}

// The layers alone, without the last array.
Result<void> measure_layers_alone(const Context& context, Findings& findings) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 23);
  const std::uint64_t keys = keys_for(cells, kRepository);
  MANKAI_ASSIGN(auto faithful, make_layered(keys, kRepository.fpr, UrlLayering::faithful, context));
  const Site site(keys, context.seed);
  faithful.insert(site.members(0, keys));
  const Urls recombined = site.strangers(QueryClass::recombined, keys, keys);
  std::uint64_t yes = 0;
  for (std::size_t i = 0; i < recombined.size(); ++i) {
    bool is_known = true;
    for (std::size_t level = 0; level < Site::kLevels; ++level) {
      is_known &= faithful.filter().slice(level + 1).may_contain(recombined[i][level]);
    }
    yes += static_cast<std::uint64_t>(is_known);
  }
  // With keys forgotten on purpose some segments are missing, and this claim notices.
  findings.judged({.id = "layers-alone-accept-recombined",
                   .place = "Multi layer bloom filter introduction",
                   .claim = "The layers alone bring new false positives: with a segment of another URL in the place of "
                            "its own, a URL is accepted.",
                   .formula = "every segment is known at its layer: 1",
                   .expected = {.value = 1},
                   .measured = {.value = static_cast<double>(yes) / static_cast<double>(recombined.size())}});
  return {};
}

// LAddr as an index into m cells, where m is the conference paper's.
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
  findings.judged(
      {.id = "xor-stays-in-range",
       .place = "Algorithm 3, last loop; conference paper, m = 16 829 152",
       .claim = "The XOR of the layers' addresses is an address of the last array.",
       .formula = "addresses beyond the m-th = 0",
       .expected = {.value = 0},
       .measured = share(outside, trials),
       .recorded = Verdict::refuted,
       .basis = "m is no power of two: one address with bit 24 set, another without, and the XOR is past m.",
       .reason = "The program folds it with % m, which favors the low addresses. Ours takes a power of two."});
}

}  // namespace

Result<void> measure_certain(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_layers_alone(context, findings));
  measure_range(context, findings);
  return measure_repeats(context, findings);
}

}  // namespace mankai::lab::dedup
