#include "mankai/hash/detail/xxh3_batch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "mankai/hash/detail/key_prefetch.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/hash/detail/xxh3_batch.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef MANKAI_HASH_XXH3_BATCH_ONCE
#define MANKAI_HASH_XXH3_BATCH_ONCE
namespace mankai::xxh3_batch {
namespace {

constexpr std::size_t kBlockBytes = 16;
constexpr std::size_t kMostBytes = 8 * kBlockBytes;

/// How keys are hashed: vectors hash 17 to 32, 33 to 64 and 65 to 128 bytes, XXH3 itself all others.
enum Sort : std::uint8_t { kTwoBlocks, kFourBlocks, kEightBlocks, kOther, kSorts };

// The places of the bits that are set in a byte, a byte for each.
constexpr auto kPlacesOfBits = [] {
  std::array<std::uint64_t, 256> places{};
  for (unsigned bits = 0; bits < places.size(); ++bits) {
    for (unsigned i = 8; i-- > 0;) {
      if ((bits >> i & 1U) != 0) {
        places[bits] = places[bits] << 8 | i;
      }
    }
  }
  return places;
}();
constexpr std::uint64_t kEachByte = 0x0101010101010101U;

// [Collet2019]
constexpr std::uint64_t kLengthFactor = 0x9e3779b185ebca87U;
constexpr std::uint64_t kAvalancheFactor = 0x165667919e3779f9U;

}  // namespace
}  // namespace mankai::xxh3_batch
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::xxh3_batch {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // or a better one
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<std::uint64_t, 8>;
using Vector = hn::Vec<Tag>;
constexpr std::size_t kLanes = hn::MaxLanes(Tag());

struct Key {
  HWY_INLINE const std::uint8_t* end() const { return first + bytes; }
  const std::uint8_t* first;
  std::size_t bytes;
};

// The lengths of as many keys as a vector has lanes.
HWY_INLINE Vector lengths_of(const std::string_view* keys) {
  // Which word of a view is its length depends on the standard library. Compilers compute this.
  const bool is_length_first = std::bit_cast<std::array<std::uint64_t, 2>>(std::string_view("", 1))[0] == 1;
  Vector first;
  Vector second;
  hn::LoadInterleaved2(Tag(), reinterpret_cast<const std::uint64_t*>(keys), first, second);
  return is_length_first ? first : second;
}

// The numbers of a window's keys, a list for each sort. What vectors hash is filled up by copies of the last key.
class Sorted {
 public:
  void begin(std::span<const std::string_view> keys) {
    keys_ = keys;
    taken_ = 0;
    for (unsigned sort = 0; sort < kSorts; ++sort) {
      ends_[sort] = numbers_[sort];
    }
  }

  // Asks for the bytes of as many more keys as a vector has lanes, if the window has them, and sorts them. Between
  // vector instructions, which leave the units for it idle, this takes less time than alone.
  HWY_INLINE void take() {
    if (keys_.size() - taken_ < kLanes) {
      return;
    }
    const std::string_view* const keys = keys_.data() + taken_;
    const KeyPrefetch prefetch = prefetch_;
    for (std::size_t i = 0; i < kLanes; ++i) {
      prefetch.bytes(keys[i]);
    }
    const Vector lengths = lengths_of(keys);
    // No branches: which keys are long is not predictable.
    const unsigned to_16 = at_most(kBlockBytes, lengths);
    const unsigned to_32 = at_most(2 * kBlockBytes, lengths);
    const unsigned to_64 = at_most(4 * kBlockBytes, lengths);
    const unsigned to_128 = at_most(kMostBytes, lengths);
    const std::uint64_t first = taken_ * kEachByte;
    // Each has the bits of the one before. With and-not, g++ 12 may store a mask of 8 bits on the stack and load 32.
    append(kTwoBlocks, to_32 ^ to_16, first);
    append(kFourBlocks, to_64 ^ to_32, first);
    append(kEightBlocks, to_128 ^ to_64, first);
    append(kOther, to_16 | (to_128 ^ kAllLanes), first);
    taken_ += kLanes;
  }

  // Sorts the rest. Keys after the last that fill a vector are others.
  void finish() {
    while (keys_.size() - taken_ >= kLanes) {
      take();
    }
    for (std::size_t i = taken_; i < keys_.size(); ++i) {
      *ends_[kOther]++ = static_cast<std::uint8_t>(i);
    }
    for (const Sort sort : {kTwoBlocks, kFourBlocks, kEightBlocks}) {
      if (count(sort) > 0) {
        std::fill_n(ends_[sort], kLanes - 1, ends_[sort][-1]);
      }
    }
  }

  HWY_INLINE std::size_t count(Sort sort) const { return static_cast<std::size_t>(ends_[sort] - numbers_[sort]); }
  HWY_INLINE const std::uint8_t* numbers(Sort sort) const { return numbers_[sort]; }
  HWY_INLINE Key key(Sort sort, std::size_t i) const {
    const std::string_view& key = keys_.data()[numbers_[sort][i]];
    return {reinterpret_cast<const std::uint8_t*>(key.data()), key.size()};
  }

 private:
  static constexpr unsigned kAllLanes = (1U << kLanes) - 1;

  // A bit for each length.
  HWY_INLINE static unsigned at_most(std::size_t bytes, Vector lengths) {
    const hn::RebindToSigned<Tag> d;
    std::uint8_t bits[8];
    hn::StoreMaskBits(d, hn::Lt(hn::BitCast(d, lengths), hn::Set(d, static_cast<std::int64_t>(bytes + 1))), bits);
    return bits[0];
  }

  // Appends the keys whose bits are set.
  HWY_INLINE void append(Sort sort, unsigned bits, std::uint64_t first) {
    const std::uint64_t numbers = kPlacesOfBits[bits] + first;
    std::uint8_t* const end = ends_[sort];
    std::memcpy(end, &numbers, sizeof(numbers));
    ends_[sort] = end + std::popcount(bits);
  }

  KeyPrefetch prefetch_;
  std::span<const std::string_view> keys_;
  std::size_t taken_;
  std::uint8_t* ends_[kSorts];
  std::uint8_t numbers_[kSorts][kWindow + sizeof(kEachByte)];  // each list is written 8 bytes at a time
};

// Loads --------------------------------------------------------------------------------------------------------------

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::uint8_t* bytes) {
  return hn::BitCast(d, hn::LoadU(hn::Repartition<std::uint8_t, D>(), bytes));
}

