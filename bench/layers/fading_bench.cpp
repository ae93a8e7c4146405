// The forgetting array beside what it costs at least: touching the same random lines, computed, asked for and visited
// in the same way. Run them interleaved:
//
//   layers --benchmark_filter=fading --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//          --benchmark_report_aggregates_only=true
//
// `touch_read` and `touch_write` add up, or overwrite, one byte at each of a key's n places among 1e7. Images: encode
// and decode of a filter of about 300 bytes, and the copy of so many bytes.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};
constexpr std::size_t kKeys = 1 << 20;
constexpr std::size_t kStep = 1 << 14;
constexpr std::uint64_t kSlots = 10'000'000;

const std::vector<Digest>& keys() {
  static const std::vector<Digest> kDigests = random_digests(kKeys);
  return kDigests;
}

template <class Visit>
void run(benchmark::State& state, const Visit& visit) {
  std::size_t start = 0;
  const std::span<const Digest> all(keys());
  for (auto _ : state) {
    visit(all.subspan(start, kStep));
    start = (start + kStep) % kKeys;
  }
  count_keys(state, kStep);
}

FadingFingerprints filter_of(std::uint64_t slots, std::uint32_t k, std::uint32_t bits) {
  return FadingFingerprints::create({.slots = slots, .k = k, .bits = bits, .hash = kHash}).value();
}

void fading_put(benchmark::State& state) {
  auto filter =
      filter_of(kSlots, static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  run(state, [&](std::span<const Digest> digests) { filter.insert(digests); });
}

void fading_put_concurrent(benchmark::State& state) {
  auto filter =
      filter_of(kSlots, static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  run(state, [&](std::span<const Digest> digests) { filter.insert_concurrent(digests); });
}

void fading_contains(benchmark::State& state) {
  auto filter =
      filter_of(kSlots, static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  filter.insert(std::span<const Digest>(keys()));
  const auto outcomes = std::make_unique<bool[]>(kStep);
  run(state, [&](std::span<const Digest> digests) {
    filter.may_contain(digests, std::span(outcomes.get(), digests.size()));
    benchmark::DoNotOptimize(outcomes.get());
  });
}

// Calls visit(place) for each of the keys' places, which were asked for as many lines ahead as the filter asks.
template <class Visit>
void touch(std::span<std::byte> bytes, std::uint32_t k, std::span<const Digest> digests, const Visit& visit) {
  const std::size_t cell_bytes = bytes.size() / kSlots;
  const std::size_t ahead = std::max<std::size_t>(1, kernel::kFarWindow / k);
  const auto ask = [&](Digest digest) {
    probes::CellSequence positions(digest);
    for (std::uint32_t i = 0; i < k; ++i) {
      prefetch_line(&bytes[positions.next(kSlots) * cell_bytes]);
    }
  };
  for (std::size_t i = 0; i < ahead; ++i) {
    ask(digests[i]);
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (i + ahead < digests.size()) {
      ask(digests[i + ahead]);
    }
    probes::CellSequence positions(digests[i]);
    for (std::uint32_t j = 0; j < k; ++j) {
      visit(bytes[positions.next(kSlots) * cell_bytes]);
    }
  }
}

Region bytes_for(std::uint64_t bits) {
  auto region = Region::allocate(system_memory(), kSlots * bits / 8).value();
  std::memset(region.bytes().data(), 1, region.size());
  return region;
}

void fading_touch_write(benchmark::State& state) {
  auto region = bytes_for(static_cast<std::uint64_t>(state.range(1)));
  run(state, [&](std::span<const Digest> digests) {
    touch(region.bytes(), static_cast<std::uint32_t>(state.range(0)), digests,
          [](std::byte& place) { place = std::byte{7}; });
    benchmark::ClobberMemory();
  });
}

void fading_touch_read(benchmark::State& state) {
  auto region = bytes_for(static_cast<std::uint64_t>(state.range(1)));
  run(state, [&](std::span<const Digest> digests) {
    std::uint64_t sum = 0;
    touch(region.bytes(), static_cast<std::uint32_t>(state.range(0)), digests,
          [&](std::byte& place) { sum += std::to_integer<std::uint64_t>(place); });
    benchmark::DoNotOptimize(sum);
  });
}

void shapes(benchmark::internal::Benchmark* each) {
  each->Args({2, 8})->Args({3, 8})->Args({4, 16})->Args({16, 16})->Unit(benchmark::kMicrosecond)->Iterations(128);
}

BENCHMARK(fading_put)->Apply(shapes);
BENCHMARK(fading_put_concurrent)->Apply(shapes);
BENCHMARK(fading_touch_write)->Apply(shapes);
BENCHMARK(fading_contains)->Apply(shapes);
BENCHMARK(fading_touch_read)->Apply(shapes);

// A filter of 128 or 192 slots of a byte: an image of 272 or 336 bytes.
FadingFingerprints small_filter(std::uint64_t slots) {
  auto filter = filter_of(slots, 2, 8);
  filter.insert(std::span<const Digest>(keys()).first(slots));
  return filter;
}

struct Room {
  alignas(64) std::array<std::byte, 512> bytes{};
};

void fading_image_copy(benchmark::State& state) {
  const auto filter = small_filter(static_cast<std::uint64_t>(state.range(0)));
  const auto image = filter.to_bytes();
  Room room;
  for (auto _ : state) {
    std::size_t bytes = image.size();
    benchmark::DoNotOptimize(bytes);
    std::memcpy(room.bytes.data(), image.data(), bytes);
    benchmark::ClobberMemory();
  }
}

void fading_image_encode(benchmark::State& state) {
  const auto filter = small_filter(static_cast<std::uint64_t>(state.range(0)));
  Room room;
  for (auto _ : state) {
    filter.to_bytes(std::span(room.bytes).first(filter.image_bytes()));
    benchmark::ClobberMemory();
  }
}

void fading_image_attach(benchmark::State& state) {
  const auto image = small_filter(static_cast<std::uint64_t>(state.range(0))).to_bytes();
  Room room;
  std::ranges::copy(image, room.bytes.begin());
  for (auto _ : state) {
    auto filter = FadingFingerprints::attach(std::span(room.bytes).first(image.size()));
    benchmark::DoNotOptimize(filter);
  }
}

void fading_image_decode(benchmark::State& state) {
  const auto image = small_filter(static_cast<std::uint64_t>(state.range(0))).to_bytes();
  for (auto _ : state) {
    auto filter = FadingFingerprints::from_bytes(image);
    benchmark::DoNotOptimize(filter);
  }
}

void small_images(benchmark::internal::Benchmark* each) { each->Arg(128)->Arg(192)->Arg(307); }

BENCHMARK(fading_image_copy)->Apply(small_images);
BENCHMARK(fading_image_encode)->Apply(small_images);
BENCHMARK(fading_image_attach)->Apply(small_images);
BENCHMARK(fading_image_decode)->Apply(small_images);

}  // namespace
}  // namespace mankai::bench
