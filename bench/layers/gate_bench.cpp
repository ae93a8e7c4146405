#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai::bench {
namespace {

constexpr std::size_t kKeys = 1U << 16U;

// Keys of a shop's visitors, of which the first `held` of twenty have a row.
Gate gate_of(const Strings& strings, std::size_t held) {
  auto gate = Gate::create({.keys = kKeys, .fpr = 0.01}).value();
  std::vector<std::string_view> rows;
  for (std::size_t i = 0; i < strings.keys.size(); ++i) {
    if (i % 20 < held) {
      rows.push_back(strings.keys[i]);
    }
  }
  benchmark::DoNotOptimize(gate.apply({.inserted = rows}, 1));
  return gate;
}

// Arg: of twenty visitors so many have a row. Threads share the gate.
void gate_maybe(benchmark::State& state) {
  static const auto kStrings = random_strings(kKeys, 20, 40);
  static const Gate kGates[] = {gate_of(kStrings, 0), gate_of(kStrings, 1), gate_of(kStrings, 20)};
  const Gate& gate = kGates[static_cast<std::size_t>(state.range(0))];
  for (auto _ : state) {
    std::uint64_t found = 0;
    for (const std::string_view key : kStrings.keys) {
      found += static_cast<std::uint64_t>(gate.maybe(key).is_maybe());
    }
    benchmark::DoNotOptimize(found);
  }
  count_keys(state, kKeys);
}
BENCHMARK(gate_maybe)->ArgName("rows")->Arg(0)->Arg(1)->Arg(2)->Threads(1)->Threads(2)->UseRealTime();

void gate_apply(benchmark::State& state) {
  const auto strings = random_strings(kKeys, 20, 40);
  auto gate = Gate::create({.keys = kKeys, .fpr = 0.01}).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(gate.apply({.inserted = strings.keys}, 1));
    benchmark::DoNotOptimize(gate.apply({.erased = strings.keys}, 1));
  }
  count_keys(state, 2 * kKeys);
}
BENCHMARK(gate_apply);

}  // namespace
}  // namespace mankai::bench