// Blocks at(0), at(1) …
template <class D, class At>
HWY_INLINE hn::Vec<D> load_blocks(D d, const At& at, std::size_t first = 0) {
  if constexpr (hn::MaxLanes(D()) == 2) {
    return load(d, at(first));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, at, first + hn::MaxLanes(D()) / 4), load_blocks(half, at, first));
  }
}

// Two blocks of a key; in wider vectors, those of another above them.
template <class D>
HWY_INLINE hn::Vec<D> load_pairs(D d, const std::uint8_t* pair, [[maybe_unused]] const std::uint8_t* other) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return load(d, pair);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load(half, other), load(half, pair));
  }
}

// Products -----------------------------------------------------------------------------------------------------------

HWY_INLINE Vector multiply_halves(Vector a, Vector b) {
  const hn::Repartition<std::uint32_t, Tag> halves;
  return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
}

HWY_INLINE Vector odd_even_halves(Vector odd, Vector even) {
  const hn::Repartition<std::uint32_t, Tag> halves;
  return hn::BitCast(Tag(), hn::OddEven(hn::BitCast(halves, odd), hn::BitCast(halves, even)));
}

// The two halves of each 128-bit product, xored.
HWY_INLINE Vector folded_products(Vector a, Vector b) {
  const Tag d;
  const Vector a_high = hn::ShiftRight<32>(a);
  const Vector b_high = hn::ShiftRight<32>(b);
  const Vector low = multiply_halves(a, b);
  const Vector carried = hn::Add(multiply_halves(a_high, b), hn::ShiftRight<32>(low));
  const Vector crossed = hn::Add(multiply_halves(a, b_high), hn::And(carried, hn::Set(d, 0xffffffffU)));
  const Vector high =
      hn::Add(hn::Add(multiply_halves(a_high, b_high), hn::ShiftRight<32>(carried)), hn::ShiftRight<32>(crossed));
  return hn::Xor(high, odd_even_halves(hn::ShiftLeft<32>(crossed), low));
}

// Words of the secret for the blocks in a vector.
using Words = std::array<std::uint8_t, 8>;

struct Masks {
  HWY_INLINE Masks(const Secret& secret, const Words& head_words, const Words& tail_words)
      : heads(of(secret, head_words)), tails(of(secret, tail_words)) {}

  HWY_INLINE static Vector of(const Secret& secret, const Words& words) {
    alignas(64) std::uint64_t mask[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) {
      mask[i] = secret[words[i]];
    }
    return hn::Load(Tag(), mask);
  }

  Vector heads;
  Vector tails;
};

