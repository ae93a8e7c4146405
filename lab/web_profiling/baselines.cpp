#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/printed.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr unsigned kSpectralHashes = 4;
constexpr double kFloatRounding = 1e-4;

// Counters in k partitions, so that a page's are distinct. Decayed exactly but for the rounding of a float.
class SpectralCounters {
 public:
  explicit SpectralCounters(std::uint64_t counters)
      : partition_{.counters = counters / kSpectralHashes}, counters_(partition_.counters * kSpectralHashes) {}

  void add(Digest digest, float amount) noexcept {
    for (unsigned j = 0; j < kSpectralHashes; ++j) {
      counters_[at(digest, j)] += amount;
    }
  }
  // Minimum Increase: no counter is raised beyond the smallest plus the amount.
  void raise(Digest digest, float amount) noexcept {
    const float least = smallest(digest).value + amount;
    for (unsigned j = 0; j < kSpectralHashes; ++j) {
      float& counter = counters_[at(digest, j)];
      counter = std::max(counter, least);
    }
  }
  struct Smallest {
    float value = std::numeric_limits<float>::infinity();
    bool is_recurring = false;  // of two counters and more
  };
  [[nodiscard]] Smallest smallest(Digest digest) const noexcept {
    Smallest least;
    for (unsigned j = 0; j < kSpectralHashes; ++j) {
      const float counter = counters_[at(digest, j)];
      if (counter <= least.value) {
        least = {.value = counter, .is_recurring = counter == least.value};
      }
    }
    return least;
  }
  void decay(float lambda) noexcept {
    for (float& counter : counters_) {
      counter *= lambda;
    }
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return counters_.size() * sizeof(float); }

 private:
  [[nodiscard]] std::uint64_t at(Digest digest, unsigned j) const noexcept {
    return j * partition_.counters + partition_.position(digest, j);
  }

  PrintedShape partition_;
  std::vector<float> counters_;
};

enum class SpectralRule : std::uint8_t { selection, increase, recurring };
struct NamedRule {
  SpectralRule rule;
  const char* id;
  const char* words;
  double memory = 1;  // beside the others
};
constexpr std::array<NamedRule, 4> kRules = {{
    {SpectralRule::selection, "selection", "Minimum Selection, as in this paper"},
    {SpectralRule::increase, "increase", "Minimum Increase"},
    {SpectralRule::recurring, "recurring", "Recurring Minimum"},
    {SpectralRule::recurring, "recurring-more", "Recurring Minimum, with half as much memory more", 1.5},
}};

// The spectral Bloom filter's rules [CohenMatias2003], with decay. Recurring Minimum has a second filter, half as
// large, for pages whose smallest counter is single, and therefore probably shared.
class Spectral {
 public:
  Spectral(SpectralRule rule, std::uint64_t counters, Fault fault)
      : rule_(rule),
        fault_(fault),
        primary_(rule == SpectralRule::recurring ? 2 * counters / 3 : counters),
        secondary_(rule == SpectralRule::recurring ? counters / 3 : 0) {}

  void insert(Digest digest) noexcept {
    if (loses_insert(fault_, digest.value)) {
      return;
    }
    if (rule_ == SpectralRule::increase) {
      primary_.raise(digest, 1);
      return;
    }
    primary_.add(digest, 1);
    if (rule_ == SpectralRule::selection) {
      return;
    }
    if (const auto least = primary_.smallest(digest); !least.is_recurring) {
      secondary_.add(digest, secondary_.smallest(digest).value > 0 ? 1 : least.value);
    }
  }
  void decay(double lambda) noexcept {
    if (fault_ == Fault::never_decays) {
      return;
    }
    primary_.decay(static_cast<float>(lambda));
    secondary_.decay(static_cast<float>(lambda));
  }
  [[nodiscard]] double count(Digest digest) const noexcept {
    const auto least = primary_.smallest(digest);
    double found = least.value;
    if (rule_ == SpectralRule::recurring && !least.is_recurring) {
      const float second = secondary_.smallest(digest).value;
      found = second > 0 ? second : found;
    }
    return invents_yes(fault_, digest.value) ? found + 1 : found;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return primary_.bytes() + secondary_.bytes(); }

 private:
  SpectralRule rule_;
  Fault fault_;
  SpectralCounters primary_;
  SpectralCounters secondary_;
};

struct Wrong {
  std::uint64_t live = 0;
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  double error = 0;  // sum of absolute errors

  [[nodiscard]] double share() const noexcept { return static_cast<double>(high + low) / static_cast<double>(live); }
};

Wrong replay_and_compare(Spectral& filter, const Visits& visits, const Truth& truth, double lambda) {
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    if (epoch > 0) {
      filter.decay(lambda);
    }
    for (const std::uint32_t page : visits.of(epoch)) {
      filter.insert(visits.digests[page]);
    }
  }
  Wrong wrong;
  for (std::size_t page = 0; page < truth.pages(); ++page) {
    const double count = truth.at(page, visits.last());
    if (count < 1) {
      continue;
    }
    const double found = filter.count(visits.digests[page]);
    ++wrong.live;
    wrong.high += found > count * (1 + kFloatRounding) ? 1 : 0;
    wrong.low += found < count * (1 - kFloatRounding) ? 1 : 0;
    wrong.error += std::abs(found - count);
  }
  return wrong;
}

// The counters per page are 4 / load; the optimum of a Bloom filter is at ln 2.
constexpr std::array kLoads = {0.35, 0.7, 1.4, 2.8};
constexpr std::size_t kLoadsOfClaims = 2;

}  // namespace

Result<void> measure_baselines(const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 100'000 / scale, .per_epoch = 100'000 / scale}, context);
  const Truth truth = truth_of(visits, kLambda);
  Figure figure = findings.figure("spectral");
  std::map<std::string, std::vector<Wrong>> wrong;
  for (const NamedRule& rule : kRules) {
    for (const double load : kLoads) {
      context.progress(fmt::format("{}, load {}", rule.words, load));
      const double counters = kSpectralHashes * static_cast<double>(visits.names.size()) / load * rule.memory;
      Spectral filter(rule.rule, static_cast<std::uint64_t>(counters), context.fault);
      const Wrong found = replay_and_compare(filter, visits, truth, kLambda);
      const auto live = static_cast<double>(found.live);
      figure.rows.push_back({rule.words, load, filter.bytes(), found.share(), found.error / live,
                             static_cast<double>(found.low) / live, found.live});
      wrong[rule.id].push_back(found);
    }
    figure.series.push_back(
        {.title = rule.words, .x = "load", .y = "share wrong", .is_line = true, .only = {{"rule", rule.words}}});
  }
  findings.add(std::move(figure));
  // The highest ratio of wrong counts over the loads that a spectral Bloom filter is made for.
  const auto ratio = [&](const std::string& rule) {
    double most = 0;
    for (std::size_t i = 0; i < kLoadsOfClaims; ++i) {
      most = std::max(most, wrong[rule][i].share() / wrong["selection"][i].share());
    }
    return Side{.expected = at_most(1), .measured = exact(most)};
  };
  findings.judged("minimum-increase", at_most(1), ratio("increase").measured);
  findings.depends("recurring-minimum", ratio("recurring-more"), ratio("recurring"));
  for (const char* const rule : {"increase", "recurring"}) {
    std::uint64_t low = 0;
    std::uint64_t live = 0;
    for (const Wrong& found : wrong[rule]) {
      low += found.low;
      live += found.live;
    }
    findings.judged({"spectral-never-undercounts-{}", rule, live}, equals(0), exact(low));
  }
  return {};
}

}  // namespace mankai::lab::profiling
