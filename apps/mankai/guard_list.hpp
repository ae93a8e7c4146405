#pragma once

/// Reading one block list, for the commands that compile lists into a guard.

#include <cstdint>
#include <string>

#include "apps/mankai/guard_skipped.hpp"
#include "mankai/base/error.hpp"
#include "mankai/guard/guard.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::command {

/// Above this share of skipped lines, a list is not a block list, or its format was detected wrongly.
inline constexpr double kSkippedShare = 0.1;

struct ListOutcome {
  std::string path;
  RuleListFormat format{};
  RuleListCounts counts;
  std::uint64_t repeated = 0;  ///< rules that were present already
  SkippedLines skipped = {};

  [[nodiscard]] std::uint64_t all_rules() const noexcept { return counts.rules + counts.exceptions; }
};

/// Adds the rules of a list; without a builder, counts them. After a request to stop, the counts are incomplete.
/// Errors: as Input; invalid_argument for a missing column; corrupt for a digest collision.
[[nodiscard]] Result<ListOutcome> read_rule_list(const std::string& path, const RuleListOptions& options,
                                                 GuardBuilder* builder);

// Problems of a list, as parts of messages.
[[nodiscard]] std::string no_rules_text(const ListOutcome& list);
[[nodiscard]] std::string long_record_text(const ListOutcome& list);
[[nodiscard]] std::string skipped_share_text(const ListOutcome& list, double allowed);

}  // namespace mankai::command
