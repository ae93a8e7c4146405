// Sets that never err, on integers: what a filter is compared with first.

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "bench/peers/peer.hpp"

#if MANKAI_BENCH_ABSL
#include <absl/base/options.h>
#include <absl/container/flat_hash_set.h>
#endif

namespace mankai::bench {
namespace {

constexpr double kWordBits = 64;

struct LinearScan {
  std::vector<Integer> keys;

  LinearScan(std::uint64_t /*keys*/, double /*fpr*/) {}
  [[nodiscard]] double bits() const { return static_cast<double>(keys.size()) * kWordBits; }
  void build(std::span<const Integer> all) { keys.assign(all.begin(), all.end()); }
  [[nodiscard]] bool may_contain(Integer key) const { return std::ranges::find(keys, key) != keys.end(); }
};

struct SortedArray {
  std::vector<Integer> keys;

  SortedArray(std::uint64_t /*keys*/, double /*fpr*/) {}
  [[nodiscard]] double bits() const { return static_cast<double>(keys.size()) * kWordBits; }
  void build(std::span<const Integer> all) {
    keys.assign(all.begin(), all.end());
    std::ranges::sort(keys);
  }
  [[nodiscard]] bool may_contain(Integer key) const { return std::ranges::binary_search(keys, key); }
};

struct NodeSet {
  std::unordered_set<Integer> keys;

  NodeSet(std::uint64_t count, double /*fpr*/) { keys.reserve(count); }
  // A node is a pointer, the key and malloc's header, in units of 16 bytes.
  [[nodiscard]] double bits() const {
    return static_cast<double>(keys.size()) * 32 * 8 + static_cast<double>(keys.bucket_count()) * kWordBits;
  }
  void insert(Integer key) { keys.insert(key); }
  [[nodiscard]] bool may_contain(Integer key) const { return keys.contains(key); }
};

#if MANKAI_BENCH_ABSL
struct FlatSet {
  absl::flat_hash_set<Integer> keys;

  FlatSet(std::uint64_t count, double /*fpr*/) { keys.reserve(count); }
  // A slot is the key and a control byte.
  [[nodiscard]] double bits() const { return static_cast<double>(keys.capacity()) * (kWordBits + 8); }
  void insert(Integer key) { keys.insert(key); }
  [[nodiscard]] bool may_contain(Integer key) const { return keys.contains(key); }
};
#endif

template <class Set>
Peer<Integer> row(std::string_view name, unsigned slowness, std::uint64_t max_keys, const std::string& version) {
  return {.name = name,
          .side = Side::exact,
          .version = version,
          .slowness = slowness,
          .max_keys = max_keys,
          .create = create<Integer, Set>,
          .missing = {}};
}

}  // namespace

void add_exact_sets(PeerLists& lists) {
  const std::string standard = "libstdc++ " + std::to_string(__GLIBCXX__);
  lists.integers.push_back(row<LinearScan>("linear scan", 4000, 100'000, standard));
  lists.integers.push_back(row<SortedArray>("sorted array", 8, 10'000'000, standard));
  lists.integers.push_back(row<NodeSet>("unordered_set", 4, 10'000'000, standard));
#if MANKAI_BENCH_ABSL
  lists.integers.push_back(row<FlatSet>("absl flat_hash_set", 4, 10'000'000, std::to_string(ABSL_LTS_RELEASE_VERSION)));
#else
  lists.integers.push_back({.name = "absl flat_hash_set", .version = {}, .missing = "libabsl-dev was not found"});
#endif
}

}  // namespace mankai::bench