// XXH3 takes blocks from the start and from the end in turns, each with the next two words of its secret. Vectors have
// the last blocks in the order of the key, so backwards.
struct AllMasks {
  HWY_INLINE explicit AllMasks(const Secret& secret)
      : two(secret, {0, 1, 0, 1, 0, 1, 0, 1}, {2, 3, 2, 3, 2, 3, 2, 3}),
        four(secret, {0, 1, 4, 5, 0, 1, 4, 5}, {6, 7, 2, 3, 6, 7, 2, 3}),
        eight(secret, kLanes == 4 ? Words{8, 9, 12, 13} : Words{0, 1, 4, 5, 8, 9, 12, 13},
              kLanes == 4 ? Words{14, 15, 10, 11} : Words{14, 15, 10, 11, 6, 7, 2, 3}) {}

  Masks two;
  Masks four;
  Masks eight;  // narrower vectors: of the inner four
};

// The products of block i of `heads` and of `tails` are in lanes 2 i and 2 i + 1.
HWY_INLINE Vector products(Vector heads, Vector tails, const Masks& masks) {
  const Tag d;
  const Vector a = hn::Xor(heads, masks.heads);
  const Vector b = hn::Xor(tails, masks.tails);
  return folded_products(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}

template <class D>
HWY_INLINE Vector four_products(D d, const Masks& masks, const Key& key, const Key& other) {
  return products(load_pairs(d, key.first, other.first),
                  load_pairs(d, key.end() - 2 * kBlockBytes, other.end() - 2 * kBlockBytes), masks);
}

// Those of the fourth block from either side are zeroed if the key has only six blocks.
HWY_INLINE Vector zero_fourth(Vector products, const Key& key) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  constexpr bool kNarrow = kLanes == 4;
  alignas(64) static constexpr std::uint64_t kHas[2][8] = {{kAll, 0, kNarrow ? 0 : kAll, kAll, kAll, kAll, 0, kAll},
                                                           {kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll}};
  return hn::And(products, hn::Load(Tag(), kHas[static_cast<std::size_t>(key.bytes > 6 * kBlockBytes)]));
}

// Summed to four lanes per key.
template <class D>
HWY_INLINE Vector eight_products(D d, const AllMasks& masks, const Key& key, const Key& other) {
  constexpr std::size_t kHalfBytes = kMostBytes / 2;
  const auto inner = [&](const Key& each, std::size_t at) HWY_ATTR {
    return zero_fourth(products(load(d, each.first + at), load(d, each.end() - kHalfBytes), masks.eight), each);
  };
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::Add(four_products(d, masks.four, key, other), inner(key, kHalfBytes / 2));
  } else {
    const Vector low = inner(key, 0);
    const Vector high = inner(other, 0);
    return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
  }
}

// Sums ---------------------------------------------------------------------------------------------------------------

// Lanes 2 i and 2 i + 1 of `even`, summed, in lane 2 i; those of `odd` in lane 2 i + 1.
HWY_INLINE Vector add_twos(Vector even, Vector odd) {
  const Tag d;
  return hn::Add(hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd));
}

// The same with four lanes of four vectors.
HWY_INLINE Vector add_fours(Vector a, Vector b, Vector c, Vector d) {
  const Vector ab = add_twos(a, b);
  const Vector cd = add_twos(c, d);
  return hn::Add(hn::OddEvenBlocks(cd, ab), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(ab, cd)));
}

// The sums of the products of as many keys as a vector has lanes.
template <Sort kSort>
HWY_INLINE Vector sums(const AllMasks& masks, const Sorted& sorted, std::size_t first) {
  const Tag d;
  const auto key = [&](std::size_t i) HWY_ATTR { return sorted.key(kSort, first + i); };
  if constexpr (kSort == kTwoBlocks) {
    const auto every_second = [&](std::size_t from) HWY_ATTR {
      return products(load_blocks(d, [&](std::size_t i) HWY_ATTR { return key(from + 2 * i).first; }),
                      load_blocks(d, [&](std::size_t i) HWY_ATTR { return key(from + 2 * i).end() - kBlockBytes; }),
                      masks.two);
    };
    return add_twos(every_second(0), every_second(1));
  } else {
    const auto pair = [&](std::size_t i) HWY_ATTR {
      const Key one = key(i);
      const Key other = key(i + kLanes - 4);
      return kSort == kFourBlocks ? four_products(d, masks.four, one, other) : eight_products(d, masks, one, other);
    };
    return add_fours(pair(0), pair(1), pair(2), pair(3));
  }
}

