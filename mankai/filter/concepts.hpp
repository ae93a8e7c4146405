#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai {

/// A filter's guarantee; the contract suite checks it against an exact model.
struct Promise {
  bool no_false_negatives = false;  ///< an inserted key is always found until it expires or is removed
  bool forgets = false;             ///< keys expire with time, or are overwritten by later keys
};

/// Answers "may this key have been inserted?". Queries are total and never throw; inserting never fails.
template <class F>
concept MembershipFilter = std::movable<F> && requires(F filter, const F asked, Digest digest) {
  typename F::Params;
  { F::kPromise } -> std::convertible_to<Promise>;
  { filter.insert(digest) } -> std::same_as<void>;
  { filter.observe(digest) } -> std::same_as<bool>;
  { asked.may_contain(digest) } -> std::same_as<bool>;
  { asked.params() } -> std::convertible_to<typename F::Params>;
  requires noexcept(asked.may_contain(digest));
};

/// Batches: the fast path, which must agree with single calls in the same order.
template <class F>
concept BatchFilter = MembershipFilter<F> && requires(F filter, const F asked, std::span<const Digest> digests,
                                                      std::span<const std::uint64_t> keys, std::span<bool> outcomes) {
  { filter.insert(digests) } -> std::same_as<void>;
  { filter.insert(keys) } -> std::same_as<void>;
  { filter.observe(digests, outcomes) } -> std::same_as<void>;
  { asked.may_contain(digests, outcomes) } -> std::same_as<void>;
  { asked.may_contain(keys, outcomes) } -> std::same_as<void>;
  requires noexcept(asked.may_contain(digests, outcomes));
};

/// The result of removing a key.
enum class EraseResult : std::uint8_t {
  erased,     ///< removed once
  absent,     ///< refused: certainly not present; removing it would corrupt other keys
  ambiguous,  ///< refused: several slices may hold it, and removing it from the wrong one would corrupt other keys
  below_ids,  ///< refused: the id is below those of all slices
  stuck,      ///< refused: its counters are at their largest value, so its count is unknown
};

/// Removes keys. A key that was inserted more often than removed is found. Removing an absent key is refused unless it
/// is a false positive, whose removal corrupts other keys.
template <class F>
concept DeletableFilter = MembershipFilter<F> && requires(F filter, Digest digest, std::span<const Digest> digests,
                                                          std::span<EraseResult> results) {
  { filter.erase(digest) } -> std::same_as<EraseResult>;
  { filter.erase(digests, results) } -> std::same_as<void>;
};

/// How often a key may have been inserted.
struct KeyCount {
  std::uint32_t value = 0;    ///< upper bound unless saturated
  bool is_saturated = false;  ///< every cell of the key is at its largest value: the count may be higher
  friend bool operator==(const KeyCount&, const KeyCount&) = default;
};

/// Counts insertions less removals of a key: never too low unless saturated.
template <class F>
concept FrequencyFilter = MembershipFilter<F> && requires(const F asked, Digest digest, std::span<const Digest> digests,
                                                          std::span<KeyCount> counts) {
  { asked.estimate(digest) } -> std::same_as<KeyCount>;
  { asked.estimate(digests, counts) } -> std::same_as<void>;
  requires noexcept(asked.estimate(digest));
};

/// Expires or decays. The caller passes the time; an earlier tick has no effect. Inserted keys belong to the current
/// tick. Skipping many ticks equals single ones, and costs one pass over the cells.
template <class F>
concept DecayingFilter = requires(F filter, const F asked, Tick tick) {
  { filter.advance(tick) } -> std::same_as<void>;
  { asked.tick() } -> std::same_as<Tick>;
  { asked.epoch() } -> std::same_as<Duration>;
  requires noexcept(filter.advance(tick));
};

/// Gives each key a time to live of its own, if it was created so. The generation until which a key lives is counted in
/// ticks: it is found at all of those before it.
template <class F>
concept ExpiringFilter = DecayingFilter<F> && MembershipFilter<F> &&
                         requires(F filter, const F asked, std::span<const Digest> digests,
                                  std::span<const std::uint64_t> until, Time expiry) {
                           { asked.until_of(expiry) } -> std::same_as<Result<std::uint64_t>>;
                           { asked.is_until(std::uint64_t{}) } -> std::same_as<bool>;
                           { filter.insert_until(digests, until) } -> std::same_as<void>;
                         };

