#include "lab/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

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

std::string shown_expected(const Side& side, const std::string& unit) {
  return with_unit(std::string(word(side.expected.relation)) + shown(side.expected.value), unit);
}

std::string shown_measured(const Side& side, const std::string& unit) {
  constexpr double kTwoDigits = 10;
  const Estimate& measured = side.measured;
  const std::string error =
      measured.error >= kTwoDigits ? shown(std::round(measured.error)) : fmt::format("{:.2g}", measured.error);
  return with_unit(shown(measured.value) + (measured.error > 0 ? " ± " + error : ""), unit);
}

std::string of_sides(const std::string& side, const std::string& otherwise) {
  return side == otherwise ? side : side + "; otherwise " + otherwise;
}

std::string joined(std::initializer_list<std::string> texts, std::string_view separator) {
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() || text.empty() ? "" : separator);
    all += text;
  }
  return all;
}

std::string summary_of(const Outcome& outcome) {
  std::string text = fmt::format("{}: {}\n", outcome.source.name, outcome.source.title);
  for (const Claim& claim : outcome.findings.claims()) {
    const std::string remark = remarks(claim);
    text += fmt::format("  {:<10}  {:<26}  {:<20}  {}{}\n", name(claim.verdict), claim.id, shown(claim),
                        claim.verdict == Verdict::skipped ? claim.reason : shown_measured(claim),
                        remark.empty() ? "" : "   <- " + remark);
  }
  text += fmt::format("  {} claims: {}; {:.1f} s\n\n", outcome.findings.claims().size(), verdict_line(outcome.findings),
                      outcome.seconds);
  return text;
}

// Such as "3 reproduced, 1 refuted": what is not 0 and has a word.
template <std::size_t kCount>
std::string numbered(const std::array<std::size_t, kCount>& numbers,
                     const std::array<std::string_view, kCount>& words) {
  std::string text;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (numbers.at(i) > 0 && !words.at(i).empty()) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", numbers.at(i), words.at(i));
    }
  }
  return text;
}

// "1 claim is so." or "2 claims are so."; empty for 0.
std::string sentence(std::size_t count, std::string_view one, std::string_view several) {
  return count == 0 ? "" : count == 1 ? fmt::format("1 {}.", one) : fmt::format("{} {}.", count, several);
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
  const std::string expected = shown_expected(claim.side, claim.unit);
  return claim.otherwise ? of_sides(expected, shown_expected(*claim.otherwise, claim.unit)) : expected;
}

std::string shown_measured(const Claim& claim) {
  const std::string measured = shown_measured(claim.side, claim.unit);
  return claim.otherwise ? of_sides(measured, shown_measured(*claim.otherwise, claim.unit)) : measured;
}

std::string shown_tolerance(const Claim& claim) {
  constexpr double kPercent = 100;
  const Tolerance& tolerance = claim.tolerance;
  const double formula_error = claim.side.expected.formula_error;
  return joined({tolerance.relative > 0 ? shown(kPercent * tolerance.relative) + "%" : "",
                 tolerance.absolute > 0 ? with_unit(shown(tolerance.absolute), claim.unit) : "",
                 formula_error > 0 ? fmt::format("formula ± {:.2g}", formula_error) : ""},
                "; ");
}

std::string shown_margin(const Claim& claim) {
  const double changed = changes_at(claim);
  if (std::isnan(changed)) {
    return "";
  }
  const double factor = changed / claim.side.expected.value;
  const bool is_factor = std::isfinite(factor);
  std::string at = "Verdict changes at " + with_unit(shown(changed), claim.unit) +
                   (is_factor ? fmt::format(", {:.3g} times the expected value", factor) : "");
  if (claim.margin_reason.empty() || formula_decides(claim)) {
    return at;
  }
  const std::string times = is_factor ? fmt::format("{:.2g} times ", std::max(factor, 1 / factor)) : "";
  const std::string_view side = claim.verdict == Verdict::refuted ? "beyond" : "within";
  return fmt::format("{}. The measurement is {}{} the bound: {}", at, times, side, claim.margin_reason);
}

std::string remarks(const Claim& claim) {
  constexpr std::array<std::string_view, kClaimKinds> kOfKind = {"", "arithmetic, not counted",
                                                                 "reconstruction, not counted", "model, not counted"};
  return joined({claim.is_ours ? "ours" : "", std::string(kOfKind.at(static_cast<std::size_t>(claim.kind))),
                 claim.is_as_recorded() || claim.could_run ? "" : fmt::format("recorded: {}", name(claim.recorded)),
                 claim.flips() > 0 ? fmt::format("flips: {} of {}", claim.flips(), claim.seeds()) : ""},
                "; ");
}

std::string command(const Outcome& outcome, const Claim& claim, const Context& context) {
  return fmt::format("mankai-lab claim {}/{}{}{}{}", outcome.source.name, claim.id, context.quick ? " --quick" : "",
                     (context.seed == Context{}.seed ? "" : fmt::format(" --seed {}", context.seed)) +
                         (claim.seeds() > 1 ? fmt::format(" --seeds {}", claim.seeds()) : ""),
                     context.data_dir ? " --data " + *context.data_dir : "");
}

