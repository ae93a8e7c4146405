#pragma once

/// What `guard build` says about the lines of a list that it skipped.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai/report.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::command {

/// Examples of what was skipped, and the options that were the reason. Memory: bounded, whatever the list.
class SkippedLines {
 public:
  void note(RuleSkip reason, const RuleLine& line);

  /// Adds "examples" and "options" to the report of a reason.
  void add_to(Report& report, RuleSkip reason) const;
  /// The same for people, in lines below that of the reason.
  [[nodiscard]] std::string text(RuleSkip reason) const;

 private:
  struct Example {
    std::uint64_t line = 0;
    std::string text;
  };
  struct Reason {
    std::vector<Example> examples;
    std::map<std::string, std::uint64_t, std::less<>> options;
    std::uint64_t other_options = 0;  ///< skipped for options beyond those
  };

  [[nodiscard]] const Reason& of(RuleSkip reason) const { return reasons_[static_cast<std::size_t>(reason)]; }

  std::array<Reason, kRuleSkips> reasons_;
};

/// The counts of what was skipped, one report per reason; `lines` are null unless they are to be explained.
[[nodiscard]] std::vector<Report> skip_reports(const RuleListCounts& counts, const SkippedLines* lines);
[[nodiscard]] std::string skip_text(const RuleListCounts& counts, const SkippedLines* lines);

/// Returns every reason and its count on one line, most first; empty if nothing was skipped. `in_scope`: only those
/// that are not out of scope.
[[nodiscard]] std::string reasons_text(const RuleListCounts& counts, bool in_scope);

}  // namespace mankai::command
