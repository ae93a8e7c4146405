#include <algorithm>
#include <array>
#include <span>

#include "bench/layers/support.hpp"
#include "mankai/seen/seen.hpp"

namespace mankai::bench {
namespace {

// Batches of lines as a reader delivers them, new ones all the time.
void service_observe(benchmark::State& state) {
  constexpr std::size_t kKeys = 1'000'000;
  constexpr std::size_t kBatch = 1'024;
  const auto strings = random_strings(kKeys, 55, 84);
  SeenRequest request;
  request.keys = static_cast<std::uint64_t>(state.range(0));
  request.fpr = 0.01;
  auto seen = Seen::create(request).value();
  std::array<bool, kBatch> outcomes{};
  for (auto _ : state) {
    for (std::size_t start = 0; start < kKeys; start += kBatch) {
      const auto keys = std::span(strings.keys).subspan(start, std::min(kBatch, kKeys - start));
      benchmark::DoNotOptimize(seen.observe(keys, std::span(outcomes).first(keys.size())));
    }
  }
  count_keys(state, kKeys);
}
BENCHMARK(service_observe)->Arg(100'000)->Arg(10'000'000)->Arg(200'000'000);

void service_observe_single(benchmark::State& state) {
  constexpr std::size_t kKeys = 1'000'000;
  const auto strings = random_strings(kKeys, 55, 84);
  SeenRequest request;
  request.keys = static_cast<std::uint64_t>(state.range(0));
  request.fpr = 0.01;
  auto seen = Seen::create(request).value();
  for (auto _ : state) {
    std::uint64_t repeats = 0;
    for (const std::string_view key : strings.keys) {
      bool is_repeat = false;
      benchmark::DoNotOptimize(seen.observe(key, is_repeat));
      repeats += static_cast<std::uint64_t>(is_repeat);
    }
    benchmark::DoNotOptimize(repeats);
  }
  count_keys(state, kKeys);
}
BENCHMARK(service_observe_single)->Arg(100'000)->Arg(10'000'000);

}  // namespace
}  // namespace mankai::bench
