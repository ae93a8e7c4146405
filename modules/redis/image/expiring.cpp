#include "modules/redis/image/expiring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "mankai/filter/parts/hash_windows.hpp"
#include "modules/redis/engine/moment.hpp"

namespace mankai::redis {
namespace {

bool is_replica(const Call& call) noexcept {
  return !call.is_from_client() ||
         (static_cast<unsigned>(engine.get_context_flags(call.context())) & kContextReplica) != 0;
}

// As read_seconds reads it, exact to the microsecond.
using SecondsText = std::array<char, 32>;
SecondsText seconds_text(Duration duration) noexcept {
  SecondsText text;
  std::snprintf(text.data(), text.size(), "%.6f", static_cast<double>(duration.count()) / 1e6);
  return text;
}

}  // namespace

Result<Duration> read_seconds(const Call& call, std::size_t index, const char* name) {
  const auto seconds = call.real(index);
  // Up to here a double keeps the microseconds that seconds_text writes.
  constexpr double kMost = 100.0 * 365 * 24 * 3600;
  if (!seconds || !(*seconds > 0 && *seconds <= kMost)) {
    return refuse("ERR " + std::string(name) + " must be a number of seconds above 0, at most 100 years");
  }
  return Duration(std::max<std::int64_t>(std::int64_t{std::llround(*seconds * 1e6)}, 1));
}

void add_expiry(RepeatedCommand& creation, Duration max_ttl, Duration resolution) noexcept {
  if (max_ttl != Duration::zero()) {
    creation.add("TTL").add(seconds_text(max_ttl).data());
    creation.add("RESOLUTION").add(seconds_text(Cuckoo::generation_for(max_ttl, resolution)).data());
  }
}

void advance_to_clock(const Call& call, Cuckoo& filter, const char* command) {
  if (!filter.has_time() || !call.is_from_client()) {
    return;
  }
  const Moment now = clock_now();
  if (tick_of(now, filter.epoch()) > filter.tick()) {
    filter.advance(tick_of(now, filter.epoch()));
    engine.replicate(call.context(), command, "sl", call.key(), static_cast<long long>(now.time_since_epoch().count()));
  }
}

Answer advance(const Call& call, Cuckoo& filter) {
  const auto now = read_moment(call, 2);
  if (!now) {
    return refuse(kBadTime);
  }
  if (is_far_future(call, *now)) {
    return refuse(kFarFuture);
  }
  if (!filter.has_time()) {
    return refuse(kDoesNotExpire);
  }
  filter.advance(tick_of(*now, filter.epoch()));
  engine.replicate_verbatim(call.context());
  return call.ok();
}

void ask(const Call& call, const Cuckoo& filter, std::span<const std::string_view> keys, std::span<bool> answers) {
  const bool by_clock = filter.has_time() && !is_replica(call);
  const Moment now = by_clock ? clock_now() : Moment();
  if (!by_clock || tick_of(now, filter.epoch()) <= filter.tick()) {
    if (keys.size() == 1) {
      answers[0] = filter.may_contain(filter.hasher()(keys[0]));
      return;
    }
    for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
      filter.may_contain(digests, answers.subspan(start, digests.size()));
    });
    return;
  }
  for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      filter.prefetch_ahead(digests, i);
      const auto expiry = filter.expiry(digests[i]);
      answers[start + i] = expiry && *expiry > now;
    }
  });
}

}  // namespace mankai::redis
