#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/guard/detail/exceptions.hpp"
#include "mankai/guard/detail/node_section.hpp"
#include "mankai/guard/detail/rule_base.hpp"
#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/detail/tombstones.hpp"
#include "mankai/guard/detail/walk.hpp"
#include "mankai/guard/guard_format.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::detail {

struct GuardConfig {
  HashSpec hash{};
  double fpr = 0;
  bool keeps_rules = true;
  bool is_exact = false;
};

struct GuardParts {
  GuardConfig config;
  Region region;  ///< the bytes that base and rules are views of
  std::optional<RuleBase> base;
  NodeSection rules;  ///< of the base; empty if rules are not kept
  RuleTable overlay;
  Tombstones tombstones;
  Exceptions exceptions;
};

/// Rules for a new base, and those that stay exact.
struct NewRules {
  RuleNodes in_base;
  RuleTable exact;

  /// Returns false if the rule exists. Errors: as RuleTable::insert.
  [[nodiscard]] Result<bool> insert(const RuleKey& key, std::uint64_t id) {
    return stays_exact(key) ? exact.insert(key, id) : in_base.insert(key, id);
  }
  [[nodiscard]] std::uint64_t rule_count() const noexcept { return in_base.rule_count() + exact.rule_count(); }
};

/// Sections of the base in docs/formats/guard.md; empty without a base.
struct BaseBytes {
  std::span<const std::byte> cells{};
  std::span<const std::byte> classes{};
  std::span<const std::byte> rules{};
};

/// The bytes of a guard, whose base is copied only once. Pre: the parts and the base outlive it.
class GuardImage {
 public:
  GuardImage(const GuardParts& parts, const BaseBytes& base);
  GuardImage(const GuardImage&) = delete;  // sections_ are of its own bytes
  GuardImage& operator=(const GuardImage&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return header_.bytes; }
  /// Pre: size() bytes of zeros.
  void copy_to(std::span<std::byte> bytes) const;

 private:
  std::vector<std::byte> overlay_;
  std::vector<std::byte> tombstones_;
  std::vector<std::byte> exceptions_;
  std::array<std::span<const std::byte>, kGuardSections> sections_;
  GuardHeader header_;
};

/// Returns the base's sections in the guard's region. Pre: the sections were checked.
[[nodiscard]] BaseBytes base_bytes_of(const GuardParts& parts);

void relocate(GuardParts& parts, const Mover& mover) noexcept;

/// Errors: corrupt; unsupported_version.
[[nodiscard]] Result<GuardParts> read_guard(Region region);

}  // namespace mankai::detail
