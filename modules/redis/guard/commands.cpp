#include "modules/redis/guard/commands.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "modules/redis/engine/url_length.hpp"
#include "modules/redis/guard/type.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstRule = 2;
constexpr const char* kLoad = "GUARD.LOADCHUNK";
constexpr const char* kNoRule =
    "ERR not a rule: it has no host, one that is too long, a wildcard or a fragment, or is a network";
constexpr const char* kNoUrl = "ERR not a URL: it has no host";

/// The most bytes of URLs in one command that may have a host beyond ASCII, which takes up to 3 µs per byte; others
/// take a hundredth of that.
constexpr std::size_t kMostCostlyBytes = std::size_t{256} << 10;
constexpr const char* kUrlsTooLong =
    "ERR the URLs with escapes or bytes beyond ASCII are too long: at most 262144 bytes in one command; send fewer";

/// What became of a rule.
enum class Outcome : std::uint8_t {
  unchanged,
  changed,
  still_held,  ///< taken from one id, and others hold it
  no_rule,
  out_of_memory,
};

/// The arguments: rules, and perhaps ID and a number behind them. A host may be called id, so only the last two
/// arguments are looked at, and only where rules are left in front of them.
struct RuleArguments {
  std::size_t end = 0;  ///< of the rules
  std::optional<std::uint64_t> id;
  bool is_bad = false;
};

RuleArguments rule_arguments(const Call& call, bool takes_id) {
  RuleArguments found{.end = call.size(), .id = {}, .is_bad = false};
  if (!takes_id || call.size() < kFirstRule + 3 || !call.is(call.size() - 2, "ID")) {
    return found;
  }
  const auto id = call.integer(call.size() - 1);
  found.end -= 2;
  found.is_bad = !id || *id < 0;
  found.id = static_cast<std::uint64_t>(id.value_or(0));
  return found;
}

/// A command that changes rules.
struct RuleCommand {
  const char* name;
  const char* event;
  bool takes_id;
  bool creates;
  /// Whether there is memory for what it may take; null where it only gives back.
  bool (*has_room)(const GuardValue& value, std::string_view rule, MemoryLimit& limit);
  Outcome (*change)(Guard& guard, std::string_view rule, std::optional<std::uint64_t> id);
};

Outcome outcome_of(const Result<bool>& changed) noexcept {
  if (!changed) {
    return changed.error().code == ErrorCode::invalid_argument ? Outcome::no_rule : Outcome::out_of_memory;
  }
  return *changed ? Outcome::changed : Outcome::unchanged;
}

Outcome outcome_of(const Result<RemoveOutcome>& removed) noexcept {
  if (!removed) {
    return removed.error().code == ErrorCode::invalid_argument ? Outcome::no_rule : Outcome::out_of_memory;
  }
  switch (*removed) {
    case RemoveOutcome::removed: return Outcome::changed;
    case RemoveOutcome::still_held: return Outcome::still_held;
    case RemoveOutcome::not_found: break;
  }
  return Outcome::unchanged;
}

bool has_room_for_rule(const GuardValue& value, std::string_view /*rule*/, MemoryLimit& limit) {
  return limit.has_room(value.memory_bytes() + value.guard()->growth_bytes());
}

bool has_room_for_exception(const GuardValue& value, std::string_view rule, MemoryLimit& limit) {
  return limit.has_room(value.memory_bytes() + value.guard()->growth_bytes() + rule.size());
}

// What is taken from loaded rules must be remembered; to take out what commands gave is never refused.
bool has_room_for_removal(const GuardValue& value, std::string_view rule, MemoryLimit& limit) {
  return limit.has_room(value.memory_bytes()) || !value.guard()->is_removal_kept(rule).value_or(false);
}

constexpr RuleCommand kBlock = {.name = "GUARD.BLOCK",
                                .event = "guard.block",
                                .takes_id = true,
                                .creates = true,
                                .has_room = has_room_for_rule,
                                .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> id) {
                                  return outcome_of(guard.add(rule, id.value_or(0)));
                                }};
