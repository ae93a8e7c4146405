#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "mankai/base/error.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai {

/// What a filter never gets wrong; the contract suite checks it against an exact model.
struct Promise {
  bool no_false_negatives = false;  ///< an inserted key is always found
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

/// Takes in the keys of another filter of the same layout: afterwards it answers as if they had all been inserted here.
template <class F>
concept MergeableFilter = MembershipFilter<F> && requires(F filter, const F other) {
  { filter.merge(other) } -> std::same_as<Result<void>>;
};

}  // namespace mankai
