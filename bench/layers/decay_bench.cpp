// Counts that fade, beside what they cost without fading, in one run:
//
//   layers --benchmark_filter=decay --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//          --benchmark_report_aggregates_only=true
//
// `decay/pass`: one epoch over an array, in bytes per second, beside memcpy of as many bytes (`decay/memcpy`).
// `decay/skip`: many epochs at once, from the same cells each time: random ones, and counts as a filter has them, most
// of them small. `decay/add` and `decay/add_single`: insertion into time-decaying-counts, in batches and single calls,
// beside a plain loop that adds 1 to the same cells (`decay/plain`, `decay/plain_single`: same layout, positions and
// prefetching, but no largest value). `decay/estimate`: what a key's count is.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/layers/support.hpp"
#include "bench/random.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/decay_ops.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};
constexpr std::size_t kStep = 1 << 16;
constexpr double kLambda = 0.989228;  // 64 epochs a half-life

std::vector<std::uint64_t> filled_words(std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = random_integer(i);
  }
  return words;
}

void copy(benchmark::State& state) {
  const auto from = filled_words(static_cast<std::size_t>(state.range(0)));
  auto to = from;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), to.size() * sizeof(std::uint64_t));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void pass(benchmark::State& state, unsigned width, kernel::Rounding rounding) {
  auto words = filled_words(static_cast<std::size_t>(state.range(0)));
  const kernel::DecayStep step{
      .lambda_q32 = Decay::of(kLambda, Duration(1)).value().lambda_q32, .rounding = rounding, .seed = 1};
  std::uint64_t tick = 0;
  for (auto _ : state) {
    kernel::decay_words(words.data(), words.size(), width, step, {.first_tick = tick, .count = 1});
    ++tick;
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// Cells of counts with half of their bits for fractions: half of them zero, a quarter below 2, an eighth below 4, ...
std::vector<std::uint64_t> counted_words(std::size_t bytes, unsigned width) {
  auto words = filled_words(bytes);
  const unsigned one = width / 2;
  for (std::uint64_t& word : words) {
    std::uint64_t counts = 0;
    for (unsigned shift = 0; shift < 64; shift += width) {
      const std::uint64_t draw = random_integer(word ^ shift);
      const auto doublings = static_cast<unsigned>(std::countr_zero(draw | (std::uint64_t{1} << one)));
      const std::uint64_t mask = (std::uint64_t{1} << (one + doublings)) - 1;
      counts |= (doublings == 0 ? 0 : (draw >> 32) & mask & ((std::uint64_t{1} << width) - 1)) << shift;
    }
    word = counts;
  }
  return words;
}

void skip(benchmark::State& state, unsigned width, bool is_counted, double lambda, std::uint64_t epochs) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto from = is_counted ? counted_words(bytes, width) : filled_words(bytes);
  auto words = from;
  const kernel::DecayStep step{
      .lambda_q32 = Decay::of(lambda, Duration(1)).value().lambda_q32, .rounding = kernel::Rounding::ceil, .seed = 1};
  for (auto _ : state) {
    state.PauseTiming();
    std::ranges::copy(from, words.begin());
    state.ResumeTiming();
    kernel::decay_words(words.data(), words.size(), width, step, {.first_tick = 0, .count = epochs});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// The plain counting filter: k partitions of 32-bit cells, and nothing but additions.
class PlainCounts {
 public:
  PlainCounts(std::uint64_t cells_per_probe, unsigned k) : cells_(cells_per_probe * k), size_(cells_per_probe), k_(k) {}

  void insert(Digest digest) noexcept {
    probes::CellSequence sequence(digest);
    for (unsigned probe = 0; probe < k_; ++probe) {
      ++cells_[probe * size_ + sequence.next(size_)];
    }
  }
  void insert(std::span<const Digest> digests) {
    if (cells_.size() * sizeof(std::uint32_t) <= (std::size_t{1} << 20)) {
      for (const Digest digest : digests) {
        insert(digest);
      }
      return;
    }
    std::size_t current = 0;
    open(digests, 0, windows_[current]);
    for (std::size_t start = 0; start < digests.size(); start += kWindow) {
      const std::size_t next = start + kWindow;
      if (next < digests.size()) {
        open(digests, next, windows_[1 - current]);
      }
      for (std::size_t key = 0; key < std::min(kWindow, digests.size() - start); ++key) {
        for (unsigned probe = 0; probe < k_; ++probe) {
          ++cells_[windows_[current][probe * kWindow + key]];
        }
      }
      current = 1 - current;
    }
  }

 private:
  static constexpr std::size_t kWindow = 64;
  using Window = std::array<std::uint64_t, 64 * kWindow>;

  void open(std::span<const Digest> digests, std::size_t start, Window& window) {
    for (std::size_t key = 0; key < std::min(kWindow, digests.size() - start); ++key) {
      probes::CellSequence sequence(digests[start + key]);
      for (unsigned probe = 0; probe < k_; ++probe) {
        const std::uint64_t cell = probe * size_ + sequence.next(size_);
        window[probe * kWindow + key] = cell;
        prefetch_line(&cells_[cell]);
      }
    }
  }

  std::vector<std::uint32_t> cells_;
  std::uint64_t size_;
  unsigned k_;
  std::array<Window, 2> windows_;
};

TimeDecayingCounts make(std::size_t keys, IncrementRule rule) {
  return TimeDecayingCounts::create(
             {.keys = keys, .decay = Decay::of(kLambda, Duration(1)).value(), .rule = rule, .hash = kHash})
      .value();
}

// Takes step after step of the keys, and over again.
template <class Use>
void run(benchmark::State& state, const Use& use) {
  const auto digests = random_digests(static_cast<std::size_t>(state.range(0)));
  const std::span<const Digest> keys(digests);
  // Before time is taken, every page has been touched.
  use(keys);
  const std::size_t step = std::min(kStep, keys.size());
  std::size_t start = 0;
  for (auto _ : state) {
    use(keys.subspan(start, step));
    start = start + 2 * step > keys.size() ? 0 : start + step;
  }
  count_keys(state, step);
}

void add(benchmark::State& state, IncrementRule rule) {
  auto filter = make(static_cast<std::size_t>(state.range(0)), rule);
  run(state, [&](std::span<const Digest> keys) { filter.insert(keys); });
}

void add_single(benchmark::State& state) {
  auto filter = make(static_cast<std::size_t>(state.range(0)), IncrementRule::all);
  run(state, [&](std::span<const Digest> keys) {
    for (const Digest key : keys) {
      filter.insert(key);
    }
  });
}

void plain(benchmark::State& state) {
  const auto like = make(static_cast<std::size_t>(state.range(0)), IncrementRule::all);
  const auto filter = std::make_unique<PlainCounts>(like.cells_per_probe(), like.probes_per_key());
  run(state, [&](std::span<const Digest> keys) { filter->insert(keys); });
}

void plain_single(benchmark::State& state) {
  const auto like = make(static_cast<std::size_t>(state.range(0)), IncrementRule::all);
  const auto filter = std::make_unique<PlainCounts>(like.cells_per_probe(), like.probes_per_key());
  run(state, [&](std::span<const Digest> keys) {
    for (const Digest key : keys) {
      filter->insert(key);
    }
  });
}

void estimate(benchmark::State& state) {
  const auto keys = static_cast<std::size_t>(state.range(0));
  auto filter = make(keys, IncrementRule::all);
  filter.insert(std::span<const Digest>(random_digests(keys)));
  std::vector<DecayedCount> counts(keys);
  run(state, [&](std::span<const Digest> asked) {
    filter.estimate(asked, std::span(counts).first(asked.size()));
    benchmark::DoNotOptimize(counts.data());
  });
}

const char* rounding_name(kernel::Rounding rounding) {
  return rounding == kernel::Rounding::floor ? "floor" : rounding == kernel::Rounding::ceil ? "ceil" : "stochastic";
}

void at_sizes(benchmark::internal::Benchmark* bench) { bench->Arg(256 << 10)->Arg(8 << 20)->Arg(256 << 20); }

void at_keys(benchmark::internal::Benchmark* bench) { bench->Arg(10'000)->Arg(1'000'000)->Arg(4'000'000); }

[[maybe_unused]] const bool kRegistered = [] {
  at_sizes(benchmark::RegisterBenchmark("decay/memcpy", copy));
  for (const kernel::Rounding rounding :
       {kernel::Rounding::floor, kernel::Rounding::ceil, kernel::Rounding::stochastic}) {
    for (const unsigned width : {8U, 16U, 32U}) {
      const std::string name = std::string(rounding_name(rounding)) + std::to_string(width);
      at_sizes(benchmark::RegisterBenchmark(("decay/pass/" + name).c_str(), pass, width, rounding));
    }
  }
  for (const unsigned width : {8U, 16U, 32U}) {
    for (const bool is_counted : {false, true}) {
      for (const std::uint64_t epochs : {10U, 100U, 1000U}) {
        // Half-lives that leave some of the counts.
        const double lambda = width == 32 ? kLambda : 1 - 1 / (4.0 * static_cast<double>(epochs));
        const std::string name = std::string(is_counted ? "counts" : "random") + std::to_string(width);
        benchmark::RegisterBenchmark(("decay/skip/" + name + "/epochs:" + std::to_string(epochs)).c_str(), skip, width,
                                     is_counted, lambda, epochs)
            ->Arg(64 << 20)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  at_keys(benchmark::RegisterBenchmark("decay/plain", plain));
  at_keys(benchmark::RegisterBenchmark("decay/add/all", add, IncrementRule::all));
  at_keys(benchmark::RegisterBenchmark("decay/add/minimum", add, IncrementRule::minimum));
  at_keys(benchmark::RegisterBenchmark("decay/plain_single", plain_single));
  at_keys(benchmark::RegisterBenchmark("decay/add_single", add_single));
  at_keys(benchmark::RegisterBenchmark("decay/estimate", estimate));
  return true;
}();

}  // namespace
}  // namespace mankai::bench
