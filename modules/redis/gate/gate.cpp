/// The GATE.* commands: a gate that `mankai gate sync --mirror` keeps in step with a table, queried by many servers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "mankai/base/number.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/gate/value.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadPosition = "ERR bad position: give a number below 2^63, or one such as 0/16B3748";

// A number, or two hexadecimal halves separated by a slash, as PostgreSQL writes log positions.
std::optional<std::uint64_t> read_position(std::string_view text) noexcept {
  constexpr int kHexadecimal = 16;
  constexpr unsigned kHalfBits = 32;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::size_t slash = text.find('/');
  auto number = to_number<std::uint64_t>(text);
  if (slash != std::string_view::npos) {
    const auto upper = to_number<std::uint32_t>(text.substr(0, slash), kHexadecimal);
    const auto lower = to_number<std::uint32_t>(text.substr(slash + 1), kHexadecimal);
    number = upper && lower ? std::optional((std::uint64_t{*upper} << kHalfBits) | *lower) : std::nullopt;
  }
  return number && *number <= kMost ? number : std::nullopt;
}

/// GATE.APPLY key source from from-mark to to-mark count item … item …: adds the first `count` items, removes the rest.
struct Changes {
  std::string_view source_id;
  GateValue::Position from;
  GateValue::Position to;
  std::size_t inserted = 0;
};

constexpr std::size_t kFirstChange = 8;

std::optional<GateValue::Position> read_marked_position(const Call& call, std::size_t index) noexcept {
  const auto number = read_position(call.text(index));
  const std::string_view mark = call.text(index + 1);
  return number && GateValue::is_mark(mark) ? std::optional(GateValue::Position{*number, mark}) : std::nullopt;
}

Result<Changes> read_changes(const Call& call) {
  constexpr std::size_t kSource = 2;
  constexpr std::size_t kFrom = 3;
  constexpr std::size_t kTo = 5;
  constexpr std::size_t kCount = 7;
  const auto from = read_marked_position(call, kFrom);
  const auto to = read_marked_position(call, kTo);
  if (!from || !to) {
    return refuse("ERR bad position: give a number below 2^63, or one such as 0/16B3748, and its mark");
  }
  if (to->number < from->number) {
    return refuse("ERR the new position is before the old one");
  }
  const auto count = call.integer(kCount);
  const std::size_t items = call.size() - kFirstChange;
  if (!count || *count < 0 || static_cast<std::uint64_t>(*count) > items) {
    return refuse("ERR bad count: give the number of items to insert; the others are removed");
  }
  if (*to == *from && items != 0) {
    return refuse(
        "ERR the new position equals the old one: changes need a new position, or they could be applied twice");
  }
  return Changes{
      .source_id = call.text(kSource), .from = *from, .to = *to, .inserted = static_cast<std::size_t>(*count)};
}

// Without a gate every item may exist: an absent key must never answer "empty".
Answer gate_maybe(Call& call) {
  constexpr std::size_t kFirstItem = 3;
  const auto after = read_position(call.text(2));
  if (!after) {
    return refuse(kBadPosition);
  }
  const GateLookup lookup(call, kRead);
  if (lookup.found() == nullptr && !lookup.is_absent()) {
    return refuse(kWrongType);
  }
  const KeyBatch batch(call, kFirstItem);
  const GateValue* gate = lookup.value();
  if (gate != nullptr && gate->position().number >= *after) {
    gate->ask(batch.keys(), batch.answers());
  } else {
    std::ranges::fill(batch.answers(), true);
  }
  return call.truths(batch.answers());
}

Answer gate_apply(Call& call) {
  MANKAI_ASSIGN(const auto changes, read_changes(call));
  const GateLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  GateValue& gate = *lookup.value();
  if (gate.source_id() != changes.source_id || gate.position() != changes.from) {
    return refuse("GATEPOSITION the gate is at position " + std::to_string(gate.position().number) + " of " +
                  std::string(gate.source_id()));
  }
  const KeyBatch batch(call, kFirstChange);
  gate.apply(batch.keys().first(changes.inserted), batch.keys().subspan(changes.inserted), changes.to);
  engine.replicate_verbatim(call.context());
  call.key_changed("gate.apply");
  return call.ok();
}

Answer gate_info(Call& call) {
  const GateLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const GateValue& gate = *lookup.value();
  return reply_facts(call, {{"Source", gate.source_id()},
                            {"Position", gate.position().number},
                            {"Mark", gate.position().mark},
                            {"Number of items", gate.filter().keys_inserted()},
                            {"Capacity", gate.filter().capacity_keys()},
                            {"Error rate", gate.filter().fpr_target()},
                            {"Stuck counters", gate.filter().saturated_cells()},
                            {"Size", lookup.found()->memory_bytes()}});
}

constexpr std::array kAsked = {kKeyArgument, argument("position", ArgumentKind::string), kItems, kEnd};
constexpr std::array kChanges = {kKeyArgument,
                                 argument("source", ArgumentKind::string),
                                 argument("from", ArgumentKind::string),
                                 argument("from_mark", ArgumentKind::string),
                                 argument("to", ArgumentKind::string),
                                 argument("to_mark", ArgumentKind::string),
                                 argument("inserted", ArgumentKind::integer),
                                 argument("item", ArgumentKind::string, kArgumentMultiple | kArgumentOptional),
                                 kEnd};

constexpr std::array kCommands = {
    command<-4, gate_maybe>("gate.maybe", "readonly fast",
                            "Returns for which items the database may have a row; 1 for all before a position",
                            "O(N), N items", kReads, kAsked),
    // Not deny-oom: GATE.APPLY allocates nothing.
    command<-8, gate_apply>("gate.apply", "write fast",
                            "Adds items to a gate and removes others, if it is at a position", "O(N), N items",
                            kUpdates, kChanges),
    command<2, gate_info>("gate.info", "readonly fast", "Returns facts about a gate", "O(1)", kReads, kKeyOnly),
    loadchunk<GateValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(gate) = {.name = "gate", .category = "gate", .type = kTypeOf<GateKey>, .commands = kCommands};

}  // namespace mankai::redis
