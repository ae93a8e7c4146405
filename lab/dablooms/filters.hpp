#pragma once

/// What the parts share: keys, filters that take ids and have the context's fault, and the formulas.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lab/dablooms/original.hpp"
#include "lab/random.hpp"
#include "lab/under_test.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::lab::spam {

/// Digests of numbered keys: members from 0 on, and absent keys, which are never inserted.
class Keys {
 public:
  explicit constexpr Keys(std::uint64_t seed) noexcept : first_(seed << kSeedShift) {}
  [[nodiscard]] constexpr Digest member(std::uint64_t number) const noexcept {
    return {Random(first_ + number).next()};
  }
  [[nodiscard]] constexpr Digest stranger(std::uint64_t number) const noexcept {
    return member((std::uint64_t{1} << kStrangerShift) + number);
  }

 private:
  static constexpr unsigned kSeedShift = 48;
  static constexpr unsigned kStrangerShift = 40;
  std::uint64_t first_;
};

/// A filter that takes ids, with the context's fault.
template <class F>
class Numbered {
 public:
  Numbered(F filter, Fault fault) noexcept : filter_(std::move(filter)), fault_(fault) {}

  void insert(Digest digest, std::uint64_t id) {
    if (loses_insert(fault_, digest.value)) {
      return;
    }
    if constexpr (NumberedFilter<F>) {
      const auto inserted = filter_.insert(digest, id);
      MANKAI_ASSERT(inserted.has_value());
    } else {
      filter_.insert(digest, id);
    }
  }
  EraseResult erase(Digest digest, std::uint64_t id) { return filter_.erase(digest, id); }
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    return filter_.may_contain(digest) || invents_yes(fault_, digest.value);
  }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    filter_.may_contain(digests, outcomes);
    for (std::size_t i = 0; fault_ == Fault::invents_keys && i < digests.size(); ++i) {
      outcomes[i] = outcomes[i] || invents_yes(fault_, digests[i].value);
    }
  }

  [[nodiscard]] const F& filter() const noexcept { return filter_; }

 private:
  F filter_;
  Fault fault_;
};

using Ours = Numbered<ScalableCountingBloom>;
using Theirs = Numbered<Original>;

/// How a filter of ours is made to be like dablooms': equal partitioned slices. Changed where a claim is about that.
struct Shape {
  std::uint64_t keys = 1000;
  double fpr = 0.01;
  Growth growth{.factor = 1, .tightening = 0.5, .bound = FprBound::total};
  CountingLayout layout = CountingLayout::partitioned;
};

/// Errors: out_of_space.
[[nodiscard]] Result<Ours> make_ours(const Shape& shape, const Context& context);
[[nodiscard]] Theirs make_theirs(const Shape& shape, const Context& context);
/// A single counting filter in the partitioned layout. Errors: out_of_space.
[[nodiscard]] Result<UnderTest<CountingBloom>> make_counting(std::uint64_t keys, double fpr, const Context& context);

/// Inserts members number `first` up to `end`, each under its number.
template <class F>
void insert_members(F& filter, const Keys& keys, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t number = first; number < end; ++number) {
    if constexpr (requires { filter.insert(Digest{}, number); }) {
      filter.insert(keys.member(number), number);
    } else {
      filter.insert(keys.member(number));
    }
  }
}

/// Which of the numbered keys, as `first`, `first + step` …, below `end`.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t step = 1;
  [[nodiscard]] std::uint64_t count() const noexcept { return (end - first + step - 1) / step; }
};

/// Returns how many of those members are denied.
template <class F>
std::uint64_t count_missed(const F& filter, const Keys& keys, const Range& range) {
  std::uint64_t missed = 0;
  for (std::uint64_t number = range.first; number < range.end; number += range.step) {
    missed += static_cast<std::uint64_t>(!filter.may_contain(keys.member(number)));
  }
  return missed;
}

/// Takes those members out, each under its number, and returns how many were refused.
template <class F>
std::uint64_t erase_members(F& filter, const Keys& keys, const Range& range) {
  std::uint64_t refused = 0;
  for (std::uint64_t number = range.first; number < range.end; number += range.step) {
    refused += static_cast<std::uint64_t>(filter.erase(keys.member(number), number) != EraseResult::erased);
  }
  return refused;
}

/// Returns the share of so many absent keys that is answered yes.
template <class F>
Estimate strangers_let_through(const F& filter, const Keys& keys, std::uint64_t trials) {
  constexpr std::size_t kBatch = 4096;
  std::vector<Digest> digests(kBatch);
  const auto outcomes = std::make_unique<std::array<bool, kBatch>>();
  std::uint64_t yes = 0;
  for (std::uint64_t asked = 0; asked < trials; asked += kBatch) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, trials - asked));
    for (std::size_t i = 0; i < count; ++i) {
      digests[i] = keys.stranger(asked + i);
    }
    filter.may_contain(std::span(digests).first(count), std::span(*outcomes).first(count));
    yes += static_cast<std::uint64_t>(std::count(outcomes->begin(), outcomes->begin() + count, true));
  }
  return share(yes, trials);
}

/// Keys in a partitioned filter.
struct Part {
  double keys = 0;
  double size = 0;  ///< counters of each probe
  double k = 0;
};

/// Returns (1 - (1 - 1/size)^keys)^k, and how far one filter's own rate strays from it, one standard deviation.
[[nodiscard]] Estimate formula_rate(const Part& part) noexcept;
/// Returns 1 - Π(1 - p).
[[nodiscard]] Estimate any_of(std::span<const Estimate> rates) noexcept;
/// Returns the parts of a grown filter, each with as many keys as it was made for. Pre: partitioned.
[[nodiscard]] std::vector<Part> parts_of(const ScalableCountingBloom& filter);
/// Returns any_of the parts' formulas.
[[nodiscard]] Estimate formula_rate(std::span<const Part> parts);

/// Returns the estimate with an independent source of error added.
[[nodiscard]] Estimate widened(const Estimate& estimate, double error) noexcept;
/// Returns how likely a Poisson count is at least `least`.
[[nodiscard]] double poisson_tail(double mean, unsigned least) noexcept;

}  // namespace mankai::lab::spam
