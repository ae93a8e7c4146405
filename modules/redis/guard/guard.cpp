/// The GUARD.* commands: block lists and exceptions under a key, and lookups of URLs.

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/lookup.hpp"
#include "modules/redis/guard/value.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

using GuardLookup = Lookup<GuardKey>;

constexpr std::size_t kFirstRule = 2;
constexpr const char* kLoad = "guard.loadchunk";
constexpr const char* kNoRule =
    "ERR not a rule: it has no host, one that is too long, a wildcard or a fragment, or is a network";
constexpr const char* kNoUrl = "ERR not a URL: it has no host";

/// Maximal bytes per command of URLs that may have a host beyond ASCII. These take up to 3 µs per byte, others a
/// hundredth of that.
constexpr std::size_t kMostCostlyBytes = std::size_t{256} << 10;
constexpr const char* kUrlsTooLong =
    "ERR the URLs with escapes or bytes beyond ASCII are too long: at most 262144 bytes in one command; send fewer";

enum class Outcome : std::uint8_t {
  unchanged,
  changed,
  still_held,  ///< removed from one id, but other ids hold it
  no_rule,
  out_of_memory,
};

/// The arguments: rules, optionally followed by ID and a number.
struct RuleArguments {
  std::size_t end = 0;  ///< of the rules
  std::optional<std::uint64_t> id;
};

// A host may be called "id". So only the last two arguments can be the option, and only if a rule precedes them.
Result<RuleArguments> rule_arguments(const Call& call, bool takes_id) {
  if (!takes_id || call.size() < kFirstRule + 3 || !call.is(call.size() - 2, "ID")) {
    return RuleArguments{.end = call.size(), .id = {}};
  }
  const auto id = call.integer(call.size() - 1);
  if (!id || *id < 0) {
    return refuse("ERR ID must be a number that is not negative");
  }
  return RuleArguments{.end = call.size() - 2, .id = static_cast<std::uint64_t>(*id)};
}

struct RuleCommand {
  const char* name;  ///< and its event
  bool takes_id;
  bool creates;
  /// Whether there is memory for the change; null if it only frees memory.
  bool (*has_room)(const GuardKey& key, std::string_view rule, MemoryLimit& limit);
  Outcome (*change)(Guard& guard, std::string_view rule, std::optional<std::uint64_t> id);
};

Outcome outcome_of(bool is_changed) noexcept { return is_changed ? Outcome::changed : Outcome::unchanged; }

Outcome outcome_of(RemoveOutcome removed) noexcept {
  return removed == RemoveOutcome::still_held ? Outcome::still_held : outcome_of(removed == RemoveOutcome::removed);
}

template <class T>
Outcome outcome_of(const Result<T>& done) noexcept {
  if (!done) {
    return done.error().code == ErrorCode::invalid_argument ? Outcome::no_rule : Outcome::out_of_memory;
  }
  return outcome_of(*done);
}

bool has_room_for_rule(const GuardKey& key, std::string_view /*rule*/, MemoryLimit& limit) {
  return limit.has_room(key.memory_bytes() + key.value()->growth_bytes());
}

bool has_room_for_exception(const GuardKey& key, std::string_view rule, MemoryLimit& limit) {
  return limit.has_room(key.memory_bytes() + key.value()->growth_bytes() + rule.size());
}

// Removing a loaded rule needs a tombstone. Removing a rule that a command added is never refused.
bool has_room_for_removal(const GuardKey& key, std::string_view rule, MemoryLimit& limit) {
  return limit.has_room(key.memory_bytes()) || !key.value()->is_removal_kept(rule).value_or(false);
}

constexpr RuleCommand kBlock = {.name = "guard.block",
                                .takes_id = true,
                                .creates = true,
                                .has_room = has_room_for_rule,
                                .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> id) {
                                  return outcome_of(guard.add(rule, id.value_or(0)));
                                }};
constexpr RuleCommand kUnblock = {.name = "guard.unblock",
                                  .takes_id = true,
                                  .creates = false,
                                  .has_room = has_room_for_removal,
                                  .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> id) {
                                    return outcome_of(guard.remove(rule, id));
                                  }};
constexpr RuleCommand kAllow = {.name = "guard.allow",
                                .takes_id = false,
                                .creates = true,
                                .has_room = has_room_for_exception,
                                .change = [](Guard& guard, std::string_view rule, std::optional<std::uint64_t> /*id*/) {
                                  return outcome_of(guard.allow(rule));
                                }};
