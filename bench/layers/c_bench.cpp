#include <memory>
#include <string_view>

#include "bench/layers/support.hpp"
#include "mankai/c/mankai.h"

namespace mankai::bench {
namespace {

// So many keys and their filter for a million stay in the cache.
constexpr std::size_t kCKeys = 1000;

mankai_filter* c_filter() {
  mankai_filter* filter = nullptr;
  benchmark::DoNotOptimize(mankai_create("blocked-bloom:keys=1e6,fpr=0.01,hash=xxh3", &filter));
  return filter;
}

// Calls `use(filter, key)` for one key after the other.
template <class Use>
void c_one_by_one(benchmark::State& state, const Use& use) {
  const auto strings = random_strings(kCKeys, 40, 55);
  mankai_filter* filter = c_filter();
  for (auto _ : state) {
    for (const std::string_view key : strings.keys) {
      use(filter, key);
    }
  }
  count_keys(state, kCKeys);
  benchmark::DoNotOptimize(mankai_close(filter));
}

void c_may_contain_one(benchmark::State& state) {
  c_one_by_one(state, [](const mankai_filter* filter, std::string_view key) {
    bool outcome = false;
    benchmark::DoNotOptimize(mankai_may_contain_one(filter, key.data(), key.size(), &outcome));
    benchmark::DoNotOptimize(outcome);
  });
}
BENCHMARK(c_may_contain_one);

void c_observe_one(benchmark::State& state) {
  c_one_by_one(state, [](mankai_filter* filter, std::string_view key) {
    bool seen = false;
    benchmark::DoNotOptimize(mankai_observe_one(filter, key.data(), key.size(), &seen));
    benchmark::DoNotOptimize(seen);
  });
}
BENCHMARK(c_observe_one);

void c_may_contain_packed(benchmark::State& state) {
  const auto strings = random_strings(kCKeys, 40, 40);  // of one width, so the arena is packed
  mankai_filter* filter = c_filter();
  const mankai_packed keys{.size = sizeof(mankai_packed),
                           .data = strings.arena.data(),
                           .data_bytes = strings.arena.size(),
                           .offsets = nullptr,
                           .offset_bytes = 0,
                           .width = 40,
                           .validity = nullptr,
                           .first = 0,
                           .count = kCKeys};
  const auto outcomes = std::make_unique<bool[]>(kCKeys);
  for (auto _ : state) {
    benchmark::DoNotOptimize(mankai_may_contain_packed(filter, &keys, outcomes.get()));
    benchmark::ClobberMemory();
  }
  count_keys(state, kCKeys);
  benchmark::DoNotOptimize(mankai_close(filter));
}
BENCHMARK(c_may_contain_packed);

}  // namespace
}  // namespace mankai::bench
