#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/parts.hpp"
#include "mankai/filter/recent_values/recent_values.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr std::uint32_t kCells = RecentValues::kDefaultK;
constexpr double kStrength = RecentValues::kDefaultStrength;
constexpr std::uint32_t kPutAtOnce = 6;  // ceil(12 * 0.5)
constexpr std::uint32_t kValues = 5;     // put in a row per key

Result<RecentValues> make_values(std::uint64_t cells_per_probe, const Context& context) {
  return RecentValues::create({.cells_per_probe = cells_per_probe, .hash = context.hash()});
}

// `context.fault` loses one put in 64, chosen by key and value.
void put(RecentValues& values, const Context& context, Digest key, std::uint32_t value) noexcept {
  if (!loses_insert(context.fault, key.value + value)) {
    values.put(key, value, kStrength);
  }
}

// Model of a single key's cells: a put overwrites a random half, rounded up, of those that do not hold the value.
class Urn {
 public:
  void put(std::uint32_t value, Random& random) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_.at(i) != value) {
        open.push_back(i);
      }
    }
    for (std::size_t left = (open.size() + 1) / 2; left > 0; --left) {
      const auto drawn = static_cast<std::size_t>(random.below(open.size()));
      cells_.at(open[drawn]) = value;
      std::swap(open[drawn], open.back());
      open.pop_back();
    }
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t value) const {
    return static_cast<std::uint32_t>(std::ranges::count(cells_, value));
  }

 private:
  std::array<std::uint32_t, kCells> cells_{};
};

// Ranks of the values of keys, which were put in the order 1 to 5.
struct Ranked {
  std::uint64_t keys = 0;
  std::uint64_t top = 0;      // the last value has the most matches
  std::uint64_t ordered = 0;  // and the last three values are in order
  std::array<double, kValues> matches{};

  // Ties do not count as in order: they are sorted by value, so the older value would be first.
  void add(const std::array<std::uint32_t, kValues>& counts) {
    ++keys;
    const bool is_top = std::ranges::all_of(counts.begin(), counts.end() - 1,
                                            [&counts](std::uint32_t count) { return count < counts.back(); });
    top += static_cast<std::uint64_t>(is_top);
    ordered +=
        static_cast<std::uint64_t>(is_top && counts[3] > counts[2] && counts[2] > counts[1] && counts[2] > counts[0]);
    for (std::size_t i = 0; i < kValues; ++i) {
      matches.at(i) += counts.at(i);
    }
  }
};

template <class Put, class Count>
Ranked ranks_of(std::uint64_t keys, const Put& put_one, const Count& count) {
  Ranked ranked;
  for (std::uint64_t key = 0; key < keys; ++key) {
    for (std::uint32_t value = 1; value <= kValues; ++value) {
      put_one(key, value);
    }
    std::array<std::uint32_t, kValues> counts{};
    for (std::uint32_t value = 1; value <= kValues; ++value) {
      counts.at(value - 1) = count(key, value);
    }
    ranked.add(counts);
  }
  return ranked;
}

Result<Ranked> measured_ranks(std::uint64_t keys, const Context& context) {
  MANKAI_ASSIGN(auto values, make_values(1 << 12U, context));
  const Events events(context.seed);
  return ranks_of(
      keys, [&](std::uint64_t key, std::uint32_t value) { put(values, context, events[key], value); },
      [&](std::uint64_t key, std::uint32_t value) { return values.count(events[key], value); });
}

Ranked modeled_ranks(std::uint64_t keys, std::uint64_t seed) {
  Random random(seed);
  Urn urn;
  return ranks_of(
      keys,
      [&](std::uint64_t /*key*/, std::uint32_t value) {
        urn = value == 1 ? Urn() : urn;
        urn.put(value, random);
      },
      [&](std::uint64_t /*key*/, std::uint32_t value) { return urn.count(value); });
}

// Adds the errors of both shares.
Estimate with_model(std::uint64_t yes, const Ranked& measured, double model, const Ranked& modeled) {
  const Estimate own = beside(share(yes, measured.keys), model, measured.keys);
  const double of_model = std::sqrt(model * (1 - model) / static_cast<double>(modeled.keys));
  return {.value = own.value, .error = std::hypot(own.error, of_model)};
}

