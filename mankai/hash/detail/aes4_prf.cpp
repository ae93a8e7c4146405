#include "mankai/hash/detail/aes4_prf.hpp"

#include <algorithm>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/detail/aes_targets.hpp"  // IWYU pragma: keep
#include "mankai/hash/detail/key_cache.hpp"
#include "mankai/hash/detail/key_prefetch.hpp"
#include "mankai/hash/detail/short_words.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/hash/detail/aes4_prf.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef MANKAI_HASH_AES4_PRF_ONCE
#define MANKAI_HASH_AES4_PRF_ONCE
namespace mankai::aes4_prf {
namespace {

/// Keys that are hashed at once.
constexpr std::size_t kLanes = 4;
/// Keys of a batch whose longer ones are hashed together.
constexpr std::size_t kWindow = 64;
/// How many keys ahead a key's bytes are prefetched.
constexpr std::size_t kAhead = 16;
constexpr std::size_t kHalfBytes = kChunkBytes / 2;
constexpr int kSignBit = 63;
static_assert(sizeof(std::ptrdiff_t) == 8);

alignas(kHalfBytes) constexpr std::uint8_t kZeros[kHalfBytes] = {};

}  // namespace
}  // namespace mankai::aes4_prf
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::aes4_prf {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::FixedTag<std::uint8_t, kBlockBytes>;
using Words = hn::Repartition<std::uint64_t, Tag>;
using Block = hn::Vec<Tag>;

HWY_INLINE Block load(const std::uint8_t* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE Block load(const RoundKey& key) { return hn::Load(Tag(), key.data()); }

HWY_INLINE Block of_number(std::uint64_t number) {
  return hn::BitCast(Tag(), hn::InsertLane(hn::Zero(Words()), 0, number));
}

HWY_INLINE std::uint64_t low_half(Block block) { return hn::GetLane(hn::BitCast(Words(), block)); }

// Emulated rounds are long: inlined a hundred times, they would take minutes to compile.
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4) || \
    (HWY_TARGET == HWY_NEON && (HWY_HAVE_RUNTIME_DISPATCH || defined(__ARM_FEATURE_AES)))
HWY_INLINE
#else
HWY_NOINLINE
#endif
Block aes_round(Block state, Block key) { return hn::AESRound(state, key); }

HWY_INLINE Block permuted(const Schedule& keys, Block state) {
  state = hn::Xor(state, load(keys[0]));
  for (std::size_t round = 1; round < kRounds; ++round) {
    state = aes_round(state, load(keys[round]));
  }
  return hn::AESLastRound(state, load(keys[kRounds]));
}

// A key of up to 128 bytes, or a chunk of a longer one. Places are computed without branches, which would be
// mispredicted where lengths vary.
struct Chunk {
  // Of the first half: block i is at 16 i, or is the last 16 bytes if these begin earlier.
  HWY_INLINE const std::uint8_t* block(std::size_t i) const {
    const auto at = static_cast<std::ptrdiff_t>(i * kBlockBytes);
    const auto beyond = static_cast<std::ptrdiff_t>(bytes - kBlockBytes) - at;
    return first + (at + (beyond & (beyond >> kSignBit)));
  }

  // The last 64 bytes, or zeros if there are not as many.
  HWY_INLINE const std::uint8_t* second_half() const {
    const auto at = static_cast<std::ptrdiff_t>(bytes - kHalfBytes);
    const std::uint8_t* const from[] = {kZeros, first};
    return from[static_cast<std::size_t>(at >= 0)] + (at & ~(at >> kSignBit));
  }

  const std::uint8_t* first;
  std::size_t bytes;
};

#if HWY_TARGET == HWY_AVX3_DL

using WideTag = hn::FixedTag<std::uint8_t, kLanes * kBlockBytes>;
using HalfTag = hn::Half<WideTag>;
using WideWords = hn::Repartition<std::uint64_t, WideTag>;
using Wide = hn::Vec<WideTag>;

HWY_INLINE Wide load_wide(const RoundKey& first) { return hn::Load(WideTag(), first.data()); }

// Four blocks, from block `kFirst` of a chunk on.
template <std::size_t kFirst>
HWY_INLINE Wide compressed(const ExpandedKey& key, Wide blocks) {
  blocks = hn::Xor(blocks, load_wide(key.blocks[0][kFirst]));
  for (std::size_t round = 1; round < kBlockRounds; ++round) {
    blocks = hn::AESRound(blocks, load_wide(key.blocks[round][kFirst]));
  }
  return hn::AESRound(blocks, hn::Zero(WideTag()));
}

// Four blocks whose sum is the chunk's.
HWY_INLINE Wide terms_of(const ExpandedKey& key, const Chunk& chunk) {
  const auto two = [&](std::size_t i)
                       HWY_ATTR { return hn::Combine(HalfTag(), load(chunk.block(i + 1)), load(chunk.block(i))); };
  return hn::Xor(compressed<0>(key, hn::Combine(WideTag(), two(2), two(0))),
                 compressed<kBlocks / 2>(key, hn::LoadU(WideTag(), chunk.second_half())));
}

HWY_INLINE Block sum_of(const ExpandedKey& key, const Chunk& chunk) {
  const Wide terms = terms_of(key, chunk);
  const auto two = hn::Xor(hn::LowerHalf(HalfTag(), terms), hn::UpperHalf(HalfTag(), terms));
  return hn::Xor(hn::LowerHalf(Tag(), two), hn::UpperHalf(Tag(), two));
}

HWY_INLINE void four_digests(const ExpandedKey& key, const Chunk* chunks, const std::uint64_t* lengths, Digest* out) {
  const WideTag d;
  const auto terms = [&](std::size_t i) HWY_ATTR {
    const Wide length = hn::ZeroExtendVector(d, hn::ZeroExtendVector(HalfTag(), of_number(lengths[i])));
    return hn::Xor(terms_of(key, chunks[i]), length);
  };
  const auto pairs = [&](Wide a, Wide b)
                         HWY_ATTR { return hn::Xor(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a)); };
  const Wide even = pairs(terms(0), terms(2));
  const Wide odd = pairs(terms(1), terms(3));
  Wide states = hn::Xor(hn::OddEvenBlocks(odd, even), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(even, odd)));
  states = hn::Xor(states, hn::LoadDup128(d, key.digest[0].data()));
  for (std::size_t round = 1; round < kRounds; ++round) {
    states = hn::AESRound(states, hn::LoadDup128(d, key.digest[round].data()));
  }
  const auto words = hn::BitCast(WideWords(), hn::AESLastRound(states, hn::LoadDup128(d, key.digest[kRounds].data())));
  const hn::Half<WideWords> half;
  hn::StoreU(hn::LowerHalf(half, hn::ConcatEven(WideWords(), words, words)), half, &out->value);
}

