#include <cstdio>
#include <string>

#include "bench/layers/support.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};

BlockedBloom filled(std::uint64_t keys) {
  auto filter = BlockedBloom::create({.keys = keys, .fpr = 0.01, .hash = kHash}).value();
  filter.insert_bulk(random_digests(keys));
  return filter;
}

template <class Filter>
void filter_create(benchmark::State& state) {
  for (auto _ : state) {
    auto filter = Filter::create({.keys = static_cast<std::uint64_t>(state.range(0)), .fpr = 0.01, .hash = kHash});
    benchmark::DoNotOptimize(filter);
  }
}
BENCHMARK(filter_create<BlockedBloom>)->Arg(1'000)->Arg(10'000'000);
BENCHMARK(filter_create<Bloom>)->Arg(1'000)->Arg(10'000'000);

void filter_seal(benchmark::State& state) {
  auto filter = filled(10'000'000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(filter.seal());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(filter.image_bytes()));
}
BENCHMARK(filter_seal);

void filter_from_bytes(benchmark::State& state, Trust trust) {
  const auto bytes = filled(static_cast<std::uint64_t>(state.range(0))).to_bytes();
  for (auto _ : state) {
    auto filter = BlockedBloom::from_bytes(bytes, trust);
    benchmark::DoNotOptimize(filter);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK_CAPTURE(filter_from_bytes, checked, Trust::checked)->Arg(1'000)->Arg(10'000'000);
BENCHMARK_CAPTURE(filter_from_bytes, fast, Trust::fast)->Arg(1'000)->Arg(10'000'000);

void filter_attach(benchmark::State& state, Trust trust) {
  auto filter = filled(10'000'000);
  auto region = Region::allocate(system_memory(), filter.image_bytes()).value();
  filter.to_bytes(region.bytes());
  for (auto _ : state) {
    auto attached = BlockedBloom::attach(region.bytes(), trust);
    benchmark::DoNotOptimize(attached);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(region.size()));
}
BENCHMARK_CAPTURE(filter_attach, checked, Trust::checked);
BENCHMARK_CAPTURE(filter_attach, fast, Trust::fast);

// A 1 GB image in the page cache: open it, ask one question, close it.
class GigabyteFile : public benchmark::Fixture {
 public:
  void SetUp(benchmark::State& state) override {
    auto filter = AnyFilter(BlockedBloom::create({.keys = 790'000'000, .fpr = 0.01, .hash = kHash}).value());
    const auto digests = random_digests(1'000'000);
    filter.as<BlockedBloom>()->insert(digests);
    if (!save_filter(path_, filter, Existing::replace)) {
      state.SkipWithError("cannot write a 1 GB file here");
    }
  }
  void TearDown(benchmark::State& /*state*/) override { std::remove(path_.c_str()); }

 protected:
  void open_and_ask(benchmark::State& state, Trust trust) const {
    for (auto _ : state) {
      const auto filter = open_filter(path_, Access::query, trust);
      benchmark::DoNotOptimize(filter->as<BlockedBloom>()->may_contain(Digest{random_integer(7)}));
    }
  }

 private:
  std::string path_ = "filter_bench.mankai";
};

BENCHMARK_F(GigabyteFile, open_fast)(benchmark::State& state) { open_and_ask(state, Trust::fast); }
BENCHMARK_F(GigabyteFile, open_checked)(benchmark::State& state) { open_and_ask(state, Trust::checked); }

}  // namespace
}  // namespace mankai::bench
