#pragma once

/// "Is it blocked?": block lists with everything below their rules, exceptions, and changes between builds.
///
///     mankai::GuardBuilder builder;
///     builder.add_block("evil.example/malware");
///     auto guard = builder.build();
///     mankai::GuardScratch scratch;
///     if (guard->check(url, scratch).answer == mankai::Verdict::Answer::blocked) { ... }
///
/// A guard has four parts. The **base** is static: a few bits a rule, and sometimes wrong about a URL that no rule
/// covers, at the rate that was promised for URLs. The **overlay** has the rules that were added since, exactly; the
/// **tombstones** those of the base that were removed; `compact` makes a new base of them. **Exceptions** are exact
/// too, and win over every rule. Rules are in guard/rule.hpp, the bytes in docs/formats/guard.md.
///
/// A rule is in force while at least one id holds it. Lists hold their rules under id 0; who adds and removes rules by
/// other ids, as programs written for dablooms do, removes only what they added.

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

/// How a guard is made.
struct GuardSettings {
  /// The share of URLs that may be blocked though no rule covers them: of the URLs with the most looks, so of others
  /// less. 0 < fpr < 1.
  double fpr = 0.01;
  /// [default: kDefaultHash]
  std::optional<HashKind> hash = {};
  /// Drawn at random unless given.
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// Keeps the digests of the rules, 16 bytes each, beside the filter: without them nothing can be compacted or made
  /// exact, and what is removed is known by the filter only.
  bool keeps_rules = true;
  /// Confirms every blocked URL by those digests, so that none is blocked wrongly.
  bool is_exact = false;
};

/// What a guard says about a URL.
struct Verdict {
  enum class Answer : std::uint8_t {
    ok,       ///< no rule covers it; never wrong
    blocked,  ///< a rule covers it, or at the promised rate none does
    allowed,  ///< as blocked, but exceptions cover each of its readings
    invalid,  ///< it is no URL with a host, in no reading
  };

  Answer answer = Answer::ok;
  /// The expression that is a rule, such as "evil.example/path"; the exception's where it is allowed, what is wrong
  /// where it is invalid. Valid until the scratch is used again.
  std::string_view rule{};
  /// Looks into the base.
  unsigned probes = 0;
};

/// The memory of one caller of `check`, which is kept from URL to URL. Threads: one at a time.
class GuardScratch {
 public:
  /// The readings of the URL of the last check, each in canonical form; none where it was no URL.
  [[nodiscard]] std::span<const url::CanonicalUrl> readings() const noexcept { return readings_.all(); }

 private:
  friend class Guard;

  url::UrlReadings readings_;
  detail::UrlKeys keys_;
  std::string rule_;
  std::string exception_;
};

/// What `remove` did.
enum class RemoveOutcome : std::uint8_t {
  removed,     ///< the rule is in force no more
  still_held,  ///< this id holds it no more, but others do
  not_found,   ///< it was not there, or not under this id
};

/// What can be said about a guard.
struct GuardFacts {
  std::uint64_t base_rules = 0;     ///< in the base, the removed ones included
  std::uint64_t removed_rules = 0;  ///< of the base, by tombstones
  std::uint64_t added_rules = 0;    ///< beside it, until `compact` takes them in
  std::uint64_t exact_rules = 0;    ///< beside it for good: of one label, or deeper than 32 labels or segments
  std::uint64_t exceptions = 0;
  std::uint64_t base_keys = 0;  ///< rules, and the hosts and anchors on the way to them
  unsigned value_bits = 0;      ///< of a look into the base
  std::uint64_t base_bytes = 0;
  double bits_per_rule = 0;            ///< of the base
  double fpr = 0;                      ///< promised for any URL
  double fpr_worst = 0;                ///< by the formula, of the URLs with the most looks; 0 for an exact guard
  double fpr_stranger = 0;             ///< by the formula, of URLs whose anchor no rule has
  std::uint64_t rules_bytes = 0;       ///< digests of the base's rules; 0 where none are kept
  std::uint64_t overlay_bytes = 0;     ///< on the heap, ids included
  std::uint64_t removed_bytes = 0;     ///< on the heap, for rules of the base that were removed
  std::uint64_t exceptions_bytes = 0;  ///< on the heap, texts included
  std::uint64_t region_bytes = 0;      ///< in which base and rules are used in place; 0 where there is no base
  bool keeps_rules = false;
  bool is_exact = false;
  HashKind hash = kDefaultHash;
  unsigned canonical_version = 0;

  [[nodiscard]] std::uint64_t rules_in_force() const noexcept {
    return base_rules - removed_rules + added_rules + exact_rules;
  }
};

