#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kDigitBits = 4;
constexpr double kBitsPerKilobyte = 8192;

struct Law {
  double visits = 0;
  double pages = 0;
  double z = 0;

  [[nodiscard]] double most() const { return visits / harmonic(static_cast<std::uint64_t>(pages), z); }
};

struct Bits {
  double uniform = 0;        // U = n log2 n_1: every counter as long as the largest
  double own = 0;            // V = Σ log2 n_i
  double uniform_whole = 0;  // n ⌈log2(n_1 + 1)⌉
  double own_whole = 0;      // Σ max(1, ⌈log2(n_i + 1)⌉)
  double digits = 0;         // Σ of whole digits of 4 bits
};

double log2_factorial(double n) { return std::lgamma(n + 1) / std::numbers::ln2; }

void add_count(Bits& bits, std::uint64_t count, double weight) {
  const double length = std::max(1.0, static_cast<double>(std::bit_width(count)));
  bits.own_whole += weight * length;
  bits.digits += weight * kDigitBits * std::ceil(length / kDigitBits);
}

// Adds the expected length for a page with this mean number of visits, which are Poisson distributed.
void add_mean(Bits& bits, double mean) {
  constexpr double kExact = 500;  // beyond, a deviation hardly changes the length
  if (mean > kExact) {
    add_count(bits, static_cast<std::uint64_t>(std::llround(mean)), 1);
    return;
  }
  double probability = std::exp(-mean);
  double left = 1;
  for (std::uint64_t count = 0; left > 1e-9; ++count) {
    add_count(bits, count, probability);
    left -= probability;
    probability *= mean / static_cast<double>(count + 1);
  }
}

double uniform_whole(double pages, double most) { return pages * std::ceil(std::log2(most + 1)); }

Bits by_formula(const Law& law) {
  const double most = law.most();
  Bits bits{.uniform = law.pages * std::log2(most), .uniform_whole = uniform_whole(law.pages, most)};
  bits.own = bits.uniform - law.z * log2_factorial(law.pages);
  for (double rank = 1; rank <= law.pages; ++rank) {
    add_mean(bits, most * std::pow(rank, -law.z));
  }
  return bits;
}

struct Counted {
  Bits bits{};
  double most = 0;
  double extra_digits = 0;  // of the optimized filter
};

// The drawn visits, counted exactly, and by an optimized filter so large that pages hardly share counters.
Result<Counted> count_visits(const Law& law, const Context& context) {
  constexpr std::uint64_t kSparse = 64;
  const Visits visits = draw({.visits = static_cast<std::uint64_t>(law.visits),
                              .pages = static_cast<std::uint64_t>(law.pages),
                              .per_epoch = static_cast<std::uint64_t>(law.visits),
                              .z = law.z},
                             context);
  const std::vector<std::uint64_t> counts = visits_of_pages(visits);
  Counted counted{.most = static_cast<double>(counts[0])};
  const auto largest = static_cast<double>(*std::ranges::max_element(counts));
  counted.bits.uniform = law.pages * std::log2(largest);
  counted.bits.uniform_whole = uniform_whole(law.pages, largest);
  for (const std::uint64_t count : counts) {
    // A page that did not come has no logarithm, and adds nothing.
    counted.bits.own += std::log2(static_cast<double>(std::max<std::uint64_t>(count, 1)));
    add_count(counted.bits, count, 1);
  }
  MANKAI_ASSIGN(
      auto pooled,
      kMakePooled(
          {.counters = kSparse * visits.names.size(), .k = 1, .pool_share = 1.0 / kSparse, .decay = drawn_decay(1)},
          context));
  pooled->insert(visits);
  counted.extra_digits = static_cast<double>(pooled->filter().use().digits_in_use);
  return counted;
}

void judge(const Law& law, const Bits& formula, const Counted& counted, Findings& findings) {
  const double ten_z = law.z * 10;
  const double most_share = law.most() / law.visits;
  findings.judged({"equation-6-z-{:.0f}", ten_z, law.z}, equals(law.most()),
                  {.value = counted.most, .error = std::sqrt(law.visits * most_share * (1 - most_share))});
  // Where the rarest page has less than one visit, its logarithm is negative.
  if (law.most() >= std::pow(law.pages, law.z)) {
    findings.judged({"equation-7-z-{:.0f}", ten_z, law.z}, equals(formula.uniform / formula.own),
                    exact(counted.bits.uniform / counted.bits.own));
  }
  findings.judged({"equation-7-whole-bits-z-{:.0f}", ten_z, law.z}, equals(formula.uniform_whole / formula.own_whole),
                  exact(counted.bits.uniform_whole / counted.bits.own_whole));
  findings.judged({"equation-7-digits-z-{:.0f}", ten_z, law.z}, equals(formula.uniform_whole / formula.digits),
                  exact(counted.bits.uniform_whole / counted.bits.digits));
  const double extra = formula.digits / kDigitBits - law.pages;
  findings.judged({"digits-in-use-z-{:.0f}", ten_z, law.z}, equals(extra),
                  {.value = counted.extra_digits, .error = std::sqrt(extra)});
}

void judge_harmonic(Findings& findings) {
  constexpr std::uint64_t kPages = 40'000;
  findings.judged("harmonic-number",
                  equals(std::log(static_cast<double>(kPages)) + std::numbers::egamma).with_formula_error(1.0 / kPages),
                  exact(harmonic(kPages, 1)));
  double most_rise = -1;
  for (double z = 0; z < 2; z += 0.1) {
    most_rise = std::max(most_rise, harmonic(kPages, z + 0.1) - harmonic(kPages, z));
  }
  findings.judged("harmonic-decreases", at_most(0), exact(most_rise));
}

Figure figure_of(double visits, double pages, const Findings& findings) {
  Figure figure = findings.figure({"space-formula", visits, pages});
  for (double z = 0; z < 1.45; z += 0.1) {
    const Bits bits = by_formula({.visits = visits, .pages = pages, .z = z});
    figure.rows.push_back({z, bits.uniform / kBitsPerKilobyte, bits.own / kBitsPerKilobyte,
                           bits.own_whole / kBitsPerKilobyte, bits.digits / kBitsPerKilobyte});
  }
  for (const char* const column : {"uniform", "equation (7)", "whole bits", "digits of 4 bits"}) {
    figure.series.push_back({.title = column, .x = "z", .y = column, .is_line = true});
  }
  return figure;
}

}  // namespace

Result<void> measure_space(const Context& context, Findings& findings) {
  const auto visits = static_cast<double>(context.trials(200'000, 1'000'000));
  const auto pages = static_cast<double>(context.trials(8'000, 40'000));
  for (const double z : {0.8, 1.0, 1.2}) {
    const Law law{.visits = visits, .pages = pages, .z = z};
    MANKAI_ASSIGN(const auto counted, count_visits(law, context));
    judge(law, by_formula(law), counted, findings);
  }
  judge_harmonic(findings);
  findings.add(figure_of(visits, pages, findings));
  return {};
}

}  // namespace mankai::lab::profiling
