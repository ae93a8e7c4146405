#include "mankai/filter/parts/forward_decay.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "mankai/base/bits.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
constexpr std::uint64_t kOctavesOfLambdaZero = 64;
/// Bits of a fraction of an octave that are used: the rest changes a factor by less than 2^-40.
constexpr unsigned kFractionBits = 40;

// log2(x / 2^63) in units of 2^-64, rounded up, by squaring: each square gives one bit. Pre: x >= 2^63.
constexpr std::uint64_t log2_up(std::uint64_t x) noexcept {
  // Each rounding is one unit of 2^-63, and counts half as much per bit.
  constexpr std::uint64_t kRoundings = 4;
  if (x == kTop) {
    return 0;
  }
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t high = multiply_high(x, x);
    const std::uint64_t low = x * x;
    const bool is_above_two = (high & kTop) != 0;
    const std::uint64_t square = is_above_two ? high : high << 1 | low >> 63;
    const bool is_inexact = is_above_two ? low != 0 : low << 1 != 0;
    x = square + static_cast<std::uint64_t>(is_inexact && square != ~std::uint64_t{0});
    bits = bits << 1 | static_cast<std::uint64_t>(is_above_two);
  }
  return bits + kRoundings;
}

// The square root of x / 2^63 in units of 2^-63, rounded down. Pre: x >= 2^63.
constexpr std::uint64_t root_down(std::uint64_t x) noexcept {
  std::uint64_t root = kTop;
  for (std::uint64_t bit = kTop >> 1; bit != 0; bit >>= 1) {
    if (multiply_high(root | bit, root | bit) < x >> 1) {
      root |= bit;
    }
  }
  return root;
}

// 2^(1/2), 2^(1/4), …
constexpr auto kRoots = [] {
  std::array<std::uint64_t, kFractionBits> roots{};
  std::uint64_t last = ~std::uint64_t{0};
  for (std::uint64_t& root : roots) {
    last = root = root_down(last);
  }
  return roots;
}();

// 2^(fraction / 2^64) in units of 2^-63, rounded down by less than 2^-39.
std::uint64_t exp2_down(std::uint64_t fraction) noexcept {
  std::uint64_t power = kTop;
  for (std::uint64_t rest = fraction >> (64 - kFractionBits) << (64 - kFractionBits); rest != 0;) {
    const int bit = std::countl_zero(rest);
    power = multiply_high(power, kRoots[static_cast<std::size_t>(bit)]) << 1;
    rest &= ~(kTop >> bit);
  }
  return power;
}

}  // namespace

ForwardDecay::ForwardDecay(std::uint64_t lambda_q32) noexcept : octaves_(kOctavesOfLambdaZero), fraction_(0) {
  if (lambda_q32 != 0) {
    // λ is 2^-zeros times a mantissa between 1 and 2.
    const auto zeros = static_cast<std::uint64_t>(std::countl_zero(lambda_q32)) - (64 - kFactorBits - 1);
    const std::uint64_t log = log2_up(lambda_q32 << std::countl_zero(lambda_q32));
    octaves_ = log == 0 ? zeros : zeros - 1;
    fraction_ = 0 - log;
  }
}

ForwardWeight ForwardDecay::weight(Tick tick) const noexcept {
  if (octaves_ != 0 && tick.value > static_cast<std::uint64_t>(kMostOctave) / octaves_) {
    return {.octave = kMostOctave, .down = kLambdaOne, .up = kLambdaOne};
  }
  const std::uint64_t octave = tick.value * octaves_ + multiply_high(tick.value, fraction_);
  const std::uint64_t fraction = tick.value * fraction_;
  if (octave >= static_cast<std::uint64_t>(kMostOctave) || fraction == 0) {
    return {.octave = static_cast<std::int64_t>(std::min(octave, static_cast<std::uint64_t>(kMostOctave))),
            .down = kLambdaOne,
            .up = kLambdaOne};
  }
  const std::uint64_t down = exp2_down(fraction) >> (63 - kFactorBits);
  return {.octave = static_cast<std::int64_t>(octave), .down = down, .up = down + 2};
}

}  // namespace mankai
