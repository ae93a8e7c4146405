// What is hot now, and what was seen recently:
//
//   layers --benchmark_filter='hot|rotating' --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//          --benchmark_report_aggregates_only=true
//
// `hot/insert/S/KiB`: decayed-top, 2e6 events of 3e5 keys, Zipf with exponent S / 10, 50 epochs at λ = 0.9, in batches
// with their keys hashed before; recall_100 is the share of the exact top 100 in its list. `rotating/...`: a full
// rotating-bloom of 4 generations beside `blocked/...`, a blocked-bloom for as many keys at the same rate.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/layers/support.hpp"
#include "bench/random.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};
constexpr std::size_t kStep = 1 << 14;

constexpr std::size_t kKeys = 300000;
constexpr std::size_t kEvents = 2000000;
constexpr std::size_t kEpochs = 50;

// A stream of events and the exact counts at its end.
struct Stream {
  std::vector<std::string> texts;
  std::vector<std::string_view> keys;
  std::vector<Digest> digests;
  std::vector<Time> times;
  Decay decay = Decay::of(0.9, std::chrono::seconds(1)).value();
  ExactDecayedCounts exact{decay.lambda()};

  explicit Stream(double exponent) {
    std::vector<double> weights(kKeys);
    double sum = 0;
    for (std::size_t i = 0; i < kKeys; ++i) {
      weights[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
      texts.push_back("/articles/2016/" + std::to_string(i * 7919) + "/some-page.html");
    }
    const Hasher hash(kHash);
    for (std::size_t i = 0; i < kEvents; ++i) {
      const double uniform = static_cast<double>(random_integer(i) >> 11) * 0x1p-53 * sum;
      const auto rank = std::ranges::lower_bound(weights, uniform) - weights.begin();
      keys.emplace_back(texts[static_cast<std::size_t>(rank)]);
      digests.push_back(hash(keys.back()));
      times.emplace_back(Duration(static_cast<std::int64_t>(i * 1000000 * kEpochs / kEvents)));
      exact.insert(keys.back(), tick_of(times.back(), decay.epoch));
    }
  }
};

const Stream& stream_of(std::int64_t tenths) {
  static std::vector<std::pair<std::int64_t, std::unique_ptr<Stream>>> made;
  for (const auto& [which, each] : made) {
    if (which == tenths) {
      return *each;
    }
  }
  made.emplace_back(tenths, std::make_unique<Stream>(static_cast<double>(tenths) / 10));
  return *made.back().second;
}

double recall(const Stream& stream, const DecayedTop& filter, std::size_t most) {
  const auto entries = filter.top(most);
  std::set<std::string_view> listed;
  for (const auto& entry : entries) {
    listed.insert(entry.key);
  }
  const auto truth = stream.exact.top(most, filter.tick());
  const auto found = std::ranges::count_if(truth, [&](const auto& entry) { return listed.contains(entry.key); });
  return static_cast<double>(found) / static_cast<double>(truth.size());
}

void insert_hot(benchmark::State& state) {
  const Stream& stream = stream_of(state.range(0));
  auto filter = DecayedTop::create(
                    {.bytes = static_cast<std::uint64_t>(state.range(1)) * 1024, .decay = stream.decay, .hash = kHash})
                    .value();
  for (auto _ : state) {
    state.PauseTiming();
    filter = filter.create_like().value();
    state.ResumeTiming();
    for (std::size_t start = 0; start < kEvents; start += kStep) {
      const std::size_t count = std::min(kStep, kEvents - start);
      filter.insert(std::span(stream.digests).subspan(start, count), std::span(stream.keys).subspan(start, count),
                    std::span(stream.times).subspan(start, count));
    }
  }
  state.counters["recall_100"] = recall(stream, filter, 100);
  count_keys(state, kEvents);
}

constexpr std::size_t kWindowKeys = 1000000;
// All four generations full: an epoch's share more than a window has.
constexpr std::size_t kMembers = kWindowKeys / 3 * 4;

RotatingBloom full_rotating(std::span<const Digest> members) {
  auto filter = RotatingBloom::create({.keys = kWindowKeys, .window = std::chrono::hours(168), .hash = kHash}).value();
  const std::size_t share = members.size() / filter.generations();
  for (std::uint32_t tick = 0; tick < filter.generations(); ++tick) {
    filter.advance(Tick{tick});
    filter.insert(members.subspan(tick * share, share));
  }
  return filter;
}

template <class F>
void ask(benchmark::State& state, const F& filter, std::span<const Digest> keys) {
  const auto outcomes = std::make_unique<bool[]>(kStep);
  std::size_t start = 0;
  for (auto _ : state) {
    filter.may_contain(keys.subspan(start, kStep), std::span(outcomes.get(), kStep));
    benchmark::ClobberMemory();
    start = start + 2 * kStep > keys.size() ? 0 : start + kStep;
  }
  count_keys(state, kStep);
}

void ask_rotating(benchmark::State& state) {
  const auto members = random_digests(kMembers);
  ask(state, full_rotating(members), members);
}

void ask_blocked(benchmark::State& state) {
  const auto members = random_digests(kMembers);
  auto filter = BlockedBloom::create({.keys = kMembers, .hash = kHash}).value();
  filter.insert(std::span<const Digest>(members));
  ask(state, filter, members);
}

void observe_rotating(benchmark::State& state) {
  const auto members = random_digests(kMembers);
  auto filter = full_rotating(members);
  const auto seen = std::make_unique<bool[]>(kStep);
  std::size_t start = 0;
  for (auto _ : state) {
    filter.observe(std::span<const Digest>(members).subspan(start, kStep), std::span(seen.get(), kStep));
    benchmark::ClobberMemory();
    start = start + 2 * kStep > members.size() ? 0 : start + kStep;
  }
  count_keys(state, kStep);
}

BENCHMARK(insert_hot)
    ->Name("hot/insert")
    ->ArgNames({"zipf_tenths", "kib"})
    ->ArgsProduct({{10, 12}, {64, 256}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(ask_rotating)->Name("rotating/may_contain");
BENCHMARK(observe_rotating)->Name("rotating/observe");
BENCHMARK(ask_blocked)->Name("blocked/may_contain");

}  // namespace
}  // namespace mankai::bench
