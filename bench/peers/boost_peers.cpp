// Boost.Bloom, header-only: measured as this program's flags compile it. Bulk calls came with Boost 1.90.

#include "bench/peers/peer.hpp"

#if __has_include(<boost/bloom/filter.hpp>)

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/fast_multiblock64.hpp>
#include <boost/bloom/filter.hpp>
#include <boost/version.hpp>
#include <cstddef>
#include <type_traits>

namespace mankai::bench {
namespace {

namespace bloom = boost::bloom;

// The hash that our filters use too.
struct Xxh3 {
  using is_avalanching = std::true_type;
  std::size_t operator()(Url key) const noexcept { return XXH3_64bits(key.data(), key.size()); }
};

template <class Key, class Filter>
struct BoostFilter {
  Filter filter;

  BoostFilter(std::uint64_t keys, double fpr) : filter(keys, fpr) {}
  [[nodiscard]] double bits() const { return static_cast<double>(filter.capacity()); }
  void clear() { filter.clear(); }
  void insert(const Key& key) { filter.insert(key); }
  [[nodiscard]] bool may_contain(const Key& key) const { return filter.may_contain(key); }
#if BOOST_VERSION >= 109000
  void insert_batch(std::span<const Key> keys) { filter.insert(keys.begin(), keys.end()); }
  void may_contain_batch(std::span<const Key> keys, std::span<bool> outcomes) const {
    bool* outcome = outcomes.data();
    filter.may_contain(keys.begin(), keys.end(), [&](const Key&, bool found) { *outcome++ = found; });
  }
#endif
};

template <class Key, class Hash>
void add_rows(Peers<Key>& peers) {
  using Multi32 = bloom::filter<Key, 1, bloom::fast_multiblock32<8>, 0, Hash>;
  using Multi64 = bloom::filter<Key, 1, bloom::fast_multiblock64<8>, 0, Hash>;
  using Classic = bloom::filter<Key, 7, bloom::block<unsigned char, 1>, 0, Hash>;
  peers.push_back({.name = "boost fast_multiblock32<8>",
                   .version = BOOST_LIB_VERSION,
                   .create = create<Key, BoostFilter<Key, Multi32>>,
                   .missing = {}});
  peers.push_back({.name = "boost fast_multiblock64<8>",
                   .version = BOOST_LIB_VERSION,
                   .create = create<Key, BoostFilter<Key, Multi64>>,
                   .missing = {}});
  peers.push_back({.name = "boost classic k=7",
                   .version = BOOST_LIB_VERSION,
                   .slowness = 2,
                   .create = create<Key, BoostFilter<Key, Classic>>,
                   .missing = {}});
}

}  // namespace

void add_boost(PeerLists& lists) {
  add_rows<Integer, boost::hash<Integer>>(lists.integers);
  add_rows<Url, Xxh3>(lists.urls);
}

}  // namespace mankai::bench

#else

namespace mankai::bench {

void add_boost(PeerLists& lists) {
  constexpr const char* kReason = "no Boost of 1.89 or later was found; set BOOST_INCLUDE_DIR";
  lists.integers.push_back({.name = "boost", .version = {}, .missing = kReason});
  lists.urls.push_back({.name = "boost", .version = {}, .missing = kReason});
}

}  // namespace mankai::bench

#endif
