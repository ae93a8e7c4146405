// What durability costs: a store beside the same filter in memory, recovery, opening, and checkpoints.
//
//   store FOLDER [KEYS]
//
// Prints one line of TSV a measurement. Inserts are of batches of 4096 keys of some 20 bytes, into filters that are
// touched and journals whose pages are in the page cache; medians of rounds that take turns.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/names.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/store.hpp"

namespace mankai::bench {
namespace {

constexpr std::size_t kKeys = 10'000'000;
constexpr std::size_t kBatch = 4096;
constexpr std::size_t kRounds = 5;
constexpr std::uint64_t kNoCheckpoints = std::uint64_t{1} << 40;

using Keys = std::vector<std::string_view>;
using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void print(const std::string& what, double value, const char* unit) {
  std::printf("%s\t%.2f\t%s\n", what.c_str(), value, unit);
  std::fflush(stdout);
}

template <class Insert>
double ns_a_key(const Keys& keys, std::size_t batch, const Insert& insert) {
  const auto start = Clock::now();
  for (std::size_t begin = 0; begin < keys.size(); begin += batch) {
    insert(std::span(keys).subspan(begin, std::min(batch, keys.size() - begin)));
  }
  return ns_since(start) / static_cast<double>(keys.size());
}

struct Contender {
  const char* name;
  Durability durability;
};
constexpr std::array kContenders = {Contender{.name = "never", .durability = Durability::never},
                                    Contender{.name = "interval", .durability = Durability::interval},
                                    Contender{.name = "always", .durability = Durability::always}};

FilterSpec spec_of_text(const std::string& kind, std::size_t keys) {
  return parse_spec(kind + ":keys=" + std::to_string(keys) + ",fpr=0.01,hash=xxh3,seed=1").value();
}

// Every filter is filled once before it is measured, and each round writes where the journal's pages are already.
void bench_inserts(const std::string& folder, const std::string& kind, const Keys& keys, std::size_t batch) {
  const FilterSpec spec = spec_of_text(kind, keys.size());
  auto memory = create_filter(spec).value();
  std::vector<Store> stores;
  for (const Contender& contender : kContenders) {
    stores.push_back(Store::create(folder + "/" + contender.name + ".mk", create_filter(spec).value(),
                                   {.durability = contender.durability, .checkpoint_bytes = kNoCheckpoints},
                                   Existing::replace)
                         .value());
  }
  std::vector<double> in_memory;
  std::vector<std::vector<double>> in_store(stores.size());
  const bool is_single = batch == 1;
  for (std::size_t round = 0; round <= kRounds; ++round) {
    const double ns = ns_a_key(keys, batch, [&](auto some) { memory.insert(some).value(); });
    if (round != 0) {
      in_memory.push_back(ns);
    }
    for (std::size_t i = 0; i < stores.size(); ++i) {
      const bool is_slow = is_single && kContenders[i].durability == Durability::always;
      const std::span some_keys(keys.data(), is_slow ? std::min<std::size_t>(1000, keys.size()) : keys.size());
      const double store_ns = ns_a_key({some_keys.begin(), some_keys.end()}, batch,
                                       [&](auto some) { static_cast<void>(stores[i].insert(some).value()); });
      static_cast<void>(stores[i].checkpoint().value());
      if (round != 0) {
        in_store[i].push_back(store_ns);
      }
    }
  }
  const std::string label = kind + " insert of " + std::to_string(batch);
  print(label + ", memory", median(in_memory), "ns");
  for (std::size_t i = 0; i < stores.size(); ++i) {
    print(label + ", " + kContenders[i].name, median(in_store[i]), "ns");
    print(label + ", " + kContenders[i].name, median(in_store[i]) / median(in_memory), "of memory");
  }
}

void copy_file(const std::string& from, const std::string& to) {
  static_cast<void>(std::system(("cp --sparse=never '" + from + "' '" + to + "'").c_str()));
}

// A killed writer is what its files are while it writes.
void bench_recovery(const std::string& folder, const std::string& kind, const Keys& keys) {
  const std::string path = folder + "/recovery.mk";
  Store store = Store::create(path, create_filter(spec_of_text(kind, keys.size())).value(),
                              {.durability = Durability::never, .checkpoint_bytes = kNoCheckpoints}, Existing::replace)
                    .value();
  static_cast<void>(ns_a_key(keys, kBatch, [&](auto some) { static_cast<void>(store.insert(some).value()); }));
  const std::string killed = folder + "/killed.mk";
  copy_file(path, killed);
  copy_file(path + "-journal", killed + "-journal");
  std::vector<double> times;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    const auto filter = open_filter(killed, Access::change).value();
    times.push_back(ns_since(start) / 1e9);
  }
  print(kind + " recovery of " + std::to_string(keys.size()) + " keys", median(times), "s");
}

void bench_large(const std::string& folder) {
  const std::string path = folder + "/large.mk";
  auto filter = create_filter(parse_spec("blocked-bloom:keys=840000000,fpr=0.01,hash=xxh3,seed=1").value()).value();
  print("large image", static_cast<double>(filter.image_bytes()) / 1e6, "MB");
  {
    const auto start = Clock::now();
    static_cast<void>(Store::create(path, std::move(filter), {}, Existing::replace).value());
    print("create", ns_since(start) / 1e6, "ms");
  }
  for (const auto& [name, trust] : {std::pair{"checked", Trust::checked}, std::pair{"fast", Trust::fast}}) {
    const auto start = Clock::now();
    const auto opened = open_filter(path, Access::query, trust).value();
    print(std::string("open to query, ") + name, ns_since(start) / 1e6, "ms");
    const auto second = Clock::now();
    const auto store = Store::open(path, {.trust = trust}).value();
    print(std::string("open to change, ") + name, ns_since(second) / 1e6, "ms");
  }
}

// One thread inserts batches; the longest one while a checkpoint of its own is made tells how long changes wait.
void bench_checkpoint(const std::string& folder, const Keys& keys) {
  const std::string path = folder + "/checkpoint.mk";
  auto filter = create_filter(parse_spec("blocked-bloom:keys=200000000,fpr=0.01,hash=xxh3,seed=1").value()).value();
  const double megabytes = static_cast<double>(filter.image_bytes()) / 1e6;
  Store store =
      Store::create(path, std::move(filter),
                    {.durability = Durability::never, .checkpoint_bytes = std::uint64_t{16} << 20}, Existing::replace)
          .value();
  std::vector<double> waits;
  for (std::size_t begin = 0; begin + kBatch <= keys.size(); begin += kBatch) {
    const auto start = Clock::now();
    static_cast<void>(store.insert(std::span(keys).subspan(begin, kBatch)).value());
    waits.push_back(ns_since(start) / 1e6);
  }
  const double longest = *std::ranges::max_element(waits);
  print("batch of 4096, median, beside checkpoints", median(waits), "ms");
  print("batch of 4096, longest, beside checkpoints", longest, "ms");
  const auto start = Clock::now();
  static_cast<void>(store.checkpoint().value());
  print("checkpoint of " + std::to_string(static_cast<int>(megabytes)) + " MB", ns_since(start) / 1e6, "ms");
}

}  // namespace
}  // namespace mankai::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: store FOLDER [KEYS]\n", stderr);
    return 2;
  }
  using namespace mankai::bench;  // NOLINT(google-build-using-namespace)
  const std::string folder = argv[1];
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kKeys;
  const Names names(count);
  for (const char* kind : {"blocked-bloom", "counting-bloom"}) {
    bench_inserts(folder, kind, names.keys(), kBatch);
    bench_inserts(folder, kind, names.keys(), 1);
    bench_recovery(folder, kind, names.keys());
  }
  bench_checkpoint(folder, names.keys());
  bench_large(folder);
}
