#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"
#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"
#include "tests/support/image_edit.hpp"

// Counts that fade and are kept in pieces (pooled digits, tiers): images of them for tests and for the fuzzer, and what
// every image that opens must do, whatever is in it.

namespace mankai::test {

inline constexpr HashSpec kPiecesHash{.kind = HashKind::xxh3, .seed = {5, 0}};

/// A key of a small range, the low ones among which come often.
[[nodiscard]] inline Digest piece_key(std::uint64_t number) { return {mix_integer(number, 1).value}; }

/// A filter with counts of one to four digits, some of which have faded.
template <class F>
[[nodiscard]] std::vector<std::byte> filled_pieces(const typename F::Options& options) {
  F filter = F::create(options).value();
  for (std::uint64_t tick = 1; tick <= 3; ++tick) {
    for (std::uint64_t key = 0; key < 12; ++key) {
      for (std::uint64_t times = 0; times < 2000 / (1 + key * key); ++times) {
        filter.insert(piece_key(key));
      }
    }
    filter.advance({tick});
  }
  return filter.to_bytes();
}

[[nodiscard]] inline Decay pieces_decay() { return {.lambda_q32 = kLambdaOne / 10 * 3, .epoch = Duration(1000)}; }

/// Small images of all lookups, with and without a gate, growing or not.
[[nodiscard]] inline std::vector<std::vector<std::byte>> pooled_images() {
  std::vector<std::vector<std::byte>> images;
  for (const PoolLookup lookup : {PoolLookup::hash, PoolLookup::links, PoolLookup::array}) {
    for (const bool is_large : {false, true}) {
      images.push_back(
          filled_pieces<TimeDecayingPooledCounts>({.counters = is_large ? 300U : 40U,
                                                   .pool_share = is_large ? 0.25 : 1.0,
                                                   .decay = pieces_decay(),
                                                   .lookup = lookup,
                                                   .overflow = is_large ? OverflowRule::all : OverflowRule::per_counter,
                                                   .when_empty = is_large ? EmptyPool::saturate : EmptyPool::grow,
                                                   .gate = is_large,
                                                   .hash = kPiecesHash}));
    }
  }
  return images;
}

[[nodiscard]] inline std::vector<std::vector<std::byte>> tiered_images() {
  std::vector<std::vector<std::byte>> images;
  for (const std::uint32_t width : {4U, 8U}) {
    for (const RemainderRule rule : {RemainderRule::both_ways, RemainderRule::downwards}) {
      images.push_back(filled_pieces<TimeDecayingTieredCounts>(
          {.counters = 45,
           .width_bits = width,
           .shrink_bits = rule == RemainderRule::downwards ? 1U : 2U,
           .decay = pieces_decay(),
           .policy = rule == RemainderRule::downwards ? DecayPolicy::ceil : DecayPolicy::floor,
           .remainder = rule,
           .hash = kPiecesHash}));
    }
  }
  return images;
}

/// Asks, inserts, lets fade, and checks that what comes of it is an image again.
template <class F>
void use_pieces(F filter) {
  std::array<Digest, 16> digests;
  for (std::uint64_t i = 0; i < digests.size(); ++i) {
    digests[i] = piece_key(i);
  }
  std::array<DecayedCount, 16> counts;
  for (int round = 0; round < 2; ++round) {
    filter.estimate(digests, counts);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      MANKAI_ASSERT(filter.estimate(digests[i]) == counts[i]);
      MANKAI_ASSERT(filter.may_contain(digests[i]) == (counts[i].raw > 0));
    }
    MANKAI_ASSERT(filter.fill_ratio() >= 0 && filter.fill_ratio() <= 1);
    MANKAI_ASSERT(filter.fpr_estimate() >= 0 && filter.fpr_estimate() <= 1);
    MANKAI_ASSERT(filter.keys_estimate() >= 0);
    for (int times = 0; times < 17; ++times) {
      filter.insert(std::span<const Digest>(digests));
    }
    MANKAI_ASSERT(F::from_bytes(filter.to_bytes()).has_value());
    filter.advance({filter.tick().value + (round == 1 ? 40 : 1)});
    MANKAI_ASSERT(F::from_bytes(filter.to_bytes()).has_value());
  }
  const Tick now = filter.tick();
  filter.clear();
  MANKAI_ASSERT(filter.tick() == now && filter.fill_ratio() == 0 && filter.keys_inserted() == 0);
  MANKAI_ASSERT(F::from_bytes(filter.to_bytes()).has_value());
}

/// Opens bytes, copied and in place, and uses what opens. Returns the error's text, else nothing.
template <class F>
std::string open_pieces(std::span<const std::byte> bytes, Trust trust) {
  return open_both<F>(
      bytes, trust, [trust](std::span<std::byte> in_place) { return F::attach(in_place, trust); }, use_pieces<F>);
}

}  // namespace mankai::test
