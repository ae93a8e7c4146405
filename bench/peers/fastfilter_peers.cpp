// FastFilter's blocked and classic Bloom filters (fastfilter_cpp), header-only, of integers: measured as this program's
// flags compile them. The blocked ones need AVX2 in the caller.

#include "bench/peers/peer.hpp"

#if __has_include(<bloom/simd-block-fixed-fpp.h>)

// The second header takes names from those before it.
// clang-format off
#include <cstring>
#include <bloom/bloom.h>
#include <bloom/simd-block-fixed-fpp.h>
// clang-format on

namespace mankai::bench {
namespace {

constexpr std::string_view kVersion = "head";  // it has no releases

// Made for so many % of the keys at 1 % and at 0.1 %, so that the measured rate meets the class.
template <class Filter, class Count, int kLarge, int kSmall>
struct FastFilter {
  Filter filter;

  FastFilter(std::uint64_t keys, double fpr)
      : filter(static_cast<Count>(keys * (fpr < 0.005 ? kSmall : kLarge) / 100)) {}
  [[nodiscard]] double bits() const { return static_cast<double>(filter.SizeInBytes()) * 8; }
  void insert(Integer key) { filter.Add(key); }
  void insert_batch(std::span<const Integer> keys)
    requires requires(Filter f, std::span<const Integer> all) { f.AddAll(all.data(), 0, all.size()); }
  {
    filter.AddAll(keys.data(), 0, keys.size());
  }
  [[nodiscard]] bool may_contain(Integer key) const {
    if constexpr (requires { filter.Find(key); }) {
      return filter.Find(key);
    } else {
      return filter.Contain(key) == bloomfilter::Ok;
    }
  }
};

// Its number of bits of a key follows from the bits per key that it is compiled for: 7 and 10, as ours.
template <int kBitsPerKey>
using Classic = FastFilter<bloomfilter::BloomFilter<Integer, kBitsPerKey, true>, std::size_t, 96, 96>;

std::unique_ptr<Subject<Integer>> create_classic(std::uint64_t keys, double fpr) {
  return fpr < 0.005 ? create<Integer, Classic<15>>(keys, fpr) : create<Integer, Classic<10>>(keys, fpr);
}

void add(PeerLists& lists, std::string_view name, unsigned slowness,
         std::unique_ptr<Subject<Integer>> (*create)(std::uint64_t, double)) {
  lists.integers.push_back(
      {.name = name, .version = std::string(kVersion), .slowness = slowness, .create = create, .missing = {}});
}

}  // namespace

void add_fastfilter(PeerLists& lists) {
#ifdef __AVX2__
  add(lists, "fastfilter 32-byte blocks", 1, create<Integer, FastFilter<SimdBlockFilterFixed<>, int, 99, 159>>);
  add(lists, "fastfilter 64-byte blocks", 1, create<Integer, FastFilter<SimdBlockFilterFixed64<>, int, 99, 154>>);
#endif
  add(lists, "fastfilter classic", 2, create_classic);
}

}  // namespace mankai::bench

#else

namespace mankai::bench {

void add_fastfilter(PeerLists& lists) {
  lists.integers.push_back(
      {.name = "fastfilter", .version = {}, .missing = "no fastfilter_cpp was found; set FASTFILTER_DIR"});
}

}  // namespace mankai::bench

#endif