std::optional<Verdict> Statement::verdict() const noexcept {
  std::optional<Verdict> all;
  for (const Verdict verdict : {Verdict::reproduced, Verdict::refuted, Verdict::depends}) {
    if (verdicts.at(static_cast<std::size_t>(verdict)) != 0) {
      if (all) {
        return std::nullopt;
      }
      all = verdict;
    }
  }
  return all.value_or(Verdict::skipped);
}

bool is_of_source(const Claim& claim) noexcept { return claim.kind == ClaimKind::counted && !claim.is_ours; }

std::vector<Statement> statements_of(const Findings& findings) {
  std::vector<Statement> statements;
  for (const Claim& claim : findings.claims()) {
    if (is_of_source(claim)) {
      auto same = std::ranges::find(statements, claim.statement, &Statement::name);
      if (same == statements.end()) {
        same = statements.insert(same, {.name = claim.statement});
      }
      ++same->verdicts.at(static_cast<std::size_t>(claim.verdict));
    }
  }
  return statements;
}

std::string counts_of(const Statement& statement) {
  const auto& verdicts = statement.verdicts;
  const std::size_t claims = std::accumulate(verdicts.begin(), verdicts.end(), std::size_t{0});
  return fmt::format("{} claim{}: {}", claims, claims == 1 ? "" : "s",
                     numbered(verdicts, {"reproduced", "refuted", "depending", "skipped"}));
}

std::string verdict_line(const Findings& findings) {
  std::array<std::size_t, kVerdicts> ours{};
  std::array<std::size_t, kClaimKinds> kinds{};
  for (const Claim& claim : findings.claims()) {
    ++kinds.at(static_cast<std::size_t>(claim.kind));
    if (claim.kind == ClaimKind::counted && claim.is_ours) {
      ++ours.at(static_cast<std::size_t>(claim.verdict));
    }
  }
  const auto statements = statements_of(findings);
  std::array<std::size_t, kVerdicts + 1> theirs{};
  for (const Statement& statement : statements) {
    const auto verdict = statement.verdict();
    ++theirs.at(verdict ? static_cast<std::size_t>(*verdict) : kVerdicts);
  }
  const auto after = [](std::string_view label, const std::string& text) {
    return text.empty() ? text : std::string(label) + text;
  };
  return joined(
      {after(fmt::format("{} statement{} of the source: ", statements.size(), statements.size() == 1 ? "" : "s"),
             numbered(theirs, {"reproduced", "refuted", "depending", "skipped", "in part"})),
       after("ours: ", numbered(ours, {"reproduced", "refuted", "depending", "skipped"})),
       after("not counted: ", numbered(kinds, {"", "arithmetic", "reconstructed", "on models"}))},
      "; ");
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

std::string html_text(std::string_view text) {
  std::string html;
  for (bool is_code = false;; is_code = !is_code) {
    const std::size_t end = text.find('`');
    const bool is_closed = is_code || text.find('`', end + 1) != std::string_view::npos;
    if (end == std::string_view::npos || !is_closed) {
      return html + html_escape(text);
    }
    html += html_escape(text.substr(0, end)) + (is_code ? "</code>" : "<code>");
    text.remove_prefix(end + 1);
  }
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
  return text + concern_words(concerns_of(outcomes)) + "\n";
}

std::string details(const Outcome& outcome, const Context& context) {
  const Claim& claim = outcome.findings.claims().front();
  const bool is_skipped = claim.verdict == Verdict::skipped;
  std::string text = fmt::format("{}/{}\n", outcome.source.name, claim.id);
  const auto add = [&text](std::string_view name, const std::string& value) {
    text += value.empty() ? "" : fmt::format("  {:<12}{}\n", name, value);
  };
  add("place", claim.place);
  add("claim", claim.claim);
  add("definition", claim.definition);
  add("condition", claim.condition);
  add("formula", claim.formula);
  add("expected", shown(claim));
  add("tolerance", joined({shown_tolerance(claim), claim.tolerance.reason}, ": "));
  add("threshold", claim.threshold.reason);
  add("measured", is_skipped ? "" : shown_measured(claim));
  add("margin", shown_margin(claim));
  add("verdict", joined({std::string(name(claim.verdict)), remarks(claim)}, "; "));
  add("basis", claim.basis);
  add("reason", claim.reason);
  add("seed", claim.seeds() == 1 ? std::to_string(context.seed)
                                 : fmt::format("{} to {}", context.seed, context.seed + claim.seeds() - 1));
  add("part", claim.part);
  return text;
}

std::string concern_words(const Concerns& concerns) {
  return joined({concerns.are_none() ? "Every verdict is as recorded." : "",
                 sentence(concerns.unexpected, "verdict differs from what was recorded",
                          "verdicts differ from what was recorded"),
                 sentence(concerns.could_run, "claim was skipped although nothing is missing",
                          "claims were skipped although nothing is missing"),
                 sentence(concerns.flipping, "verdict depends on the seed", "verdicts depend on the seed")},
                " ");
}

}  // namespace mankai::lab
