// The two layouts of counters beside each other, sized for 1 %, on the same keys. Run them interleaved, since machines
// change their mind from minute to minute:
//
//   layers --benchmark_filter=counting --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//          --benchmark_report_aggregates_only=true
//
// `partitioned` is the classic shape, k = 7, with our batches: positions computed and lines prefetched a window ahead,
// absent keys tested in rounds so that they cost two lines (`partitioned_every_line`: without). `partitioned_single`
// are single calls in a loop, which is what a library without batches does.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "bench/layers/support.hpp"
#include "bench/random.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};
/// Keys a step: enough to leave every cache between two visits to one of them.
constexpr std::size_t kStep = 1 << 16;

// Filled filters are kept for all operations: to fill one with 1e7 keys takes longer than to measure.
struct Filled {
  std::vector<Digest> members;
  std::vector<Digest> absent_keys;
  CountingBloom filter;

  Filled(CountingLayout layout, std::size_t keys)
      : members(random_digests(keys)),
        absent_keys(keys),
        filter(CountingBloom::create({.keys = keys, .fpr = 0.01, .layout = layout, .hash = kHash}).value()) {
    std::ranges::transform(members, absent_keys.begin(),
                           [](Digest digest) { return Digest{random_integer(digest.value)}; });
    filter.insert(std::span<const Digest>(members));
  }
};

Filled& filled(CountingLayout layout, std::size_t keys) {
  static std::vector<std::pair<std::pair<CountingLayout, std::size_t>, std::unique_ptr<Filled>>> made;
  for (const auto& [which, each] : made) {
    if (which == std::pair(layout, keys)) {
      return *each;
    }
  }
  made.emplace_back(std::pair(layout, keys), std::make_unique<Filled>(layout, keys));
  return *made.back().second;
}

std::size_t step_of(std::span<const Digest> keys) { return std::min(kStep, keys.size() / 2); }

// Asks about step after step of the keys, and over again.
template <class Ask>
void run(benchmark::State& state, std::span<const Digest> keys, const Ask& ask) {
  const std::size_t step = step_of(keys);
  std::size_t start = 0;
  for (auto _ : state) {
    ask(keys.subspan(start, step));
    start = start + 2 * step > keys.size() ? 0 : start + step;
  }
  count_keys(state, step);
}

enum class Timed : bool { insert, erase };

// Half of the members are out, and the gap moves on through them: a step comes in where it begins, one goes out where
// it ends. So a line is touched again after half of all keys, and no counter grows. Only one of the two is timed.
template <class Insert, class Erase>
void run_in_turns(benchmark::State& state, std::span<const Digest> keys, Timed timed, const Insert& insert,
                  const Erase& erase) {
  const std::size_t step = step_of(keys);
  const std::size_t steps = keys.size() / step;
  const auto part = [&](std::size_t number) { return keys.subspan(number % steps * step, step); };
  std::size_t gap = 0;
  for (std::size_t i = 0; i < steps / 2; ++i) {
    erase(part(i));
  }
  for (auto _ : state) {
    state.PauseTiming();
    timed == Timed::insert ? erase(part(gap + steps / 2)) : insert(part(gap));
    state.ResumeTiming();
    timed == Timed::insert ? insert(part(gap)) : erase(part(gap + steps / 2));
    ++gap;
  }
  for (std::size_t i = 0; i < steps / 2; ++i) {
    insert(part(gap + i));
  }
  count_keys(state, step);
}

class Batches {
 public:
  explicit Batches(CountingBloom& filter) : filter_(filter) {}

  void insert(std::span<const Digest> keys) { filter_.insert(keys); }
  void erase(std::span<const Digest> keys) { filter_.erase(keys, std::span(results_).first(keys.size())); }
  void ask(std::span<const Digest> keys) { filter_.may_contain(keys, std::span(outcomes_.get(), keys.size())); }
  void estimate(std::span<const Digest> keys) { filter_.estimate(keys, std::span(counts_).first(keys.size())); }

 private:
  CountingBloom& filter_;
  std::unique_ptr<bool[]> outcomes_ = std::make_unique<bool[]>(kStep);
  std::vector<EraseResult> results_ = std::vector<EraseResult>(kStep);
  std::vector<KeyCount> counts_ = std::vector<KeyCount>(kStep);
};

class Singles {
 public:
  explicit Singles(CountingBloom& filter) : filter_(filter) {}

  void insert(std::span<const Digest> keys) {
    for (const Digest key : keys) {
      filter_.insert(key);
    }
  }
  void erase(std::span<const Digest> keys) {
    for (const Digest key : keys) {
      benchmark::DoNotOptimize(filter_.erase(key));
    }
  }
  void ask(std::span<const Digest> keys) {
    for (const Digest key : keys) {
      benchmark::DoNotOptimize(filter_.may_contain(key));
    }
  }
  void estimate(std::span<const Digest> keys) {
    for (const Digest key : keys) {
      benchmark::DoNotOptimize(filter_.estimate(key));
    }
  }

