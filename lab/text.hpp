#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Numbers for people: whole ones as they are, others to four digits; "–" for what is not a number.
[[nodiscard]] std::string shown(double number);
/// Returns the expected value with its relation and unit, such as "at most 0.01".
[[nodiscard]] std::string shown(const Claim& claim);
/// Returns the measured value with its error and unit.
[[nodiscard]] std::string shown_measured(const Claim& claim);
[[nodiscard]] std::string shown(const Cell& cell);

/// Makes any text safe within HTML's text and quoted attributes.
[[nodiscard]] std::string html_escape(std::string_view text);
/// Makes any text one field of RFC 4180's CSV.
[[nodiscard]] std::string csv_field(std::string_view text);
/// Returns the figure's table; numbers have all their digits, what is not a number is empty.
[[nodiscard]] std::string csv(const Figure& figure);

/// Returns the array of claims for programs. NaN and infinity become null.
[[nodiscard]] std::string claims_json(const std::vector<Outcome>& outcomes);
/// Returns the sentence that says how many verdicts are not as recorded.
[[nodiscard]] std::string unexpected_words(std::size_t count);
/// Returns what is printed on the terminal: every claim on a line, then the counts.
[[nodiscard]] std::string summary(const std::vector<Outcome>& outcomes);

}  // namespace mankai::lab
