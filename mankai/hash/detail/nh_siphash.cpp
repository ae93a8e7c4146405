#include "mankai/hash/detail/nh_siphash.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/detail/key_cache.hpp"
#include "mankai/hash/detail/key_prefetch.hpp"
#include "mankai/hash/detail/short_words.hpp"
#include "mankai/hash/siphash13.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/hash/detail/nh_siphash.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef MANKAI_HASH_NH_SIPHASH_ONCE
#define MANKAI_HASH_NH_SIPHASH_ONCE
namespace mankai::nh_siphash {
namespace {

/// Keys of a batch that are summed before SipHash hashes their sums in vectors.
constexpr std::size_t kWindow = 64;
/// How many keys before a key its bytes are asked for.
constexpr std::size_t kAhead = 16;
/// Smaller batches are hashed one by one.
constexpr std::size_t kLeastForVectors = 8;
/// Keys of up to this many bytes use half of the pairs.
constexpr std::size_t kHalfBytes = kChunkBytes / 2;

/// The two halves of each key's sum.
struct Sums {
  std::array<std::uint64_t, kWindow> low;
  std::array<std::uint64_t, kWindow> high;
};

/// Words of a seed before those that are added to a chunk's.
constexpr std::size_t kFirstWords = 4;
constexpr std::size_t kSeedWords = kFirstWords + 2 * kPairs;
using SeedWords = std::array<std::uint64_t, align_up<std::size_t>(kSeedWords, 16)>;  // two of the largest vectors

}  // namespace
}  // namespace mankai::nh_siphash
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::nh_siphash {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<std::uint64_t, 8>;
using Vector = hn::Vec<Tag>;

template <int kBits>
HWY_INLINE Vector rotate_left(Vector v) {
  return hn::RotateRight<64 - kBits>(v);
}

// The states of as many keys as a vector has lanes.
struct Lanes {
  HWY_INLINE Lanes(Tag d, const std::array<std::uint64_t, 4>& state)
      : v0(hn::Set(d, state[0])), v1(hn::Set(d, state[1])), v2(hn::Set(d, state[2])), v3(hn::Set(d, state[3])) {}

  HWY_INLINE void round() {
    v0 = hn::Add(v0, v1);
    v2 = hn::Add(v2, v3);
    v1 = hn::Xor(rotate_left<13>(v1), v0);
    v3 = hn::Xor(rotate_left<16>(v3), v2);
    v0 = rotate_left<32>(v0);
    v2 = hn::Add(v2, v1);
    v0 = hn::Add(v0, v3);
    v1 = hn::Xor(rotate_left<17>(v1), v2);
    v3 = hn::Xor(rotate_left<21>(v3), v0);
    v2 = rotate_left<32>(v2);
  }

  Vector v0;
  Vector v1;
  Vector v2;
  Vector v3;
};

// Two vectors at a time: a round is a chain of dependent steps.
template <int kRounds>
HWY_INLINE void run(Lanes& a, Lanes& b) {
  for (int round = 0; round < kRounds; ++round) {
    a.round();
    b.round();
  }
}

template <int kRounds>
HWY_INLINE void absorb(Lanes& a, Lanes& b, Vector word_a, Vector word_b) {
  a.v3 = hn::Xor(a.v3, word_a);
  b.v3 = hn::Xor(b.v3, word_b);
  run<kRounds>(a, b);
  a.v0 = hn::Xor(a.v0, word_a);
  b.v0 = hn::Xor(b.v0, word_b);
}

HWY_INLINE Vector folded(const Lanes& lanes) {
  return hn::Xor(hn::Xor(lanes.v0, lanes.v1), hn::Xor(lanes.v2, lanes.v3));
}

template <int kFinalRounds>
HWY_INLINE void finish(Tag d, Lanes& a, Lanes& b, std::uint64_t* out) {
  const Vector end = hn::Set(d, SipHash13::kFinal);
  a.v2 = hn::Xor(a.v2, end);
  b.v2 = hn::Xor(b.v2, end);
  run<kFinalRounds>(a, b);
  hn::StoreU(folded(a), d, out);
  hn::StoreU(folded(b), d, out + hn::Lanes(d));
}

}  // namespace

