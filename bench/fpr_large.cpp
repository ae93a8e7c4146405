// The false positive rate at sizes beyond the tests: measured on fresh keys, held against the formula.
// Usage: fpr_large [KEYS]. Prints TSV; exits 1 when a rate leaves its bound.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"

namespace mankai::bench {
namespace {

constexpr std::uint64_t kChunk = 1'000'000;
constexpr std::uint64_t kQueries = 50 * kChunk;
// Two-sided, a false alarm in 1.7 million rates.
constexpr double kSigmas = 5;

// Consecutive integers: the filter's own hash must spread them.
void number(std::vector<std::uint64_t>& keys, std::uint64_t first) {
  for (std::uint64_t& key : keys) {
    key = first++;
  }
}

// Returns whether the rate is within its bound: the binomial's, and the spread of the rate itself between filters, for
// which the deviation of one block's rate is about the rate.
bool measure(std::uint64_t keys, double fpr) {
  auto filter =
      BlockedBloom::create({.keys = keys, .fpr = fpr, .hash = {.kind = HashKind::xxh3, .seed = {42, 0}}}).value();
  std::vector<std::uint64_t> chunk(kChunk);
  for (std::uint64_t first = 0; first < keys; first += kChunk) {
    chunk.resize(std::min(kChunk, keys - first));
    number(chunk, first);
    filter.insert(chunk);
  }
  const auto outcomes = std::make_unique<bool[]>(kChunk);
  std::uint64_t false_positives = 0;
  chunk.resize(kChunk);
  for (std::uint64_t first = 0; first < kQueries; first += kChunk) {
    number(chunk, keys + first);
    filter.may_contain(chunk, {outcomes.get(), kChunk});
    false_positives += static_cast<std::uint64_t>(std::count(outcomes.get(), outcomes.get() + kChunk, true));
  }
  const double expected = filter.fpr_expected(keys);
  const double observed = static_cast<double>(false_positives) / static_cast<double>(kQueries);
  const double blocks = static_cast<double>(filter.params().block_count);
  const double deviation = std::sqrt(expected / static_cast<double>(kQueries) + expected * expected / blocks);
  const double sigmas = (observed - expected) / deviation;
  const bool is_within = std::abs(sigmas) <= kSigmas;
  std::printf("%llu\t%g\t%.4f\t%.7f\t%.7f\t%.7f\t%+.2f\t%s\n", static_cast<unsigned long long>(keys), fpr,
              static_cast<double>(filter.cells_bytes()) * 8 / static_cast<double>(keys), expected,
              filter.fpr_estimate(), observed, sigmas, is_within ? "met" : "MISSED");
  return is_within;
}

}  // namespace
}  // namespace mankai::bench

int main(int argc, char** argv) {
  const auto keys = static_cast<std::uint64_t>(argc > 1 ? std::atof(argv[1]) : 2e8);
  std::printf("keys\tclass\tbits_per_key\tformula\tfrom_cells\tmeasured\tsigmas\toutcome\n");
  bool all_within = true;
  for (const double fpr : {0.01, 0.001}) {
    all_within = mankai::bench::measure(keys, fpr) && all_within;
  }
  return all_within ? 0 : 1;
}