constexpr RuleCommand kUnblock = {.name = "GUARD.UNBLOCK",
                                  .event = "guard.unblock",
                                  .takes_id = true,
                                  .creates = false,
                                  .has_room = has_room_for_removal,
                                  .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> id) {
                                    return outcome_of(guard.remove(rule, id));
                                  }};
constexpr RuleCommand kAllow = {.name = "GUARD.ALLOW",
                                .event = "guard.allow",
                                .takes_id = false,
                                .creates = true,
                                .has_room = has_room_for_exception,
                                .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> /*id*/) {
                                  return outcome_of(guard.allow(rule));
                                }};
constexpr RuleCommand kDisallow = {
    .name = "GUARD.DISALLOW",
    .event = "guard.disallow",
    .takes_id = false,
    .creates = false,
    .has_room = nullptr,
    .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> /*id*/) {
      return outcome_of(guard.disallow(rule));
    }};

bool is_rule(const Call& call, std::string_view text) {
  return !is_too_long(call, text) && GuardRule::parse(text).has_value();
}

bool has_rule(const Call& call, std::size_t end) {
  for (std::size_t i = kFirstRule; i < end; ++i) {
    if (is_rule(call, call.text(i))) {
      return true;
    }
  }
  return false;
}

/// Makes an empty guard, where the limit lets it take a rule. `bytes` become what replicas must get, so that they have
/// the same seed. Returns the error to reply, or null. Errors: std::bad_alloc.
const char* create(GuardLookup& lookup, MemoryLimit& limit, std::vector<std::byte>& bytes) {
  auto guard = Guard::create();
  if (!guard) {
    return kNoMemory;
  }
  bytes = guard->to_bytes();
  auto value = std::make_unique<GuardValue>(std::move(*guard));
  if (!has_room_for_rule(*value, {}, limit)) {
    return memory_error(kNoMemory);
  }
  lookup.set(std::move(value));
  return nullptr;
}

/// Makes the changes in order. Where there is no memory left, that rule and all behind it are told so.
void change_rules(const Call& call, const RuleCommand& command, const RuleArguments& arguments, GuardValue& value,
                  std::span<Outcome> outcomes, MemoryLimit& limit) noexcept {
  try {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const std::string_view rule = call.text(kFirstRule + i);
      if (is_too_long(call, rule)) {
        outcomes[i] = Outcome::no_rule;
        continue;
      }
      if (command.has_room != nullptr && !command.has_room(value, rule, limit)) {
        return;
      }
      outcomes[i] = command.change(*value.guard(), rule, arguments.id);
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

bool is_change(Outcome outcome) noexcept { return outcome == Outcome::changed || outcome == Outcome::still_held; }

/// A key that was made for rules of which none was taken goes again; of others replicas get the seed.
void keep_if_changed(const Call& call, GuardLookup& lookup, std::span<const Outcome> outcomes,
                     std::span<const std::byte> bytes) noexcept {
  if (std::ranges::none_of(outcomes, is_change)) {
    lookup.remove();
    return;
  }
  engine.replicate(call.context(), kLoad, "sllb", call.arguments()[1], 0LL, static_cast<long long>(bytes.size()),
                   bytes.data(), bytes.size());
}

/// Replicas get the rules with which something changed. `changed` has room for all arguments.
void replicate_changes(const Call& call, const RuleCommand& command, const RuleArguments& arguments,
                       std::span<const Outcome> outcomes, std::vector<String*>& changed) noexcept {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (is_change(outcomes[i])) {
      changed.push_back(call.arguments()[kFirstRule + i]);
    }
  }
  if (changed.empty()) {
    return;
  }
  for (std::size_t i = arguments.end; i < call.size(); ++i) {
    changed.push_back(call.arguments()[i]);
  }
  engine.replicate(call.context(), command.name, "sv", call.arguments()[1], changed.data(), changed.size());
  call.key_changed(call.arguments()[1], command.event);
}

int reply_outcomes(const Call& call, std::span<const Outcome> outcomes) noexcept {
  call.array(outcomes.size());
  for (const Outcome outcome : outcomes) {
    if (outcome == Outcome::no_rule) {
      call.error(kNoRule);
    } else if (outcome == Outcome::out_of_memory) {
      call.error(memory_error(kNoMemory));
    } else {
      call.number(static_cast<std::uint64_t>(outcome));
    }
  }
  return kOk;
}

/// Without a key there is nothing to take out: rules are unchanged, the others no rules.
int reply_without_key(const Call& call, std::span<Outcome> outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i] = is_rule(call, call.text(kFirstRule + i)) ? Outcome::unchanged : Outcome::no_rule;
  }
  return reply_outcomes(call, outcomes);
}