#else

// Block `i` of the chunk under its keys.
HWY_INLINE Block compressed(const ExpandedKey& key, std::size_t i, const Chunk& chunk) {
  constexpr std::size_t kHalf = kBlocks / 2;
  Block block = load(i < kHalf ? chunk.block(i) : chunk.second_half() + (i - kHalf) * kBlockBytes);
  block = hn::Xor(block, load(key.blocks[0][i]));
  for (std::size_t round = 1; round < kBlockRounds; ++round) {
    block = aes_round(block, load(key.blocks[round][i]));
  }
  return aes_round(block, hn::Zero(Tag()));
}

HWY_INLINE Block sum_of(const ExpandedKey& key, const Chunk& chunk) {
  Block sum = compressed(key, 0, chunk);
#pragma GCC unroll 8
  for (std::size_t i = 1; i < kBlocks; ++i) {
    sum = hn::Xor(sum, compressed(key, i, chunk));
  }
  return sum;
}

// Block by block: a round's key is loaded once.
HWY_INLINE void four_digests(const ExpandedKey& key, const Chunk* chunks, const std::uint64_t* lengths, Digest* out) {
  Block sums[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums[lane] = hn::Xor(of_number(lengths[lane]), load(key.digest[0]));
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kBlocks; ++i) {
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] = hn::Xor(sums[lane], compressed(key, i, chunks[lane]));
    }
  }
#pragma GCC unroll 9
  for (std::size_t round = 1; round < kRounds; ++round) {
#pragma GCC unroll 4
    for (Block& sum : sums) {
      sum = aes_round(sum, load(key.digest[round]));
    }
  }
#pragma GCC unroll 4
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    out[lane].value = low_half(hn::AESLastRound(sums[lane], load(key.digest[kRounds])));
  }
}

#endif

// Not inlined, so that other keys keep the registers.
HWY_NOINLINE Chunk short_chunk(std::string_view text, RoundKey& room) {
  const auto [low, high] = short_words(text);
  hn::StoreU(hn::BitCast(Tag(), hn::InsertLane(hn::Set(Words(), low), 1, high)), Tag(), room.data());
  return {room.data(), room.size()};
}

// `room`: for a key of less than a block.
HWY_INLINE Chunk chunk_of(std::string_view text, RoundKey& room) {
  if (text.size() >= kBlockBytes) [[likely]] {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }
  return short_chunk(text, room);
}

// The last chunk ends at the key's end and may overlap the one before.
HWY_NOINLINE Digest long_digest(const ExpandedKey& key, std::string_view text) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::size_t last_at = text.size() - kChunkBytes;
  Block sum = of_number(text.size());
  for (std::size_t i = 0; i * kChunkBytes < text.size(); ++i) {
    const Chunk chunk{first + std::min(i * kChunkBytes, last_at), kChunkBytes};
    sum = hn::Xor(sum, permuted(key.chunk, hn::Xor(sum_of(key, chunk), of_number(i))));
  }
  return {low_half(permuted(key.digest, sum))};
}

HWY_INLINE Digest short_digest(const ExpandedKey& key, std::string_view text) {
  RoundKey room;
  const Block sum = sum_of(key, chunk_of(text, room));
  return {low_half(permuted(key.digest, hn::Xor(sum, of_number(text.size()))))};
}