// Each lane into the digest with its number.
template <class D>
HWY_INLINE void scatter(D /*d*/, hn::Vec<D> lanes, const std::uint8_t* numbers, Digest* digests) {
  if constexpr (hn::MaxLanes(D()) == 2) {
    digests[numbers[0]].value = hn::ExtractLane(lanes, 0);
    digests[numbers[1]].value = hn::ExtractLane(lanes, 1);
  } else {
    const hn::Half<D> half;
    scatter(half, hn::LowerHalf(half, lanes), numbers, digests);
    scatter(half, hn::UpperHalf(half, lanes), numbers + hn::MaxLanes(half), digests);
  }
}

// Writes the sums of a list's keys into their digests. Meanwhile the next window is sorted.
template <Sort kSort>
HWY_INLINE void sum_list(const AllMasks& masks, const Sorted& sorted, Sorted& next, Digest* digests) {
  for (std::size_t i = 0; i < sorted.count(kSort); i += kLanes) {
    next.take();
    scatter(Tag(), sums<kSort>(masks, sorted, i), sorted.numbers(kSort) + i, digests);
  }
}

// Makes digests of a window's sums. Keys of the sort kOther have none: whatever is there is replaced by their digests.
HWY_INLINE void finish_digests(std::span<const std::string_view> keys, Digest* digests) {
  const Tag d;
  for (std::size_t i = 0; i + kLanes <= keys.size(); i += kLanes) {
    std::uint64_t* const sums = &digests[i].value;
    Vector hash = hn::Add(hn::LoadU(d, sums), hn::Mul(lengths_of(keys.data() + i), hn::Set(d, kLengthFactor)));
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<37>(hash)), hn::Set(d, kAvalancheFactor));
    hn::StoreU(hn::Xor(hash, hn::ShiftRight<32>(hash)), d, sums);
  }
}

}  // namespace

// NOLINTBEGIN(misc-use-internal-linkage): Highway's table needs names with external linkage.
std::size_t lanes() { return kLanes; }

void hash_windows(const Secret& secret, std::uint64_t seed, std::span<const std::string_view> keys, Plain plain,
                  Digest* digests) {
  const AllMasks masks(secret);
  const auto window = [&](std::size_t start) {
    const auto rest = keys.subspan(std::min(start, keys.size()));
    return rest.first(std::min(kWindow, rest.size()));
  };
  Sorted sorted[2];
  sorted[0].begin(window(0));
  sorted[0].finish();
  std::size_t current = 0;
  for (std::size_t start = 0; start < keys.size(); start += kWindow) {
    const Sorted& now = sorted[current];
    Sorted& next = sorted[1 - current];
    next.begin(window(start + kWindow));
    sum_list<kTwoBlocks>(masks, now, next, digests + start);
    sum_list<kFourBlocks>(masks, now, next, digests + start);
    sum_list<kEightBlocks>(masks, now, next, digests + start);
    finish_digests(window(start), digests + start);
    plain(window(start), {now.numbers(kOther), now.count(kOther)}, seed, digests + start);
    next.finish();
    current = 1 - current;
  }
}

#else

// Narrower vectors take as long as XXH3 with its mispredictions.
std::size_t lanes() { return 0; }
void hash_windows(const Secret& /*secret*/, std::uint64_t /*seed*/, std::span<const std::string_view> /*keys*/,
                  Plain /*plain*/, Digest* /*digests*/) {}
// NOLINTEND(misc-use-internal-linkage)

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mankai::xxh3_batch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::xxh3_batch {
namespace {

HWY_EXPORT(lanes);
HWY_EXPORT(hash_windows);

}  // namespace

bool pays(std::span<const std::string_view> keys) noexcept {
  constexpr std::size_t kSample = 16;
  if (keys.size() < kSample) {
    return false;
  }
  const auto sample = keys.first(kSample);
  const auto longer = std::ranges::count_if(
      sample, [](std::string_view key) { return key.size() > 2 * kBlockBytes && key.size() <= kMostBytes; });
  if (static_cast<std::size_t>(longer) < kSample / 2) {
    return false;
  }
  // Where XXH3 takes the same branches for all keys, it mispredicts none; only the widest vectors are as fast then.
  const auto branches = [](std::string_view key) { return (key.size() - 1) / (2 * kBlockBytes); };
  const bool are_alike = std::ranges::adjacent_find(sample, std::ranges::not_equal_to(), branches) == sample.end();
  return HWY_DYNAMIC_DISPATCH(lanes)() >= (are_alike ? 8 : 4);
}

void hash(const Secret& secret, std::uint64_t seed, std::span<const std::string_view> keys, Plain plain,
          Digest* digests) noexcept {
  HWY_DYNAMIC_DISPATCH(hash_windows)(secret, seed, keys, plain, digests);
}

}  // namespace mankai::xxh3_batch
#endif
