#pragma once

/// Filters that can be broken on purpose, so that a test can show that the lab notices.

#include <span>
#include <utility>

#include "lab/lab.hpp"
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

/// A filter with the context's fault; with Fault::none it is the filter itself. Filters with other operations use the
/// two functions above.
template <BatchFilter F>
class UnderTest {
 public:
  UnderTest(F filter, Fault fault) noexcept : filter_(std::move(filter)), fault_(fault) {}

  void insert(Digest digest) noexcept {
    if (!loses_insert(fault_, digest.value)) {
      filter_.insert(digest);
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

}  // namespace mankai::lab
