#pragma once

/// Compiled block lists: a rule covers everything below it; exceptions override rules; rules can be added and removed.
///
///     auto builder = mankai::GuardBuilder::create();
///     auto added = builder->add_block("evil.example/malware");
///     auto guard = builder->build();
///     mankai::GuardScratch scratch;
///     if (guard->check(url, scratch).answer == mankai::Verdict::Answer::blocked) { ... }
///
/// A guard has four parts. The static **base** takes a few bits per rule and has false positives at the promised rate.
/// The **overlay** holds later rules exactly; **tombstones** list removed rules of the base; `compact` builds a new
/// base. **Exceptions** are exact and override every rule. guard/rule.hpp defines rules, docs/formats/guard.md the
/// bytes.
///
/// A rule is in force while at least one id holds it. Lists hold their rules under id 0. A program with its own ids,
/// such as one written for dablooms, removes only what it added.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/guard/detail/guard_parts.hpp"
#include "mankai/guard/rule.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/url/readings.hpp"

namespace mankai {

/// Settings of a new guard.
struct GuardSettings {
  /// False-positive rate of the URLs that need the most lookups; the rate of others is lower. 0 < fpr < 1.
  double fpr = 0.01;
  /// [default: kDefaultHash]
  std::optional<HashKind> hash = {};
  /// [default: random]
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// Keeps the rules' digests, 16 bytes each; required by `is_exact`, `compact`, and an exact `remove`.
  bool keeps_rules = true;
  /// Confirms every blocked URL by those digests, so that there are no false positives.
  bool is_exact = false;
};

/// The answer to a check.
struct Verdict {
  enum class Answer : std::uint8_t {
    ok,       ///< no rule covers it; never wrong
    blocked,  ///< a rule covers it, or it is a false positive
    allowed,  ///< blocked, but exceptions cover each of its readings
    invalid,  ///< not a URL with a host in any reading
  };

  Answer answer = Answer::ok;
  /// The rule, such as "evil.example/path", or exception, or reason if invalid. Valid until the next check.
  std::string_view rule{};
  unsigned probes = 0;
};

/// Working memory of `check`. Threads: one at a time.
class GuardScratch {
 public:
  /// The readings of the last URL, in canonical form; empty if it was invalid.
  [[nodiscard]] std::span<const url::CanonicalUrl> readings() const noexcept { return readings_.all(); }

 private:
  friend class Guard;

  url::UrlReadings readings_;
  detail::UrlKeys keys_;
  std::string rule_;
  std::string exception_;
};

/// The result of `remove`.
enum class RemoveOutcome : std::uint8_t {
  removed,     ///< the rule is no longer in force
  still_held,  ///< other ids still hold it
  not_found,   ///< the rule was absent, or not held by this id
};

/// Statistics of a guard.
struct GuardFacts {
  std::uint64_t base_rules = 0;     ///< in the base, including removed ones
  std::uint64_t removed_rules = 0;  ///< of the base, marked by tombstones
  std::uint64_t added_rules = 0;    ///< in the overlay until `compact`
  std::uint64_t exact_rules = 0;    ///< always in the overlay: of one label, or deeper than 32 labels or segments
  std::uint64_t exceptions = 0;
  std::uint64_t base_keys = 0;  ///< rules, and the hosts and anchors above them
  unsigned value_bits = 0;      ///< per lookup in the base
  std::uint64_t base_bytes = 0;
  double bits_per_rule = 0;            ///< of the base
  double fpr = 0;                      ///< promised for any URL
  double fpr_worst = 0;                ///< by the formula, for the URLs with the most lookups; 0 for an exact guard
  double fpr_absent = 0;               ///< by the formula, for URLs whose anchor is absent
  std::uint64_t rules_bytes = 0;       ///< digests of the base's rules; 0 if none are kept
  std::uint64_t overlay_bytes = 0;     ///< on the heap, including ids
  std::uint64_t removed_bytes = 0;     ///< on the heap, for removed rules of the base
  std::uint64_t exceptions_bytes = 0;  ///< on the heap, including texts
  std::uint64_t region_bytes = 0;      ///< of base and rules, used in place; 0 without a base
  bool keeps_rules = false;
  bool is_exact = false;
  HashKind hash = kDefaultHash;
  unsigned canonical_version = 0;

  [[nodiscard]] std::uint64_t rules_in_force() const noexcept {
    return base_rules - removed_rules + added_rules + exact_rules;
  }
};

/// What `add`, `remove`, `allow` and `disallow` did to a guard; see Guard::changes_since.
struct GuardChanges {
  struct HeldRule {
    RuleKey key;
    std::uint64_t id = 0;
  };
  std::vector<HeldRule> added;
  std::vector<HeldRule> removed;
  std::vector<std::string> allowed;
  std::vector<std::string> disallowed;

