#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "modules/redis/engine/facts.hpp"
#include "modules/redis/hot/commands.hpp"
#include "modules/redis/hot/times.hpp"
#include "modules/redis/hot/value.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {
namespace {

using HotLookup = ImageLookup<HotValue>;
/// What is told of an item as of a time.
using Tell = double (HotValue::*)(std::string_view key, Time at) const noexcept;

constexpr std::size_t kUsualTop = 10;
/// Of one command: a few milliseconds, most of them for the reply.
constexpr long long kMostTop = 10'000;

Answer reply_each(const Call& call, std::size_t first, Tell tell, Moment at) {
  const HotLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  call.array(call.size() - first);
  for (std::size_t i = first; i < call.size(); ++i) {
    call.real_number((lookup.value()->*tell)(call.text(i), at));
  }
  return kOk;
}

Answer tell_now(const Call& call, Tell tell) { return reply_each(call, 2, tell, clock_now()); }

Answer tell_at(const Call& call, Tell tell) {
  const auto at = read_moment(call, 2);
  return at ? reply_each(call, 3, tell, *at) : refuse(kBadTime);
}

/// What HOT.TOP is asked for.
struct TopRequest {
  std::size_t most = kUsualTop;
  std::size_t skip = 0;
  bool has_counts = false;
  std::optional<Moment> at;

  /// Reads the arguments behind the key. Errors: to be replied.
  Result<void> read(const Call& call) {
    std::size_t i = 2;
    if (i < call.size() && call.integer(i)) {
      const long long wanted = *call.integer(i++);
      if (wanted < 1 || wanted > kMostTop) {
        return refuse("ERR the number of items must be in the range [1, 10000]: ask for more with OFFSET");
      }
      most = static_cast<std::size_t>(wanted);
    }
    for (; i < call.size(); ++i) {
      if (call.is(i, "WITHCOUNTS")) {
        has_counts = true;
      } else if (call.is(i, "AT")) {
        at = ++i < call.size() ? read_moment(call, i) : std::nullopt;
        if (!at) {
          return refuse(kBadTime);
        }
      } else if (call.is(i, "OFFSET")) {
        const auto offset = ++i < call.size() ? call.integer(i) : std::nullopt;
        if (!offset || *offset < 0) {
          return refuse("ERR the offset must be an integer, not below 0");
        }
        skip = static_cast<std::size_t>(*offset);
      } else {
        return refuse(kUnknownArgument);
      }
    }
    return {};
  }
};

// As ZRANGE … WITHSCORES: pairs in RESP3, one after the other in RESP2.
void reply_with_counts(const Call& call, const std::vector<HotValue::Item>& items) noexcept {
  const bool is_resp3 = call.is_resp3();
  call.array(is_resp3 ? items.size() : 2 * items.size());
  for (const HotValue::Item& item : items) {
    if (is_resp3) {
      call.array(2);
    }
    call.bytes(item.key);
    call.real_number(item.count);
  }
}

}  // namespace

Answer hot_count(Call& call) { return tell_now(call, &HotValue::count); }
Answer hot_countat(Call& call) { return tell_at(call, &HotValue::count); }
Answer hot_rate(Call& call) { return tell_now(call, &HotValue::rate); }
Answer hot_rateat(Call& call) { return tell_at(call, &HotValue::rate); }

Answer hot_top(Call& call) {
  TopRequest request;
  MANKAI_TRY(request.read(call));
  const HotLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const auto items = lookup.value()->top(request.most, request.skip, request.at.value_or(clock_now()));
  if (request.has_counts) {
    reply_with_counts(call, items);
    return kOk;
  }
  call.array(items.size());
  for (const HotValue::Item& item : items) {
    call.bytes(item.key);
  }
  return kOk;
}

Answer hot_info(Call& call) {
  const HotLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const DecayedTop& filter = lookup.value()->filter();
  return reply_facts(call, {{"Half-life", filter.decay().half_life_seconds()},
                            {"Lambda", filter.decay().lambda()},
                            {"Epoch", std::chrono::duration<double>(filter.epoch()).count()},
                            {"Size", lookup.found()->memory_bytes()},
                            {"Places", filter.candidates_capacity()},
                            {"Items in places", filter.candidates()},
                            {"Events", filter.keys_inserted()},
                            {"Late events", filter.late_records()},
                            {"Newest event", moment_after(filter.newest()).time_since_epoch().count()},
                            {"Saturations", filter.saturations()}});
}

}  // namespace mankai::redis
