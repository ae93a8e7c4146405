#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"

namespace mankai {

/// The batches of kinds of decayed counts that have no kernel of their own: single calls in order. If `Derived` has
/// `prefetch(Digest)`, the cells of later keys are fetched meanwhile.
///
/// `Derived` befriends this class. Its header declares `extern template class SingleCallFilter<Derived>`, and its .cpp
/// instantiates that: the loops are compiled where the single calls can be inlined, and nowhere else.
template <class Derived>
class SingleCallFilter : public FlatFilter<Derived> {
 public:
  /// Batches, in order: the fast path. Shape: digests[c], and an outcome for each; may be empty; must not overlap.
  /// Errors: what a single insert throws; then the keys before that one are in.
  [[gnu::noinline]] void insert(std::span<const Digest> digests) {
    for_each_ahead(digests, [&](std::size_t i) { self().insert(digests[i]); });
  }
  [[gnu::noinline]] void observe(std::span<const Digest> digests, std::span<bool> seen) {
    MANKAI_ASSERT(digests.size() == seen.size());
    for_each_ahead(digests, [&](std::size_t i) { seen[i] = self().observe(digests[i]); });
  }
  [[gnu::noinline]] void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(digests.size() == outcomes.size());
    for_each_ahead(digests, [&](std::size_t i) { outcomes[i] = self().may_contain(digests[i]); });
  }
  [[gnu::noinline]] void estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept {
    MANKAI_ASSERT(digests.size() == counts.size());
    for_each_ahead(digests, [&](std::size_t i) { counts[i] = self().estimate(digests[i]); });
  }
  using FlatFilter<Derived>::insert;
  using FlatFilter<Derived>::may_contain;

 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): DecayingCounts, between it and the kinds, makes one, too
  explicit SingleCallFilter(Image source) noexcept : FlatFilter<Derived>(std::move(source)) {}

 private:
  // Of 2^28 counters, additions take twice as long without prefetching and half as long again with one key ahead; from
  // 4 to 32 keys there is no significant difference.
  static constexpr std::size_t kAhead = 16;

  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
  [[nodiscard]] const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }

  template <class Do>
  void for_each_ahead(std::span<const Digest> digests, const Do& act) const {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if constexpr (requires { self().prefetch(digests[i]); }) {
        if (i + kAhead < digests.size()) {
          self().prefetch(digests[i + kAhead]);
        }
      }
      act(i);
    }
  }
};

}  // namespace mankai
