#include <array>
#include <memory>
#include <string>

#include "bench/layers/support.hpp"
#include "mankai/base/region.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/bulk_build.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai::bench {
namespace {

// In a level-2 cache, in level 3, beyond.
constexpr std::array<std::uint64_t, 3> kBlocks{2'000, 200'000, 4'000'000};
constexpr std::size_t kKeys = 500'000;
constexpr double kKeysPerBlock = 50;

struct Cells {
  explicit Cells(std::uint64_t count)
      : blocks(count),
        region(Region::allocate(system_memory(), count * probes::kBlockBits / 8).value()),
        words(reinterpret_cast<std::uint64_t*>(region.bytes().data())) {}

  std::uint64_t blocks;
  Region region;
  std::uint64_t* words;
};

Cells filled_cells(std::uint64_t blocks) {
  Cells cells(blocks);
  const auto digests = random_digests(static_cast<std::size_t>(static_cast<double>(blocks) * kKeysPerBlock));
  kernel::insert_partitioned(kernel::block_ops(), cells.words, blocks, digests.data(), digests.size());
  return cells;
}

void kernel_may_contain(benchmark::State& state, const kernel::BlockOps* ops, std::uint64_t blocks) {
  const Cells cells = filled_cells(blocks);
  const auto digests = random_digests(kKeys);
  const auto outcomes = std::make_unique<bool[]>(kKeys);
  for (auto _ : state) {
    ops->may_contain(cells.words, blocks, digests.data(), kKeys, outcomes.get());
    benchmark::ClobberMemory();
  }
  count_keys(state, kKeys);
}

void kernel_may_contain_one(benchmark::State& state, const kernel::BlockOps* ops, std::uint64_t blocks) {
  const Cells cells = filled_cells(blocks);
  const auto digests = random_digests(kKeys);
  for (auto _ : state) {
    std::uint64_t found = 0;
    for (const Digest digest : digests) {
      found += static_cast<std::uint64_t>(ops->may_contain_one(cells.words, blocks, digest));
    }
    benchmark::DoNotOptimize(found);
  }
  count_keys(state, kKeys);
}

void kernel_insert(benchmark::State& state, const kernel::BlockOps* ops, std::uint64_t blocks) {
  const Cells cells(blocks);
  const auto digests = random_digests(kKeys);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ops->insert(cells.words, blocks, digests.data(), kKeys));
  }
  count_keys(state, kKeys);
}

void kernel_bulk_build(benchmark::State& state) {
  const Cells cells(static_cast<std::uint64_t>(state.range(0)));
  const auto digests = random_digests(cells.blocks * static_cast<std::size_t>(kKeysPerBlock));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        kernel::insert_partitioned(kernel::block_ops(), cells.words, cells.blocks, digests.data(), digests.size()));
  }
  count_keys(state, digests.size());
}
BENCHMARK(kernel_bulk_build)->Arg(200'000)->Arg(4'000'000);

template <class Scan>
void scan(benchmark::State& state, const Scan& pass) {
  const Cells cells = filled_cells(static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(pass(cells));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(cells.region.size()));
}

void kernel_count_ones(benchmark::State& state) {
  scan(state, [](const Cells& cells) { return kernel::count_ones(cells.words, cells.blocks * probes::kBlockLanes); });
}
BENCHMARK(kernel_count_ones)->Arg(2'000)->Arg(4'000'000);

void kernel_mean_block_fpr(benchmark::State& state) {
  scan(state, [](const Cells& cells) { return kernel::mean_block_fpr(cells.words, cells.blocks); });
}
BENCHMARK(kernel_mean_block_fpr)->Arg(2'000)->Arg(4'000'000);

// Every instruction set that the machine runs, at every size.
[[maybe_unused]] const bool kRegistered = [] {
  struct Row {
    const char* name;
    void (*loop)(benchmark::State&, const kernel::BlockOps*, std::uint64_t);
  };
  constexpr std::array kRows{Row{"kernel_may_contain", kernel_may_contain},
                             Row{"kernel_may_contain_one", kernel_may_contain_one},
                             Row{"kernel_insert", kernel_insert}};
  for (const auto& [name, loop] : kRows) {
    for (const kernel::BlockOps* ops : kernel::all_block_ops()) {
      for (const std::uint64_t blocks : kBlocks) {
        const std::string title = std::string(name) + '/' + ops->target + '/' + std::to_string(blocks);
        benchmark::RegisterBenchmark(title.c_str(), loop, ops, blocks);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace mankai::bench
