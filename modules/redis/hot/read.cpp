#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "modules/redis/hot/commands.hpp"
#include "modules/redis/hot/times.hpp"
#include "modules/redis/hot/value.hpp"
#include "modules/redis/image/facts.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {
namespace {

using HotLookup = ImageLookup<HotValue>;
/// What is told of an item as of a time.
using Tell = double (HotValue::*)(std::string_view key, Time at) const noexcept;

constexpr std::size_t kUsualTop = 10;
/// Of one command: a few milliseconds, most of them for the reply.
constexpr long long kMostTop = 10'000;

int reply_each(const Call& call, std::size_t first, Tell tell, Moment at) noexcept {
  const HotLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  call.array(call.size() - first);
  for (std::size_t i = first; i < call.size(); ++i) {
    call.real_number((lookup.value()->*tell)(call.text(i), at));
  }
  return kOk;
}

int tell_now(const Call& call, Tell tell) noexcept {
  return call.size() < 3 ? call.wrong_arity() : reply_each(call, 2, tell, clock_now());
}

int tell_at(const Call& call, Tell tell) noexcept {
  constexpr std::size_t kLeast = 4;
  if (call.size() < kLeast) {
    return call.wrong_arity();
  }
  const auto at = read_moment(call, 2);
  return at ? reply_each(call, 3, tell, *at) : call.error(kBadTime);
}

/// What HOT.TOP is asked for.
struct TopRequest {
  std::size_t most = kUsualTop;
  std::size_t skip = 0;
  bool has_counts = false;
  std::optional<Moment> at;

  /// Reads the arguments behind the key. Returns the error to reply, or null.
  const char* read(const Call& call) noexcept {
    std::size_t i = 2;
    if (i < call.size() && call.integer(i)) {
      const long long wanted = *call.integer(i++);
      if (wanted < 1 || wanted > kMostTop) {
        return "ERR the number of items must be in the range [1, 10000]: ask for more with OFFSET";
      }
      most = static_cast<std::size_t>(wanted);
    }
    for (; i < call.size(); ++i) {
      if (call.is(i, "WITHCOUNTS")) {
        has_counts = true;
      } else if (call.is(i, "AT")) {
        at = ++i < call.size() ? read_moment(call, i) : std::nullopt;
        if (!at) {
          return kBadTime;
        }
      } else if (call.is(i, "OFFSET")) {
        const auto offset = ++i < call.size() ? call.integer(i) : std::nullopt;
        if (!offset || *offset < 0) {
          return "ERR the offset must be an integer, not below 0";
        }
        skip = static_cast<std::size_t>(*offset);
      } else {
        return kUnknownArgument;
      }
    }
    return nullptr;
  }
};

void reply_text(const Call& call, std::string_view text) noexcept {
  engine.reply_with_string_buffer(call.context(), text.data(), text.size());
}

// As ZRANGE … WITHSCORES: pairs in RESP3, one after the other in RESP2.
void reply_with_counts(const Call& call, const std::vector<HotValue::Item>& items) noexcept {
  const bool is_resp3 = call.is_resp3();
  call.array(is_resp3 ? items.size() : 2 * items.size());
  for (const HotValue::Item& item : items) {
    if (is_resp3) {
      call.array(2);
    }
    reply_text(call, item.key);
    call.real_number(item.count);
  }
}

constexpr std::array kFacts = {
    Fact<HotValue>{"Half-life",
                   [](const Call& call, const ImageKey<HotValue>&, const DecayedTop& filter) {
                     return call.real_number(filter.decay().half_life_seconds());
                   }},
    Fact<HotValue>{"Lambda", [](const Call& call, const ImageKey<HotValue>&,
                                const DecayedTop& filter) { return call.real_number(filter.decay().lambda()); }},
    Fact<HotValue>{"Epoch",
                   [](const Call& call, const ImageKey<HotValue>&, const DecayedTop& filter) {
                     return call.real_number(std::chrono::duration<double>(filter.epoch()).count());
                   }},
    Fact<HotValue>{"Size", [](const Call& call, const ImageKey<HotValue>& key,
                              const DecayedTop&) { return call.number(key.memory_bytes()); }},
    Fact<HotValue>{"Places", [](const Call& call, const ImageKey<HotValue>&,
                                const DecayedTop& filter) { return call.number(filter.candidates_capacity()); }},
    Fact<HotValue>{"Items in places", [](const Call& call, const ImageKey<HotValue>&,
                                         const DecayedTop& filter) { return call.number(filter.candidates()); }},
    Fact<HotValue>{"Events", [](const Call& call, const ImageKey<HotValue>&,
                                const DecayedTop& filter) { return call.number(filter.keys_inserted()); }},
    Fact<HotValue>{"Late events", [](const Call& call, const ImageKey<HotValue>&,
                                     const DecayedTop& filter) { return call.number(filter.late_records()); }},
    Fact<HotValue>{"Newest event",
                   [](const Call& call, const ImageKey<HotValue>&, const DecayedTop& filter) {
                     return call.number(
                         static_cast<std::uint64_t>(moment_after(filter.newest()).time_since_epoch().count()));
                   }},
    Fact<HotValue>{"Saturations", [](const Call& call, const ImageKey<HotValue>&,
                                     const DecayedTop& filter) { return call.number(filter.saturations()); }},
};

}  // namespace

int hot_count(Call& call) { return tell_now(call, &HotValue::count); }
int hot_countat(Call& call) { return tell_at(call, &HotValue::count); }
int hot_rate(Call& call) { return tell_now(call, &HotValue::rate); }
int hot_rateat(Call& call) { return tell_at(call, &HotValue::rate); }

int hot_top(Call& call) {
  if (call.size() < 2) {
    return call.wrong_arity();
  }
  TopRequest request;
  if (const char* error = request.read(call); error != nullptr) {
    return call.error(error);
  }
  const HotLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  const auto items = lookup.value()->top(request.most, request.skip, request.at.value_or(clock_now()));
  if (request.has_counts) {
    reply_with_counts(call, items);
    return kOk;
  }
  call.array(items.size());
  for (const HotValue::Item& item : items) {
    reply_text(call, item.key);
  }
  return kOk;
}

int hot_info(Call& call) { return reply_facts<HotValue>(call, kFacts); }

}  // namespace mankai::redis
