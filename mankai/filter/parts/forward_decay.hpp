#pragma once

/// Forward decay: instead of decaying all counts at every epoch, later events weigh more. An event at tick t weighs
/// λ^-t, and a query at tick u divides by λ^-u. So time passes without a change to any count, and filters with
/// different clocks can be added.
///
/// Source:  [Cormode2009]. Differs: integers, with a direction of rounding.

#include <cstdint>

#include "mankai/base/time.hpp"

namespace mankai {

/// A weight between 2^octave · down / 2^32 and 2^octave · up / 2^32; the factors are 1 to 2 + 2^-32, and at most
/// 2 / 2^32 apart. Both are exact if the weight is a power of two, and always if λ is 1.
struct ForwardWeight {
  std::int64_t octave = 0;
  std::uint64_t down = 0;
  std::uint64_t up = 0;
};

/// The weights of one λ. Counts decay by 2^-h per epoch, where h is -log2(λ), rounded down by less than 2^-60: a count
/// never decays faster than by λ, and for the largest λ below 1, a half-life is 2.5e-9 too long at most. A λ of 0 is
/// taken for 2^-64.
/// Threads: const.
class ForwardDecay {
 public:
  static constexpr unsigned kFactorBits = 32;
  /// Later octaves count as this one: with epochs of a microsecond, it is reached in more than 2000 years.
  static constexpr std::int64_t kMostOctave = std::int64_t{1} << 62;

  /// Pre: lambda_q32 <= 2^32.
  explicit ForwardDecay(std::uint64_t lambda_q32) noexcept;

  /// Cost: about 20 multiplications.
  [[nodiscard]] ForwardWeight weight(Tick tick) const noexcept;

 private:
  std::uint64_t octaves_;   ///< whole octaves per epoch
  std::uint64_t fraction_;  ///< and their fraction, in units of 2^-64
};

}  // namespace mankai
