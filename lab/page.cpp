#include <fmt/format.h>

#include "lab/report.hpp"
#include "lab/text.hpp"

namespace mankai::lab {
namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light; --ink: #1d2126; --soft: #5c6670; --rule: #dde1e6; --paper: #ffffff; --tint: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 5rem; max-width: 74rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 "Source Sans 3", "Segoe UI", system-ui, "Helvetica Neue", Arial, sans-serif; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; }
h1 { font-size: 2rem; margin: 0 0 .4rem; }
h2 { font-size: 1.5rem; margin: 4rem 0 .3rem; padding-top: 1.2rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p, dl { max-width: 44rem; }
p, li, dd, summary, figcaption { overflow-wrap: anywhere; }
p.origin, figcaption, .note { color: var(--soft); }
a { color: #0b5c9e; }
nav ul { list-style: none; padding: 0; }
nav li { margin: .8rem 0; }
nav .counts { margin: .3rem 0 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.4; }
th { text-align: left; font-weight: 600; border-bottom: 1.5px solid var(--ink); padding: .4rem .7rem .4rem 0;
  vertical-align: bottom; }
td { border-bottom: 1px solid var(--rule); padding: .5rem .7rem .5rem 0; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.claims .group th { padding-top: 1.6rem; font-size: 1rem; }
.claims td:first-child { min-width: 17rem; }
.claims td.number, .claims td:nth-child(4) { min-width: 6rem; white-space: normal; }
.claims td:last-child { min-width: 15rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.claims .formula { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .8rem; }
.small { color: var(--soft); font-size: .8rem; display: block; }
.verdict { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-weight: 600; font-size: .8rem;
  border: 1px solid; white-space: nowrap; }
.reproduced { color: #0a5c36; background: #e6f5ec; border-color: #9fd3b6; }
.refuted { color: #8f1d14; background: #fdebe9; border-color: #eeb0aa; }
.depends { color: #6b4a00; background: #fdf3d8; border-color: #e2c77a; }
.skipped { color: #4a525b; background: #eef0f2; border-color: #c6ccd2; }
.unexpected { color: #ffffff; background: #8f1d14; border-color: #8f1d14; }
.counts { font-weight: 600; margin: .8rem 0 1.2rem; }
figure { margin: 2rem 0; }
figcaption { max-width: 44rem; margin: .2rem 0 .8rem; }
figure svg { width: 100%; max-width: 760px; height: auto; display: block; }
details { margin: .8rem 0; }
details summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
dt { font-weight: 600; margin-top: .8rem; }
dd { margin: .1rem 0 0 0; }
@media (max-width: 47rem) {
  body { padding: 1.2rem 1rem 3rem; } h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; }
  figure svg { min-width: 36rem; }
  .claims thead { display: none; }
  .claims, .claims tbody, .claims tr, .claims td, .claims th { display: block; }
  .claims tr { border-bottom: 1.5px solid var(--ink); padding: .8rem 0; }
  .claims td, .claims td.number { border: 0; padding: .15rem 0; text-align: left; white-space: normal; }
  .claims td:empty { display: none; }
  .claims td:nth-child(2)::before { content: "Formula: "; }
  .claims td:nth-child(3)::before { content: "Expected: "; }
  .claims td:nth-child(4)::before { content: "Tolerance: "; }
  .claims td:nth-child(5)::before { content: "Measured: "; }
}
@media print { body { max-width: none; padding: 0; } details { display: block; } h2 { break-before: page; } }
)css";

std::string paragraphs(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    html += "<p>" + html_text(text.substr(0, end)) + "</p>\n";
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return html;
}

std::string badge(Verdict verdict) { return fmt::format("<span class=\"verdict {0}\">{0}</span>", name(verdict)); }

std::string labeled(std::string_view label, const std::string& text) {
  return text.empty() ? "" : fmt::format("<span class=\"small\">{}{}</span>", label, html_text(text));
}

std::string row(const Outcome& outcome, const Claim& claim, const Context& context) {
  const std::string remark = remarks(claim);
  const bool is_concern = !claim.is_as_recorded() || claim.flips() > 0;
  std::string verdict = badge(claim.verdict);
  if (!remark.empty()) {
    verdict += fmt::format(" <span class=\"verdict {}\">{}</span>", is_concern ? "unexpected" : "skipped", remark);
  }
  return fmt::format(
      "<tr id=\"{}-{}\"><td>{}{}{}{}<code class=\"small\">{}</code></td><td class=\"formula\">{}</td><td "
      "class=\"number\">{}</td><td>{}{}{}{}</td><td class=\"number\">{}</td><td>{}{}{}</td></tr>\n",
      html_escape(outcome.source.name), html_escape(claim.id), html_text(claim.claim), labeled("", claim.place),
      labeled("Definition: ", claim.definition), labeled("Condition: ", claim.condition),
      html_escape(command(outcome, claim, context)), html_escape(claim.formula), html_escape(shown(claim)),
      html_escape(shown_tolerance(claim)), labeled("", claim.tolerance.reason),
      labeled("Threshold of ours: ", claim.threshold.reason), labeled("", shown_margin(claim)),
      claim.verdict == Verdict::skipped ? "" : html_escape(shown_measured(claim)), verdict, labeled("", claim.reason),
      labeled("", claim.basis));
}

std::string counts(const Findings& findings) {
  return "<p class=\"counts\">" + html_escape(verdict_line(findings)) + "</p>\n";
}

std::string folded(std::string_view summary, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html_escape(summary), html);
}

std::string table(const Figure& figure) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  const auto is_number = [&figure](std::size_t column) {
    return !figure.rows.empty() && column < figure.rows[0].size() &&
           std::holds_alternative<double>(figure.rows[0][column]);
  };
  for (std::size_t i = 0; i < figure.columns.size(); ++i) {
    html += fmt::format("<th{}>{}</th>", is_number(i) ? " class=\"number\"" : "", html_escape(figure.columns[i]));
  }
  html += "</tr></thead><tbody>\n";
  for (const std::vector<Cell>& cells : figure.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      html += fmt::format("<td{}>{}</td>", is_number(i) ? " class=\"number\"" : "", html_escape(shown(cells[i])));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string points(const Published& published) {
  Figure printed{.name = "", .title = "", .caption = "", .x = {}, .y = {}, .columns = {"x", "y"}};
  for (const auto& [x, y] : published.points) {
    printed.rows.push_back({x, y});
  }
  return labeled("", published.place) + table(printed);
}

std::string drawing(const std::string& source, const Figure& figure, const Draw& draw) {
  std::string html = fmt::format("<figure id=\"{}\"><h3>{}{}</h3>\n<figcaption>{}</figcaption>\n",
                                 html_escape("figure-" + source + "-" + figure.name), html_text(figure.title),
                                 labeled("The source's ", figure.place), html_text(figure.caption));
  Figure named = figure;
  named.name = source + "-" + figure.name;
  if (figure.series.empty()) {
    return html + table(figure) + "</figure>\n";
  }
  const auto svg = draw(named);
  if (svg) {
    html += "<div class=\"scroll\">" + *svg + "</div>\n";
  } else {
    const bool is_missing = svg.error().code == ErrorCode::not_found;
    html += fmt::format("<p class=\"note\">Not drawn: {}.</p>\n",
                        is_missing ? "gnuplot is not installed" : html_escape(svg.error().message()));
  }
  for (const Published& published : figure.published) {
    html += folded("What the source prints: " + published.title, points(published));
  }
  return html + folded("The table (" + named.name + ".csv)", table(figure)) + "</figure>\n";
}

std::string claims(const Outcome& outcome, const Context& context) {
  std::string html =
      "<div class=\"scroll\"><table class=\"claims\"><thead><tr><th>Claim</th><th>Formula</th>"
      "<th class=\"number\">Expected</th><th>Tolerance</th><th "
      "class=\"number\">Measured</th><th>Verdict</th></tr></thead><tbody>\n";
  const auto add = [&](const std::string& title, auto is_in) {
    std::string rows;
    for (const Claim& claim : outcome.findings.claims()) {
      rows += is_in(claim) ? row(outcome, claim, context) : "";
    }
    html += rows.empty() ? "" : "<tr class=\"group\"><th colspan=\"6\">" + title + "</th></tr>\n" + rows;
  };
  for (const Statement& statement : statements_of(outcome.findings)) {
    const auto verdict = statement.verdict();
    add(fmt::format("{} {} <span class=\"small\">{}</span>", html_escape(statement.name),
                    verdict ? badge(*verdict) : "<span class=\"verdict depends\">in part</span>", counts_of(statement)),
        [&](const Claim& claim) { return is_of_source(claim) && claim.statement == statement.name; });
  }
  add("Ours: what the source does not say",
      [](const Claim& claim) { return claim.is_ours && claim.kind == ClaimKind::counted; });
  add("Not counted", [](const Claim& claim) { return claim.kind != ClaimKind::counted; });
  return folded(
      fmt::format("The {} claims, their formulas, measurements and verdicts", outcome.findings.claims().size()),
      html + "</tbody></table></div>\n");
}

std::string readings(const Source& source) {
  std::string html = "<dl>\n";
  for (const Reading& reading : source.readings) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(reading.question), html_text(reading.answer));
  }
  return source.readings.empty() ? "" : folded("How we read what the source leaves open", html + "</dl>\n");
}

// Plots come before tables: they summarize them.
std::string section(const Outcome& outcome, const Context& context, const Draw& draw) {
  const Source& source = outcome.source;
  std::string html =
      fmt::format("<section id=\"{}\"><h2>{}</h2>\n<p class=\"origin\">{}</p>\n{}", html_escape(source.name),
                  html_escape(source.title), html_escape(source.origin), counts(outcome.findings));
  for (const Figure& figure : outcome.findings.figures()) {
    html += drawing(source.name, figure, draw);
  }
  return html + claims(outcome, context) + folded("About the source", paragraphs(source.essay)) + readings(source) +
         "</section>\n";
}

std::string heading(const std::vector<Outcome>& outcomes, const Context& context) {
  const Concerns concerns = concerns_of(outcomes);
  std::string html = fmt::format(
      "<h1>Mankai lab</h1>\n<p>What published sources claim about filters, beside the formula and what we measure. "
      "Measured values carry one standard error; a value is held to its formula within {} of them. {}</p>\n<p>{}</p>\n"
      "<p class=\"note\">{} run; {}; seed {}.</p>\n<p>{}</p>\n",
      shown(kStandardErrors),
      "A verdict is compared with the one that the source's own text or a formula makes us expect.",
      "The counts are of the source's statements, each measured by one claim or several: reproduced or refuted if all "
      "its claims are, depending if they hold under a condition of ours only, and in part if their verdicts differ. "
      "Claims "
      "of ours, which the source does not make, are counted apart. Not counted: arithmetic, a formula compared with "
      "itself; reconstructions, formulas that the source does not print; and models of what it describes.",
      context.quick ? "Quick" : "Full",
      context.data_dir ? "real data from " + html_escape(*context.data_dir) : "synthetic data only", context.seed,
      concerns.are_none() ? concern_words(concerns)
                          : "<span class=\"verdict unexpected\">" + concern_words(concerns) + "</span>");
  html += "<nav><ul>\n";
  for (const Outcome& outcome : outcomes) {
    html += fmt::format("<li><a href=\"#{}\">{}</a> <span class=\"small\">{}</span>{}</li>\n",
                        html_escape(outcome.source.name), html_escape(outcome.source.title),
                        html_escape(outcome.source.origin), counts(outcome.findings));
  }
  return html + "</ul></nav>\n";
}

}  // namespace

std::string page(const std::vector<Outcome>& outcomes, const Context& context, const Draw& draw) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>Mankai "
      "lab</title>\n<style>{}</style>\n</head>\n<body>\n",
      kStyle);
  html += heading(outcomes, context);
  for (const Outcome& outcome : outcomes) {
    html += section(outcome, context, draw);
  }
  return html + "</body>\n</html>\n";
}

}  // namespace mankai::lab
