#include <string>
#include <vector>

#include "bench/peers/peer.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/parts/keyed_batch.hpp"
#include "mankai/kernel/block_ops.hpp"

namespace mankai::bench {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {0x8f1bbcdc5a827999U, 0}};

// The filter and the hasher that its users keep beside it.
template <class Filter>
struct Kept {
  Filter filter;
  Hasher hash = filter.hasher();

  Kept(std::uint64_t keys, double fpr) : filter(Filter::create({.keys = keys, .fpr = fpr, .hash = kHash}).value()) {}
  [[nodiscard]] double bits() const { return static_cast<double>(filter.cells_bytes()) * 8; }
  void clear() { filter.clear(); }
};

template <class Filter>
struct OfIntegers : Kept<Filter> {
  using Kept<Filter>::Kept;
  void insert(Integer key) { this->filter.insert(this->hash(key)); }
  void insert_batch(std::span<const Integer> keys) { this->filter.insert(keys); }
  [[nodiscard]] bool may_contain(Integer key) const { return this->filter.may_contain(this->hash(key)); }
  void may_contain_batch(std::span<const Integer> keys, std::span<bool> outcomes) const {
    this->filter.may_contain(keys, outcomes);
  }
};

template <class Filter>
struct OfUrls : Kept<Filter> {
  using Kept<Filter>::Kept;
  void insert(Url key) { this->filter.insert(this->hash(key)); }
  void insert_batch(std::span<const Url> keys) { insert_keys(this->filter, keys); }
  [[nodiscard]] bool may_contain(Url key) const { return this->filter.may_contain(this->hash(key)); }
  void may_contain_batch(std::span<const Url> keys, std::span<bool> outcomes) const {
    may_contain_keys(this->filter, keys, outcomes);
  }
};

struct BlockedIntegers : OfIntegers<BlockedBloom> {
  using OfIntegers<BlockedBloom>::OfIntegers;
  void build(std::span<const Integer> keys) { filter.insert_bulk(keys); }
};

struct BlockedUrls : OfUrls<BlockedBloom> {
  using OfUrls<BlockedBloom>::OfUrls;
  void build(std::span<const Url> keys) {
    std::vector<Digest> digests(keys.size());
    hash(keys, digests);
    filter.insert_bulk(digests);
  }
};

}  // namespace

void add_mankai(PeerLists& lists) {
  const std::string version = std::string("kernels for ") + kernel::block_ops().target;
  lists.integers.push_back({.name = "blocked-bloom",
                            .side = Side::ours,
                            .version = version,
                            .create = create<Integer, BlockedIntegers>,
                            .missing = {}});
  lists.integers.push_back({.name = "bloom",
                            .side = Side::ours,
                            .version = version,
                            .slowness = 2,
                            .create = create<Integer, OfIntegers<Bloom>>,
                            .missing = {}});
  lists.urls.push_back({.name = "blocked-bloom",
                        .side = Side::ours,
                        .version = version,
                        .create = create<Url, BlockedUrls>,
                        .missing = {}});
  lists.urls.push_back({.name = "bloom",
                        .side = Side::ours,
                        .version = version,
                        .slowness = 2,
                        .create = create<Url, OfUrls<Bloom>>,
                        .missing = {}});
}

}  // namespace mankai::bench
