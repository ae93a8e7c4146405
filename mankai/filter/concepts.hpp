#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai {

/// What a filter never gets wrong; the contract suite checks it against an exact model.
struct Promise {
  bool no_false_negatives = false;  ///< an inserted key is always found, as long as it is kept
  bool forgets = false;             ///< keys are let go again, by ticks or by keys that come later
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

/// Takes many keys in one call: the fast path, which must agree with the single calls made in order.
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

/// What became of a request to take a key out.
enum class EraseResult : std::uint8_t {
  erased,     ///< it is one time fewer in the filter
  absent,     ///< refused: it is certainly not in it, and taking it out would harm others
  ambiguous,  ///< refused: more than one slice may hold it, and the wrong one would lose somebody else's bits
  below_ids,  ///< refused: no slice has ids so low
  stuck,      ///< refused: its counters have reached their largest value, and nobody knows how often it is in
};

/// Takes keys out again. What was inserted n times and taken out fewer times is found. Taking out a key that was never
/// inserted is refused where the filter can tell, and harms others at its false positive rate where it cannot.
template <class F>
concept DeletableFilter = MembershipFilter<F> && requires(F filter, Digest digest, std::span<const Digest> digests,
                                                          std::span<EraseResult> results) {
  { filter.erase(digest) } -> std::same_as<EraseResult>;
  { filter.erase(digests, results) } -> std::same_as<void>;
};

/// How often a key may have been inserted.
struct KeyCount {
  std::uint32_t value = 0;    ///< an upper bound, unless saturated
  bool is_saturated = false;  ///< every cell of the key is at its largest value: it may have been more often
  friend bool operator==(const KeyCount&, const KeyCount&) = default;
};

/// Says how often a key was inserted, less how often it was taken out: never too little.
template <class F>
concept FrequencyFilter = MembershipFilter<F> && requires(const F asked, Digest digest, std::span<const Digest> digests,
                                                          std::span<KeyCount> counts) {
  { asked.estimate(digest) } -> std::same_as<KeyCount>;
  { asked.estimate(digests, counts) } -> std::same_as<void>;
  requires noexcept(asked.estimate(digest));
};

/// Expires or decays. The caller passes the time, tick by tick or leaping, and never goes back: an earlier tick changes
/// nothing. What is inserted belongs to the tick that the filter stands at. Skipping many ticks equals taking each, and
/// costs one pass over the cells.
template <class F>
concept DecayingFilter = requires(F filter, const F asked, Tick tick) {
  { filter.advance(tick) } -> std::same_as<void>;
  { asked.tick() } -> std::same_as<Tick>;
  { asked.epoch() } -> std::same_as<Duration>;
  requires noexcept(filter.advance(tick));
};

/// A decayed count: each time counts λ to the power of the ticks since.
struct DecayedCount {
  double raw = 0;             ///< Σ λ^age
  double rate = 0;            ///< (1 − λ) · raw: times an epoch, smoothed; 0 where λ is 1
  bool is_saturated = false;  ///< a cell of the key has been at its largest value and may be too low
  friend bool operator==(const DecayedCount&, const DecayedCount&) = default;
};

/// Returns decayed counts. What it promises about errors depends on how it rounds.
template <class F>
concept DecayedFrequencyFilter =
    DecayingFilter<F> && MembershipFilter<F> &&
    requires(const F asked, Digest digest, std::span<const Digest> digests, std::span<DecayedCount> counts) {
      { asked.estimate(digest) } -> std::same_as<DecayedCount>;
      { asked.estimate(digests, counts) } -> std::same_as<void>;
      { asked.decay() } -> std::same_as<Decay>;
      requires noexcept(asked.estimate(digest));
    };

/// A value of a key, and in how many of the key's cells it was found.
struct ValueMatches {
  std::uint32_t value = 0;
  std::uint32_t matches = 0;
  friend bool operator==(const ValueMatches&, const ValueMatches&) = default;
};

/// Keeps values with keys, and lists the recent ones of a key: those with more matches later or more often. What it
/// says of a key that it does not know looks like values with one match.
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

/// Numbers keys in the order in which they come, and takes a key out by its number: the number says where it is.
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

/// Answers about keys that are paths: a digest for each segment. A batch is many paths, their digests one after the
/// other and where each of them ends; it is the fast path and agrees with the single calls made in order.
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

/// Takes in the keys of another filter of the same layout: afterwards it answers as if they had all been inserted here.
template <class F>
concept MergeableFilter = MembershipFilter<F> && requires(F filter, const F other) {
  { filter.merge(other) } -> std::same_as<Result<void>>;
};

}  // namespace mankai
