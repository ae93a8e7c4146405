#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::bench {
namespace {

constexpr std::size_t kLevels = 4;
constexpr std::size_t kBatch = 16'384;
constexpr std::uint64_t kHosts = 10'000;
constexpr std::uint64_t kDirectories = 2'000;

/// Paths of four segments as a batch takes them: host, two directories, a page of its own.
struct Paths {
  std::vector<Digest> segments;
  std::vector<std::uint32_t> ends;
};

Paths paths_from(std::uint64_t first, std::size_t count) {
  Paths paths;
  for (std::uint64_t page = first; page < first + count; ++page) {
    const std::uint64_t draw = random_integer(page);
    paths.segments.push_back(mix_integer(draw % kHosts, 1));
    paths.segments.push_back(mix_integer(draw / kHosts % kDirectories, 2));
    paths.segments.push_back(mix_integer(random_integer(draw) % kDirectories, 2));
    paths.segments.push_back(mix_integer(page, 3));
    paths.ends.push_back(static_cast<std::uint32_t>(paths.segments.size()));
  }
  return paths;
}

LayeredUrlBloom empty_filter(const benchmark::State& state, UrlLayering layering) {
  return LayeredUrlBloom::create({.keys = static_cast<std::uint64_t>(state.range(0)),
                                  .fpr = 0.05,
                                  .layering = layering,
                                  .hash = {.kind = HashKind::xxh3, .seed = {1, 0}}})
      .value();
}

LayeredUrlBloom full_filter(const benchmark::State& state, UrlLayering layering) {
  auto filter = empty_filter(state, layering);
  const Paths paths = paths_from(0, static_cast<std::size_t>(state.range(0)));
  filter.insert(paths.segments, paths.ends);
  return filter;
}

void layered_insert(benchmark::State& state, UrlLayering layering) {
  auto filter = empty_filter(state, layering);
  std::uint64_t next = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Paths paths = paths_from(next, kBatch);
    next += kBatch;
    state.ResumeTiming();
    filter.insert(paths.segments, paths.ends);
  }
  count_keys(state, kBatch);
}

// Members, or absent keys that share all but the last segment with one.
void layered_ask(benchmark::State& state, UrlLayering layering, bool are_members) {
  const auto filter = full_filter(state, layering);
  Paths paths = paths_from(0, kBatch);
  for (std::size_t i = kLevels - 1; !are_members && i < paths.segments.size(); i += kLevels) {
    paths.segments[i] = mix_integer(i, 4);
  }
  const auto outcomes = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    filter.may_contain(paths.segments, paths.ends, {outcomes.get(), kBatch});
    benchmark::ClobberMemory();
  }
  count_keys(state, kBatch);
}

void layered_ask_singly(benchmark::State& state, UrlLayering layering) {
  const auto filter = full_filter(state, layering);
  const Paths paths = paths_from(0, kBatch);
  for (auto _ : state) {
    std::size_t yes = 0;
    for (std::size_t i = 0; i < kBatch; ++i) {
      yes += filter.may_contain(std::span(paths.segments).subspan(i * kLevels, kLevels)) ? 1U : 0U;
    }
    benchmark::DoNotOptimize(yes);
  }
  count_keys(state, kBatch);
}

// In the caches, and beyond them.
void sizes(benchmark::internal::Benchmark* benchmark) { benchmark->Arg(20'000)->Arg(5'000'000); }

BENCHMARK_CAPTURE(layered_insert, repaired, UrlLayering::repaired)->Apply(sizes);
BENCHMARK_CAPTURE(layered_insert, faithful, UrlLayering::faithful)->Apply(sizes);
BENCHMARK_CAPTURE(layered_ask, repaired_members, UrlLayering::repaired, true)->Apply(sizes);
BENCHMARK_CAPTURE(layered_ask, repaired_absent, UrlLayering::repaired, false)->Apply(sizes);
BENCHMARK_CAPTURE(layered_ask, faithful_members, UrlLayering::faithful, true)->Apply(sizes);
BENCHMARK_CAPTURE(layered_ask, faithful_absent, UrlLayering::faithful, false)->Apply(sizes);
BENCHMARK_CAPTURE(layered_ask_singly, repaired_members, UrlLayering::repaired)->Apply(sizes);
BENCHMARK_CAPTURE(layered_ask_singly, faithful_members, UrlLayering::faithful)->Apply(sizes);

}  // namespace
}  // namespace mankai::bench
