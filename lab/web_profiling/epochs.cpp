#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr std::uint64_t kHalfLives = 10;
constexpr std::uint64_t kLongest = 1;
constexpr std::uint64_t kShortest = 64;

// Counts with a continuous decay, at the end of the stream: each visit's age is its own.
std::vector<double> continuous_counts(const Visits& visits) {
  std::vector<double> counts(visits.names.size());
  const auto all = static_cast<double>(visits.pages.size());
  for (std::size_t visit = 0; visit < visits.pages.size(); ++visit) {
    const double age = (all - static_cast<double>(visit) - 0.5) / all * kHalfLives;
    counts[visits.pages[visit]] += std::exp2(-age);
  }
  return counts;
}

struct Rounded {
  const char* id;
  const char* words;
  DecayPolicy policy;
};
constexpr std::array<Rounded, 4> kRounded = {{
    {"fixed-point", "fraction bits, rounded up", DecayPolicy::fixed_point},
    {"ceil", "whole counters, rounded up", DecayPolicy::ceil},
    {"stochastic", "whole counters, rounded at random", DecayPolicy::stochastic},
    {"floor", "whole counters, rounded down", DecayPolicy::floor},
}};

struct Granularity {
  double relative = 0;  // mean error of live pages
  double total = 0;     // all estimates over all continuous counts
};

// So many counters that pages hardly share them: what remains is due to epochs and rounding.
Result<Granularity> granularity_of(const Rounded& rounded, double lambda, const Visits& visits,
                                   std::span<const double> counts, const Context& context) {
  constexpr std::uint64_t kSparse = 64;
  constexpr std::uint32_t kWidth = 32;
  MANKAI_ASSIGN(auto basic, kMakeBasic({.bytes = kSparse * kWidth / 8 * counts.size(),
                                        .k = 3,
                                        .decay = drawn_decay(lambda),
                                        .width_bits = kWidth,
                                        .policy = rounded.policy},
                                       context));
  basic->insert(visits);
  Granularity found;
  double live = 0;
  for (std::size_t page = 0; page < counts.size(); ++page) {
    const double estimate = basic->estimate(visits.digests[page]).raw;
    found.total += estimate;
    if (counts[page] >= 1) {
      found.relative += std::abs(estimate - counts[page]) / counts[page];
      ++live;
    }
  }
  found.relative /= live;
  found.total /= std::accumulate(counts.begin(), counts.end(), 0.0);
  return found;
}

}  // namespace

Result<void> measure_epochs(const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  const std::uint64_t pages = 40'000 / scale;
  const std::uint64_t per_half_life = 128'000 / scale;
  Figure figure = findings.figure("epochs");
  std::map<std::string, std::map<std::uint64_t, Granularity>> found;
  for (std::uint64_t epochs = kLongest; epochs <= kShortest; epochs *= 2) {
    context.progress(fmt::format("{} epochs per half-life", epochs));
    const Visits visits =
        draw({.visits = kHalfLives * per_half_life, .pages = pages, .per_epoch = per_half_life / epochs}, context);
    const std::vector<double> counts = continuous_counts(visits);
    const double lambda = std::exp2(-1 / static_cast<double>(epochs));
    for (const Rounded& rounded : kRounded) {
      MANKAI_ASSIGN(const auto granularity, granularity_of(rounded, lambda, visits, counts, context));
      found[rounded.id][epochs] = granularity;
      figure.rows.push_back({rounded.words, epochs, lambda, granularity.relative, granularity.total});
    }
  }
  for (const std::uint64_t epochs : {kLongest, std::uint64_t{8}, kShortest}) {
    const double lambda = std::exp2(-1 / static_cast<double>(epochs));
    findings.judged({"granularity-{}", epochs}, equals(-std::log(lambda) / (1 - lambda)),
                    exact(found["fixed-point"][epochs].total));
  }
  for (const Rounded& rounded : kRounded) {
    findings.judged({"shorter-is-finer-{}", rounded.id, rounded.words}, at_most(1),
                    exact(found[rounded.id][kShortest].relative / found[rounded.id][kLongest].relative));
    figure.series.push_back({.title = rounded.words,
                             .x = "epochs per half-life",
                             .y = "mean relative error",
                             .is_line = true,
                             .only = {{"counters", rounded.words}}});
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::profiling
