#pragma once

#include <cmath>

#include "mankai/hash/probes.hpp"

// How far a measured rate may lie from its formula. Everything here is derived, nothing tuned.
//
// A filter with n keys answers yes to an absent key with probability q, which depends on where the keys fell. Over
// filters q has mean p, the formula's rate, and variance V. Asking T absent keys gives a count that is binomial(T, q),
// so the measured rate has mean p and, by the law of total variance,
//
//     Var = E[q (1 - q)] / T + V  <=  p (1 - p) / T + V.
//
// The tests allow kSigmas standard deviations. Seeds are fixed: a test that passes will pass, and of N comparisons made
// when it was written about N * 6e-7 would have failed by chance.

namespace mankai::test {

inline constexpr double kSigmas = 5;

/// Balls thrown into `cells` cells: mean and variance of the cells that are hit, exactly. The empty ones are a sum of
/// indicators, each 1 with (1 - 1/c)^j, two at a time with (1 - 2/c)^j.
struct Occupancy {
  double mean = 0;
  double variance = 0;
};

inline Occupancy occupancy(double balls, double cells) {
  const double empty = std::exp(balls * std::log1p(-1 / cells));
  const double both_empty = cells > 2 ? std::exp(balls * std::log1p(-2 / cells)) : (balls == 0 ? 1.0 : 0.0);
  // c e + c (c - 1) e2 - c^2 e^2, with the two large terms taken together.
  const double variance = cells * (empty - both_empty) + cells * cells * (both_empty - empty * empty);
  return {.mean = cells * (1 - empty), .variance = std::fmax(variance, 0)};
}

/// Calls `visit(j, probability)` over binomial(n, 1/blocks), from log gamma and over twelve standard deviations: slow,
/// plain, and not the library's way.
template <class Visit>
void for_each_load(double n, double blocks, const Visit& visit) {
  const double p = 1 / blocks;
  const double deviation = std::sqrt(n * p * (1 - p));
  const double first = std::fmax(0, std::floor(n * p - 12 * deviation - 20));
  const double last = std::fmin(n, std::ceil(n * p + 12 * deviation + 20));
  for (double j = first; j <= last; ++j) {
    const double log_weight = std::lgamma(n + 1) - std::lgamma(j + 1) - std::lgamma(n - j + 1) + j * std::log(p) +
                              (blocks > 1 ? (n - j) * std::log1p(-p) : 0);
    visit(j, std::exp(log_weight));
  }
}

/// V of the blocked layout. q is the mean over blocks of g, a block's own rate: the product of its eight lanes' fills.
/// Given j keys in the block the lanes are independent, each an occupancy of its cells (64 bits, 16 counters), so E[g^2
/// | j] = E[fill^2]^8. Blocks share n keys, so their loads are negatively associated and so are the g, which grow with
/// the load: the variance of the mean is at most Var(g) / blocks.
inline double blocked_variance(double n, double blocks, double lane_cells = probes::kLaneBits) {
  double mean = 0;
  double mean_of_square = 0;
  for_each_load(n, blocks, [&](double j, double probability) {
    const Occupancy lane = occupancy(j, lane_cells);
    const double fill = lane.mean / lane_cells;
    mean += probability * std::pow(fill, probes::kBlockLanes);
    mean_of_square +=
        probability * std::pow(fill * fill + lane.variance / (lane_cells * lane_cells), probes::kBlockLanes);
  });
  return std::fmax(0, mean_of_square - mean * mean) / blocks;
}

/// V of the classic layout and how far its formula may be off. q = s^k with s the fill, kn balls in m cells. Expanding
/// around E[s]: Var(q) = (k s^(k-1))^2 Var(s), and E[q] exceeds the formula's E[s]^k by k (k-1) / 2 s^(k-2) Var(s)
/// [Bose2008], both to first order in 1/m; the next order is smaller by a factor k^2 / (s m), below 1 % here.
struct ClassicSpread {
  double variance = 0;
  double bias = 0;
};

inline ClassicSpread classic_spread(double n, double m, double k) {
  const Occupancy cells = occupancy(k * n, m);
  const double fill = cells.mean / m;
  const double fill_variance = cells.variance / (m * m);
  const double slope = k * std::pow(fill, k - 1);
  return {.variance = slope * slope * fill_variance, .bias = k * (k - 1) / 2 * std::pow(fill, k - 2) * fill_variance};
}

/// V of the partitioned layout. q is the product of k fills, each the occupancy of c cells by n keys. The positions of
/// a key in different partitions are independent, so E[q] is the formula exactly and E[q^2] = E[fill^2]^k.
inline double partitioned_variance(double n, double c, double k) {
  const Occupancy cells = occupancy(n, c);
  const double fill = cells.mean / c;
  return std::fmax(0, std::pow(fill * fill + cells.variance / (c * c), k) - std::pow(fill, 2 * k));
}

/// The largest distance of a measured rate from `p` that chance explains.
inline double allowed(double p, double strangers, double variance) {
  return kSigmas * std::sqrt(p * (1 - p) / strangers + variance);
}

/// Variance of the number of cells set in the blocked layout, n keys being in it. Given its load j, a block's cells are
/// eight independent occupancies, variance 8 v(j); the loads would add B Var(h), h(j) their mean, were they
/// independent. Since they add up to n, the part of h that is linear in j cancels: B (Var(h) - Cov(h, j)^2 / Var(j)).
inline double blocked_fill_variance(double n, double blocks, double lane_cells = probes::kLaneBits) {
  double mean = 0;
  double mean_of_square = 0;
  double with_load = 0;
  double inner = 0;
  const double load = n / blocks;
  for_each_load(n, blocks, [&](double j, double probability) {
    const Occupancy lane = occupancy(j, lane_cells);
    const double cells = probes::kBlockLanes * lane.mean;
    mean += probability * cells;
    mean_of_square += probability * cells * cells;
    with_load += probability * cells * (j - load);
    inner += probability * probes::kBlockLanes * lane.variance;
  });
  const double load_variance = load * (1 - 1 / blocks);
  return blocks * (inner + mean_of_square - mean * mean - with_load * with_load / load_variance);
}

}  // namespace mankai::test
