#pragma once

/// Points in time, in milliseconds since 1970, as clients, replicas and the engine exchange them.

#include <algorithm>
#include <chrono>
#include <optional>

#include "mankai/base/time.hpp"
#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

using Moment = std::chrono::sys_time<std::chrono::milliseconds>;

/// The latest moment that a filter can store.
inline constexpr Moment kLatestMoment{std::chrono::floor<std::chrono::milliseconds>(Duration::max())};
inline constexpr const char* kFarFuture = "ERR the time is more than a day ahead of the server's clock";
inline constexpr const char* kBadTime = "ERR the time must be an integer: milliseconds since 1970";

[[nodiscard]] inline Moment clock_now() noexcept { return Moment(std::chrono::milliseconds(engine.milliseconds())); }

[[nodiscard]] inline Moment moment_after(Time time) noexcept {
  return std::min(Moment(std::chrono::ceil<std::chrono::milliseconds>(time)), kLatestMoment);
}

/// Nothing for an argument that is not a moment that a filter can store.
[[nodiscard]] inline std::optional<Moment> read_moment(const Call& call, std::size_t index) noexcept {
  const auto value = call.integer(index);
  if (!value || *value < 0 || *value > kLatestMoment.time_since_epoch().count()) {
    return std::nullopt;
  }
  return Moment(std::chrono::milliseconds(*value));
}

/// Whether a client names a time so far ahead of the server's clock that it must be a mistake: all earlier times would
/// then be late. Times in replication streams and AOF files are exempt: the primary has accepted them.
[[nodiscard]] inline bool is_far_future(const Call& call, Moment at) noexcept {
  return call.is_from_client() && at > clock_now() + std::chrono::hours(24);
}

}  // namespace mankai::redis
