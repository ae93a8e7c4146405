// Growing kinds beside one flat filter of the same kind that was made for all keys at once. A miss in a filter that
// grew from 100 thousand to 5 million keys touches six lines instead of one; the target is four times the time.
//
// `growing_misses_paired` is the figure to believe: it asks both filters in turns, in one process, and reports the
// median ratio. Run it with --benchmark_filter=growing_misses_paired.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};
constexpr std::uint64_t kKeys = 5'000'000;
constexpr std::uint64_t kInitialKeys = 100'000;
constexpr std::size_t kBatch = 1'000'000;
constexpr std::size_t kTurn = 40'000;  // keys a turn: shorter than a busy machine's time slice, or turns are cut

template <class F>
F make(std::uint64_t keys) {
  return F::create({.keys = keys, .fpr = 0.01, .hash = kHash}).value();
}

/// A filter with all keys, grown from few where it can grow.
template <class F>
F filled() {
  constexpr bool kGrows = requires(const F filter) { filter.slice_count(); };
  F filter = make<F>(kGrows ? kInitialKeys : kKeys);
  filter.insert(std::span<const Digest>(random_digests(kKeys)));
  return filter;
}

/// As random_digests, but none of those.
std::vector<Digest> absent_keys(std::size_t count) {
  std::vector<Digest> digests(count);
  for (std::size_t i = 0; i < count; ++i) {
    digests[i].value = random_integer(kKeys + i);
  }
  return digests;
}

template <class F>
void growing_insert(benchmark::State& state) {
  const auto digests = random_digests(kKeys);
  for (auto _ : state) {
    auto filter = make<F>(requires { &F::slice_count; } ? kInitialKeys : kKeys);
    filter.insert(std::span<const Digest>(digests));
    benchmark::DoNotOptimize(filter);
  }
  count_keys(state, kKeys);
}
BENCHMARK(growing_insert<BlockedBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_insert<ScalableBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_insert<CountingBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_insert<ScalableCountingBloom>)->Unit(benchmark::kMillisecond);

template <class F>
void ask(benchmark::State& state, std::span<const Digest> asked) {
  const F filter = filled<F>();
  const auto outcomes = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    filter.may_contain(asked, std::span(outcomes.get(), kBatch));
    benchmark::DoNotOptimize(outcomes[0]);
  }
  count_keys(state, kBatch);
}

template <class F>
void growing_hits(benchmark::State& state) {
  ask<F>(state, random_digests(kBatch));
}
BENCHMARK(growing_hits<BlockedBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_hits<ScalableBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_hits<CountingBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_hits<ScalableCountingBloom>)->Unit(benchmark::kMillisecond);

template <class F>
void growing_misses(benchmark::State& state) {
  ask<F>(state, absent_keys(kBatch));
}
BENCHMARK(growing_misses<BlockedBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_misses<ScalableBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_misses<CountingBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_misses<ScalableCountingBloom>)->Unit(benchmark::kMillisecond);

template <class F>
double ask_seconds(const F& filter, std::span<const Digest> asked, std::span<bool> outcomes) {
  const auto start = std::chrono::steady_clock::now();
  filter.may_contain(asked, outcomes);
  benchmark::DoNotOptimize(outcomes.data());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class Grown, class Flat>
void growing_misses_paired(benchmark::State& state) {
  const Grown grown = filled<Grown>();
  const Flat flat = filled<Flat>();
  const auto absent = absent_keys(kBatch);
  const auto outcomes = std::make_unique<bool[]>(kTurn);
  const std::span<bool> answers(outcomes.get(), kTurn);
  std::size_t turn = 0;
  std::vector<double> ratios;
  std::vector<double> grown_times;
  std::vector<double> flat_times;
  for (auto _ : state) {
    const auto asked = std::span(absent).subspan(turn++ % (kBatch / kTurn) * kTurn, kTurn);
    grown_times.push_back(ask_seconds(grown, asked, answers));
    flat_times.push_back(ask_seconds(flat, asked, answers));
    ratios.push_back(grown_times.back() / flat_times.back());
  }
  constexpr double kNanoseconds = 1e9 / kTurn;
  state.counters["ratio"] = median(ratios);
  state.counters["grown_ns"] = median(grown_times) * kNanoseconds;
  state.counters["flat_ns"] = median(flat_times) * kNanoseconds;
  state.counters["slices"] = static_cast<double>(grown.slice_count());
}
BENCHMARK(growing_misses_paired<ScalableBloom, BlockedBloom>)->Unit(benchmark::kMillisecond);
BENCHMARK(growing_misses_paired<ScalableCountingBloom, CountingBloom>)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mankai::bench
