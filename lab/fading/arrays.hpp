#pragma once

/// The filter under test in the shapes of the text, and measurements of how long it keeps events.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/fading/formulas.hpp"
#include "lab/random.hpp"
#include "lab/under_test.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"

namespace mankai::lab::forgetting {

using Array = UnderTest<FadingFingerprints>;

[[nodiscard]] Result<Array> make_array(const Shape& shape, const Context& context);

class Events {
 public:
  explicit Events(std::uint64_t seed) noexcept : seed_(seed) {}
  [[nodiscard]] Digest operator[](std::uint64_t i) const noexcept {
    constexpr std::uint64_t kSpread = 0x2545f4914f6cdd1dU;
    return {Random(seed_ + i * kSpread).next()};
  }

 private:
  std::uint64_t seed_;
};

/// Returns the number of events after which a place is still unwritten with probability e^-14.
[[nodiscard]] std::uint64_t events_to_fill(const Shape& shape) noexcept;

template <class F>
void insert_events(F& filter, const Events& events, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    filter.insert(events[i]);
  }
}

/// Returns the false-positive rate. Pre: the filter contains events of another seed.
template <class F>
[[nodiscard]] Estimate absent_found(const F& filter, std::uint64_t seed, std::uint64_t trials) {
  return share(
      count_of(0, trials, [&, absent_keys = Events(seed)](auto i) { return filter.may_contain(absent_keys[i]); }),
      trials);
}

/// How many events of each age an array still contains, in many looks. Looks are farther apart than the oldest age, so
/// that no event is looked up twice.
struct Survey {
  std::uint64_t looks = 0;
  std::vector<std::uint64_t> known;    ///< number of looks at which the event of this age was known; age 0: the newest
  std::vector<double> known_in_total;  ///< number of known events per look

  /// Returns the share known over the ages [age - reach, age + reach]. The error assumes independent events and is
  /// rather too large: neighbors displace each other. Pre: the ages are within the survey.
  [[nodiscard]] Estimate survival(std::size_t age, std::size_t reach = 0) const noexcept;
};

/// Fills the empty array and looks. Cost: looks * ages inserts and queries.
template <class F>
[[nodiscard]] Survey survey(F& array, const Shape& shape, std::size_t ages, std::uint64_t looks,
                            const Context& context) {
  const Events events(context.seed + shape.n);
  std::uint64_t next = events_to_fill(shape);
  insert_events(array, events, 0, next);
  Survey result{.looks = looks, .known = std::vector<std::uint64_t>(ages), .known_in_total = {}};
  for (std::uint64_t look = 0; look < looks; ++look) {
    insert_events(array, events, next, ages);
    next += ages;
    double total = 0;
    for (std::size_t age = 0; age < ages; ++age) {
      const bool is_known = array.may_contain(events[next - 1 - age]);
      result.known[age] += static_cast<std::uint64_t>(is_known);
      total += is_known ? 1 : 0;
    }
    result.known_in_total.push_back(total);
  }
  return result;
}
/// The same with the filter under test. Errors: as make_array.
[[nodiscard]] Result<Survey> survey(const Shape& shape, std::size_t ages, std::uint64_t looks, const Context& context);

/// Returns the measured share with at least the binomial error of the formula: a few hits underestimate the error.
[[nodiscard]] Estimate beside(const Estimate& measured, double formula, std::uint64_t trials) noexcept;

struct Point {
  double age = 0;
  Estimate measured;
  double formula = 0;
};

/// Returns the point for the ages around `age`, as many on both sides: none around age 0. The formula is averaged over
/// the same ages.
[[nodiscard]] Point point_of(const Survey& survey, const Shape& shape, std::size_t age, std::size_t reach,
                             Formula formula);

/// Returns the number of standard errors that the worst of so many estimates exceeds as rarely as a single one exceeds
/// kStandardErrors.
[[nodiscard]] double errors_of_worst(std::size_t estimates) noexcept;

/// Returns the point farthest from its formula, in standard errors beyond `tolerance`. Widens its error by
/// errors_of_worst for the number of points. Pre: points is not empty.
[[nodiscard]] Point worst_of(std::span<const Point> points, double tolerance);

/// Returns the age at which this share is known, by the measurement around the expected age and the formula's slope
/// there.
[[nodiscard]] Estimate crossing(const Survey& survey, const Shape& shape, double share_of_events);

[[nodiscard]] std::string shown(const Shape& shape);

}  // namespace mankai::lab::forgetting
