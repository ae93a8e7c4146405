#include "mankai/filter/fading_fingerprints/fading_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {
namespace {

constexpr std::array<std::uint32_t, 4> kBits = {4, 8, 16, 32};
/// More slots per event never pay: survival at a given size falls from n = 4 on.
constexpr std::uint32_t kMaxChosenK = 32;
constexpr unsigned kByteBits = 8;

/// The probability of at least `least` successes in `trials`; `least` may be below 1.
double at_least(double least, double trials, double chance) noexcept {
  if (least <= 0) {
    return 1;
  }
  if (least > trials || chance <= 0) {
    return 0;
  }
  if (chance >= 1) {
    return 1;
  }
  // Sums the smaller side, so that rounding loses neither tiny nor almost certain probabilities.
  const double odds = chance / (1 - chance);
  double term = std::exp(trials * std::log1p(-chance));
  double below = 0;
  double from = 0;
  for (double successes = 0; successes <= trials; ++successes) {
    (successes < least ? below : from) += term;
    term *= odds * (trials - successes) / (successes + 1);
  }
  return from < below ? from : 1 - below;
}

double pairs(double k) noexcept { return k * (k - 1) / 2; }

double by_chance(std::uint32_t bits) noexcept { return 1 / (std::ldexp(1.0, static_cast<int>(bits)) - 1); }

/// As at_least, if two of the trials have one common outcome, of probability `tied`.
double at_least_tied(double least, double trials, double chance, double tied) noexcept {
  return tied * at_least(least - 2, trials - 2, chance) + (1 - tied) * at_least(least, trials - 2, chance);
}

/// Probability of enough matches among k slots that match with probability `match`, where some pairs of slots coincide,
/// and others were written by one event, which matches with probability `chance`.
double known(const FadingShape& shape, double match, double same_event, double chance) noexcept {
  const double k = shape.k;
  const double r = shape.min_matches;
  if (shape.k < 2) {
    return at_least(r, k, match);
  }
  const double same_slot = pairs(k) / static_cast<double>(shape.slots);
  const double scale = std::fmax(1, same_slot + same_event);
  const double one = same_slot / scale;
  const double event = same_event / scale;
  return (1 - one - event) * at_least(r, k, match) + one * at_least_tied(r, k, match, match) +
         event * at_least_tied(r, k, match, chance);
}

// p(t). With one slot log1p is minus infinity, and only the newest event survives.
double untouched(const FadingShape& shape, double age) noexcept {
  return age <= 0 ? 1 : std::exp(shape.k * age * std::log1p(-1 / static_cast<double>(shape.slots)));
}

double share_of_pairs_by_one_event(const FadingShape& shape) noexcept {
  return pairs(shape.k) * (shape.k - 1) / (2 * static_cast<double>(shape.slots));
}

std::uint64_t most_slots(std::uint32_t bits) noexcept { return kMaxCellsBytes / bits * kByteBits; }

Result<void> check_request(const FadingRequest& request) {
  if (request.events == 0) {
    return fail(ErrorCode::invalid_argument,
                "sized for 0 events; give the age, in events, at which keys must be found");
  }
  if (!(request.survival > 0 && request.survival < 1)) {
    return fail(ErrorCode::invalid_argument, "a survival of " + std::to_string(request.survival) +
                                                 " is not between 0 and 1, such as 0.5 for half of the events");
  }
  if (!(request.fpr > 0 && request.fpr < request.survival)) {
    return fail(ErrorCode::invalid_argument, "a false positive rate of " + std::to_string(request.fpr) +
                                                 " must be above 0 and below the survival of " +
                                                 std::to_string(request.survival));
  }
  return check_fading_shape({.slots = 1,
                             .k = request.k == 0 ? std::max(1U, request.min_matches) : request.k,
                             .bits = request.bits == 0 ? kBits.front() : request.bits,
                             .min_matches = request.min_matches});
}

/// The fewest slots that satisfy the request, if any do.
std::optional<std::uint64_t> fewest_slots(FadingShape shape, const FadingRequest& request) noexcept {
  const auto events = static_cast<double>(request.events);
  const auto does = [&](std::uint64_t slots) {
    shape.slots = slots;
    return fading_survival(shape, events) >= request.survival && fading_fpr(shape) <= request.fpr;
  };
  std::uint64_t most = most_slots(shape.bits);
  if (!does(most)) {
    return std::nullopt;
  }
  std::uint64_t too_few = 0;
  while (most - too_few > 1) {
    const std::uint64_t middle = too_few + (most - too_few) / 2;
    (does(middle) ? most : too_few) = middle;
  }
  return most;
}

}  // namespace

