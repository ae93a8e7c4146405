#pragma once

/// Time as filters know it: they never read a clock. Whoever has events with times turns them into ticks.

#include <chrono>
#include <compare>
#include <cstdint>

#include "mankai/base/error.hpp"

namespace mankai {

/// A moment, UTC, in microseconds since 1970.
using Time = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;

/// The longest length of time that is taken: 1000 years of 365 days.
inline constexpr Duration kLongestDuration = std::chrono::hours(24) * 365 * 1000;

/// The number of an epoch: epochs are counted from 1970, so that filters with equal epochs agree on their ticks and
/// merge (docs/adr/0009).
struct Tick {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Tick, Tick) noexcept = default;
};

/// No tick lies further in the future: some 292 000 years of microseconds.
inline constexpr std::uint64_t kMaxTick = std::uint64_t{1} << 63;

/// Returns the epoch that a moment lies in. Moments before 1970 lie in the first. Pre: epoch > 0.
[[nodiscard]] constexpr Tick tick_of(Time time, Duration epoch) noexcept {
  const auto since = time.time_since_epoch();
  return since < Duration::zero() ? Tick{0} : Tick{static_cast<std::uint64_t>(since / epoch)};
}

/// Returns the first moment of an epoch, or the last moment there is. Pre: epoch > 0.
[[nodiscard]] constexpr Time start_of(Tick tick, Duration epoch) noexcept {
  const auto most = static_cast<std::uint64_t>(Duration::max().count() / epoch.count());
  return Time(tick.value > most ? Duration::max() : epoch * static_cast<std::int64_t>(tick.value));
}

/// How counts fade: they are multiplied by λ at the start of every epoch.
///
/// λ is held as a multiple of 2^-32, rounded up, so that it can be computed with exactly; 0 forgets at once, 1 never.
struct Decay {
  std::uint64_t lambda_q32 = 0;  ///< λ · 2^32, 0 to 2^32
  Duration epoch{};

  /// Errors: invalid_argument unless 0 <= lambda <= 1 and the epoch is positive; for a lambda below 1 that would be 1.
  [[nodiscard]] static Result<Decay> of(double lambda, Duration epoch);
  /// λ such that a count halves in a half-life. An epoch of 0 means half_life / 64: then a count is within 1.1 % of
  /// what it would be if it faded without steps. Errors: invalid_argument unless half_life >= epoch > 0, for
  /// half-lives below 64 microseconds or above 1000 years, and for one of more than 2.9e7 epochs, whose λ could not be
  /// told from another's within 1 %.
  [[nodiscard]] static Result<Decay> of_half_life(Duration half_life, Duration epoch = Duration::zero());

  /// λ as it is computed with.
  [[nodiscard]] double lambda() const noexcept { return static_cast<double>(lambda_q32) / 4294967296.0; }
  /// In seconds; 0 where λ is 0, infinite where it is 1.
  [[nodiscard]] double half_life_seconds() const noexcept;

  friend bool operator==(const Decay&, const Decay&) = default;
};

/// The largest lambda_q32: λ of 1.
inline constexpr std::uint64_t kLambdaOne = std::uint64_t{1} << 32;

}  // namespace mankai
