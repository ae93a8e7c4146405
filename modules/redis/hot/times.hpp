#pragma once

/// When something is: clients and replicas say it in milliseconds since 1970, as the engine does.

#include <chrono>
#include <optional>

#include "mankai/base/time.hpp"
#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

using Moment = std::chrono::sys_time<std::chrono::milliseconds>;

/// The latest moment that filters know.
inline constexpr Moment kLatestMoment{std::chrono::floor<std::chrono::milliseconds>(Duration::max())};

inline constexpr const char* kBadTime = "ERR the time must be an integer: milliseconds since 1970";

/// What the server's clock says.
[[nodiscard]] Moment clock_now() noexcept;
/// The first moment that is not before a time.
[[nodiscard]] Moment moment_after(Time time) noexcept;

/// Reads an argument: a moment that filters know, or nothing.
[[nodiscard]] std::optional<Moment> read_moment(const Call& call, std::size_t index) noexcept;

/// Whether a client counts something so far ahead of the server's clock that it must be a mistake: a day. All that was
/// counted before would be worth nothing. The primary has decided about what replicas and AOF files say.
[[nodiscard]] bool is_far_future(const Call& call, Moment at) noexcept;

}  // namespace mankai::redis