/// The guard in memory.
///
/// Threads: const calls beside each other, each with its own scratch; changes alone.
class Guard {
 public:
  /// An empty one, to which rules are added. Errors: invalid_argument for impossible settings.
  [[nodiscard]] static Result<Guard> create(const GuardSettings& settings = {});
  /// Takes bytes, such as a mapped file, and uses the base and the rules in place. Everything is checked before it is
  /// used. Errors: corrupt; unsupported_version, also for URLs made canonical by other rules than this library's.
  /// Pre: aligned to 64, as mappings and allocated regions are.
  [[nodiscard]] static Result<Guard> from_region(Region region);
  /// As from_region, of a copy. Errors: also out_of_space.
  [[nodiscard]] static Result<Guard> from_bytes(std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> to_bytes() const;

  /// Says whether a URL, in any spelling, is blocked: in every reading that a mainstream program has of it
  /// (`url::UrlReadings`). A rule that covers one reading blocks the URL, unless exceptions cover them all.
  ///
  /// Cost:    a host that no rule knows is one look (a hash, three places of the base); others one for each depth of
  ///          host and path at which there are rules below their anchor. No allocation but for the growth of scratch,
  ///          and for hosts beyond ASCII. As often as there are readings: once for a URL in canonical form.
  /// Errors:  none; total.
  [[nodiscard]] Verdict check(std::string_view url, GuardScratch& scratch) const;

  /// Adds a rule under an id. Returns false when that id holds it already. Errors: invalid_argument for what is no
  /// rule (GuardRule::parse); corrupt for one that the hash cannot tell from another, which needs another seed, and
  /// never is by chance.
  [[nodiscard]] Result<bool> add(std::string_view rule, std::uint64_t id = 0);
  /// Takes one id from a rule, or all of them; rules above and below it stay. Errors: invalid_argument for what is no
  /// rule; std::bad_alloc, after which nothing has changed. A guard without rules cannot know for certain that a rule
  /// of the base was there.
  [[nodiscard]] Result<RemoveOutcome> remove(std::string_view rule, std::optional<std::uint64_t> id = {});
  /// Whether `remove` would take memory: what is taken from a rule of the base is kept until `compact`, where others
  /// give theirs back. Errors: invalid_argument for what is no rule.
  [[nodiscard]] Result<bool> is_removal_kept(std::string_view rule) const;
  /// Makes an exception, of the shape of a rule: what it covers is never blocked. Returns false when it was there.
  /// Errors: as add's; invalid_argument for a port, without which it would let through more than it says.
  [[nodiscard]] Result<bool> allow(std::string_view rule);
  /// Returns false when there was no such exception. Errors: invalid_argument for what is no rule.
  [[nodiscard]] Result<bool> disallow(std::string_view rule);

  /// Makes a new base of base, overlay and tombstones; answers stay as they are, but for those that were wrong.
  /// Errors: invalid_argument where no rules are kept; out_of_space.
  [[nodiscard]] Result<void> compact();

  /// Cost: a few sums.
  [[nodiscard]] GuardFacts facts() const;
  /// The most by which the bytes on the heap grow with the next `add` or `allow`, but for an exception's text: tables
  /// are doubled now and then.
  [[nodiscard]] std::uint64_t growth_bytes() const noexcept;
  /// In sorted order.
  [[nodiscard]] std::vector<std::string> exceptions() const;

  /// Lets an allocator that works against fragmentation move the bytes of the base and its rules.
  void relocate(const Mover& mover) noexcept { detail::relocate(parts_, mover); }

 private:
  friend class GuardBuilder;
  explicit Guard(detail::GuardParts parts) noexcept : parts_(std::move(parts)), hasher_(parts_.config.hash) {}

  /// Whether exceptions cover every reading; names that of the first one in the scratch. Pre: the scratch has the keys
  /// of the first reading if there is only one.
  [[nodiscard]] bool are_excepted(GuardScratch& scratch) const;
  /// Of a rule, as far as the base knows; empty where it has none.
  [[nodiscard]] std::span<const std::uint64_t> ids_in_base(const RuleKey& key) const;
  [[nodiscard]] bool take_from_base(const RuleKey& key, std::optional<std::uint64_t> id);
  [[nodiscard]] bool holds(const RuleKey& key) const;

  detail::GuardParts parts_;
  Hasher hasher_;
};

/// Makes a guard of lists.
///
/// Cost:    300 bytes a rule at most; of 1.1 million rules 1.8 s to take them and 2.9 s to build.
class GuardBuilder {
 public:
  /// Errors: invalid_argument for impossible settings.
  [[nodiscard]] static Result<GuardBuilder> create(const GuardSettings& settings = {});

  /// Returns false for a rule that is there already. Errors: invalid_argument for what is no rule; corrupt as
  /// Guard::add, and then the lists need another seed.
  [[nodiscard]] Result<bool> add_block(std::string_view rule) { return guard_.add(rule); }
  /// As add_block, for an exception.
  [[nodiscard]] Result<bool> add_allow(std::string_view rule) { return guard_.allow(rule); }
  /// Different ones, without exceptions.
  [[nodiscard]] std::uint64_t rule_count() const noexcept { return guard_.facts().rules_in_force(); }

  /// Errors: out_of_space; invalid_argument for a rate that no filter can hold. Pre: called once.
  [[nodiscard]] Result<Guard> build();

 private:
  explicit GuardBuilder(Guard guard) noexcept : guard_(std::move(guard)) {}

  Guard guard_;
};

}  // namespace mankai
