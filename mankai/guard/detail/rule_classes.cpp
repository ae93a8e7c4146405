#include "mankai/guard/detail/rule_classes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mankai/guard/detail/rule_base.hpp"

namespace mankai::detail {
namespace {

HostEntry entry_of(const RuleTable::Node& host) {
  HostEntry entry = host.below;
  entry.is_rule = host.is_rule();
  return entry;
}

HostEntry both(HostEntry a, const HostEntry& b) {
  a.is_rule = a.is_rule || b.is_rule;
  a.has_query = a.has_query || b.has_query;
  a.host_mask |= b.host_mask;
  a.path_mask |= b.path_mask;
  return a;
}

bool names_all_of(const HostEntry& wide, const HostEntry& narrow) { return both(wide, narrow) == wide; }

int width_of(const HostEntry& entry) {
  return std::popcount(entry.host_mask) + std::popcount(entry.path_mask) + (entry.has_query ? 1 : 0);
}

constexpr HostEntry kRuleAlone{.is_rule = true};

using Counts = std::map<HostEntry, std::uint64_t>;

Counts count_entries(const RuleTable& rules) {
  Counts counts;
  rules.for_each([&](const RuleTable::Node& node) {
    if (is_host(node.kind)) {
      ++counts[entry_of(node)];
    }
  });
  return counts;
}

}  // namespace

// What is below a rule is asked for only when the rule was removed, so all such hosts share one class: a class that is
// a rule costs every look at an absent key.
RuleClasses::RuleClasses(const RuleTable& rules) : classes_{kRuleAlone} {
  std::vector<std::pair<std::uint64_t, HostEntry>> others;
  HostEntry above_others = kRuleAlone;
  for (const auto& [entry, count] : count_entries(rules)) {
    if (entry.is_rule) {
      above_others = both(above_others, entry);
    } else {
      others.emplace_back(count, entry);
    }
  }
  if (above_others != kRuleAlone) {
    classes_.push_back(above_others);
  }
  // The most frequent first; among equals an order that does not depend on the table's.
  std::ranges::sort(others, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  const bool is_crowded = classes_.size() + others.size() > kClassesMax;
  const std::size_t kept = is_crowded ? kClassesMax - classes_.size() - 1 : others.size();
  HostEntry rest{};
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i < kept) {
      classes_.push_back(others[i].second);
    } else {
      rest = both(rest, others[i].second);
    }
  }
  if (is_crowded) {
    classes_.push_back(rest);
  }
  for (std::uint32_t number = 0; number < classes_.size(); ++number) {
    numbers_.try_emplace(classes_[number], number);
  }
}

std::uint32_t RuleClasses::number_of(const RuleTable::Node& host) const {
  const HostEntry entry = entry_of(host);
  if (const auto found = numbers_.find(entry); found != numbers_.end()) {
    return found->second;
  }
  std::uint32_t best = static_cast<std::uint32_t>(classes_.size());
  for (std::uint32_t number = 0; number < classes_.size(); ++number) {
    const HostEntry& wide = classes_[number];
    const bool fits = wide.is_rule == entry.is_rule && names_all_of(wide, entry);
    if (fits && (best == classes_.size() || width_of(wide) < width_of(classes_[best]))) {
      best = number;
    }
  }
  return best;
}

RuleRates::RuleRates(const RuleTable& rules, const RuleClasses& classes) : classes_(&classes) {
  rules.for_each([&](const RuleTable::Node& node) {
    std::uint16_t& deepest = is_host(node.kind) ? host_depth_max_ : path_depth_max_;
    deepest = std::max(deepest, node.kind == NodeKind::query ? std::uint16_t{0} : node.depth);
  });
  rules.for_each([&](const RuleTable::Node& node) {
    if (!is_host(node.kind)) {
      return;
    }
    const std::uint32_t number = classes.number_of(node);
    const unsigned looks = looks_at(classes.all()[number]);
    if (is_anchor(node.kind) && number != 0) {
      anchors_[node.digest.value].number = number;
    }
    if (node.kind == NodeKind::host && looks != 0) {
      auto& by_depth = anchors_[node.parent.value].looks_by_depth;
      by_depth.resize(std::max<std::size_t>(by_depth.size(), node.depth));
      by_depth[node.depth - 1U] = std::max(by_depth[node.depth - 1U], looks);
    }
  });
}

std::size_t RuleRates::depths_of(DepthMask mask, std::size_t depth_max) noexcept {
  const auto named = static_cast<std::size_t>(std::popcount(mask));
  return has_depth(mask, kMaskBits) ? named + depth_max - kMaskBits : named;
}

unsigned RuleRates::looks_at(const HostEntry& entry) const noexcept {
  return static_cast<unsigned>(depths_of(entry.path_mask, path_depth_max_)) + (entry.has_query ? 1 : 0);
}

double RuleRates::worst_below(const Anchor& anchor, double p, double host) const {
  const HostEntry& entry = classes_->all()[anchor.number];
  double sum = p * looks_at(entry);
  for (std::size_t depth = 1; depth <= host_depth_max_; ++depth) {
    if (has_depth(entry.host_mask, depth)) {
      const bool is_known = depth <= anchor.looks_by_depth.size();
      sum += std::max(host, is_known ? p * anchor.looks_by_depth[depth - 1] : 0);
    }
  }
  return sum;
}

RuleRates::Rates RuleRates::at(unsigned value_bits) const {
  const double p = std::ldexp(1.0, -static_cast<int>(value_bits));
  double host = 0;
  for (const HostEntry& entry : classes_->all()) {
    host += p * (entry.is_rule ? 1 : std::min(1.0, p * looks_at(entry)));
  }
  double stranger = 0;
  for (const HostEntry& entry : classes_->all()) {
    const double below = p * looks_at(entry) + host * static_cast<double>(depths_of(entry.host_mask, host_depth_max_));
    stranger += p * (entry.is_rule ? 1 : std::min(1.0, below));
  }
  double worst = stranger;
  for (const auto& [digest, anchor] : anchors_) {
    worst = std::max(worst, worst_below(anchor, p, host));
  }
  return {.worst = std::min(1.0, worst), .stranger = std::min(1.0, stranger)};
}

}  // namespace mankai::detail
