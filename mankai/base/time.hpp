#pragma once

/// Time in filters. Filters never read a clock: callers convert the times of their events into ticks.

#include <chrono>
#include <compare>
#include <cstdint>

#include "mankai/base/error.hpp"

namespace mankai {

/// A point in time, UTC, in microseconds since 1970.
using Time = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;

/// The longest valid duration: 1000 years of 365 days.
inline constexpr Duration kLongestDuration = std::chrono::hours(24) * 365 * 1000;

/// The number of an epoch, counted from 1970, so that filters with equal epochs agree on their ticks and can be merged
/// (docs/adr/0009).
struct Tick {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Tick, Tick) noexcept = default;
};

/// The largest tick: some 292 000 years of microseconds.
inline constexpr std::uint64_t kMaxTick = std::uint64_t{1} << 63;

/// The epoch of a time; 0 for times before 1970. Pre: epoch > 0.
[[nodiscard]] constexpr Tick tick_of(Time time, Duration epoch) noexcept {
  const auto since = time.time_since_epoch();
  return since < Duration::zero() ? Tick{0} : Tick{static_cast<std::uint64_t>(since / epoch)};
}

/// The first point in time of an epoch, or the last one representable. Pre: epoch > 0.
[[nodiscard]] constexpr Time start_of(Tick tick, Duration epoch) noexcept {
  const auto most = static_cast<std::uint64_t>(Duration::max().count() / epoch.count());
  return Time(tick.value > most ? Duration::max() : epoch * static_cast<std::int64_t>(tick.value));
}

/// How counts decay: they are multiplied by λ at the start of every epoch. λ is a multiple of 2^-32, rounded up, for
/// exact arithmetic; with 0 counts expire at once, with 1 never.
struct Decay {
  std::uint64_t lambda_q32 = 0;  ///< λ · 2^32, 0 to 2^32
  Duration epoch{};

  /// Errors: invalid_argument unless 0 <= lambda <= 1 and epoch > 0, and for a lambda below 1 that rounds up to 1.
  [[nodiscard]] static Result<Decay> of(double lambda, Duration epoch);
  /// λ for a half-life. An epoch of 0 means half_life / 64, with which counts are within 1.1 % of continuous decay.
  /// Errors: invalid_argument unless half_life >= epoch > 0, for half-lives below 64 microseconds or above 1000 years,
  /// and for one of more than 2.9e7 epochs, where the resolution of λ exceeds 1 %.
  [[nodiscard]] static Result<Decay> of_half_life(Duration half_life, Duration epoch = Duration::zero());

  [[nodiscard]] double lambda() const noexcept { return static_cast<double>(lambda_q32) / 4294967296.0; }
  /// In seconds; 0 if λ is 0, infinite if λ is 1.
  [[nodiscard]] double half_life_seconds() const noexcept;

  friend bool operator==(const Decay&, const Decay&) = default;
};

/// λ = 1.
inline constexpr std::uint64_t kLambdaOne = std::uint64_t{1} << 32;

}  // namespace mankai
