#include <algorithm>
#include <optional>

#include "modules/redis/hot/commands.hpp"
#include "modules/redis/hot/settings.hpp"
#include "modules/redis/hot/times.hpp"
#include "modules/redis/image/reserve.hpp"

namespace mankai::redis {
namespace {

// Whether at least one pair of an item and an increment follows from an argument on.
bool are_pairs(const Call& call, std::size_t first) noexcept {
  return call.size() > first && (call.size() - first) % 2 == 0;
}

// Returns an increment, or 0 where it is none.
std::uint32_t increment_at(const Call& call, std::size_t index) noexcept {
  const long long value = call.integer(index).value_or(0);
  return value >= 1 && value <= HotValue::kMostIncrement ? static_cast<std::uint32_t>(value) : 0;
}

// Counts the pairs from an argument on, and replies with the counts after each. When nobody says at what time, it is
// now, but never before the newest event: a clock that was set back does not make events late. Replicas are told.
Answer increase(const Call& call, std::size_t first, std::optional<Moment> at) {
  for (std::size_t i = first; i < call.size(); i += 2) {
    if (increment_at(call, i + 1) == 0) {
      return refuse("ERR the increment must be an integer in the range [1, 4294967295]");
    }
  }
  const Lookup<ImageKey<HotValue>> lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  HotValue& value = *lookup.value();
  const Moment when = at ? *at : std::max(clock_now(), moment_after(value.filter().newest()));
  const auto pairs = call.arguments().subspan(first);
  call.array(pairs.size() / 2);
  for (std::size_t i = first; i < call.size(); i += 2) {
    call.real_number(value.add(call.text(i), increment_at(call, i + 1), when));
  }
  engine.replicate(call.context(), "HOT.INCRBYAT", "slv", call.key(),
                   static_cast<long long>(when.time_since_epoch().count()), pairs.data(), pairs.size());
  call.key_changed("hot.incrby");
  return kOk;
}

// Errors: invalid_argument with what to reply, without ERR.
Result<HotSettings> read_settings(const Call& call) {
  HotRequest request;
  MANKAI_TRY(request.read(call, 2));
  return request.settings();
}

}  // namespace

Answer hot_reserve(Call& call) {
  const auto settings = read_settings(call);
  if (!settings) {
    return refuse("ERR " + settings.error().detail);
  }
  return reserve<HotValue>(call, *settings, "hot.reserve", replicate_creation);
}

Answer hot_incrby(Call& call) {
  constexpr std::size_t kFirst = 2;
  return are_pairs(call, kFirst) ? increase(call, kFirst, std::nullopt) : call.wrong_arity();
}

Answer hot_incrbyat(Call& call) {
  constexpr std::size_t kFirst = 3;
  if (!are_pairs(call, kFirst)) {
    return call.wrong_arity();
  }
  const auto at = read_moment(call, 2);
  if (!at) {
    return refuse(kBadTime);
  }
  return is_far_future(call, *at) ? refuse("ERR the time is more than a day ahead of the server's clock")
                                  : increase(call, kFirst, at);
}

}  // namespace mankai::redis