// `ahead`: as many keys to ask for. The digests of keys of more than a chunk are wrong.
HWY_INLINE void short_digests(const ExpandedKey& key, std::span<const std::string_view> texts,
                              const std::string_view* ahead, Digest* out) {
  const KeyPrefetch prefetch;
  std::size_t i = 0;
  for (; i + kLanes <= texts.size(); i += kLanes) {
    RoundKey rooms[kLanes];
    const std::string_view* const four = texts.data() + i;
    const Chunk chunks[] = {chunk_of(four[0], rooms[0]), chunk_of(four[1], rooms[1]), chunk_of(four[2], rooms[2]),
                            chunk_of(four[3], rooms[3])};
    const std::uint64_t lengths[] = {four[0].size(), four[1].size(), four[2].size(), four[3].size()};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      prefetch.bytes(ahead[i + lane]);
    }
    static_assert(kLanes == KeyPrefetch::kKeysPerLine);
    prefetch.later(ahead[i]);
    four_digests(key, chunks, lengths, out + i);
  }
  for (; i < texts.size(); ++i) {
    out[i] = short_digest(key, texts[i]);
  }
}

}  // namespace

// NOLINTBEGIN(misc-use-internal-linkage): Highway's table needs names with external linkage.
Digest hash_text(const ExpandedKey& key, std::string_view text) {
  return text.size() > kChunkBytes ? long_digest(key, text) : short_digest(key, text);
}

void hash_texts(const ExpandedKey& key, std::span<const std::string_view> texts, Digest* out) {
  for (std::size_t start = 0; start < texts.size(); start += kWindow) {
    const auto window = texts.subspan(start, std::min(kWindow, texts.size() - start));
    const bool has_more = texts.size() - start >= window.size() + kAhead;
    short_digests(key, window, window.data() + (has_more ? kAhead : 0), out + start);
    // No branch: which keys are longer is not predictable.
    std::uint8_t longer[kWindow];
    std::size_t count = 0;
    for (std::size_t i = 0; i < window.size(); ++i) {
      longer[count] = static_cast<std::uint8_t>(i);
      count += static_cast<std::size_t>(window[i].size() > kChunkBytes);
    }
    for (std::size_t i = 0; i < count; ++i) {
      out[start + longer[i]] = long_digest(key, window[longer[i]]);
    }
  }
}

void expand_seed(const std::array<std::uint64_t, 2>& seed, ExpandedKey& key) {
  constexpr std::uint8_t kConstants[kRounds] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};
  const hn::Repartition<std::uint32_t, Tag> d;
  // FIPS 197, key expansion of AES-128.
  alignas(kBlockBytes) Schedule schedule;
  auto words = hn::BitCast(d, hn::LoadU(Words(), seed.data()));
  hn::Store(hn::BitCast(Tag(), words), Tag(), schedule[0].data());
  for (std::size_t round = 0; round < kRounds; ++round) {
    // In four equal columns shifting rows changes nothing.
    const auto columns = hn::BitCast(Tag(), hn::Broadcast<3>(words));
    const auto substituted = hn::BitCast(d, hn::AESLastRound(columns, hn::Zero(Tag())));
    words = hn::Xor(words, hn::ShiftLeftLanes<1>(d, words));
    words = hn::Xor(words, hn::ShiftLeftLanes<2>(d, words));
    words = hn::Xor(words, hn::Xor(hn::RotateRight<8>(substituted), hn::Set(d, kConstants[round])));
    hn::Store(hn::BitCast(Tag(), words), Tag(), schedule[round + 1].data());
  }
  std::uint64_t counter = 0;
  const auto fill = [&](std::span<RoundKey> keys) HWY_ATTR {
    for (RoundKey& each : keys) {
      hn::Store(permuted(schedule, of_number(counter++)), Tag(), each.data());
    }
  };
  std::ranges::for_each(key.blocks, fill);
  fill(key.digest);
  fill(key.chunk);
}
// NOLINTEND(misc-use-internal-linkage)

}  // namespace HWY_NAMESPACE
}  // namespace mankai::aes4_prf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::aes4_prf {
namespace {

HWY_EXPORT(hash_text);
HWY_EXPORT(hash_texts);
HWY_EXPORT(expand_seed);

void expand(const std::array<std::uint64_t, 2>& seed, ExpandedKey& key) noexcept {
  HWY_DYNAMIC_DISPATCH(expand_seed)(seed, key);
}

}  // namespace

const ExpandedKey& expanded_key(const std::array<std::uint64_t, 2>& seed) noexcept {
  return cached_key<ExpandedKey, expand>(seed);
}

Digest digest(const ExpandedKey& key, std::string_view text) noexcept {
  return HWY_DYNAMIC_DISPATCH(hash_text)(key, text);
}

void digests(const ExpandedKey& key, std::span<const std::string_view> texts, std::span<Digest> digests) noexcept {
  MANKAI_ASSERT(texts.size() == digests.size());
  HWY_DYNAMIC_DISPATCH(hash_texts)(key, texts, digests.data());
}

}  // namespace mankai::aes4_prf
#endif  // HWY_ONCE
