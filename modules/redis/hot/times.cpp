#include "modules/redis/hot/times.hpp"

#include <algorithm>

namespace mankai::redis {
namespace {

constexpr std::chrono::milliseconds kFarAhead = std::chrono::hours(24);

}  // namespace

Moment clock_now() noexcept { return Moment(std::chrono::milliseconds(engine.milliseconds())); }

Moment moment_after(Time time) noexcept {
  return std::min(Moment(std::chrono::ceil<std::chrono::milliseconds>(time)), kLatestMoment);
}

std::optional<Moment> read_moment(const Call& call, std::size_t index) noexcept {
  const auto value = call.integer(index);
  if (!value || *value < 0 || *value > kLatestMoment.time_since_epoch().count()) {
    return std::nullopt;
  }
  return Moment(std::chrono::milliseconds(*value));
}

bool is_far_future(const Call& call, Moment at) noexcept {
  return call.is_from_client() && at > clock_now() + kFarAhead;
}

}  // namespace mankai::redis
