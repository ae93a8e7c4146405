// Counts in pieces beside counts in one piece of 16 bits, with as many counters, on one Zipf stream: additions and
// epochs. Run them interleaved (counting_bench.cpp says how); `bytes` is what each image takes.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"
#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};
constexpr std::uint64_t kCounters = 80'000;
constexpr std::size_t kEpochKeys = 20'000;
constexpr Decay kDecay{.lambda_q32 = kLambdaOne / 10 * 9, .epoch = std::chrono::seconds(1)};

// The stream of the first figure's experiment: 1e6 keys, 4e4 distinct, exponent 1.
const std::vector<Digest>& zipf_stream() {
  static const std::vector<Digest> kStream = [] {
    constexpr std::size_t kKeys = 1'000'000;
    constexpr std::size_t kDistinct = 40'000;
    std::vector<double> shares(kDistinct);
    double sum = 0;
    for (std::size_t i = 0; i < kDistinct; ++i) {
      shares[i] = sum += 1 / static_cast<double>(i + 1);
    }
    std::vector<Digest> keys(kKeys);
    for (std::size_t i = 0; i < kKeys; ++i) {
      const double drawn = sum * std::ldexp(static_cast<double>(random_integer(i) >> 11), -53);
      const auto rank = std::upper_bound(shares.begin(), shares.end(), drawn) - shares.begin();
      keys[i] = {random_integer(~static_cast<std::uint64_t>(rank))};
    }
    return keys;
  }();
  return kStream;
}

TimeDecayingCounts make_basic() {
  return TimeDecayingCounts::create({.bytes = 2 * kCounters,
                                     .decay = kDecay,
                                     .policy = DecayPolicy::floor,
                                     .fraction_bits = {},
                                     .hash = kHash})
      .value();
}

template <PoolLookup lookup>
TimeDecayingPooledCounts make_pooled() {
  return TimeDecayingPooledCounts::create(
             {.counters = kCounters, .pool_share = 0.05, .decay = kDecay, .lookup = lookup, .hash = kHash})
      .value();
}

TimeDecayingTieredCounts make_tiered() {
  return TimeDecayingTieredCounts::create({.counters = kCounters, .decay = kDecay, .hash = kHash}).value();
}

// An epoch's keys after the other, and time advances between them, untimed.
template <class F>
void add(benchmark::State& state, F (*make)()) {
  F filter = make();
  const std::span<const Digest> keys = zipf_stream();
  std::size_t start = 0;
  for (auto _ : state) {
    filter.insert(keys.subspan(start, kEpochKeys));
    state.PauseTiming();
    start = (start + kEpochKeys) % keys.size();
    filter.advance({filter.tick().value + 1});
    state.ResumeTiming();
  }
  count_keys(state, kEpochKeys);
  state.counters["bytes"] = static_cast<double>(filter.image_bytes());
}

template <class F>
void epoch(benchmark::State& state, F (*make)()) {
  F filter = make();
  const std::span<const Digest> keys = zipf_stream();
  std::size_t start = 0;
  for (auto _ : state) {
    state.PauseTiming();
    filter.insert(keys.subspan(start, kEpochKeys));
    start = (start + kEpochKeys) % keys.size();
    state.ResumeTiming();
    filter.advance({filter.tick().value + 1});
  }
}

template <class F>
void ask(benchmark::State& state, F (*make)()) {
  F filter = make();
  const std::span<const Digest> keys = zipf_stream();
  filter.insert(keys.first(kEpochKeys));
  std::vector<DecayedCount> counts(kEpochKeys);
  for (auto _ : state) {
    filter.estimate(keys.first(kEpochKeys), counts);
    benchmark::DoNotOptimize(counts.data());
  }
  count_keys(state, kEpochKeys);
}

constexpr std::int64_t kSteps = 50;

BENCHMARK_CAPTURE(add, basic16, make_basic)->Name("pieces_add/basic16")->Iterations(kSteps);
BENCHMARK_CAPTURE(add, pooled, make_pooled<PoolLookup::hash>)->Name("pieces_add/pooled_hash")->Iterations(kSteps);
BENCHMARK_CAPTURE(add, links, make_pooled<PoolLookup::links>)->Name("pieces_add/pooled_links")->Iterations(kSteps);
BENCHMARK_CAPTURE(add, array, make_pooled<PoolLookup::array>)->Name("pieces_add/pooled_array")->Iterations(kSteps);
BENCHMARK_CAPTURE(add, tiered, make_tiered)->Name("pieces_add/tiered")->Iterations(kSteps);
BENCHMARK_CAPTURE(ask, basic16, make_basic)->Name("pieces_estimate/basic16")->Iterations(kSteps);
BENCHMARK_CAPTURE(ask, pooled, make_pooled<PoolLookup::hash>)->Name("pieces_estimate/pooled_hash")->Iterations(kSteps);
BENCHMARK_CAPTURE(ask, links, make_pooled<PoolLookup::links>)->Name("pieces_estimate/pooled_links")->Iterations(kSteps);
BENCHMARK_CAPTURE(ask, array, make_pooled<PoolLookup::array>)->Name("pieces_estimate/pooled_array")->Iterations(kSteps);
BENCHMARK_CAPTURE(ask, tiered, make_tiered)->Name("pieces_estimate/tiered")->Iterations(kSteps);
BENCHMARK_CAPTURE(epoch, basic16, make_basic)->Name("pieces_epoch/basic16")->Iterations(kSteps);
BENCHMARK_CAPTURE(epoch, pooled, make_pooled<PoolLookup::hash>)->Name("pieces_epoch/pooled_hash")->Iterations(kSteps);
BENCHMARK_CAPTURE(epoch, links, make_pooled<PoolLookup::links>)->Name("pieces_epoch/pooled_links")->Iterations(kSteps);
BENCHMARK_CAPTURE(epoch, array, make_pooled<PoolLookup::array>)->Name("pieces_epoch/pooled_array")->Iterations(kSteps);
BENCHMARK_CAPTURE(epoch, tiered, make_tiered)->Name("pieces_epoch/tiered")->Iterations(kSteps);

}  // namespace
}  // namespace mankai::bench
