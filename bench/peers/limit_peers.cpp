// What the machine allows at best: one random line per key and nothing else, in as much memory as our blocked filter
// takes, for URLs by their hash, for integers without and with it; single inserts that only set the bits of our layout;
// for URLs the hash alone, ours and XXH3 of one key after the other.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

#include "bench/peers/peer.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/base/region.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/block_ops_inline.hpp"

namespace mankai::bench {
namespace {

// 16 lines in flight are nearly enough; 32 and 64 are best on the machines that we tried.
constexpr std::size_t kAhead = 64;
constexpr std::size_t kLineWords = 8;
// What fits a level-2 cache needs no prefetching.
constexpr std::size_t kNearBytes = std::size_t{1} << 20;

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {1, 0}};

template <class Key>
struct LineTouch {
  std::uint64_t lines;
  Region region;
  std::uint64_t* words;
  Hasher hash{kHash};

  LineTouch(std::uint64_t keys, double fpr)
      : lines(blocked_bloom_blocks({.keys = keys, .fpr = fpr}).value()),
        region(Region::allocate(system_memory(), lines * kLineWords * sizeof(std::uint64_t)).value()),
        words(reinterpret_cast<std::uint64_t*>(region.bytes().data())) {
    clear();
  }
  [[nodiscard]] double bits() const { return static_cast<double>(region.size()) * 8; }
  // Untouched pages would all be the one page of zeros. Every key is there.
  void clear() { std::ranges::fill(region.bytes(), std::byte{0xff}); }
  // The integers are random.
  [[nodiscard]] std::uint64_t* line(Integer key) const { return words + fastrange(key, lines) * kLineWords; }
  [[nodiscard]] std::uint64_t* line(Url key) const { return line(hash(key).value); }

  void insert(Key key) { *line(key) |= 1U; }
  [[nodiscard]] bool may_contain(Key key) const { return (*line(key) & 1U) != 0; }
  void insert_batch(std::span<const Integer> keys)
    requires std::same_as<Key, Integer>
  {
    touch(keys, [&](std::size_t i) { *line(keys[i]) |= keys[i]; });
  }
  void may_contain_batch(std::span<const Integer> keys, std::span<bool> outcomes) const
    requires std::same_as<Key, Integer>
  {
    touch(keys, [&](std::size_t i) { outcomes[i] = (*line(keys[i]) & 1U) != 0; });
  }

 private:
  template <class Use>
  void touch(std::span<const Integer> keys, const Use& use) const {
    const std::size_t fetched = region.size() <= kNearBytes ? 0 : keys.size() - std::min(kAhead, keys.size());
    std::size_t i = 0;
    for (; i < fetched; ++i) {
      prefetch_line(line(keys[i + kAhead]));
      use(i);
    }
    for (; i < keys.size(); ++i) {
      use(i);
    }
  }
};

// One random line, by our hash of integers: what a single look-up cannot leave out, since cheaper hashes miss the rate
// on regular keys (docs/dead-ends.md).
struct HashAndLine {
  LineTouch<Integer> touched;

  HashAndLine(std::uint64_t keys, double fpr) : touched(keys, fpr) {}
  [[nodiscard]] double bits() const { return touched.bits(); }
  [[nodiscard]] bool may_contain(Integer key) const { return touched.may_contain(touched.hash(key).value); }
};

// Neither tests nor counts, as the others' inserts.
template <class Key>
struct BitsOnly {
  BlockedBloom filter;
  const kernel::BlockOps& ops = kernel::block_ops();
  std::uint64_t blocks = filter.params().block_count;
  std::uint64_t* words = const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(filter.cells().data()));
  Hasher hash{kHash};

  BitsOnly(std::uint64_t keys, double fpr) : filter(BlockedBloom::create({.keys = keys, .fpr = fpr}).value()) {}
  [[nodiscard]] double bits() const { return static_cast<double>(filter.cells_bytes()) * 8; }
  void clear() { filter.clear(); }
  void insert(Key key) { static_cast<void>(kernel::observe_single(ops, words, blocks, hash(key))); }
  [[nodiscard]] bool may_contain(Key key) const { return filter.may_contain(hash(key)); }
};

struct HashOnly {
  Hasher hash{kHash};

  HashOnly(std::uint64_t /*keys*/, double /*fpr*/) {}
  [[nodiscard]] static double bits() { return 0; }
  [[nodiscard]] bool may_contain(Url key) const { return hash(key).value != 0; }
  void may_contain_batch(std::span<const Url> keys, std::span<bool> outcomes) const {
    std::array<Digest, 4096> digests;  // as many as batches of strings take at a time
    for (std::size_t start = 0; start < keys.size(); start += digests.size()) {
      const std::size_t count = std::min(digests.size(), keys.size() - start);
      hash(keys.subspan(start, count), std::span(digests).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        outcomes[start + i] = digests[i].value != 0;
      }
    }
  }
};

struct PlainXxh3 {
  PlainXxh3(std::uint64_t /*keys*/, double /*fpr*/) {}
  [[nodiscard]] static double bits() { return 0; }
  [[nodiscard]] static bool may_contain(Url key) { return XXH3_64bits(key.data(), key.size()) != 0; }
  static void may_contain_batch(std::span<const Url> keys, std::span<bool> outcomes) {
    std::ranges::transform(keys, outcomes.begin(), may_contain);
  }
};

template <class Key, class Filter>
Peer<Key> limit(std::string_view name) {
  return {.name = name, .side = Side::limit, .version = {}, .create = create<Key, Filter>, .missing = {}};
}

}  // namespace

void add_limits(PeerLists& lists) {
  lists.integers.push_back(limit<Integer, LineTouch<Integer>>("limit: one line"));
  lists.integers.push_back(limit<Integer, HashAndLine>("limit: hash, one line"));
  lists.integers.push_back(limit<Integer, BitsOnly<Integer>>("limit: bits only"));
  lists.urls.push_back(limit<Url, LineTouch<Url>>("limit: one line"));
  lists.urls.push_back(limit<Url, BitsOnly<Url>>("limit: bits only"));
  lists.urls.push_back(limit<Url, HashOnly>("our hash alone"));
  lists.urls.push_back(limit<Url, PlainXxh3>("XXH3 alone"));
}

}  // namespace mankai::bench