constexpr RuleCommand kDisallow = {
    .name = "guard.disallow",
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

/// Creates an empty guard if a rule fits the limit. `bytes` receives its image: replicas need the same seed.
Result<void> create(GuardLookup& lookup, MemoryLimit& limit, std::vector<std::byte>& bytes) {
  auto guard = Guard::create();
  if (!guard) {
    return refuse(kNoMemory);
  }
  bytes = guard->to_bytes();
  auto made = std::make_unique<GuardKey>(std::move(*guard));
  if (!has_room_for_rule(*made, {}, limit)) {
    return refuse(memory_error(kNoMemory));
  }
  lookup.set(std::move(made));
  return {};
}

/// Applies the changes in order. Without memory, that rule and all later ones get that outcome.
void change_rules(const Call& call, const RuleCommand& command, const RuleArguments& arguments, GuardKey& key,
                  std::span<Outcome> outcomes, MemoryLimit& limit) noexcept {
  try {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const std::string_view rule = call.text(kFirstRule + i);
      if (is_too_long(call, rule)) {
        outcomes[i] = Outcome::no_rule;
        continue;
      }
      if (command.has_room != nullptr && !command.has_room(key, rule, limit)) {
        return;
      }
      outcomes[i] = command.change(*key.value(), rule, arguments.id);
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

bool is_change(Outcome outcome) noexcept { return outcome == Outcome::changed || outcome == Outcome::still_held; }

/// Deletes a new key if none of its rules was added; otherwise sends the empty guard to replicas.
void keep_if_changed(const Call& call, GuardLookup& lookup, std::span<const Outcome> outcomes,
                     std::span<const std::byte> bytes) noexcept {
  if (std::ranges::none_of(outcomes, is_change)) {
    lookup.remove();
    return;
  }
  engine.replicate(call.context(), kLoad, "sllb", call.key(), 0LL, static_cast<long long>(bytes.size()), bytes.data(),
                   bytes.size());
}

/// Replicates the rules that changed something. `changed` has room for all arguments.
void replicate_changes(const Call& call, const RuleCommand& command, const RuleArguments& arguments,
                       std::span<const Outcome> outcomes, std::vector<String*>& changed) noexcept {
  std::size_t last = 0;
  bool is_id_before_last = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (is_change(outcomes[i])) {
      is_id_before_last = last != 0 && call.is(last, "ID");
      last = kFirstRule + i;
      changed.push_back(call.arguments()[last]);
    }
  }
  if (changed.empty()) {
    return;
  }
  if (is_id_before_last && !arguments.id) {
    std::swap(changed[changed.size() - 2], changed.back());  // replicas must not take the rule for the option
  }
  for (std::size_t i = arguments.end; i < call.size(); ++i) {
    changed.push_back(call.arguments()[i]);
  }
  engine.replicate(call.context(), command.name, "sv", call.key(), changed.data(), changed.size());
  call.key_changed(command.name);
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

int reply_without_key(const Call& call, std::span<Outcome> outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i] = is_rule(call, call.text(kFirstRule + i)) ? Outcome::unchanged : Outcome::no_rule;
  }
  return reply_outcomes(call, outcomes);
}

Answer change(Call& call, const RuleCommand& command) {
  MANKAI_ASSIGN(const auto arguments, rule_arguments(call, command.takes_id));
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
    MANKAI_TRY(create(lookup, limit, made));
  }
  MANKAI_TRY(lookup.must_be_whole());
  change_rules(call, command, arguments, *lookup.found(), outcomes, limit);
  if (!made.empty()) {
    keep_if_changed(call, lookup, outcomes, made);
  }
  replicate_changes(call, command, arguments, outcomes, changed);
  return reply_outcomes(call, outcomes);
}

void reply_verdict(const Call& call, const Verdict& verdict) noexcept {
  if (verdict.answer == Verdict::Answer::blocked) {
    call.bytes(verdict.rule);
  } else if (verdict.answer == Verdict::Answer::invalid) {
    call.error(kNoUrl);
  } else {
    engine.reply_with_null(call.context());
  }
}

bool is_costly(std::string_view url) noexcept {
  return std::ranges::any_of(url, [](char byte) { return byte == '%' || static_cast<unsigned char>(byte) >= 0x80; });
}

// URLs that are too long by themselves are refused later and do not count.
bool are_too_long(const Call& call) {
  std::size_t bytes = 0;
  for (std::size_t i = kFirstRule; i < call.size(); ++i) {
    const std::string_view url = call.text(i);
    bytes += !is_too_long(call, url) && is_costly(url) ? url.size() : 0;
  }
  return bytes > kMostCostlyBytes && call.is_from_client();
}

Result<void> append(LoadingGuard& loading, std::span<const std::byte> data) {
  return loading.append(data) ? Result<void>() : refuse(memory_error(kNoMemory));
}

Result<void> take_bytes(GuardLookup& lookup, std::uint64_t offset, std::uint64_t total,
                        std::span<const std::byte> data) {
  if (offset == 0) {
    MANKAI_TRY(lookup.must_be_absent());
    if (data.size() > total) {
      return refuse(kBadData);
    }
    LoadingGuard loading{.total_bytes = total};
    MANKAI_TRY(append(loading, data));
    lookup.set(std::make_unique<GuardKey>(std::move(loading)));
    return {};
  }
  if (lookup.found() == nullptr) {
    return lookup.must_be_whole();
  }
  LoadingGuard* const loading = lookup.found()->loading();
  if (loading == nullptr || loading->total_bytes != total || loading->received_bytes != offset ||
      data.size() > total - offset) {
    return refuse("ERR unexpected offset or total: send the next piece, or delete the key and begin at offset 0");
  }
  return append(*loading, data);
}

