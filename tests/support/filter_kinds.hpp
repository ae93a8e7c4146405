#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {

inline constexpr HashSpec kXxh3{.kind = HashKind::xxh3, .seed = {0x243f6a8885a308d3U, 0}};
inline constexpr HashSpec kNhSiphash{.kind = HashKind::nh_siphash, .seed = {0x082efa98ec4e6c89U, 0x452821e638d01377U}};
inline constexpr HashSpec kSiphash{.kind = HashKind::siphash, .seed = {0x13198a2e03707344U, 0xa4093822299f31d0U}};
/// With the seed of dablooms.
inline constexpr HashSpec kMurmur3{.kind = HashKind::murmur3, .seed = {0x97c29b3aU, 0}};

/// What the suites ask of every kind alike.
struct Request {
  std::uint64_t keys = 1000;
  double fpr = 0.01;
  HashSpec hash = kXxh3;
  Memory memory = system_memory();
};

// One struct per kind and mode: how to make it, and its name in a suite. A new filter joins every suite by a struct
// here and its name in typed_kinds.hpp.

struct BlockedBloomKind {
  using Filter = BlockedBloom;
  static constexpr std::string_view kName = "blocked_bloom";
  static Result<Filter> create(const Request& request) {
    return Filter::create({.keys = request.keys, .fpr = request.fpr, .hash = request.hash, .memory = request.memory});
  }
};

template <BloomAddressing addressing>
struct BloomKind {
  using Filter = Bloom;
  static constexpr std::string_view kName = addressing == BloomAddressing::range ? "bloom_range" : "bloom_fields";
  static Result<Filter> create(const Request& request) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .addressing = addressing,
                           .hash = request.hash,
                           .memory = request.memory});
  }
};

using BloomRangeKind = BloomKind<BloomAddressing::range>;
using BloomFieldsKind = BloomKind<BloomAddressing::fields>;

template <CountingLayout kLayout>
struct CountingKind {
  using Filter = CountingBloom;
  static constexpr std::string_view kName = kLayout == CountingLayout::blocked       ? "counting_blocked"
                                            : kLayout == CountingLayout::partitioned ? "counting_partitioned"
                                                                                     : "counting_dablooms";
  static Result<Filter> create(const Request& request) {
    return Filter::create(
        {.keys = request.keys, .fpr = request.fpr, .layout = kLayout, .hash = request.hash, .memory = request.memory});
  }
};

using CountingBlockedKind = CountingKind<CountingLayout::blocked>;
using CountingPartitionedKind = CountingKind<CountingLayout::partitioned>;
using CountingDabloomsKind = CountingKind<CountingLayout::dablooms>;

// As long as time stands still it forgets nothing. Narrow cells, so that corrupt images are as small as others'.
struct TimeDecayingKind {
  using Filter = TimeDecayingCounts;
  static constexpr std::string_view kName = "time_decaying_counts";
  static Result<Filter> create(const Request& request) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .decay = {.lambda_q32 = kLambdaOne / 8 * 7, .epoch = Duration(1000)},
                           .width_bits = 8,
                           .policy = DecayPolicy::ceil,
                           .hash = request.hash,
                           .memory = request.memory});
  }
};

/// Whether a filter counts a key that is in once more when it is inserted again: counters do, bits do not.
template <class F>
inline constexpr bool kCountsRepeats = FrequencyFilter<F> || DecayedFrequencyFilter<F>;

/// How far above its target a filter's rate may be by its sizes alone. Those of dablooms are too small where
/// ceil(log2(1/p)) is above log2(1/p): by 2.6 % at a rate of 10 %, and less from there on.
template <class F>
double sizing_slack(const F& filter) {
  if constexpr (requires {
                  { filter.layout() } -> std::same_as<CountingLayout>;
                }) {
    return filter.layout() == CountingLayout::dablooms ? 1.03 : 1;
  }
  return 1;
}

/// Whether several writers may insert at once.
template <class F>
concept ConcurrentFilter = requires(F filter, Digest digest) { filter.insert_concurrent(digest); };

template <class Kind>
typename Kind::Filter make(const Request& request = {}) {
  return Kind::create(request).value();
}

/// Inserts so many random keys, drawn from the seed.
template <class F>
void insert_random(F& filter, std::uint64_t seed, std::size_t count) {
  const std::vector<Digest> digests = Random(seed).digests(count);
  filter.insert(std::span(digests));
}

}  // namespace mankai::test
