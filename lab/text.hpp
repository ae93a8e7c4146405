#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Formats a number for people: integers in full, others to four digits; "–" for NaN and infinity.
[[nodiscard]] std::string shown(double number);
/// The expected value with its relation and unit, such as "at most 0.01".
[[nodiscard]] std::string shown(const Claim& claim);
[[nodiscard]] std::string shown_measured(const Claim& claim);
[[nodiscard]] std::string shown(const Cell& cell);

/// For HTML's text and quoted attributes.
[[nodiscard]] std::string html_escape(std::string_view text);
/// For a field of RFC 4180's CSV.
[[nodiscard]] std::string csv_field(std::string_view text);
/// Returns the figure's table with all digits; NaN and infinity are empty.
[[nodiscard]] std::string csv(const Figure& figure);

/// Returns a JSON array of claims. NaN and infinity become null.
[[nodiscard]] std::string claims_json(const std::vector<Outcome>& outcomes);
[[nodiscard]] std::string unexpected_words(std::size_t count);
/// Returns the terminal's output: one line per claim, then the counts.
[[nodiscard]] std::string summary(const std::vector<Outcome>& outcomes);

}  // namespace mankai::lab