Figure matches_figure(const Ranked& ranked, const Findings& findings) {
  Figure figure = findings.figure("recent-values");
  for (std::uint32_t since = 0; since < kValues; ++since) {
    figure.rows.push_back({since, kPutAtOnce * std::exp2(-static_cast<double>(since)),
                           ranked.matches.at(kValues - 1 - since) / static_cast<double>(ranked.keys)});
  }
  return figure;
}

Result<void> measure_ranks(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto ranked, measured_ranks(context.trials(40'000, 1'000'000), context));
  const Ranked model = modeled_ranks(context.trials(100'000, 2'000'000), context.seed);
  const double top = share(model.top, model.keys).value;
  findings.judged("values-top", equals(top), with_model(ranked.top, ranked, top, model));
  const double ordered = share(model.ordered, model.keys).value;
  findings.judged("values-order", equals(ordered), with_model(ranked.ordered, ranked, ordered, model));
  const auto keys = static_cast<double>(ranked.keys);
  for (std::uint32_t since = 0; since < 4; ++since) {
    const double mean = kPutAtOnce * std::exp2(-static_cast<double>(since));
    // 12 cells per key, so no variance exceeds 3.
    findings.judged({"values-matches-{}", since}, equals(mean),
                    Estimate{.value = ranked.matches.at(kValues - 1 - since) / keys, .error = std::sqrt(3 / keys)});
  }
  findings.add(matches_figure(ranked, findings));
  return {};
}

Result<void> measure_again(const Context& context, Findings& findings) {
  constexpr std::array<double, 4> kMatches = {6, 9, 11, 12};
  const std::uint64_t keys = context.trials(2000, 50'000);
  MANKAI_ASSIGN(auto values, make_values(1 << 12U, context));
  const Events events(context.seed);
  std::array<double, kMatches.size()> sums{};
  for (std::uint64_t key = 0; key < keys; ++key) {
    for (double& sum : sums) {
      values.put(events[key], 1, kStrength);
      sum += values.count(events[key], 1);
    }
  }
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(keys);
  findings.judged("values-again", equals(std::accumulate(kMatches.begin(), kMatches.end(), 0.0)), exact(total));
  return {};
}

struct Junk {
  double values = 0;        // values of absent keys, in total
  std::uint64_t twice = 0;  // absent keys with two matches for a value
};

Junk count_junk(const RecentValues& values, const Events& absent_keys, std::uint64_t keys, Fault fault) {
  Junk junk;
  std::array<ValueMatches, kCells> ranked{};
  for (std::uint64_t key = 0; key < keys; ++key) {
    junk.values += static_cast<double>(values.get(absent_keys[key], ranked, 1));
    junk.twice += static_cast<std::uint64_t>(values.get(absent_keys[key], ranked, 2) > 0 ||
                                             invents_yes(fault, absent_keys[key].value));
  }
  return junk;
}

// Measures how many matches puts of other keys leave, and what absent keys return.
Result<void> measure_others(const Context& context, Findings& findings) {
  constexpr std::uint64_t kPerProbe = 1 << 12U;
  const double cells = kPerProbe * kCells;
  MANKAI_ASSIGN(auto values, make_values(kPerProbe, context));
  const Events events(context.seed);
  constexpr std::uint64_t kOthers = kPerProbe;
  const std::uint64_t keys = context.trials(40'000, 2'000'000);
  double kept = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    put(values, context, events[key], 1);
    kept += key < kOthers ? 0 : values.count(events[key - kOthers], 1);
  }
  const auto asked = static_cast<double>(keys - kOthers);
  const double left = std::exp(static_cast<double>(kOthers) * std::log1p(-(kPutAtOnce / cells)));
  findings.judged("values-others", equals(kPutAtOnce * left),
                  Estimate{.value = kept / asked, .error = std::sqrt(kPutAtOnce * left * (1 - left) / asked)});
  const std::uint64_t absent_keys = context.trials(20'000, 1'000'000);
  const Junk junk = count_junk(values, Events(context.seed + 1), absent_keys, context.fault);
  findings.judged("values-junk-once", equals(kCells * values.fill_ratio()),
                  Estimate{.value = junk.values / static_cast<double>(absent_keys),
                           .error = std::sqrt(kCells * 0.25 / static_cast<double>(absent_keys))});
  findings.judged("values-junk-twice", equals(0), exact(junk.twice));
  return {};
}

}  // namespace

Result<void> measure_values(const Context& context, Findings& findings) {
  return measure_all({measure_ranks, measure_again, measure_others}, context, findings);
}

}  // namespace mankai::lab::forgetting
