#include "modules/redis/gate/commands.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "modules/redis/gate/value.hpp"
#include "modules/redis/image/facts.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadPosition = "ERR bad position: give a number below 2^63, or one such as 0/16B3748";

template <int Base>
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t most) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, Base);
  const bool is_one = error == std::errc() && end == text.data() + text.size() && value <= most;
  return is_one ? std::optional(value) : std::nullopt;
}

// A number, or two hexadecimal halves with a slash between, as PostgreSQL writes its own.
std::optional<std::uint64_t> read_position(std::string_view text) noexcept {
  constexpr int kDecimal = 10;
  constexpr int kHexadecimal = 16;
  constexpr unsigned kHalfBits = 32;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t kMostHalf = std::numeric_limits<std::uint32_t>::max();
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return whole_number<kDecimal>(text, kMost);
  }
  const auto upper = whole_number<kHexadecimal>(text.substr(0, slash), kMost >> kHalfBits);
  const auto lower = whole_number<kHexadecimal>(text.substr(slash + 1), kMostHalf);
  return upper && lower ? std::optional((*upper << kHalfBits) | *lower) : std::nullopt;
}

/// GATE.APPLY key source from from-mark to to-mark count item … item …: the first `count` items came, the others went.
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

// Returns the error to reply, or null.
const char* read_changes(const Call& call, Changes& changes) noexcept {
  constexpr std::size_t kSource = 2;
  constexpr std::size_t kFrom = 3;
  constexpr std::size_t kTo = 5;
  constexpr std::size_t kCount = 7;
  const auto from = read_marked_position(call, kFrom);
  const auto to = read_marked_position(call, kTo);
  if (!from || !to) {
    return "ERR bad position: give a number below 2^63, or one such as 0/16B3748, and its mark";
  }
  if (to->number < from->number) {
    return "ERR a position does not fall";
  }
  const auto count = call.integer(kCount);
  const std::size_t items = call.size() - kFirstChange;
  if (!count || *count < 0 || static_cast<std::uint64_t>(*count) > items) {
    return "ERR bad count: give how many of the items came; the others went";
  }
  if (*to == *from && items != 0) {
    return "ERR a position that stays has no changes: they could be taken twice";
  }
  changes = {.source_id = call.text(kSource), .from = *from, .to = *to, .inserted = static_cast<std::size_t>(*count)};
  return nullptr;
}

int reply_stands_elsewhere(const Call& call, const GateValue& gate) noexcept {
  constexpr std::size_t kBytes = 128;
  std::array<char, kBytes> text;
  const std::string_view id = gate.source_id();
  std::snprintf(text.data(), text.size(), "GATEPOSITION the gate stands at position %llu of %.*s",
                static_cast<unsigned long long>(gate.position().number), static_cast<int>(id.size()), id.data());
  return call.error(text.data());
}

std::vector<std::string_view> items_from(const Call& call, std::size_t first) {
  std::vector<std::string_view> items(call.size() - first);
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = call.text(first + i);
  }
  return items;
}

constexpr std::array kFacts = {
    Fact<GateValue>{"Source",
                    [](const Call& call, const GateKey& key, const CountingBloom&) {
                      const std::string_view id = key.value()->source_id();
                      return engine.reply_with_string_buffer(call.context(), id.data(), id.size());
                    }},
    Fact<GateValue>{"Position", [](const Call& call, const GateKey& key,
                                   const CountingBloom&) { return call.number(key.value()->position().number); }},
    Fact<GateValue>{"Mark",
                    [](const Call& call, const GateKey& key, const CountingBloom&) {
                      const std::string_view mark = key.value()->position().mark;
                      return engine.reply_with_string_buffer(call.context(), mark.data(), mark.size());
                    }},
    Fact<GateValue>{"Number of items", [](const Call& call, const GateKey&,
                                          const CountingBloom& filter) { return call.number(filter.keys_inserted()); }},
    Fact<GateValue>{"Capacity", [](const Call& call, const GateKey&,
                                   const CountingBloom& filter) { return call.number(filter.capacity_keys()); }},
    Fact<GateValue>{"Error rate", [](const Call& call, const GateKey&,
                                     const CountingBloom& filter) { return call.real_number(filter.fpr_target()); }},
    Fact<GateValue>{"Stuck counters",
                    [](const Call& call, const GateKey&, const CountingBloom& filter) {
                      return call.number(filter.saturated_cells());
                    }},
    Fact<GateValue>{"Size", [](const Call& call, const GateKey& key,
                               const CountingBloom&) { return call.number(key.memory_bytes()); }},
};

}  // namespace

// Where nothing is known, everything is maybe: a key that is gone must never say "empty".
int gate_maybe(Call& call) {
  constexpr std::size_t kFirstItem = 3;
  if (call.size() <= kFirstItem) {
    return call.wrong_arity();
  }
  const auto after = read_position(call.text(2));
  if (!after) {
    return call.error(kBadPosition);
  }
  const GateLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.found() == nullptr && !lookup.is_absent()) {
    return call.error(kWrongType);
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

int gate_apply(Call& call) {
  if (call.size() < kFirstChange) {
    return call.wrong_arity();
  }
  Changes changes;
  if (const char* error = read_changes(call, changes); error != nullptr) {
    return call.error(error);
  }
  String* name = call.arguments()[1];
  const GateLookup lookup(call, name, kRead | kWrite);
  GateValue* gate = lookup.value();
  if (gate == nullptr) {
    return call.error(lookup.error());
  }
  if (gate->source_id() != changes.source_id || gate->position() != changes.from) {
    return reply_stands_elsewhere(call, *gate);
  }
  const auto items = items_from(call, kFirstChange);
  gate->apply(std::span(items).first(changes.inserted), std::span(items).subspan(changes.inserted), changes.to);
  engine.replicate_verbatim(call.context());
  call.key_changed(name, "gate.apply");
  return call.ok();
}

int gate_info(Call& call) { return reply_facts<GateValue>(call, kFacts); }

}  // namespace mankai::redis
