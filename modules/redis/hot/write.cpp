#include <algorithm>
#include <memory>
#include <optional>

#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/hot/commands.hpp"
#include "modules/redis/hot/settings.hpp"
#include "modules/redis/hot/times.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadIncrement = "ERR the increment must be an integer in the range [1, 4294967295]";
constexpr const char* kFarFuture = "ERR the time is more than a day ahead of the server's clock";

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
int increase(const Call& call, std::size_t first, std::optional<Moment> at) noexcept {
  for (std::size_t i = first; i < call.size(); i += 2) {
    if (increment_at(call, i + 1) == 0) {
      return call.error(kBadIncrement);
    }
  }
  String* name = call.arguments()[1];
  const ImageLookup<HotValue> lookup(call, name, kRead | kWrite);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  HotValue& value = *lookup.value();
  const Moment when = at ? *at : std::max(clock_now(), moment_after(value.filter().newest()));
  const auto pairs = call.arguments().subspan(first);
  call.array(pairs.size() / 2);
  for (std::size_t i = first; i < call.size(); i += 2) {
    call.real_number(value.add(call.text(i), increment_at(call, i + 1), when));
  }
  engine.replicate(call.context(), "HOT.INCRBYAT", "slv", name, static_cast<long long>(when.time_since_epoch().count()),
                   pairs.data(), pairs.size());
  call.key_changed(name, "hot.incrby");
  return kOk;
}

// Errors: invalid_argument with what to reply.
Result<HotSettings> read_settings(const Call& call) {
  HotRequest request;
  MANKAI_TRY(request.read(call, 2));
  return request.settings();
}

}  // namespace

int hot_reserve(Call& call) {
  if (call.size() < 2) {
    return call.wrong_arity();
  }
  MemoryLimit limit(call.context());
  const auto settings = read_settings(call);
  if (!settings) {
    return call.error(("ERR " + settings.error().detail).c_str());
  }
  String* name = call.arguments()[1];
  ImageLookup<HotValue> lookup(call, name, kRead | kWrite);
  if (!lookup.is_absent()) {
    return call.error(lookup.found() != nullptr ? kItemExists : kWrongType);
  }
  lookup.limit(limit);
  auto made = HotValue::create(*settings);
  if (!made) {
    return reply_not_made(call, made.error());
  }
  auto key = std::make_unique<ImageKey<HotValue>>(std::move(*made));
  replicate_creation(call, name, *settings);
  lookup.set(std::move(key));
  call.key_changed(name, "hot.reserve");
  return call.ok();
}

int hot_incrby(Call& call) {
  constexpr std::size_t kFirst = 2;
  return are_pairs(call, kFirst) ? increase(call, kFirst, std::nullopt) : call.wrong_arity();
}

int hot_incrbyat(Call& call) {
  constexpr std::size_t kFirst = 3;
  if (!are_pairs(call, kFirst)) {
    return call.wrong_arity();
  }
  const auto at = read_moment(call, 2);
  if (!at) {
    return call.error(kBadTime);
  }
  return is_far_future(call, *at) ? call.error(kFarFuture) : increase(call, kFirst, at);
}

}  // namespace mankai::redis
