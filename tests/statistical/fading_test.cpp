// The forgetting array beside its formulas: how many events of an age are known, and how many absent keys.
//
// Of W events of known ages each is known with its own φ; the count has the mean Σφ and, as they hardly share slots and
// only take them from each other, at most the variance Σφ(1 - φ). The tests allow four standard deviations. Seeds are
// fixed; both random digests and ids one after the other are measured, since Kifi's hash is far from its formula on
// those (2.4 times the false positives, survival .735 for .495).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr double kStandardErrors = 4;
/// Events of about one age that are asked for together.
constexpr std::size_t kOfOneAge = 4000;

enum class Keys : bool { random, sequential };

std::vector<Digest> digests_of(Keys keys, const Hasher& hash, std::uint64_t first, std::size_t count) {
  if (keys == Keys::random) {
    return Random(first + 77).digests(count);
  }
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  std::vector<Digest> digests(count);
  hash(std::span<const std::uint64_t>(ids), std::span(digests));
  return digests;
}

FadingFingerprints filter_of(const FadingShape& shape) {
  return FadingFingerprints::create(
             {.slots = shape.slots, .k = shape.k, .bits = shape.bits, .min_matches = shape.min_matches, .hash = kXxh3})
      .value();
}

std::string named(const FadingShape& shape, Keys keys) {
  return "s=" + std::to_string(shape.slots) + " n=" + std::to_string(shape.k) + " b=" + std::to_string(shape.bits) +
         " r=" + std::to_string(shape.min_matches) + (keys == Keys::random ? " random" : " sequential");
}

std::size_t known(const FadingFingerprints& filter, std::span<const Digest> digests) {
  Outcomes outcomes(digests.size());
  filter.may_contain(digests, outcomes.span());
  return outcomes.yes();
}

void expect_survival(const FadingShape& shape, Keys keys) {
  auto filter = filter_of(shape);
  const auto digests = digests_of(keys, filter.hasher(), 1, static_cast<std::size_t>(5 * shape.slots));
  filter.insert(std::span(digests));
  for (const double share : {0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 4.5}) {
    const auto youngest = static_cast<std::size_t>(share * static_cast<double>(shape.slots));
    double mean = 0;
    double variance = 0;
    for (std::size_t age = youngest; age < youngest + kOfOneAge; ++age) {
      const double survival = filter.survival(static_cast<double>(age));
      mean += survival;
      variance += survival * (1 - survival);
    }
    const auto events = std::span(digests).subspan(digests.size() - youngest - kOfOneAge, kOfOneAge);
    EXPECT_NEAR(static_cast<double>(known(filter, events)), mean, kStandardErrors * std::sqrt(variance) + 1)
        << named(shape, keys) << " at " << share << " s";
  }
}

void expect_plateau(const FadingShape& shape, Keys keys) {
  auto filter = filter_of(shape);
  const auto events = digests_of(keys, filter.hasher(), 1, static_cast<std::size_t>(6 * shape.slots));
  filter.insert(std::span(events));
  constexpr std::size_t kStrangers = 1'000'000;
  const auto strangers = digests_of(keys, filter.hasher(), std::uint64_t{1} << 40, kStrangers);
  const double rate = fading_fpr(shape);
  EXPECT_NEAR(static_cast<double>(known(filter, strangers)), rate * kStrangers,
              kStandardErrors * std::sqrt(rate * (1 - rate) * kStrangers) + 1)
      << named(shape, keys);
}

std::vector<FadingShape> measured_shapes() {
  std::vector<FadingShape> shapes;
  for (const std::uint32_t bits : {4U, 8U, 16U}) {
    for (const std::uint32_t k : {1U, 2U, 3U, 4U, 8U}) {
      for (std::uint32_t matches = 1; matches <= std::min(k, 3U); ++matches) {
        shapes.push_back({.slots = 20'000, .k = k, .bits = bits, .min_matches = matches});
      }
    }
  }
  shapes.push_back({.slots = 65'536, .k = 3, .bits = 8});  // a power of two, and the sizes that Kifi ran
  shapes.push_back({.slots = 8'191, .k = 2, .bits = 8});
  shapes.push_back({.slots = 30'000, .k = 32, .bits = 16});
  shapes.push_back({.slots = 30'000, .k = 4, .bits = 32, .min_matches = 2});
  return shapes;
}

TEST(Fading, as_many_events_of_an_age_are_known_as_the_formula_says) {
  for (const FadingShape& shape : measured_shapes()) {
    expect_survival(shape, Keys::random);
    expect_survival(shape, Keys::sequential);
  }
}

TEST(Fading, as_many_strangers_are_known_as_the_plateau_says) {
  for (const FadingShape& shape : measured_shapes()) {
    expect_plateau(shape, Keys::random);
    expect_plateau(shape, Keys::sequential);
  }
}

// Very small filters, many of them, as they are used: a filter a user.
TEST(Fading, many_small_filters_forget_by_the_formula) {
  const FadingShape shape{.slots = 307, .k = 2, .bits = 8};
  constexpr std::size_t kFilters = 2000;
  for (const std::size_t age : {10U, 100U, 188U, 400U}) {
    std::size_t survived = 0;
    for (std::size_t i = 0; i < kFilters; ++i) {
      auto filter = filter_of(shape);
      const auto digests = digests_of(Keys::sequential, filter.hasher(), i * 1000, 1000);
      filter.insert(std::span(digests));
      survived += filter.may_contain(digests[digests.size() - 1 - age]) ? 1U : 0U;
    }
    const double survival = fading_survival(shape, static_cast<double>(age));
    EXPECT_NEAR(static_cast<double>(survived), survival * kFilters,
                kStandardErrors * std::sqrt(survival * (1 - survival) * kFilters))
        << age;
  }
}

}  // namespace
}  // namespace mankai::test
