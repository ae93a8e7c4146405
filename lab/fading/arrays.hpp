#pragma once

/// The filter under test in the text's shapes, and how its memory of events is measured.

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

/// Errors: invalid_argument; out_of_space.
[[nodiscard]] Result<Array> make_array(const Shape& shape, const Context& context);

/// Events that never recur: each has its own digest.
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

/// How many events it takes until hardly a place (e^-14 of them) is as it was.
[[nodiscard]] std::uint64_t events_to_fill(const Shape& shape) noexcept;

/// Inserts events [first, first + count).
template <class F>
void insert_events(F& filter, const Events& events, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    filter.insert(events[i]);
  }
}

/// Returns the share of absent events that is known. Pre: the filter holds events of another seed.
template <class F>
[[nodiscard]] Estimate strangers_known(const F& filter, std::uint64_t seed, std::uint64_t trials) {
  return share(count_of(0, trials, [&, strangers = Events(seed)](auto i) { return filter.may_contain(strangers[i]); }),
               trials);
}

/// What an array knows of the events of each age, over many looks that are farther apart than the oldest age, so that
/// no event is looked at twice.
struct Survey {
  std::uint64_t looks = 0;
  std::vector<std::uint64_t> known;    ///< looks at which the event of this age was known; age 0 is the newest
  std::vector<double> known_in_total;  ///< events known, of each look

  /// Over the ages [age - reach, age + reach] that there are. Events next to each other crowd each other out, so that
  /// the error, of independent ones, is rather too large.
  [[nodiscard]] Estimate survival(std::size_t age, std::size_t reach = 0) const noexcept;
};

/// Errors: as make_array. Cost: looks times ages inserts and queries.
[[nodiscard]] Result<Survey> survey(const Shape& shape, std::size_t ages, std::uint64_t looks, const Context& context);

/// Returns the estimate of a share, with the error that the formula has of so many trials where that is larger: what is
/// seldom hit says little about how seldom.
[[nodiscard]] Estimate beside(const Estimate& measured, double formula, std::uint64_t trials) noexcept;

/// Measurement and formula at an age.
struct Point {
  double age = 0;
  Estimate measured;
  double formula = 0;
};

/// The formula for a share known at an age.
using Formula = double (*)(const Shape&, double);

/// Returns the point around an age; the formula is averaged over its ages, too.
[[nodiscard]] Point point_of(const Survey& survey, const Shape& shape, std::size_t age, std::size_t reach,
                             Formula formula);

/// Returns how many standard errors one of so many estimates passes as seldom as a single one passes kStandardErrors.
[[nodiscard]] double errors_of_worst(std::size_t estimates) noexcept;

/// Returns the point that is farthest from its formula, in standard errors beyond `tolerance`. Its error is widened
/// so that the worst of so many points passes three of them as seldom as a single point would. Pre: there are points.
[[nodiscard]] Point worst_of(std::span<const Point> points, double tolerance);

/// Returns the age at which so much is known, from what is known around the expected age and the formula's slope there.
[[nodiscard]] Estimate crossing(const Survey& survey, const Shape& shape, double share_of_events);

[[nodiscard]] std::string shown(const Shape& shape);

}  // namespace mankai::lab::forgetting
