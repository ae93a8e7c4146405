#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "mankai/guard/detail/rule_table.hpp"

namespace mankai::detail {

/// What is at hosts, in at most kClassesMax numbers.
class RuleClasses {
 public:
  explicit RuleClasses(const RuleTable& rules);

  /// The number of a host's class, which names all that is below it.
  [[nodiscard]] std::uint32_t number_of(const RuleTable::Node& host) const;
  [[nodiscard]] const std::vector<HostEntry>& all() const noexcept { return classes_; }

 private:
  std::vector<HostEntry> classes_;
  std::map<HostEntry, std::uint32_t> numbers_;
};

/// The chances of a wrong look, for one width of values; essay and formulas are in rule_base.hpp.
class RuleRates {
 public:
  RuleRates(const RuleTable& rules, const RuleClasses& classes);

  [[nodiscard]] std::uint16_t host_depth_max() const noexcept { return host_depth_max_; }
  [[nodiscard]] std::uint16_t path_depth_max() const noexcept { return path_depth_max_; }

  /// Of the URL with the most looks, and of one whose anchor is an absent key, when values have so many bits.
  struct Rates {
    double worst;
    double stranger;
  };
  [[nodiscard]] Rates at(unsigned value_bits) const;

 private:
  /// An anchor with something below it: its class, and for each depth the most looks at the paths of a host there.
  struct Anchor {
    std::uint32_t number = 0;
    std::vector<unsigned> looks_by_depth;
  };

  [[nodiscard]] unsigned looks_at(const HostEntry& entry) const noexcept;
  [[nodiscard]] double worst_below(const Anchor& anchor, double p, double host) const;
  [[nodiscard]] static std::size_t depths_of(DepthMask mask, std::size_t depth_max) noexcept;

  const RuleClasses* classes_;
  std::uint16_t host_depth_max_ = 0;
  std::uint16_t path_depth_max_ = 0;
  std::unordered_map<std::uint64_t, Anchor> anchors_;
};

}  // namespace mankai::detail
