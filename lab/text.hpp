#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Formats a number for people: integers in full, others to four digits; "–" for NaN and infinity.
[[nodiscard]] std::string shown(double number);
/// The expected value with its relation and unit, such as "at most 0.01"; of both sides if there are two.
[[nodiscard]] std::string shown(const Claim& claim);
[[nodiscard]] std::string shown_measured(const Claim& claim);
/// Such as "2%; formula ± 0.001"; empty if there is none.
[[nodiscard]] std::string shown_tolerance(const Claim& claim);
/// Such as "Verdict changes at 0.012, 0.94 times the expected value"; empty if no expected value changes it.
[[nodiscard]] std::string shown_margin(const Claim& claim);
/// Says that the claim is ours, not counted, not as recorded, or flips; empty if nothing is to be said.
[[nodiscard]] std::string remarks(const Claim& claim);
[[nodiscard]] std::string shown(const Cell& cell);

/// For HTML's text and quoted attributes.
[[nodiscard]] std::string html_escape(std::string_view text);
/// For HTML's text, with `code` between backticks.
[[nodiscard]] std::string html_text(std::string_view text);
/// For a field of RFC 4180's CSV.
[[nodiscard]] std::string csv_field(std::string_view text);
/// Returns the figure's table with all digits; NaN and infinity are empty.
[[nodiscard]] std::string csv(const Figure& figure);

/// Returns the command that measures this claim alone in the same way.
[[nodiscard]] std::string command(const Outcome& outcome, const Claim& claim, const Context& context);
/// A statement of the source, and how many of the claims that measure it have each verdict.
struct Statement {
  std::string name;
  std::array<std::size_t, kVerdicts> verdicts{};

  /// The verdict of all its claims without the skipped ones; nothing if they differ.
  [[nodiscard]] std::optional<Verdict> verdict() const noexcept;
};

/// Whether the claim is one of those that measure what the source says.
[[nodiscard]] bool is_of_source(const Claim& claim) noexcept;
/// Returns the statements in the order of their first claims.
[[nodiscard]] std::vector<Statement> statements_of(const Findings& findings);
/// Returns such as "14 claims: 1 reproduced, 13 refuted".
[[nodiscard]] std::string counts_of(const Statement& statement);
/// Returns such as "20 statements of the source: 15 reproduced, 2 refuted, 1 depends, 2 in part; ours: 4 reproduced;
/// not counted: 5 arithmetic, 4 reconstructed". A statement is in part reproduced if the verdicts of its claims differ.
[[nodiscard]] std::string verdict_line(const Findings& findings);
/// Returns a sentence for each kind of concern, or that every verdict is as recorded.
[[nodiscard]] std::string concern_words(const Concerns& concerns);

/// Returns a JSON array of claims. NaN and infinity become null.
[[nodiscard]] std::string claims_json(const std::vector<Outcome>& outcomes, const Context& context);
/// Returns the terminal's output: one line per claim, then the counts.
[[nodiscard]] std::string summary(const std::vector<Outcome>& outcomes);
/// Returns the terminal's output for one claim, the only one of its outcome.
[[nodiscard]] std::string details(const Outcome& outcome, const Context& context);

}  // namespace mankai::lab