Answer guard_block(Call& call) { return change(call, kBlock); }
Answer guard_unblock(Call& call) { return change(call, kUnblock); }
Answer guard_allow(Call& call) { return change(call, kAllow); }
Answer guard_disallow(Call& call) { return change(call, kDisallow); }

Answer guard_check(Call& call) {
  const GuardLookup lookup(call, kRead);
  MANKAI_TRY(lookup.may_be_absent());
  if (are_too_long(call)) {
    return refuse(kUrlsTooLong);
  }
  // Verdicts point into the scratch, so each is replied at once. Without a key nothing is blocked.
  GuardScratch scratch;
  const std::optional<Guard> none = lookup.is_absent() ? std::optional(Guard::create().value()) : std::nullopt;
  const Guard& guard = none ? *none : *lookup.value();
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

Answer guard_info(Call& call) {
  const GuardLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const GuardFacts facts = lookup.value()->facts();
  return reply_facts(call, {{"Rules", facts.rules_in_force()},
                            {"Added rules", facts.added_rules + facts.exact_rules},
                            {"Removed rules", facts.removed_rules},
                            {"Exceptions", facts.exceptions},
                            {"Size", lookup.found()->memory_bytes()},
                            {"URL rules", facts.canonical_version}});
}

Answer guard_loadchunk(Call& call) {
  constexpr std::size_t kData = 4;
  const auto offset = call.integer(2);
  const auto total = call.integer(3);
  if (!offset || !total || *offset < 0 || *total <= 0 || static_cast<std::uint64_t>(*total) > kMaxGuardBytes) {
    return refuse("ERR offset and total are numbers of bytes");
  }
  MemoryLimit limit(call.context());
  GuardLookup lookup(call, kRead | kWrite);
  if (!limit.has_room(static_cast<std::uint64_t>(*total))) {
    return refuse(memory_error(kNoMemory));
  }
  MANKAI_TRY(take_bytes(lookup, static_cast<std::uint64_t>(*offset), static_cast<std::uint64_t>(*total),
                        std::as_bytes(std::span(call.text(kData)))));
  return finish_load(call, lookup, kLoad);
}

constexpr CommandArgument kRules = argument("rule", ArgumentKind::string, kArgumentMultiple);
constexpr std::array kKeyRules = {kKeyArgument, kRules, kEnd};
constexpr std::array kKeyRulesId = {kKeyArgument, kRules,
                                    argument("id", ArgumentKind::integer, kArgumentOptional, "ID"), kEnd};
constexpr std::array kKeyUrls = {kKeyArgument, argument("url", ArgumentKind::string, kArgumentMultiple), kEnd};
constexpr std::array kLoadRules = {kKeyArgument, argument("offset", ArgumentKind::integer),
                                   argument("total", ArgumentKind::integer), argument("data", ArgumentKind::string),
                                   kEnd};

constexpr const char* kBatch = "O(N), N rules";

constexpr std::array kCommands = {
    command<-3, guard_block>("guard.block", "write deny-oom fast", "Adds rules and returns which are new", kBatch,
                             kInserts, kKeyRulesId),
    command<-3, guard_unblock>("guard.unblock", "write fast",
                               "Removes rules, of one id or of all, and returns which are no longer in force", kBatch,
                               kUpdates, kKeyRulesId),
    command<-3, guard_allow>("guard.allow", "write deny-oom fast",
                             "Adds exceptions, which override every rule, and returns which are new", kBatch, kInserts,
                             kKeyRules),
    command<-3, guard_disallow>("guard.disallow", "write fast", "Removes exceptions and returns which existed", kBatch,
                                kUpdates, kKeyRules),
    command<-3, guard_check>("guard.check", "readonly fast", "Returns, for each URL, the rule that blocks it, or null",
                             "O(N * D), N URLs with D depths at which there are rules below their domain", kReads,
                             kKeyUrls),
    command<2, guard_info>("guard.info", "readonly fast", "Returns facts about the rules of a key", "O(1)", kReads,
                           kKeyOnly),
    command<5, guard_loadchunk>(kLoad, "write deny-oom",
                                "Restores a guard piece by piece, as `mankai guard load` sends it", "O(N), N bytes",
                                kCreates, kLoadRules),
};

}  // namespace

MANKAI_DEFINE_FAMILY(guard) = {
    .name = "guard", .category = "guard", .type = kTypeOf<GuardKey>, .commands = kCommands, .keys_name = "keys"};

}  // namespace mankai::redis
