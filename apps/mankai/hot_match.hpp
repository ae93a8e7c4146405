#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "mankai/base/error.hpp"

namespace re2 {
class RE2;
}  // namespace re2

namespace mankai::command {

/// A regular expression that picks the key out of a line, in RE2's syntax, on bytes.
///
/// Cost:    linear in the line whatever the expression and the line are; 1 MiB at most for what it remembers.
/// Threads: one at a time.
class LineMatch {
 public:
  /// Errors: invalid_argument with the position of what is wrong.
  [[nodiscard]] static Result<LineMatch> create(std::string_view expression);

  LineMatch(LineMatch&&) noexcept;
  LineMatch& operator=(LineMatch&&) noexcept;
  LineMatch(const LineMatch&) = delete;
  LineMatch& operator=(const LineMatch&) = delete;
  ~LineMatch();

  /// Returns what the first group matched, or the whole expression if it has no group, at the first place in the line
  /// where it matches; nothing if it does not, or if the group had no part in it.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view line) const;

 private:
  explicit LineMatch(std::unique_ptr<re2::RE2> compiled) noexcept;

  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace mankai::command
