#pragma once

/// Report of the lines of block lists that `guard build` skipped.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/mankai/report.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::command {

/// Examples of skipped lines, and the unsupported options in them. Memory: bounded, whatever the list.
class SkippedLines {
 public:
  void note(RuleSkip reason, const RuleLine& line);

  void add_to(Report& report, RuleSkip reason) const;
  [[nodiscard]] std::string text(RuleSkip reason) const;

 private:
  struct Example {
    std::uint64_t line = 0;
    std::string text;
  };
  struct Reason {
    std::vector<Example> examples;
    std::map<std::string, std::uint64_t, std::less<>> options;
    std::uint64_t other_options = 0;  ///< lines with options that `options` has no room for
  };

  [[nodiscard]] const Reason& of(RuleSkip reason) const { return reasons_[static_cast<std::size_t>(reason)]; }

  std::array<Reason, kRuleSkips> reasons_;
};

/// Returns one report of counts per reason. `lines` adds examples; may be nullptr.
[[nodiscard]] std::vector<Report> skip_reports(const RuleListCounts& counts, const SkippedLines* lines);
[[nodiscard]] std::string skip_text(const RuleListCounts& counts, const SkippedLines* lines);

/// Returns every reason and its count on one line, largest first; empty if nothing was skipped. `in_scope`: leaves out
/// reasons that are out of scope.
[[nodiscard]] std::string reasons_text(const RuleListCounts& counts, bool in_scope);

}  // namespace mankai::command
