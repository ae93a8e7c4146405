#pragma once

/// Shared by the parts. Filters have the context's fault.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "lab/dablooms/original.hpp"
#include "lab/random.hpp"
#include "lab/under_test.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::lab::spam {

/// The rates and sizes of most parts.
inline constexpr double kRate = 0.01;
inline constexpr double kHighRate = 0.05;
inline constexpr std::uint64_t kCapacity = 1000;
inline constexpr std::uint64_t kMembers = 900;
inline constexpr double kBitsPerByte = 8;
inline constexpr double kNibbleBits = 4;

/// Digests of numbered keys: members, and absent keys, which are never inserted.
class Keys {
 public:
  explicit constexpr Keys(std::uint64_t seed) noexcept : first_(seed << kSeedShift) {}
  [[nodiscard]] constexpr Digest member(std::uint64_t number) const noexcept {
    return {Random(first_ + number).next()};
  }
  [[nodiscard]] constexpr Digest absent_key(std::uint64_t number) const noexcept {
    return member((std::uint64_t{1} << kAbsentShift) + number);
  }

 private:
  static constexpr unsigned kSeedShift = 48;
  static constexpr unsigned kAbsentShift = 40;
  std::uint64_t first_;
};

using Ours = UnderTest<ScalableCountingBloom>;
using Theirs = UnderTest<Original>;
using Counting = UnderTest<CountingBloom>;

/// Parameters of our filter. By default it is like dablooms': equal partitioned slices.
struct Shape {
  std::uint64_t keys = 1000;
  double fpr = 0.01;
  Growth growth{.factor = 1, .tightening = 0.5, .bound = FprBound::total};
  CountingLayout layout = CountingLayout::partitioned;
  std::optional<Memory> memory{};  ///< [default: the system's]
};

/// Errors: out_of_space.
[[nodiscard]] Result<Ours> make_ours(const Shape& shape, const Context& context);
/// The model, with the shape's keys, rate and growth factor.
[[nodiscard]] Theirs make_theirs(const Shape& shape, const Context& context);
/// A single filter in the partitioned layout. Errors: out_of_space.
[[nodiscard]] Result<Counting> make_counting(std::uint64_t keys, double fpr, const Context& context,
                                             const Memory& memory = system_memory());

/// Returns how many of the cells' counters satisfy the predicate. Pre: two counters per byte.
template <class Predicate>
[[nodiscard]] std::uint64_t count_counters(std::span<const std::byte> cells, const Predicate& predicate) {
  constexpr unsigned kHalf = 4;
  constexpr auto kLower = std::byte{15};
  std::uint64_t count = 0;
  for (const std::byte two : cells) {
    count += predicate(std::to_integer<unsigned>(two & kLower)) ? 1U : 0U;
    count += predicate(std::to_integer<unsigned>(two >> kHalf)) ? 1U : 0U;
  }
  return count;
}
/// Returns the cells of a filter, read from a copy of its image.
[[nodiscard]] std::vector<std::byte> cells_of(const CountingBloom& filter);
[[nodiscard]] std::vector<std::byte> cells_of(const Original::Slice& slice);

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

/// Every `step`-th number of [first, end).
struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t step = 1;
  /// Whether it has all other numbers of [first, end) instead.
  bool is_inverted = false;

  [[nodiscard]] std::uint64_t count() const noexcept {
    return count_if([](std::uint64_t /*number*/) { return true; });
  }
  [[nodiscard]] Range others() const noexcept { return {first, end, step, !is_inverted}; }
  template <class Predicate>
  [[nodiscard]] std::uint64_t count_if(const Predicate& predicate) const {
    return count_of(first, end, [&](std::uint64_t number) {
      return ((number - first) % step == 0) != is_inverted && predicate(number);
    });
  }
};

template <class F>
std::uint64_t count_missed(const F& filter, const Keys& keys, const Range& range) {
  return range.count_if([&](std::uint64_t number) { return !filter.may_contain(keys.member(number)); });
}

/// Returns how many removals were refused, or were made in a slice that does not contain the key.
template <class F>
std::uint64_t erase_members(F& filter, const Keys& keys, const Range& range) {
  return range.count_if([&](std::uint64_t number) {
    const Digest digest = keys.member(number);
    bool is_right = true;
    if constexpr (std::is_same_v<F, Theirs>) {
      const auto holder = filter.filter().holder(number);
      is_right = holder && filter.filter().slice_contains(*holder, digest);
    }
    return filter.filter().erase(digest, number) != EraseResult::erased || !is_right;
  });
}

template <class F>
Estimate rate_of(const F& filter, const Keys& keys, std::uint64_t trials) {
  return rate_of_yes(filter, trials, [&keys](std::uint64_t number) { return keys.absent_key(number); });
}

struct Part {
  double keys = 0;
  double size = 0;  ///< counters per probe
  double k = 0;
};
template <class Filter>
[[nodiscard]] Part part_of(const Filter& filter, std::uint64_t keys) {
  const auto of = [keys](std::uint64_t size, std::uint32_t k) {
    return Part{.keys = static_cast<double>(keys), .size = static_cast<double>(size), .k = static_cast<double>(k)};
  };
  if constexpr (requires { filter.params(); }) {
    return of(filter.params().size, filter.params().k);
  } else {
    return of(filter.size, filter.k);
  }
}

/// Returns (1 - (1 - 1/size)^keys)^k, and the standard deviation of one filter's rate from it.
[[nodiscard]] Estimate formula_rate(const Part& part) noexcept;
[[nodiscard]] Estimate any_of(std::span<const Estimate> rates) noexcept;
/// Returns the parts of a grown, partitioned filter, each at its capacity.
[[nodiscard]] std::vector<Part> parts_of(const ScalableCountingBloom& filter);
[[nodiscard]] Estimate formula_rate(std::span<const Part> parts);

[[nodiscard]] double poisson_tail(double mean, unsigned least) noexcept;

}  // namespace mankai::lab::spam