int change(Call& call, const RuleCommand& command) {
  if (call.size() <= kFirstRule) {
    return call.wrong_arity();
  }
  const RuleArguments arguments = rule_arguments(call, command.takes_id);
  if (arguments.is_bad) {
    return call.error("ERR ID must be a number that is not negative");
  }
  std::vector<Outcome> outcomes(arguments.end - kFirstRule, Outcome::out_of_memory);
  std::vector<String*> changed;
  changed.reserve(call.size());
  std::vector<std::byte> made;
  MemoryLimit limit(call.context());
  GuardLookup lookup(call, kRead | kWrite);
  if (lookup.is_absent()) {
    if (!command.creates || !has_rule(call, arguments.end)) {
      return reply_without_key(call, outcomes);
    }
    if (const char* error = create(lookup, limit, made); error != nullptr) {
      return call.error(error);
    }
  }
  if (lookup.guard() == nullptr) {
    return call.error(lookup.error());
  }
  change_rules(call, command, arguments, *lookup.found(), outcomes, limit);
  if (!made.empty()) {
    keep_if_changed(call, lookup, outcomes, made);
  }
  replicate_changes(call, command, arguments, outcomes, changed);
  return reply_outcomes(call, outcomes);
}

void reply_verdict(const Call& call, const Verdict& verdict) noexcept {
  if (verdict.answer == Verdict::Answer::blocked) {
    engine.reply_with_string_buffer(call.context(), verdict.rule.data(), verdict.rule.size());
  } else if (verdict.answer == Verdict::Answer::invalid) {
    call.error(kNoUrl);
  } else {
    engine.reply_with_null(call.context());
  }
}

bool is_costly(std::string_view url) noexcept {
  return std::ranges::any_of(url, [](char byte) { return byte == '%' || static_cast<unsigned char>(byte) >= 0x80; });
}

// URLs that are too long by themselves are not looked at, and do not count.
bool are_too_long(const Call& call) {
  std::size_t bytes = 0;
  for (std::size_t i = kFirstRule; i < call.size(); ++i) {
    const std::string_view url = call.text(i);
    bytes += !is_too_long(call, url) && is_costly(url) ? url.size() : 0;
  }
  return bytes > kMostCostlyBytes && call.is_from_client();
}

// Takes bytes of a guard. Returns the error to reply, or null. Errors: std::bad_alloc.
const char* take_bytes(const Call& call, GuardLookup& lookup, std::uint64_t offset, std::uint64_t total) {
  constexpr std::size_t kData = 4;
  const auto data = std::as_bytes(std::span(call.text(kData)));
  if (offset == 0) {
    if (!lookup.is_absent()) {
      return lookup.found() != nullptr ? kItemExists : kWrongType;
    }
    if (data.size() > total) {
      return "ERR received bad data";
    }
    lookup.set(std::make_unique<GuardValue>(
        LoadingGuard{.total_bytes = total, .bytes = std::vector<std::byte>(data.begin(), data.end())}));
    return nullptr;
  }
  if (lookup.found() == nullptr) {
    return lookup.error();
  }
  LoadingGuard* const loading = lookup.found()->loading();
  if (loading == nullptr || loading->total_bytes != total || loading->bytes.size() != offset ||
      data.size() > total - offset) {
    return "ERR these bytes do not belong there";
  }
  loading->bytes.insert(loading->bytes.end(), data.begin(), data.end());
  return nullptr;
}

}  // namespace