// NOLINTNEXTLINE(misc-use-internal-linkage): Highway's table needs names with external linkage.
void finish_sums(const std::array<std::uint64_t, 4>& state, const Sums& sums, std::uint64_t* digests,
                 std::size_t count) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  static_assert(kWindow % (2 * hn::MaxLanes(Tag())) == 0);
  const Vector length = hn::Set(d, std::uint64_t{kPairBytes} << SipHash13::kLengthShift);
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    Lanes a(d, state);
    Lanes b(d, state);
    absorb<1>(a, b, hn::LoadU(d, sums.low.data() + i), hn::LoadU(d, sums.low.data() + i + lanes));
    absorb<1>(a, b, hn::LoadU(d, sums.high.data() + i), hn::LoadU(d, sums.high.data() + i + lanes));
    absorb<1>(a, b, length, length);
    finish<SipHash13::kFinalRounds>(d, a, b, digests + i);
  }
}

// The first `count` words of a seed: SipHash-2-4 of 0, 1, 2 …, eight bytes each.
// NOLINTNEXTLINE(misc-use-internal-linkage): as finish_sums
void expand_seed(const std::array<std::uint64_t, 4>& state, std::size_t count, SeedWords& words) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  static_assert(std::tuple_size_v<SeedWords> % (2 * hn::MaxLanes(Tag())) == 0);
  constexpr int kRounds = 2;
  constexpr int kFinalRounds = 4;
  const Vector length = hn::Set(d, std::uint64_t{sizeof(std::uint64_t)} << SipHash13::kLengthShift);
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    Lanes a(d, state);
    Lanes b(d, state);
    absorb<kRounds>(a, b, hn::Iota(d, i), hn::Iota(d, i + lanes));
    absorb<kRounds>(a, b, length, length);
    finish<kFinalRounds>(d, a, b, words.data() + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::nh_siphash
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::nh_siphash {
namespace {

HWY_EXPORT(finish_sums);
HWY_EXPORT(expand_seed);

__extension__ using Wide = unsigned __int128;

[[gnu::always_inline]] inline void absorb(SipHash13& hash, Wide sum) noexcept {
  hash.absorb(static_cast<std::uint64_t>(sum));
  hash.absorb(static_cast<std::uint64_t>(sum >> 64));
}

// `sums`: number of absorbed sums.
Digest finish(SipHash13& hash, std::uint64_t sums) noexcept {
  return {hash.finish(sums * kPairBytes << SipHash13::kLengthShift)};
}

Wide product(const ExpandedKey& key, std::size_t pair, std::uint64_t first, std::uint64_t second) noexcept {
  return static_cast<Wide>(first + key.words[2 * pair]) * (second + key.words[2 * pair + 1]);
}

[[gnu::always_inline]] inline Wide product_at(const ExpandedKey& key, std::size_t pair, const char* bytes) noexcept {
  return product(key, pair, load_word<std::uint64_t>(bytes), load_word<std::uint64_t>(bytes + sizeof(std::uint64_t)));
}

Wide length_product(const ExpandedKey& key, std::size_t bytes) noexcept {
  return static_cast<Wide>(bytes + key.length_addend) * key.length_factor;
}

// Pair i is at 16 i, or at the last 16 bytes if these begin earlier: the same code for every length.
template <std::size_t kCount>
[[gnu::always_inline]] inline Wide sum_pairs(const ExpandedKey& key, const char* chunk,
                                             std::size_t last_pair_at) noexcept {
  Wide sum = 0;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kCount; ++i) {
    sum += product_at(key, i, chunk + std::min(i * kPairBytes, last_pair_at));
  }
  return sum;
}

// Not inlined, so that shorter keys keep the registers.
[[gnu::noinline]] Wide sum_chunk(const ExpandedKey& key, const char* chunk, std::size_t last_pair_at) noexcept {
  return sum_pairs<kPairs>(key, chunk, last_pair_at);
}

[[gnu::always_inline]] inline Wide sum_of(const ExpandedKey& key, std::string_view text) noexcept {
  const Wide length = length_product(key, text.size());
  if (text.size() < kPairBytes) {
    const auto [low, high] = short_words(text);
    return length + product(key, 0, low, high);
  }
  const char* const first = text.data();
  const std::size_t last_pair_at = text.size() - kPairBytes;
  if (text.size() <= kHalfBytes) [[likely]] {
    return length + sum_pairs<kPairs / 2>(key, first, last_pair_at);
  }
  return length + sum_chunk(key, first, last_pair_at);
}

Wide sum_of(const ExpandedKey& key, std::uint64_t number) noexcept {
  return product(key, 0, number, number) + length_product(key, sizeof(number));
}

bool is_long(std::string_view text) noexcept { return text.size() > kChunkBytes; }
bool is_long(std::uint64_t /*number*/) noexcept { return false; }

// The last chunk ends at the key's end and may overlap the one before.
[[gnu::noinline]] Digest long_digest(const ExpandedKey& key, std::string_view text) noexcept {
  SipHash13 hash(key.state);
  const std::size_t chunks = divide_up(text.size(), kChunkBytes);
  for (std::size_t i = 0; i + 1 < chunks; ++i) {
    absorb(hash, sum_chunk(key, text.data() + i * kChunkBytes, kChunkBytes));
  }
  const char* last = text.data() + text.size() - kChunkBytes;
  absorb(hash, sum_chunk(key, last, kChunkBytes) + length_product(key, text.size()));
  return finish(hash, chunks);
}

// As sum_of, for keys of one or two pairs: all pairs after the first are the last 16 bytes, which are loaded once.
[[gnu::always_inline]] inline Wide sum_of_short(const ExpandedKey& key, std::string_view text) noexcept {
  const char* const first = text.data();
  const char* const last = first + text.size() - kPairBytes;
  const auto low = load_word<std::uint64_t>(last);
  const auto high = load_word<std::uint64_t>(last + sizeof(std::uint64_t));
  Wide sum = length_product(key, text.size()) + product_at(key, 0, first);
#pragma GCC unroll 16
  for (std::size_t i = 1; i < kPairs / 2; ++i) {
    sum += product(key, i, low, high);
  }
  return sum;
}

[[gnu::always_inline]] inline Digest digest_of(const ExpandedKey& key, Wide sum) noexcept {
  SipHash13 hash(key.state);
  absorb(hash, sum);
  return finish(hash, 1);
}

// Not inlined, so that short keys need no registers that have to be saved.
[[gnu::noinline]] Digest digest_of_other(const ExpandedKey& key, std::string_view text) noexcept {
  return is_long(text) ? long_digest(key, text) : digest_of(key, sum_of(key, text));
}

[[gnu::always_inline]] inline Digest single_digest(const ExpandedKey& key, std::string_view text) noexcept {
  // Ids, numbers and names: 30 instructions less. A caller that waits for memory may thus reach the next key's line.
  if (text.size() >= kPairBytes && text.size() <= 2 * kPairBytes) {
    return digest_of(key, sum_of_short(key, text));
  }
  return digest_of_other(key, text);
}
Digest single_digest(const ExpandedKey& key, std::uint64_t number) noexcept {
  return digest_of(key, sum_of(key, number));
}

void ask_for(const KeyPrefetch& prefetch, const std::string_view& text) noexcept {
  prefetch.bytes(text);
  prefetch.later(text);
}
void ask_for(const KeyPrefetch& /*prefetch*/, std::uint64_t /*number*/) noexcept {}

// At most a window of keys. All lanes of `sums` that are used are written first. `ahead`: as many keys to ask for.
template <class Key>
void digest_window(const ExpandedKey& key, std::span<const Key> keys, const Key* ahead, Sums& sums,
                   Digest* out) noexcept {
  std::array<std::uint64_t, kWindow> digests;
  const KeyPrefetch prefetch;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ask_for(prefetch, ahead[i]);
    // A long key's lane is unused; its digest is computed below.
    if (!is_long(keys[i])) [[likely]] {
      const Wide sum = sum_of(key, keys[i]);
      sums.low[i] = static_cast<std::uint64_t>(sum);
      sums.high[i] = static_cast<std::uint64_t>(sum >> 64);
    }
  }
  HWY_DYNAMIC_DISPATCH(finish_sums)(key.state, sums, digests.data(), keys.size());
  std::memcpy(out, digests.data(), keys.size() * sizeof(Digest));
  if constexpr (std::is_same_v<Key, std::string_view>) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (is_long(keys[i])) [[unlikely]] {
        out[i] = long_digest(key, keys[i]);
      }
    }
  }
}

