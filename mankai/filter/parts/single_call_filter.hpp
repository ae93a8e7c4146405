#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"

namespace mankai {

/// Batches of decaying kinds without kernels: single calls in order. If `Derived` has `prefetch(Digest)`, later keys'
/// cells are prefetched.
///
/// `Derived` befriends this class. Its header declares `extern template class SingleCallFilter<Derived>`, and its .cpp
/// instantiates that, so that the loops are compiled once, where single calls can be inlined.
template <class Derived>
class SingleCallFilter : public FlatFilter<Derived> {
 public:
  /// If a single insert throws, the keys before it have been inserted.
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
  // With 2^28 counters, additions without prefetch take twice as long, and one key ahead 1.5 times; 4 to 32 keys ahead
  // do not differ significantly.
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
