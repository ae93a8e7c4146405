#include "mankai/hash/detail/xxh3_batch.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "mankai/base/bits.hpp"
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

// The ends of the lists of all sorts are in one register: in memory they would be a chain of loads and stores.
constexpr unsigned kEndBits = 16;
constexpr std::uint64_t kEndMask = 0xffff;

// The place of the highest bit. Written so, it is one instruction (bsr).
constexpr unsigned highest_bit(std::size_t value) { return 63U ^ static_cast<unsigned>(std::countl_zero(value | 1U)); }

constexpr auto kShiftOfBit = [] {
  std::array<std::uint8_t, 64> shifts{};
  shifts.fill(kEndBits * kOther);
  for (unsigned sort = kTwoBlocks; sort < kOther; ++sort) {
    shifts[highest_bit(2 * kBlockBytes << sort) - 1] = static_cast<std::uint8_t>(kEndBits * sort);
  }
  return shifts;
}();

// No branch: which keys are long is not predictable.
constexpr unsigned shift_of(std::size_t bytes) { return kShiftOfBit[highest_bit(bytes - 1)]; }

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

// The keys of a window, a list for each sort. What vectors hash is filled up by copies of the last key.
class Sorted {
 public:
  static constexpr std::size_t kMost = kWindow + kLanes;

  void begin(std::span<const std::string_view> keys) {
    keys_ = keys;
    taken_ = 0;
    ends_ = 0;
    for (std::size_t sort = 0; sort < kSorts; ++sort) {
      ends_ |= start(sort) << (kEndBits * sort);
    }
  }

  // Sorts so many more keys, if the window has them, and asks for their bytes. Between vector instructions, which leave
  // the units for it idle, this takes less time than alone.
  template <std::size_t kCount>
  HWY_INLINE void take() {
    if (keys_.size() - taken_ >= kCount) {
      std::uint64_t ends = ends_;
      const KeyPrefetch prefetch = prefetch_;
      for (std::size_t i = 0; i < kCount; i += KeyPrefetch::kKeysPerLine) {
        prefetch.later(keys_[taken_ + i]);
      }
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::string_view key = keys_[taken_ + i];
        const unsigned shift = shift_of(key.size());
        const std::size_t place = ends >> shift & kEndMask;
        numbers_[place] = static_cast<std::uint8_t>(taken_ + i);
        firsts_[place] = reinterpret_cast<const std::uint8_t*>(key.data());
        lengths_[place] = key.size();
        ends += std::uint64_t{1} << shift;
        prefetch.bytes(key);
      }
      ends_ = ends;
      taken_ += kCount;
    }
  }

  // Sorts the rest.
  void finish() {
    while (taken_ < keys_.size()) {
      take<1>();
    }
    for (std::size_t sort = 0; sort < kSorts; ++sort) {
      const std::size_t end = ends_ >> (kEndBits * sort) & kEndMask;
      counts_[sort] = end - start(sort);
      if (sort != kOther && counts_[sort] != 0) {
        std::fill_n(firsts_ + end, kLanes - 1, firsts_[end - 1]);
        std::fill_n(lengths_ + end, kLanes - 1, lengths_[end - 1]);
      }
    }
  }

  HWY_INLINE std::size_t count(Sort sort) const { return counts_[sort]; }
  HWY_INLINE const std::uint8_t* numbers(Sort sort) const { return numbers_ + start(sort); }
  HWY_INLINE const std::uint64_t* lengths(Sort sort) const { return lengths_ + start(sort); }
  HWY_INLINE Key key(Sort sort, std::size_t i) const { return {firsts_[start(sort) + i], lengths_[start(sort) + i]}; }

 private:
  HWY_INLINE static constexpr std::size_t start(std::size_t sort) { return kMost * sort; }

  KeyPrefetch prefetch_;
  std::span<const std::string_view> keys_;
  std::size_t taken_;
  std::uint64_t ends_;
  std::uint8_t numbers_[kSorts * kMost];
  const std::uint8_t* firsts_[kSorts * kMost];
  HWY_ALIGN std::uint64_t lengths_[kSorts * kMost];
  std::size_t counts_[kSorts];
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

// Meanwhile the next window is sorted.
template <Sort kSort>
HWY_INLINE void hash_list(const AllMasks& masks, const Sorted& sorted, Sorted& next, Digest* digests) {
  const Tag d;
  HWY_ALIGN std::uint64_t hashes[Sorted::kMost];
  for (std::size_t i = 0; i < sorted.count(kSort); i += kLanes) {
    next.take<kLanes>();
    hn::Store(sums<kSort>(masks, sorted, i), d, hashes + i);
  }
  // Apart: two multiplications in a row would fill the processor's window before the next keys' sums.
  for (std::size_t i = 0; i < sorted.count(kSort); i += kLanes) {
    const Vector lengths = hn::Load(d, sorted.lengths(kSort) + i);
    Vector hash = hn::Add(hn::Load(d, hashes + i), hn::Mul(lengths, hn::Set(d, kLengthFactor)));
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<37>(hash)), hn::Set(d, kAvalancheFactor));
    hn::Store(hn::Xor(hash, hn::ShiftRight<32>(hash)), d, hashes + i);
  }
  for (std::size_t i = 0; i < sorted.count(kSort); ++i) {
    digests[sorted.numbers(kSort)[i]].value = hashes[i];
    asm volatile("");  // or g++ scatters by vectors, which takes 1.04 of the whole time (Zen 4)
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
    hash_list<kTwoBlocks>(masks, now, next, digests + start);
    hash_list<kFourBlocks>(masks, now, next, digests + start);
    hash_list<kEightBlocks>(masks, now, next, digests + start);
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