template <class Key>
void digest_each(const ExpandedKey& key, std::span<const Key> keys, std::span<Digest> digests) noexcept {
  MANKAI_ASSERT(keys.size() == digests.size());
  if (keys.size() < kLeastForVectors) {
    std::ranges::transform(keys, digests.begin(), [&](const Key& each) { return single_digest(key, each); });
    return;
  }
  Sums sums{};
  for (std::size_t start = 0; start < keys.size(); start += kWindow) {
    const std::size_t count = std::min(kWindow, keys.size() - start);
    const bool has_more = keys.size() - start >= count + kAhead;
    digest_window(key, keys.subspan(start, count), keys.data() + start + (has_more ? kAhead : 0), sums,
                  digests.data() + start);
  }
}

void begin(const std::array<std::uint64_t, 2>& /*seed*/, ExpandedKey& key) noexcept { key.end_bytes = 0; }

// Makes as many words as keys of some bytes use. Not inlined: few calls need it.
[[gnu::noinline]] void expand(ExpandedKey& key, std::size_t bytes) noexcept {
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  const auto [pairs, end_bytes] = bytes < kPairBytes    ? std::pair(std::size_t{1}, kPairBytes)
                                  : bytes <= kHalfBytes ? std::pair(kPairs / 2, kHalfBytes + 1)
                                                        : std::pair(kPairs, kAny);
  SeedWords words;
  HWY_DYNAMIC_DISPATCH(expand_seed)(SipHash13::initial_state(key.seed), kFirstWords + 2 * pairs, words);
  key.state = SipHash13::initial_state({words[0], words[1]});
  key.length_addend = words[2];
  key.length_factor = words[3];
  std::copy_n(words.begin() + kFirstWords, 2 * pairs, key.words.begin());
  key.end_bytes = end_bytes;
}

ExpandedKey& key_for(const std::array<std::uint64_t, 2>& seed, std::size_t bytes) noexcept {
  ExpandedKey& key = cached_key<ExpandedKey, begin>(seed);
  if (bytes >= key.end_bytes) [[unlikely]] {
    expand(key, bytes);
  }
  return key;
}

}  // namespace

const ExpandedKey& expanded_key(const std::array<std::uint64_t, 2>& seed) noexcept {
  return key_for(seed, kHalfBytes + 1);
}

Digest digest(const std::array<std::uint64_t, 2>& seed, std::string_view text) noexcept {
  return single_digest(key_for(seed, text.size()), text);
}

Digest digest(const ExpandedKey& key, std::string_view text) noexcept { return single_digest(key, text); }

void digests(const ExpandedKey& key, std::span<const std::string_view> texts, std::span<Digest> digests) noexcept {
  digest_each(key, texts, digests);
}

void digests(const ExpandedKey& key, std::span<const std::uint64_t> numbers, std::span<Digest> digests) noexcept {
  digest_each(key, numbers, digests);
}

}  // namespace mankai::nh_siphash
#endif  // HWY_ONCE
