#include <array>
#include <cmath>

#include "lab/parts.hpp"
#include "lab/url_dedup/algorithms.hpp"
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

void judge_repeat(const char* id, const char* what, const Estimate& faithful, const Estimate& repaired, double last,
                  Findings& findings) {
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
  judge_repeat("host", "the host alone, where a/x/x is a member", faithful.rate(repeats.hosts_of_repeats),
               repaired.rate(repeats.hosts_of_repeats), last, findings);
  judge_repeat("pair", "a/x/x, where a is a member and x a known directory", faithful.rate(repeats.repeats_of_hosts),
               repaired.rate(repeats.repeats_of_hosts), last, findings);
  return {};
}

// Algorithms 3 and 4 without the last array.
void measure_layers_alone(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(100'000, 1'000'000);
  const Site site(keys, context.seed);
  Layers layered(LayeredAlgorithm(ArrayShape::of(keys, kRepository.fpr, context)), context.fault);
  layered.insert(site.members(0, keys));
  const Urls recombined = site.absent_keys(QueryClass::recombined, keys, keys);
  const std::uint64_t accepted =
      count_of(0, recombined.size(), [&](std::uint64_t i) { return layered.filter().layers_contain(recombined[i]); });
  // If the fault drops keys, some segments are missing, and this claim fails.
  findings.judged("layers-alone-accept-recombined", equals(recombined.size()), exact(accepted));
}

// LAddr as an index into m cells, with the conference paper's m, which is a little above 2^24.
void measure_range(const Context& context, Findings& findings) {
  constexpr double kPower = 1 << 24;
  constexpr double kCells = 16'829'152;
  const std::uint64_t urls = context.trials(300'000, 3'000'000);
  const LayeredAlgorithm layered(
      {.cells = static_cast<std::uint64_t>(kCells), .k = kConference.k, .seed = context.seed});
  const auto is_outside = [&](std::uint64_t url) {
    Site::Url segments;
    for (std::size_t level = 0; level < Site::kLevels; ++level) {
      segments.at(level) = word(url * Site::kLevels + level, context.seed);
    }
    return static_cast<double>(layered.last_address(segments, 0)) >= kCells;
  };
  // Outside if bit 24 is set in one address or three, and the XOR of the bits below is not below m - 2^24.
  const double is_high = 1 - kPower / kCells;
  const double is_odd = (1 - std::pow(1 - 2 * is_high, Site::kLevels)) / 2;
  findings.judged("xor-leaves-the-range", equals(is_odd * (2 - kCells / kPower)),
                  share(count_of(0, urls, is_outside), urls));
}

// Algorithm 1 word for word, where Initialize is a step of each insertion, and with Initialize done once.
void measure_initialize(const Context& context, Findings& findings) {
  constexpr std::uint64_t kUrls = 1000;
  const ArrayShape shape = ArrayShape::of(kUrls, kRepository.fpr, context);
  const Site site(kUrls, context.seed);
  SegmentsAlgorithm literal(shape);
  SegmentsAlgorithm once(shape);
  for (std::uint64_t url = 0; url < kUrls; ++url) {
    literal.initialize_and_insert(site.url(url));
    if (!loses_insert(context.fault, url)) {
      once.insert(site.url(url));
    }
  }
  const auto found_in = [&](const SegmentsAlgorithm& filter) {
    return exact(count_of(0, kUrls, [&](std::uint64_t url) { return filter.contains(site.url(url)); }));
  };
  findings.judged({"initialize-in-insert", kUrls}, equals(kUrls), found_in(literal));
  findings.judged({"initialize-once", kUrls}, equals(kUrls), found_in(once));
}

}  // namespace

Result<void> measure_certain(const Context& context, Findings& findings) {
  measure_initialize(context, findings);
  measure_layers_alone(context, findings);
  measure_range(context, findings);
  return measure_repeats(context, findings);
}

}  // namespace mankai::lab::dedup
