#pragma once

/// Filters that can be broken on purpose, so that a test can show that the lab notices.

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lab/lab.hpp"
#include "lab/traffic/random.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/filter/concepts.hpp"

namespace mankai::lab {

/// Whether the fault loses the insert of this digest, or of any number that stands for a key; one in 64.
[[nodiscard]] constexpr bool loses_insert(Fault fault, std::uint64_t digest) noexcept {
  return fault == Fault::forgets_keys && digest % 64 == 0;
}

/// Whether the fault turns the answer about this digest into a yes; one in 64.
[[nodiscard]] constexpr bool invents_yes(Fault fault, std::uint64_t digest) noexcept {
  return fault == Fault::invents_keys && digest % 64 == 1;
}

/// Calls `add` with the digest, and with those of seven other keys if the fault crowds the cells.
template <class Add>
void insert_crowd(Fault fault, Digest digest, const Add& add) {
  constexpr std::uint64_t kCrowd = 8;
  for (std::uint64_t i = 0; i < (fault == Fault::crowds_cells ? kCrowd : 1); ++i) {
    add(i == 0 ? digest : Digest{mankai::detail::mix(digest.value + i)});
  }
}

/// Wraps a filter of digests, with or without ids, and adds the context's fault; with Fault::none nothing changes.
/// Filters with other operations use the two functions above.
template <class F>
class UnderTest {
 public:
  UnderTest(F filter, Fault fault) noexcept : filter_(std::move(filter)), fault_(fault) {}

  void insert(Digest digest) noexcept {
    if (!loses_insert(fault_, digest.value)) {
      insert_crowd(fault_, digest, [this](Digest added) { filter_.insert(added); });
    }
  }
  void insert(Digest digest, std::uint64_t id)
    requires requires(F filter) { filter.insert(digest, id); }
  {
    if (!loses_insert(fault_, digest.value)) {
      insert_crowd(fault_, digest, [this, id](Digest added) {
        if constexpr (NumberedFilter<F>) {
          const auto inserted = filter_.insert(added, id);
          MANKAI_ASSERT(inserted.has_value());
        } else {
          filter_.insert(added, id);
        }
      });
    }
  }
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    return filter_.may_contain(digest) || invents_yes(fault_, digest.value);
  }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    filter_.may_contain(digests, outcomes);
    for (std::size_t i = 0; fault_ == Fault::invents_keys && i < digests.size(); ++i) {
      outcomes[i] = outcomes[i] || invents_yes(fault_, digests[i].value);
    }
  }

  /// The filter itself, for its sizes and cells.
  [[nodiscard]] F& filter() noexcept { return filter_; }
  [[nodiscard]] const F& filter() const noexcept { return filter_; }

 private:
  F filter_;
  Fault fault_;
};

/// Makes a filter with the context's hash and fault. Errors: the filter's.
template <class F>
[[nodiscard]] Result<UnderTest<F>> make_under_test(typename F::Options options, const Context& context) {
  options.hash = context.hash();
  MANKAI_ASSIGN(auto filter, F::create(options));
  return UnderTest<F>(std::move(filter), context.fault);
}

/// Asks about so many absent keys, whose digests `digest_of` returns in order, and returns the share answered yes.
template <class F, class DigestOf>
[[nodiscard]] Estimate rate_of_yes(const F& filter, std::uint64_t trials, const DigestOf& digest_of) {
  constexpr std::size_t kBatch = 4096;
  std::vector<Digest> digests(kBatch);
  const auto outcomes = std::make_unique<std::array<bool, kBatch>>();
  std::uint64_t yes = 0;
  for (std::uint64_t asked = 0; asked < trials; asked += kBatch) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, trials - asked));
    for (std::size_t i = 0; i < count; ++i) {
      digests[i] = digest_of(asked + i);
    }
    filter.may_contain(std::span(digests).first(count), std::span(*outcomes).first(count));
    yes += static_cast<std::uint64_t>(std::count(outcomes->begin(), outcomes->begin() + count, true));
  }
  return share(yes, trials);
}

}  // namespace mankai::lab
