// The static map from digests to values of 12 bits:
//
//   layers --benchmark_filter=fuse
//
// `fuse/build/KEYS`: cells is how many a key takes. `fuse/lookup/KEYS`: absent keys, one after the other;
// `fuse/chained`: each waits for the answer before.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/guard/fuse_map.hpp"

namespace mankai::bench {
namespace {

constexpr unsigned kValueBits = 12;
constexpr std::size_t kAsked = 1 << 20;

FuseMap::Cells build_map(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<std::uint32_t>(i) % (1U << kValueBits);
  }
  return FuseMap::build(random_digests(count), values, kValueBits, seed).value();
}

std::vector<Digest> absent_keys() {
  std::vector<Digest> drawn(kAsked);
  for (std::size_t i = 0; i < kAsked; ++i) {
    drawn[i].value = random_integer(~i);
  }
  return drawn;
}

void fuse_build(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::uint64_t seed = 0;
  double words = 0;
  for (auto _ : state) {
    words += static_cast<double>(build_map(count, seed++).words.size());
  }
  constexpr double kWordBits = 64;
  const auto keys = static_cast<double>(state.iterations()) * static_cast<double>(count);
  state.counters["cells"] = words * kWordBits / kValueBits / keys;
  count_keys(state, count);
}

void fuse_lookup(benchmark::State& state) {
  const auto cells = build_map(static_cast<std::size_t>(state.range(0)), 1);
  const auto map = FuseMap::from_cells(cells.params, cells.words).value();
  const auto asked = absent_keys();
  for (auto _ : state) {
    std::uint32_t sum = 0;
    for (const Digest digest : asked) {
      sum += map.lookup(digest);
    }
    benchmark::DoNotOptimize(sum);
  }
  count_keys(state, asked.size());
}

void fuse_chained(benchmark::State& state) {
  const auto cells = build_map(static_cast<std::size_t>(state.range(0)), 1);
  const auto map = FuseMap::from_cells(cells.params, cells.words).value();
  const auto asked = absent_keys();
  for (auto _ : state) {
    std::uint32_t last = 0;
    for (const Digest digest : asked) {
      last = map.lookup({digest.value ^ last});
    }
    benchmark::DoNotOptimize(last);
  }
  count_keys(state, asked.size());
}

BENCHMARK(fuse_build)->Name("fuse/build")->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(fuse_lookup)->Name("fuse/lookup")->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Arg(10'000'000);
BENCHMARK(fuse_chained)->Name("fuse/chained")->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Arg(10'000'000);

}  // namespace
}  // namespace mankai::bench