int guard_block(Call& call) { return change(call, kBlock); }
int guard_unblock(Call& call) { return change(call, kUnblock); }
int guard_allow(Call& call) { return change(call, kAllow); }
int guard_disallow(Call& call) { return change(call, kDisallow); }

int guard_check(Call& call) {
  if (call.size() <= kFirstRule) {
    return call.wrong_arity();
  }
  const GuardLookup lookup(call, kRead);
  if (lookup.guard() == nullptr && !lookup.is_absent()) {
    return call.error(lookup.error());
  }
  if (are_too_long(call)) {
    return call.error(kUrlsTooLong);
  }
  // Verdicts point into the scratch, so each is replied at once. Where there is no key nothing is blocked.
  GuardScratch scratch;
  const std::optional<Guard> none = lookup.is_absent() ? std::optional(Guard::create().value()) : std::nullopt;
  const Guard& guard = none ? *none : *lookup.guard();
  call.array(call.size() - kFirstRule);
  for (std::size_t i = kFirstRule; i < call.size(); ++i) {
    if (is_too_long(call, call.text(i))) {
      call.error(kUrlTooLong);
      continue;
    }
    try {
      reply_verdict(call, guard.check(call.text(i), scratch));
    } catch (const std::bad_alloc&) {
      call.error(kNoMemory);
    }
  }
  return kOk;
}

int guard_info(Call& call) {
  if (call.size() != 2) {
    return call.wrong_arity();
  }
  const GuardLookup lookup(call, kRead);
  if (lookup.guard() == nullptr) {
    return call.error(lookup.error());
  }
  const GuardFacts facts = lookup.guard()->facts();
  const std::array<std::pair<std::string_view, std::uint64_t>, 6> rows = {
      {{"Rules", facts.rules_in_force()},
       {"Added rules", facts.added_rules + facts.exact_rules},
       {"Removed rules", facts.removed_rules},
       {"Exceptions", facts.exceptions},
       {"Size", lookup.found()->memory_bytes()},
       {"URL rules", facts.canonical_version}}};
  if (call.is_resp3()) {
    engine.reply_with_map(call.context(), static_cast<long>(rows.size()));
  } else {
    call.array(rows.size() * 2);
  }
  for (const auto& [name, number] : rows) {
    engine.reply_with_string_buffer(call.context(), name.data(), name.size());
    call.number(number);
  }
  return kOk;
}

int guard_loadchunk(Call& call) {
  constexpr std::size_t kArguments = 5;
  if (call.size() != kArguments) {
    return call.wrong_arity();
  }
  const auto offset = call.integer(2);
  const auto total = call.integer(3);
  if (!offset || !total || *offset < 0 || *total <= 0 || static_cast<std::uint64_t>(*total) > kMaxGuardBytes) {
    return call.error("ERR offset and total are numbers of bytes");
  }
  MemoryLimit limit(call.context());
  GuardLookup lookup(call, kRead | kWrite);
  if (!limit.has_room(static_cast<std::uint64_t>(*total))) {
    return call.error(memory_error(kNoMemory));
  }
  const char* error = take_bytes(call, lookup, static_cast<std::uint64_t>(*offset), static_cast<std::uint64_t>(*total));
  if (error != nullptr) {
    return call.error(error);
  }
  String* name = call.arguments()[1];
  if (!lookup.found()->finish_if_complete()) {
    // Replicas, which may still wait for the last bytes, drop theirs, too.
    lookup.remove();
    engine.replicate(call.context(), "DEL", "s", name);
    call.key_changed(name, "del");
    return call.error("ERR received bad data");
  }
  engine.replicate_verbatim(call.context());
  call.key_changed(name, "guard.loadchunk");
  return call.ok();
}

}  // namespace mankai::redis
