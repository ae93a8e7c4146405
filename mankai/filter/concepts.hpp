#pragma once

/// The capabilities of filter kinds as concepts, and the contract of the members that kinds share. A kind documents
/// only what differs.
///
///   - `create`: errors are invalid_argument for an impossible request, and out_of_space.
///   - `from_image`: attaches to an image of this kind. Errors: corrupt; unsupported_version for an unknown layout,
///     policy or rule.
///   - `create_like`: makes an empty filter that merges with this one. Errors: out_of_space.
///   - `Params`: the kind's parameters as the image stores them.
///   - `insert`: never fails unless documented. Beyond the capacity the false-positive rate rises.
///   - `observe`: inserts, and returns what `may_contain` returned before. Queries never fail or throw.
///   - Batches of digests or of integer keys (hashed as by `hasher()`): the fast path, same result as single calls in
///     this order. Shape: one outcome per key; may be empty; must not overlap.
///   - `merge`: adds the other filter's keys or counts. Errors: invalid_argument if size, parameters or seed differ.
///   - `clear`: removes every key; a tick stays. `relocate`: lets the image move in memory; needs the filter alone.
///   - `fill_ratio`, `keys_estimate`, `fpr_estimate`: from the cells as they are, at the cost of a pass over them:
///     share of cells in use; number of distinct keys, infinite if no cell is unused; false-positive probability of an
///     absent key.
///   - `fpr_expected`: the false-positive rate by the kind's formula, for so many distinct keys.
///   - `lines_per_key`: cache lines per operation, at most.
///   - Threads, unless documented: any number of readers beside one writer. `advance`, `seal`, `clear`, `merge` and
///     moving need the filter alone.

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

/// Answers "may this key have been inserted?".
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

/// Has batches.
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

/// Tests and adds beside other threads and processes that do the same (BitFilter, CountingBloom).
template <class F>
concept ConcurrentFilter =
    MembershipFilter<F> && requires(F filter, std::span<const Digest> digests, std::span<bool> seen) {
      { filter.observe_concurrent(digests, seen) } -> std::same_as<std::uint64_t>;
      { filter.count_again(std::uint64_t{}) } -> std::same_as<void>;
    };

/// The result of removing a key.
enum class EraseResult : std::uint8_t {
  erased,     ///< removed once
  absent,     ///< refused: certainly not present; removing it would corrupt other keys
  ambiguous,  ///< refused: several slices may hold it, and removing it from the wrong one would corrupt other keys
  below_ids,  ///< refused: the id is below those of all slices
  stuck,      ///< refused: its counters are at their largest value, so its count is unknown
};

/// Removes keys. A key inserted more often than removed is still found. Removing an absent key is refused unless it is
/// a false positive, whose removal corrupts other keys.
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

/// Gives each key its own time to live, if the filter was created with one. `until` is a tick: the key is found at
/// every tick before it.
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

/// A value, and how many of the key's cells hold it.
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

/// Stores the bytes of keys beside their digests, and the time of each insertion.
template <class F>
concept NamedFilter = DecayingFilter<F> && MembershipFilter<F> &&
                      requires(F filter, const F asked, Digest digest, std::string_view name, Time time) {
                        { filter.insert(digest, name, time) } -> std::same_as<void>;
                        { asked.newest() } -> std::same_as<Time>;
                      };

/// Keys are paths: a digest per segment. A batch is the digests of many paths, and where each path ends.
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
