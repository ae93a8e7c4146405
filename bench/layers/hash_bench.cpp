#include <string_view>

#include "bench/layers/support.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::bench {
namespace {

constexpr std::size_t kKeys = 16'384;
constexpr HashSpec kXxh3{.kind = HashKind::xxh3, .seed = {1, 0}};
constexpr HashSpec kNhSiphash{.kind = HashKind::nh_siphash, .seed = {1, 2}};
constexpr HashSpec kAes4Prf{.kind = HashKind::aes4_prf, .seed = {1, 2}};
constexpr HashSpec kSiphash{.kind = HashKind::siphash, .seed = {1, 2}};

void hash_singles(benchmark::State& state, const HashSpec& spec) {
  const auto strings =
      random_strings(kKeys, static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const Hasher hash(spec);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const std::string_view key : strings.keys) {
      sum += hash(key).value;
    }
    benchmark::DoNotOptimize(sum);
  }
  count_keys(state, kKeys);
}

void hash_batch(benchmark::State& state, const HashSpec& spec) {
  const auto strings =
      random_strings(kKeys, static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const Hasher hash(spec);
  std::vector<Digest> digests(kKeys);
  for (auto _ : state) {
    hash(strings.keys, digests);
    benchmark::ClobberMemory();
  }
  count_keys(state, kKeys);
}

void hash_integers(benchmark::State& state, const HashSpec& spec) {
  std::vector<std::uint64_t> keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) {
    keys[i] = random_integer(i);
  }
  const Hasher hash(spec);
  std::vector<Digest> digests(kKeys);
  for (auto _ : state) {
    hash(keys, digests);
    benchmark::ClobberMemory();
  }
  count_keys(state, kKeys);
}

// Shortest and longest key.
void lengths(benchmark::internal::Benchmark* benchmark) {
  for (const auto& [shortest, longest] :
       {std::pair(8, 8), {16, 16}, {32, 32}, {70, 70}, {55, 84}, {20, 128}, {240, 240}, {1000, 1000}}) {
    benchmark->Args({shortest, longest});
  }
}

BENCHMARK_CAPTURE(hash_singles, xxh3, kXxh3)->Apply(lengths);
BENCHMARK_CAPTURE(hash_singles, nh_siphash, kNhSiphash)->Apply(lengths);
BENCHMARK_CAPTURE(hash_singles, aes4_prf, kAes4Prf)->Apply(lengths);
BENCHMARK_CAPTURE(hash_batch, xxh3, kXxh3)->Apply(lengths);
BENCHMARK_CAPTURE(hash_batch, nh_siphash, kNhSiphash)->Apply(lengths);
BENCHMARK_CAPTURE(hash_batch, aes4_prf, kAes4Prf)->Apply(lengths);
BENCHMARK_CAPTURE(hash_batch, siphash, kSiphash)->Apply(lengths);
BENCHMARK_CAPTURE(hash_integers, xxh3, kXxh3);
BENCHMARK_CAPTURE(hash_integers, nh_siphash, kNhSiphash);
BENCHMARK_CAPTURE(hash_integers, aes4_prf, kAes4Prf);
BENCHMARK_CAPTURE(hash_integers, siphash, kSiphash);

}  // namespace
}  // namespace mankai::bench