/// A decayed count: an insertion counts λ to the power of the ticks since.
struct DecayedCount {
  double raw = 0;             ///< Σ λ^age
  double rate = 0;            ///< (1 − λ) · raw: smoothed insertions per epoch; 0 if λ is 1
  bool is_saturated = false;  ///< a cell of the key has been at its largest value and may be too low
  friend bool operator==(const DecayedCount&, const DecayedCount&) = default;
};

/// Returns decayed counts; the bound of their error depends on the rounding policy.
template <class F>
concept DecayedFrequencyFilter =
    DecayingFilter<F> && MembershipFilter<F> &&
    requires(const F asked, Digest digest, std::span<const Digest> digests, std::span<DecayedCount> counts) {
      { asked.estimate(digest) } -> std::same_as<DecayedCount>;
      { asked.estimate(digests, counts) } -> std::same_as<void>;
      { asked.decay() } -> std::same_as<Decay>;
      requires noexcept(asked.estimate(digest));
    };

/// A value of a key, and the number of the key's cells that hold it.
struct ValueMatches {
  std::uint32_t value = 0;
  std::uint32_t matches = 0;
  friend bool operator==(const ValueMatches&, const ValueMatches&) = default;
};

/// Stores values with keys, and lists the recent ones of a key: the later and more frequent a value, the more matches.
/// For an absent key it returns random values with one match.
template <class F>
concept AssociativeFilter = std::movable<F> && requires(F filter, const F asked, Digest key, std::uint32_t value,
                                                        double strength, std::span<ValueMatches> ranked) {
  typename F::Params;
  { F::kPromise } -> std::convertible_to<Promise>;
  { filter.put(key, value, strength) } -> std::same_as<void>;
  { asked.count(key, value) } -> std::same_as<std::uint32_t>;
  { asked.get(key, ranked, std::uint32_t{}) } -> std::same_as<std::size_t>;
  { asked.params() } -> std::convertible_to<typename F::Params>;
  requires noexcept(asked.count(key, value));
  requires noexcept(asked.get(key, ranked, std::uint32_t{}));
};

/// Numbers keys in the order of insertion, and removes a key by its number, which selects the sub-filter.
template <class F>
concept NumberedFilter = DeletableFilter<F> && requires(F filter, Digest digest, std::uint64_t id) {
  { filter.insert(digest, id) } -> std::same_as<Result<void>>;
  { filter.erase(digest, id) } -> std::same_as<EraseResult>;
};

/// Stores the bytes of keys beside their digests, and takes a time with each.
template <class F>
concept NamedFilter = DecayingFilter<F> && MembershipFilter<F> &&
                      requires(F filter, const F asked, Digest digest, std::string_view name, Time time) {
                        { filter.insert(digest, name, time) } -> std::same_as<void>;
                        { asked.newest() } -> std::same_as<Time>;
                      };

/// Answers about keys that are paths: a digest per segment. A batch is the digests of many paths, and where each path
/// ends; it is the fast path and agrees with single calls in the same order.
template <class F>
concept PathFilter = std::movable<F> && requires(F filter, const F asked, std::span<const Digest> segments,
                                                 std::span<const std::uint32_t> ends, std::span<bool> outcomes) {
  typename F::Params;
  { F::kPromise } -> std::convertible_to<Promise>;
  { filter.insert(segments) } -> std::same_as<void>;
  { filter.observe(segments) } -> std::same_as<bool>;
  { asked.may_contain(segments) } -> std::same_as<bool>;
  { filter.insert(segments, ends) } -> std::same_as<void>;
  { filter.observe(segments, ends, outcomes) } -> std::same_as<void>;
  { asked.may_contain(segments, ends, outcomes) } -> std::same_as<void>;
  { asked.params() } -> std::convertible_to<typename F::Params>;
  requires noexcept(asked.may_contain(segments));
  requires noexcept(asked.may_contain(segments, ends, outcomes));
};

/// Merges another filter of the same layout: the result answers as if its keys had been inserted here.
template <class F>
concept MergeableFilter = MembershipFilter<F> && requires(F filter, const F other) {
  { filter.merge(other) } -> std::same_as<Result<void>>;
};

}  // namespace mankai