double fading_survival(const FadingShape& shape, double age) noexcept {
  const double chance = by_chance(shape.bits);
  const double kept = untouched(shape, age);
  const double same_event = share_of_pairs_by_one_event(shape) * (1 - kept * kept);
  return known(shape, kept + (1 - kept) * chance, same_event, chance);
}

double fading_fpr(const FadingShape& shape, double fill) noexcept {
  const double chance = by_chance(shape.bits);
  return known(shape, fill * chance, share_of_pairs_by_one_event(shape) * fill * fill, chance);
}

double fading_fill(const FadingShape& shape, double events) noexcept { return 1 - untouched(shape, events); }

double fading_half_life(const FadingShape& shape) noexcept {
  constexpr double kHalf = 0.5;
  if (fading_fpr(shape) >= kHalf) {
    return std::numeric_limits<double>::infinity();
  }
  double young = 0;
  double old = static_cast<double>(shape.slots);
  while (fading_survival(shape, old) > kHalf) {
    old *= 2;
  }
  for (int step = 0; step < std::numeric_limits<double>::digits; ++step) {
    const double middle = (young + old) / 2;
    (fading_survival(shape, middle) > kHalf ? young : old) = middle;
  }
  return old;
}

std::uint64_t fading_cells_bytes(const FadingShape& shape) noexcept {
  return align_up(divide_up<std::uint64_t>(shape.slots * shape.bits, kByteBits), std::uint64_t{kCacheLineBytes});
}

bool is_fading_bits(std::uint32_t bits) noexcept { return std::ranges::find(kBits, bits) != kBits.end(); }

Result<void> check_fading_shape(const FadingShape& shape) {
  if (!is_fading_bits(shape.bits)) {
    return fail(ErrorCode::invalid_argument,
                "fingerprints of " + std::to_string(shape.bits) + " bits; there are 4, 8, 16 and 32");
  }
  if (shape.k == 0 || shape.k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(shape.k) + " is not from 1 to 64");
  }
  if (shape.min_matches == 0 || shape.min_matches > shape.k) {
    return fail(ErrorCode::invalid_argument, std::to_string(shape.min_matches) + " matches of " +
                                                 std::to_string(shape.k) + " slots: from 1 to k of them");
  }
  if (shape.slots == 0 || shape.slots > most_slots(shape.bits)) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(shape.slots) + " slots: at least 1, and at most 2^48 bytes of them");
  }
  return {};
}

Result<FadingShape> fading_size(const FadingRequest& request) {
  MANKAI_TRY(check_request(request));
  std::optional<FadingShape> best;
  for (const std::uint32_t bits : kBits) {
    if (request.bits != 0 && bits != request.bits) {
      continue;
    }
    const std::uint32_t first = request.k == 0 ? request.min_matches : request.k;
    const std::uint32_t last = request.k == 0 ? std::max(kMaxChosenK, request.min_matches) : request.k;
    for (std::uint32_t k = first; k <= last; ++k) {
      FadingShape shape{.k = k, .bits = bits, .min_matches = request.min_matches};
      const auto slots = fewest_slots(shape, request);
      shape.slots = slots.value_or(0);
      if (slots && (!best || fading_cells_bytes(shape) < fading_cells_bytes(*best))) {
        best = shape;
      }
    }
  }
  if (!best) {
    return fail(ErrorCode::invalid_argument, "no such array finds " + std::to_string(request.survival) +
                                                 " of the events after " + std::to_string(request.events) +
                                                 " at a false positive rate of " + std::to_string(request.fpr) +
                                                 "; give more bits, more matches or a higher rate");
  }
  return *best;
}

}  // namespace mankai
