#include "lab/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace mankai::lab {
namespace {

constexpr double kShownWhole = 1e9;

std::string with_unit(const std::string& text, const std::string& unit) {
  return unit.empty() ? text : text + " " + unit;
}

std::string_view word(Relation relation) {
  switch (relation) {
    case Relation::equals: return "";
    case Relation::at_most: return "at most ";
    case Relation::at_least: return "at least ";
  }
  return "";
}

std::string csv_cell(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell)) {
    return std::isfinite(*number) ? fmt::format("{}", *number) : "";
  }
  return csv_field(std::get<std::string>(cell));
}

std::string summary_of(const Outcome& outcome) {
  std::string text = fmt::format("{}: {}\n", outcome.source.name, outcome.source.title);
  std::array<std::size_t, 4> counts{};
  for (const Claim& claim : outcome.findings.claims()) {
    ++counts.at(static_cast<std::size_t>(claim.verdict));
    text += fmt::format("  {:<10}  {:<26}  {:<20}  {}{}\n", name(claim.verdict), claim.id, shown(claim),
                        claim.verdict == Verdict::skipped ? claim.reason : shown_measured(claim),
                        claim.is_as_recorded() ? "" : fmt::format("   <- recorded: {}", name(claim.recorded)));
  }
  text += fmt::format("  {} claims: {} reproduced, {} refuted, {} depend, {} skipped; {:.1f} s\n\n",
                      outcome.findings.claims().size(), counts[0], counts[1], counts[2], counts[3], outcome.seconds);
  return text;
}

}  // namespace

std::string shown(double number) {
  if (!std::isfinite(number)) {
    return std::isnan(number) ? "–" : (number > 0 ? "∞" : "-∞");
  }
  const bool is_whole = number == std::trunc(number) && std::abs(number) < kShownWhole;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.4g}", number);
}

std::string shown(const Claim& claim) {
  return with_unit(std::string(word(claim.expected.relation)) + shown(claim.expected.value), claim.unit);
}

std::string shown_measured(const Claim& claim) {
  constexpr double kTwoDigits = 10;
  const Estimate& measured = claim.measured;
  const std::string error =
      measured.error >= kTwoDigits ? shown(std::round(measured.error)) : fmt::format("{:.2g}", measured.error);
  return with_unit(shown(measured.value) + (measured.error > 0 ? " ± " + error : ""), claim.unit);
}

std::string shown(const Cell& cell) {
  const double* number = std::get_if<double>(&cell);
  return number != nullptr ? shown(*number) : std::get<std::string>(cell);
}

std::string html_escape(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char letter : text) {
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return quoted + "\"";
}

std::string csv(const Figure& figure) {
  std::string text;
  const auto append_row = [&text](const auto& cells, const auto& field) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += (i == 0 ? "" : ",") + field(cells[i]);
    }
    text += "\r\n";
  };
  append_row(figure.columns, csv_field);
  for (const auto& row : figure.rows) {
    append_row(row, csv_cell);
  }
  return text;
}

std::string summary(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    text += summary_of(outcome);
  }
  return text + unexpected_words(unexpected_count(outcomes)) + "\n";
}

std::string unexpected_words(std::size_t count) {
  if (count == 0) {
    return "Every verdict is as recorded.";
  }
  return count == 1 ? "1 verdict differs from what was recorded."
                    : fmt::format("{} verdicts differ from what was recorded.", count);
}

}  // namespace mankai::lab