 private:
  CountingBloom& filter_;
};

template <CountingLayout layout, class Calls>
void counting_add(benchmark::State& state) {
  Filled& made = filled(layout, static_cast<std::size_t>(state.range(0)));
  Calls calls(made.filter);
  run_in_turns(
      state, made.members, Timed::insert, [&](auto keys) { calls.insert(keys); },
      [&](auto keys) { calls.erase(keys); });
}

template <CountingLayout layout, class Calls>
void counting_remove(benchmark::State& state) {
  Filled& made = filled(layout, static_cast<std::size_t>(state.range(0)));
  Calls calls(made.filter);
  run_in_turns(
      state, made.members, Timed::erase, [&](auto keys) { calls.insert(keys); }, [&](auto keys) { calls.erase(keys); });
}

template <CountingLayout layout, class Calls>
void counting_hit(benchmark::State& state) {
  Filled& made = filled(layout, static_cast<std::size_t>(state.range(0)));
  Calls calls(made.filter);
  run(state, made.members, [&](auto keys) { calls.ask(keys); });
}

template <CountingLayout layout, class Calls>
void counting_miss(benchmark::State& state) {
  Filled& made = filled(layout, static_cast<std::size_t>(state.range(0)));
  Calls calls(made.filter);
  run(state, made.absent_keys, [&](auto keys) { calls.ask(keys); });
}

// Absent keys whose every line is fetched: what they would cost without the rounds.
template <CountingLayout layout, class Calls>
void counting_miss_every_line(benchmark::State& state) {
  Filled& made = filled(layout, static_cast<std::size_t>(state.range(0)));
  Calls calls(made.filter);
  run(state, made.absent_keys, [&](auto keys) { calls.estimate(keys); });
}

template <CountingLayout layout, class Calls>
void counting_estimate(benchmark::State& state) {
  Filled& made = filled(layout, static_cast<std::size_t>(state.range(0)));
  Calls calls(made.filter);
  run(state, made.members, [&](auto keys) { calls.estimate(keys); });
}

constexpr CountingLayout kBlocked = CountingLayout::blocked;
constexpr CountingLayout kPartitioned = CountingLayout::partitioned;
constexpr std::int64_t kInCache = 20'000;
constexpr std::int64_t kBeyond = 10'000'000;

// As many steps as there are in 1e7 keys, also where the gap must be made first.
constexpr std::int64_t kSteps = 152;

void sizes(benchmark::internal::Benchmark* each) {
  each->Arg(kInCache)->Arg(kBeyond)->Unit(benchmark::kMicrosecond)->Iterations(kSteps);
}

BENCHMARK(counting_add<kBlocked, Batches>)->Name("counting_add/blocked")->Apply(sizes);
BENCHMARK(counting_add<kPartitioned, Batches>)->Name("counting_add/partitioned")->Apply(sizes);
BENCHMARK(counting_add<kPartitioned, Singles>)->Name("counting_add/partitioned_single")->Apply(sizes);
BENCHMARK(counting_hit<kBlocked, Batches>)->Name("counting_hit/blocked")->Apply(sizes);
BENCHMARK(counting_hit<kPartitioned, Batches>)->Name("counting_hit/partitioned")->Apply(sizes);
BENCHMARK(counting_hit<kPartitioned, Singles>)->Name("counting_hit/partitioned_single")->Apply(sizes);
BENCHMARK(counting_miss<kBlocked, Batches>)->Name("counting_miss/blocked")->Apply(sizes);
BENCHMARK(counting_miss<kPartitioned, Batches>)->Name("counting_miss/partitioned")->Apply(sizes);
BENCHMARK(counting_miss<kPartitioned, Singles>)->Name("counting_miss/partitioned_single")->Apply(sizes);
BENCHMARK(counting_miss_every_line<kPartitioned, Batches>)->Name("counting_miss/partitioned_every_line")->Apply(sizes);
BENCHMARK(counting_remove<kBlocked, Batches>)->Name("counting_remove/blocked")->Apply(sizes);
BENCHMARK(counting_remove<kPartitioned, Batches>)->Name("counting_remove/partitioned")->Apply(sizes);
BENCHMARK(counting_remove<kPartitioned, Singles>)->Name("counting_remove/partitioned_single")->Apply(sizes);
BENCHMARK(counting_estimate<kBlocked, Batches>)->Name("counting_estimate/blocked")->Apply(sizes);
BENCHMARK(counting_estimate<kPartitioned, Batches>)->Name("counting_estimate/partitioned")->Apply(sizes);
BENCHMARK(counting_estimate<kPartitioned, Singles>)->Name("counting_estimate/partitioned_single")->Apply(sizes);

}  // namespace
}  // namespace mankai::bench