  [[nodiscard]] std::size_t size() const noexcept {
    return added.size() + removed.size() + allowed.size() + disallowed.size();
  }
};

/// A guard in memory. One that was moved from, also to itself, has no rules.
/// Threads: const calls are safe together, each with its own scratch; changes need exclusive access.
class Guard {
 public:
  /// Creates an empty guard. Errors: invalid_argument for impossible settings.
  [[nodiscard]] static Result<Guard> create(const GuardSettings& settings = {});
  /// Checks all bytes, and uses base and rules in place. Errors: corrupt; unsupported_version, also for other rules of
  /// canonical URLs. Pre: aligned to 64 bytes, as mappings and regions are.
  [[nodiscard]] static Result<Guard> from_region(Region region);
  /// As from_region, for a copy of the bytes. Errors: also out_of_space.
  [[nodiscard]] static Result<Guard> from_bytes(std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> to_bytes() const;

  /// Returns whether a URL is blocked in any of its readings (`url::UrlReadings`). A rule that covers one reading
  /// blocks the URL, unless exceptions cover all readings. Accepts any text.
  /// Cost:    per reading (a canonical URL has one): one lookup (a hash and four loads) if the anchor is absent, else
  ///          one per depth of host and path at which there are rules below the anchor. Allocates only while scratch
  ///          grows, and for hosts beyond ASCII.
  [[nodiscard]] Verdict check(std::string_view url, GuardScratch& scratch) const;

  /// Adds a rule under an id. Returns false if that id already holds it. Errors: invalid_argument for an invalid rule
  /// (GuardRule::parse); corrupt for a digest collision, which requires another seed and does not happen by chance.
  [[nodiscard]] Result<bool> add(std::string_view rule, std::uint64_t id = 0);
  /// Removes one id of a rule, or all of them. Errors: invalid_argument for an invalid rule. Atomic if out of memory.
  /// Without kept rules, an absent rule may be reported as removed, at a lookup's false-positive rate.
  [[nodiscard]] Result<RemoveOutcome> remove(std::string_view rule, std::optional<std::uint64_t> id = {});
  /// Whether `remove` would add a tombstone, which needs memory until `compact`. Errors: invalid_argument.
  [[nodiscard]] Result<bool> is_removal_kept(std::string_view rule) const;
  /// Adds an exception, which has the form of a rule: what it covers is never blocked. Returns false if it exists.
  /// Errors: as `add`; invalid_argument for a port, because the exception would cover all ports.
  [[nodiscard]] Result<bool> allow(std::string_view rule);
  /// Returns false if there is no such exception. Errors: invalid_argument for an invalid rule.
  [[nodiscard]] Result<bool> disallow(std::string_view rule);

  /// Builds a new base; only false positives change. Errors: invalid_argument if rules are not kept; out_of_space.
  [[nodiscard]] Result<void> compact();

  /// Returns the changes that lead from an earlier state of this guard to this one, compacted or not. Errors:
  /// invalid_argument if either keeps no rules or has another hash. Cost: O(rules) of both.
  [[nodiscard]] Result<GuardChanges> changes_since(const Guard& before) const;
  /// Makes those changes that have an effect, and returns their number. Errors: corrupt for a digest collision, after
  /// which some changes are made. Pre: the changes are of a guard with this guard's hash.
  [[nodiscard]] Result<std::uint64_t> repeat(const GuardChanges& changes);

  [[nodiscard]] GuardFacts facts() const;
  /// With the secret seed: a guard that is created with them has the same digests.
  [[nodiscard]] GuardSettings settings() const;
  /// Maximum heap growth by the next `add` or `allow`, not counting the text of an exception: tables double their size.
  [[nodiscard]] std::uint64_t growth_bytes() const noexcept;
  /// Sorted.
  [[nodiscard]] std::vector<std::string> exceptions() const;

  /// Lets a defragmenting allocator move the bytes of the base and its rules.
  void relocate(const Mover& mover) noexcept { detail::relocate(parts_, mover); }

 private:
  friend class GuardBuilder;
  explicit Guard(detail::GuardParts parts) noexcept : parts_(std::move(parts)), hasher_(parts_.config.hash) {}

  [[nodiscard]] Result<void> rebuild(detail::NewRules rules);
  /// Writes the first exception to the scratch. Pre: if there is only one reading, the scratch has its keys.
  [[nodiscard]] bool are_excepted(GuardScratch& scratch) const;
  [[nodiscard]] Result<bool> add_key(const RuleKey& key, std::uint64_t id);
  /// Returns whether an id held the rule.
  bool remove_key(const RuleKey& key, std::optional<std::uint64_t> id);
  /// Returns the ids of a rule in the base; empty if the rule is absent.
  [[nodiscard]] std::span<const std::uint64_t> ids_in_base(const RuleKey& key) const;
  [[nodiscard]] bool take_from_base(const RuleKey& key, std::optional<std::uint64_t> id);
  [[nodiscard]] bool holds(const RuleKey& key) const;

  detail::GuardParts parts_;
  Hasher hasher_;
};

/// Builds a guard. Cost: at most 48 bytes per host or path segment of the rules, beside the guard
/// itself, and 1 µs per rule.
class GuardBuilder {
 public:
  [[nodiscard]] static Result<GuardBuilder> create(const GuardSettings& settings = {});

  /// Returns false if the rule exists. Errors: as Guard::add.
  [[nodiscard]] Result<bool> add_block(std::string_view rule);
  /// The same of rules that were read before; returns how many are new. Pre: key_of made them with `hasher`.
  [[nodiscard]] Result<std::uint64_t> add_block(std::span<const RuleKey> rules);
  [[nodiscard]] const Hasher& hasher() const noexcept { return guard_.hasher_; }
  [[nodiscard]] Result<bool> add_allow(std::string_view rule) { return guard_.allow(rule); }
  [[nodiscard]] std::uint64_t rule_count() const noexcept { return rules_.rule_count(); }

  /// Errors: out_of_space; invalid_argument if the fpr is too low for any base. Pre: called once.
  [[nodiscard]] Result<Guard> build();

 private:
  explicit GuardBuilder(Guard guard) noexcept : guard_(std::move(guard)) {}

  Guard guard_;  ///< has the exceptions
  detail::NewRules rules_;
  url::CanonicalUrl url_;
};

}  // namespace mankai
