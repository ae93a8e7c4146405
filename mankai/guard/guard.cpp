#include "mankai/guard/guard.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mankai/guard/detail/rule_entry.hpp"
#include "mankai/guard/guard_format.hpp"

namespace mankai {
namespace {

using detail::GuardParts;
using detail::RuleTable;

constexpr std::uint64_t kIdOfLists = 0;
constexpr double kBitsPerByte = 8;

// The seed of the map need not be secret: which digests collide in the map depends on the seed of the hash.
constexpr std::uint64_t kMapSeed = 1;

void name_match(const detail::Match& match, const detail::UrlKeys& keys, std::string& name) {
  name.assign(keys.host_text(match.labels)).append(keys.path_text(match.segments));
  if (match.has_query) {
    name.append(keys.query_text());
  }
}

Result<detail::GuardConfig> config_of(const GuardSettings& settings) {
  if (!(settings.fpr > 0 && settings.fpr < 1)) {
    return fail(ErrorCode::invalid_argument, "the false-positive rate is out of range; give one between 0 and 1");
  }
  if (settings.is_exact && !settings.keeps_rules) {
    return fail(ErrorCode::invalid_argument, "an exact guard needs its rules; keep them");
  }
  const HashKind kind = settings.hash.value_or(kDefaultHash);
  const HashSpec hash = settings.seed ? HashSpec{.kind = kind, .seed = *settings.seed} : HashSpec::random(kind);
  MANKAI_TRY(check_seed(hash));
  return detail::GuardConfig{
      .hash = hash, .fpr = settings.fpr, .keeps_rules = settings.keeps_rules, .is_exact = settings.is_exact};
}

// Passes each rule in force to use(key, id), once per id that holds it. Pre: rules are kept, or there is no base.
template <class Use>
void for_each_held(const GuardParts& parts, const Use& use) {
  for (std::size_t node = 0; node < parts.rules.size(); ++node) {
    if (!parts.rules.is_rule(node)) {
      continue;
    }
    const RuleKey key = parts.rules.key_of(node);
    for (const std::uint64_t id : parts.rules.ids(node)) {
      if (!parts.tombstones.has(key.rule, id)) {
        use(key, id);
      }
    }
  }
  parts.overlay.for_each([&](const RuleTable::Node& node) {
    node.ids.for_each([&](std::uint64_t id) { use(parts.overlay.key_of(node), id); });
  });
}

// Pre: as for_each_held.
bool has_held(const GuardParts& parts, Digest rule, std::uint64_t id) {
  if (const RuleTable::Node* node = parts.overlay.find(rule); node != nullptr && node->ids.contains(id)) {
    return true;
  }
  const auto node = parts.rules.find(rule);
  return node && parts.rules.is_rule(*node) && std::ranges::binary_search(parts.rules.ids(*node), id) &&
         !parts.tombstones.has(rule, id);
}

Result<detail::NewRules> rules_in_force(const GuardParts& parts) {
  detail::NewRules rules;
  rules.in_base.reserve(parts.rules.size() + parts.overlay.node_count());
  Result<void> outcome;
  for_each_held(parts, [&](const RuleKey& key, std::uint64_t id) {
    if (auto inserted = rules.insert(key, id); !inserted) {
      outcome = std::unexpected(inserted.error());
    }
  });
  MANKAI_TRY(outcome);
  return rules;
}

// Builds a base of these rules.
Result<GuardParts> with_base(const detail::GuardConfig& config, detail::NewRules rules) {
  GuardParts parts;
  parts.config = config;
  parts.overlay = std::move(rules.exact);
  if (rules.in_base.rule_count() == 0) {
    return parts;
  }
  const auto rule_bytes = std::move(rules.in_base).to_bytes();
  detail::NodeSection nodes;
  nodes.rebase(rule_bytes);
  MANKAI_ASSIGN(auto base, detail::RuleBase::build(nodes, parts.config.fpr, kMapSeed));
  const auto kept = parts.config.keeps_rules ? std::span(rule_bytes) : std::span<const std::byte>();
  const detail::GuardImage image(
      parts, {.cells = std::as_bytes(std::span(base.cells)), .classes = base.classes, .rules = kept});
  MANKAI_ASSIGN(auto region, Region::allocate(system_memory(), image.size()));
  image.copy_to(region.bytes());
  return detail::read_guard(std::move(region));
}

}  // namespace

Result<Guard> Guard::create(const GuardSettings& settings) {
  MANKAI_ASSIGN(const auto config, config_of(settings));
  GuardParts parts;
  parts.config = config;
  return Guard(std::move(parts));
}

Result<Guard> Guard::from_region(Region region) {
  MANKAI_ASSIGN(auto parts, detail::read_guard(std::move(region)));
  return Guard(std::move(parts));
}

Result<Guard> Guard::from_bytes(std::span<const std::byte> bytes) {
  MANKAI_ASSIGN(auto region, Region::allocate(system_memory(), bytes.size()));
  std::ranges::copy(bytes, region.bytes().begin());
  return from_region(std::move(region));
}

std::vector<std::byte> Guard::to_bytes() const {
  const detail::GuardImage image(parts_, base_bytes_of(parts_));
  std::vector<std::byte> bytes(image.size());
  image.copy_to(bytes);
  return bytes;
}

Verdict Guard::check(std::string_view url, GuardScratch& scratch) const {
  scratch.readings_.read(url);
  const auto readings = scratch.readings_.all();
  if (readings.empty()) {
    scratch.rule_ = scratch.readings_.error().detail;
    return {.answer = Verdict::Answer::invalid, .rule = scratch.rule_};
  }
  const auto confirms = [this](Digest rule) {
    return (parts_.tombstones.is_empty() || !parts_.tombstones.is_dead(rule)) &&
           (!parts_.config.is_exact || parts_.rules.has_rule(rule));
  };
  Verdict verdict;
  const auto block = [&](const detail::Match& rule) {
    name_match(rule, scratch.keys_, scratch.rule_);
    verdict.answer = Verdict::Answer::blocked;
    verdict.rule = scratch.rule_;
  };
  for (const url::CanonicalUrl& reading : readings) {
    scratch.keys_.reset(reading, hasher_);
    if (parts_.base) {
      detail::Walk walk(scratch.keys_, *parts_.base, confirms);
      const bool is_covered = walk.run();
      verdict.probes += walk.probes();
      if (is_covered) {
        block(walk.match());
        break;
      }
    }
    if (!parts_.overlay.is_empty()) {
      if (const auto rule = find_exact(scratch.keys_, parts_.overlay)) {
        block(*rule);
        break;
      }
    }
  }
  if (verdict.answer == Verdict::Answer::blocked && are_excepted(scratch)) {
    verdict.answer = Verdict::Answer::allowed;
    verdict.rule = scratch.exception_;
  }
  return verdict;
}

bool Guard::are_excepted(GuardScratch& scratch) const {
  if (parts_.exceptions.table().is_empty()) {
    return false;
  }
  const auto readings = scratch.readings_.nameable();
  for (const url::CanonicalUrl& reading : readings) {
    if (scratch.readings_.all().size() > 1) {
      scratch.keys_.reset(reading, hasher_);
    }
    const auto exception = find_exact(scratch.keys_, parts_.exceptions.table());
    if (!exception) {
      return false;
    }
    if (&reading == readings.data()) {
      name_match(*exception, scratch.keys_, scratch.exception_);
    }
  }
  return true;
}

Result<bool> Guard::add(std::string_view rule, std::uint64_t id) {
  MANKAI_ASSIGN(const auto parsed, GuardRule::parse(rule));
  return add_key(key_of(parsed, hasher_), id);
}

Result<bool> Guard::add_key(const RuleKey& key, std::uint64_t id) {
  if (parts_.tombstones.give_back(key.rule, id)) {
    return true;
  }
  if (const auto node = parts_.rules.find(key.rule);
      node && parts_.rules.is_rule(*node) && std::ranges::binary_search(parts_.rules.ids(*node), id)) {
    return false;
  }
  return parts_.overlay.insert(key, id);
}

Result<RemoveOutcome> Guard::remove(std::string_view rule, std::optional<std::uint64_t> id) {
  MANKAI_ASSIGN(const auto parsed, GuardRule::parse(rule));
  const RuleKey key = key_of(parsed, hasher_);
  if (!remove_key(key, id)) {
    return RemoveOutcome::not_found;
  }
  return id && holds(key) ? RemoveOutcome::still_held : RemoveOutcome::removed;
}

bool Guard::remove_key(const RuleKey& key, std::optional<std::uint64_t> id) {
  // The base first, since it may run out of memory: then nothing changes.
  const bool took_from_base = take_from_base(key, id);
  const bool took_from_overlay = parts_.overlay.erase(key.rule, id);
  return took_from_base || took_from_overlay;
}

std::span<const std::uint64_t> Guard::ids_in_base(const RuleKey& key) const {
  if (!parts_.base) {
    return {};
  }
  if (!parts_.config.keeps_rules) {
    return parts_.base->may_have(key) ? std::span(&kIdOfLists, 1) : std::span<const std::uint64_t>();
  }
  const auto node = parts_.rules.find(key.rule);
  return node && parts_.rules.is_rule(*node) ? parts_.rules.ids(*node) : std::span<const std::uint64_t>();
}

bool Guard::take_from_base(const RuleKey& key, std::optional<std::uint64_t> id) {
  const auto ids = ids_in_base(key);
  if (id) {
    return std::ranges::binary_search(ids, *id) && parts_.tombstones.take(key.rule, *id, ids.size());
  }
  std::vector<std::uint64_t> taken;
  taken.reserve(ids.size());
  try {
    for (const std::uint64_t each : ids) {
      if (parts_.tombstones.take(key.rule, each, ids.size())) {
        taken.push_back(each);
      }
    }
  } catch (...) {
    for (const std::uint64_t each : taken) {
      parts_.tombstones.give_back(key.rule, each);
    }
    throw;
  }
  return !taken.empty();
}

Result<bool> Guard::is_removal_kept(std::string_view rule) const {
  MANKAI_ASSIGN(const auto parsed, GuardRule::parse(rule));
  const RuleKey key = key_of(parsed, hasher_);
  return !ids_in_base(key).empty() && !parts_.tombstones.is_dead(key.rule);
}

std::uint64_t Guard::growth_bytes() const noexcept {
  return std::max(parts_.overlay.growth_bytes(), parts_.exceptions.growth_bytes());
}

bool Guard::holds(const RuleKey& key) const {
  return parts_.overlay.has_rule(key.rule) || (!ids_in_base(key).empty() && !parts_.tombstones.is_dead(key.rule));
}

Result<bool> Guard::allow(std::string_view rule) {
  url::CanonicalUrl url;
  MANKAI_ASSIGN(const auto parsed, GuardRule::parse(rule, url));
  if (detail::has_port(url)) {
    return fail(ErrorCode::invalid_argument,
                shown_rule(rule) + ": " + std::string(describe(RuleSkip::too_wide)) + ": every port");
  }
  return parts_.exceptions.insert(parsed, key_of(parsed, hasher_));
}

Result<bool> Guard::disallow(std::string_view rule) {
  MANKAI_ASSIGN(const auto parsed, GuardRule::parse(rule));
  return parts_.exceptions.erase(parsed, key_of(parsed, hasher_));
}

Result<void> Guard::compact() {
  if (!parts_.config.keeps_rules && parts_.base) {
    return fail(ErrorCode::invalid_argument, "the file keeps no rules to compact; build it again from its lists");
  }
  MANKAI_ASSIGN(auto rules, rules_in_force(parts_));
  return rebuild(std::move(rules));
}

Result<void> Guard::rebuild(detail::NewRules rules) {
  MANKAI_ASSIGN(auto made, with_base(parts_.config, std::move(rules)));
  made.exceptions = std::move(parts_.exceptions);
  parts_ = std::move(made);
  return {};
}

Result<GuardChanges> Guard::changes_since(const Guard& before) const {
  for (const Guard* guard : {this, &before}) {
    if (!guard->parts_.config.keeps_rules && guard->parts_.base) {
      return fail(ErrorCode::invalid_argument, "keeps no rules, so its changes are unknown");
    }
  }
  if (parts_.config.hash != before.parts_.config.hash) {
    return fail(ErrorCode::invalid_argument, "has another hash, so its changes are unknown");
  }
  GuardChanges changes;
  for_each_held(parts_, [&](const RuleKey& key, std::uint64_t id) {
    if (!has_held(before.parts_, key.rule, id)) {
      changes.added.push_back({.key = key, .id = id});
    }
  });
  for_each_held(before.parts_, [&](const RuleKey& key, std::uint64_t id) {
    if (!has_held(parts_, key.rule, id)) {
      changes.removed.push_back({.key = key, .id = id});
    }
  });
  const auto& now = parts_.exceptions.texts();
  const auto& then = before.parts_.exceptions.texts();
  std::ranges::set_difference(now, then, std::back_inserter(changes.allowed));
  std::ranges::set_difference(then, now, std::back_inserter(changes.disallowed));
  return changes;
}

Result<std::uint64_t> Guard::repeat(const GuardChanges& changes) {
  std::uint64_t made = 0;
  for (const auto& [key, id] : changes.added) {
    MANKAI_ASSIGN(const bool is_new, add_key(key, id));
    made += is_new ? 1 : 0;
  }
  for (const auto& [key, id] : changes.removed) {
    made += remove_key(key, id) ? 1 : 0;
  }
  for (const std::string& text : changes.allowed) {
    MANKAI_ASSIGN(const bool is_new, allow(text));
    made += is_new ? 1 : 0;
  }
  for (const std::string& text : changes.disallowed) {
    MANKAI_ASSIGN(const bool was_there, disallow(text));
    made += was_there ? 1 : 0;
  }
  return made;
}

GuardSettings Guard::settings() const {
  return {.fpr = parts_.config.fpr,
          .hash = parts_.config.hash.kind,
          .seed = parts_.config.hash.seed,
          .keeps_rules = parts_.config.keeps_rules,
          .is_exact = parts_.config.is_exact};
}

GuardFacts Guard::facts() const {
  const detail::BaseBytes bytes = base_bytes_of(parts_);
  GuardFacts facts{.removed_rules = parts_.tombstones.dead_count(),
                   .added_rules = parts_.overlay.rule_count() - parts_.overlay.exact_count(),
                   .exact_rules = parts_.overlay.exact_count(),
                   .exceptions = parts_.exceptions.texts().size(),
                   .base_bytes = bytes.cells.size() + bytes.classes.size(),
                   .fpr = parts_.config.fpr,
                   .rules_bytes = bytes.rules.size(),
                   .overlay_bytes = parts_.overlay.memory_bytes(),
                   .removed_bytes = parts_.tombstones.memory_bytes(),
                   .exceptions_bytes = parts_.exceptions.memory_bytes(),
                   .region_bytes = parts_.region.size(),
                   .keeps_rules = parts_.config.keeps_rules,
                   .is_exact = parts_.config.is_exact,
                   .hash = parts_.config.hash.kind,
                   .canonical_version = url::kSafeBrowsingVersion};
  if (parts_.base) {
    const detail::RuleBaseHeader& header = parts_.base->header();
    facts.base_rules = header.rules;
    facts.base_keys = header.map.keys;
    facts.value_bits = header.map.value_bits;
    facts.bits_per_rule = kBitsPerByte * static_cast<double>(facts.base_bytes) / static_cast<double>(header.rules);
    facts.fpr_worst = parts_.config.is_exact ? 0 : header.fpr_worst;
    facts.fpr_absent = parts_.config.is_exact ? 0 : header.fpr_absent;
  }
  return facts;
}

std::vector<std::string> Guard::exceptions() const {
  return {parts_.exceptions.texts().begin(), parts_.exceptions.texts().end()};
}

Result<GuardBuilder> GuardBuilder::create(const GuardSettings& settings) {
  MANKAI_ASSIGN(auto guard, Guard::create(settings));
  return GuardBuilder(std::move(guard));
}

Result<bool> GuardBuilder::add_block(std::string_view rule) {
  MANKAI_ASSIGN(const auto key, key_of(rule, url_, hasher()));
  return rules_.insert(key, kIdOfLists);
}

Result<std::uint64_t> GuardBuilder::add_block(std::span<const RuleKey> rules) {
  constexpr std::size_t kAhead = 8;
  std::uint64_t added = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (i + kAhead < rules.size()) {
      rules_.in_base.prefetch(rules[i + kAhead]);
    }
    MANKAI_ASSIGN(const bool is_new, rules_.insert(rules[i], kIdOfLists));
    added += is_new ? 1 : 0;
  }
  return added;
}

Result<Guard> GuardBuilder::build() {
  MANKAI_TRY(guard_.rebuild(std::move(rules_)));
  return std::move(guard_);
}

}  // namespace mankai
