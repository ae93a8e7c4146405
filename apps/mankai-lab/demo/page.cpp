#include "apps/mankai-lab/demo/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/mankai-lab/demo/plot.hpp"
#include "apps/mankai/report.hpp"
#include "lab/text.hpp"

namespace mankai::command::demo {
namespace {

using lab::html_escape;

// Okabe and Ito's palette, which people with color blindness can distinguish, lighter in dark mode.
constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --paper: #fbfaf8; --card: #ffffff; --ink: #1f2328; --soft: #57606a; --rule: #dcdfe3;
  --petal: #b3477d; --tint: #fbeff5; --c0: #0067a5; --c1: #c24e00; --c2: #00795a; --c3: #a5558a; --c4: #8a6a00;
  --c5: #3d444c; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171b; --card: #1c1f25; --ink: #e8eaed; --soft: #a5adb8;
  --rule: #363b44; --petal: #f29ac4; --tint: #2b1f28; --c0: #6cb8f0; --c1: #f39a5a; --c2: #4fcfa6; --c3: #dd9cc8;
  --c4: #e3c35a; --c5: #cfd4da; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1rem 4rem; }
h1 { font-size: 2rem; line-height: 1.15; margin: 0 0 .6rem; text-wrap: balance; }
.blossom { width: 1.1em; height: 1.1em; margin-right: .35em; vertical-align: -.15em; fill: var(--petal); }
.blossom circle { fill: var(--paper); }
h2 { font-size: 1.45rem; line-height: 1.25; margin: 3.2rem 0 .4rem; padding-top: 1.4rem;
  border-top: 2px solid var(--petal); text-wrap: balance; }
p { margin: .6rem 0; max-width: 44rem; }
p, li, td { overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.soft, figcaption small { color: var(--soft); }
a { color: var(--c0); }
nav ul { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; margin: 1.2rem 0 0; padding: 0; }
nav a { display: block; padding: .3rem .8rem; border: 1px solid var(--rule); border-radius: 1rem;
  background: var(--card); text-decoration: none; }
a:focus-visible { outline: 3px solid var(--petal); outline-offset: 2px; }
ul.found { margin: .6rem 0; padding: 0 0 0 1.1rem; max-width: 44rem; }
ul.found li { margin: .35rem 0; }
ul.found li::marker { color: var(--petal); }
table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.4; margin: 1rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .5rem; }
th { text-align: right; font-weight: 600; vertical-align: bottom; border-bottom: 1.5px solid var(--ink); }
th, td { padding: .45rem 0 .45rem .8rem; }
th:first-child, td:first-child, tbody th { text-align: left; padding-left: 0; }
tbody th, td { border-bottom: 1px solid var(--rule); vertical-align: top; }
tbody th small { display: block; color: var(--soft); font-weight: 400; max-width: 12rem; }
td { text-align: right; font-variant-numeric: tabular-nums; }
td small { display: block; color: var(--soft); }
figure { margin: 1.6rem 0; padding: 1rem; background: var(--card); border: 1px solid var(--rule);
  border-radius: .6rem; }
figcaption { font-weight: 600; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .4rem 0 .6rem; padding: 0;
  font-size: .875rem; }
.legend li { display: flex; align-items: center; gap: .45rem; overflow-wrap: anywhere; }
.swatch { width: 24px; height: 12px; flex: none; }
.plot { width: 100%; height: auto; display: block; }
.plot.narrow { display: none; }
.plot text { fill: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
.plot text.label { fill: var(--ink); }
.plot.narrow text { font-size: 12px; }
.grid { stroke: var(--rule); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1.5; }
.band { fill: var(--petal); opacity: .18; }
.line { fill: none; stroke-width: 2.25; stroke-linejoin: round; }
.dashed { stroke-dasharray: 7 5; }
.dots circle { stroke: var(--card); stroke-width: 1; }
.line.c0, .dots.c0 line { stroke: var(--c0); } .dots.c0 { fill: var(--c0); }
.line.c1, .dots.c1 line { stroke: var(--c1); } .dots.c1 { fill: var(--c1); }
.line.c2, .dots.c2 line { stroke: var(--c2); } .dots.c2 { fill: var(--c2); }
.line.c3, .dots.c3 line { stroke: var(--c3); } .dots.c3 { fill: var(--c3); }
.line.c4, .dots.c4 line { stroke: var(--c4); } .dots.c4 { fill: var(--c4); }
.line.c5, .dots.c5 line { stroke: var(--c5); } .dots.c5 { fill: var(--c5); }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: .3rem .8rem; align-items: center; margin: 1rem 0;
  font-size: .875rem; max-width: 44rem; }
.bar { display: flex; align-items: center; gap: .5rem; white-space: nowrap; }
.bar i { height: .9rem; min-width: 2px; border-radius: .2rem; background: var(--c0); }
.bar.exact i { background: var(--soft); }
pre { background: var(--tint); border: 1px solid var(--rule); border-radius: .5rem; padding: .8rem 1rem;
  font: .875rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
footer { margin-top: 3rem; color: var(--soft); font-size: .875rem; }
@media (max-width: 47rem) {
  body { font-size: 16px; } main { padding-top: 1.5rem; } h1 { font-size: 1.6rem; }
  figure { margin-left: -.4rem; margin-right: -.4rem; padding: .8rem .4rem; } figcaption, .legend { padding: 0 .4rem; }
  .plot.wide { display: none; } .plot.narrow { display: block; }
  table, tbody, tr, td, tbody th { display: block; width: auto; } thead { display: none; }
  caption { display: block; }
  tr { background: var(--card); border: 1px solid var(--rule); border-radius: .6rem; padding: .6rem .8rem;
    margin: .7rem 0; }
  tbody th { border: 0; padding: 0 0 .3rem; font-size: 1rem; } tbody th small { max-width: none; }
  td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; }
  td::before { content: attr(data-label); color: var(--soft); text-align: left; }
  td small { display: inline; }
}
@media print { figure, tr { break-inside: avoid; } }
)css";

// Five petals: Mankai means full bloom.
constexpr std::string_view kBlossom =
    "<svg class=\"blossom\" viewBox=\"-12 -12 24 24\" aria-hidden=\"true\"><g>"
    "<path id=\"petal\" d=\"M0 0C-5-3-5-9-2-11L0-9 2-11C5-9 5-3 0 0Z\"/><use href=\"#petal\" "
    "transform=\"rotate(72)\"/><use href=\"#petal\" transform=\"rotate(144)\"/><use href=\"#petal\" "
    "transform=\"rotate(216)\"/><use href=\"#petal\" transform=\"rotate(288)\"/></g><circle r=\"1.8\"/></svg>";

std::string short_share(double share) { return fmt::format("{:.2f}%", 100 * share); }

std::string ns_text(double ns) { return fmt::format("{:.0f} ns", ns); }

std::string ratio_text(double ratio) { return fmt::format("{:.{}f}×", ratio, ratio < 10 ? 1 : 0); }

std::string cell(std::string_view label, const std::string& text, const std::string& below = "") {
  return fmt::format("<td data-label=\"{}\"><span>{}{}</span></td>", label, html_escape(text),
                     below.empty() ? "" : " <small>" + html_escape(below) + "</small>");
}

std::string html_row(const Answers& row) {
  std::string html =
      fmt::format("<tr><th scope=\"row\">{}<small>{}</small></th>", html_escape(row.question), html_escape(row.about));
  html += cell("asked", human_count(row.asked));
  html += cell("answered yes", human_count(row.yes));
  html += cell("really yes", human_count(row.really_yes));
  html += cell("false negatives", human_count(row.false_negatives), "promised: " + row.promised);
  html += cell("false positives", human_count(row.false_positives),
               row.promised_rate > 0 ? fmt::format("{}; promised: at most {:g}%",
                                                   short_share(row.false_positive_rate()), 100 * row.promised_rate)
                                     : short_share(row.false_positive_rate()));
  html += cell("memory", human_bytes(row.bytes),
               fmt::format("exact: {}, {}", human_bytes(row.exact_bytes), ratio_text(row.memory_ratio())));
  html += cell("ns per question", ns_text(row.ns()),
               fmt::format("exact: {}, {}", ns_text(row.exact_ns()), ratio_text(row.time_ratio())));
  return html + "</tr>\n";
}

std::string html_table(const Tour& tour) {
  std::string html =
      "<table><caption>Every answer is compared with that of an exact structure, which keeps everything. False "
      "positives are a share of the questions to which the answer is really no. Each structure ran in a process of its "
      "own: memory is what the process needed for it at its peak, and times are those of one core.</caption>\n"
      "<thead><tr>";
  for (const std::string_view heading : {"question", "asked", "answered yes", "really yes", "false negatives",
                                         "false positives", "memory", "ns per question"}) {
    html += fmt::format("<th scope=\"col\">{}</th>", heading);
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const Exhibit& exhibit : tour.exhibits) {
    for (const Answers& row : exhibit.rows) {
      html += html_row(row);
    }
  }
  return html + "</tbody></table>\n";
}

/// A pair of bars: figures of the filter and of the exact structure, and their texts.
struct Cost {
  std::string_view name;
  double (*ours)(const Answers& row);
  double (*exact)(const Answers& row);
  std::string (*text)(double value);
};

constexpr std::array kCosts = {
    Cost{.name = "Memory",
         .ours = [](const Answers& row) { return static_cast<double>(row.bytes); },
         .exact = [](const Answers& row) { return static_cast<double>(row.exact_bytes); },
         .text = [](double bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)); }},
    Cost{.name = "Time per question",
         .ours = [](const Answers& row) { return row.ns(); },
         .exact = [](const Answers& row) { return row.exact_ns(); },
         .text = ns_text}};

std::string bars(const Exhibit& exhibit, const Cost& cost) {
  double most = 1;
  for (const Answers& row : exhibit.rows) {
    most = std::max({most, cost.ours(row), cost.exact(row)});
  }
  constexpr double kLongest = 58;  // percent; the rest is for the number
  const auto bar = [&](std::string_view kind, double value) {
    return fmt::format("<span class=\"bar {}\"><i style=\"width: {:.2f}%\"></i>{}</span>", kind,
                       kLongest * value / most, cost.text(value));
  };
  std::string html = fmt::format(
      "<p class=\"soft\">{0}, beside an exact structure:</p>\n<div class=\"bars\" role=\"group\" aria-label=\"{0}\">",
      cost.name);
  for (const Answers& row : exhibit.rows) {
    html += fmt::format("<span>{}</span>{}<span>exact</span>{}\n", html_escape(row.question),
                        bar("ours", cost.ours(row)), bar("exact", cost.exact(row)));
  }
  return html + "</div>\n";
}

std::string section(const Exhibit& exhibit) {
  std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2>\n<p>{}</p>\n<ul class=\"found\">", exhibit.id,
                                 html_escape(exhibit.heading), html_escape(exhibit.text));
  for (const std::string& sentence : exhibit.found) {
    html += "<li>" + html_escape(sentence) + "</li>\n";
  }
  html += "</ul>\n";
  for (const Cost& cost : kCosts) {
    html += bars(exhibit, cost);
  }
  for (const Plot& plot : exhibit.plots) {
    html += plot_figure(plot);
  }
  return html + "</section>\n";
}

std::string header(const Tour& tour) {
  std::string html = fmt::format(
      "<header>\n<h1>{}Mankai: four questions, one day</h1>\n"
      "<p class=\"lead\">This page simulates a day of {} events of a shop, a link shortener and a crawler, and asks "
      "four questions about them, millions of times. Mankai answers from small filters with errors of a known kind, "
      "at a rate that was chosen. This page compares every answer with the exact one.</p>\n"
      "<nav aria-label=\"The four questions\"><ul>",
      kBlossom, human_count(tour.events));
  for (const Exhibit& exhibit : tour.exhibits) {
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>", exhibit.id, html_escape(exhibit.heading));
  }
  return html + "</ul></nav>\n</header>\n";
}

std::string next_section(const Tour& tour) {
  return fmt::format(
      "<section id=\"next\"><h2>Try it</h2>\n<p>The day is made up, but the same for everybody: this page was made by "
      "<code>mankai demo --events {} --seed {}</code>. Another seed gives another day.</p>\n"
      "<pre><code># the day, and its block list\nmankai gen traffic &gt; day.tsv\nmankai gen blocklist &gt; "
      "rules.txt\n\n"
      "# have I seen it?\nawk -F'\\t' '$2 == \"fetch\" {{ print $4 }}' day.tsv | mankai dedup --canonical\n\n"
      "# what is hot right now?\nmankai gen traffic --format combined | mankai hot\n\n"
      "# is it blocked?\nmankai guard build blocked.mkg rules.txt\n"
      "awk -F'\\t' '$2 == \"redirect\" {{ print $4 }}' day.tsv | mankai guard check blocked.mkg\n\n"
      "# is there anything to fetch?\nmankai gate --help</code></pre></section>\n"
      "<footer>Exact structures are the standard library's hash tables. Memory and times are of one run on this "
      "machine.</footer>\n",
      tour.asked_events, tour.seed);
}

}  // namespace

std::string page(const Tour& tour) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Mankai: four questions, one day</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n<style>{}</style>\n</head>\n"
      "<body>\n<main>\n",
      kPageMark, kStyle);
  html += header(tour) + html_table(tour);
  for (const Exhibit& exhibit : tour.exhibits) {
    html += section(exhibit);
  }
  return html + next_section(tour) + "</main>\n</body>\n</html>\n";
}

std::string table(const Tour& tour) {
  constexpr auto kLine = "{:<15}{:>10}{:>10}{:>10}{:>10}{:>10}{:>7}  |{:>9}{:>10}{:>6}  |{:>9}{:>7}{:>6}\n";
  std::string text =
      fmt::format(kLine, "", "", "answered", "really", "false", "false", "", "", "exact", "", "ns per", "exact", "");
  text += fmt::format(kLine, "question", "asked", "yes", "yes", "negatives", "positives", "rate", "memory", "memory",
                      "ratio", "question", "ns", "ratio");
  for (const Exhibit& exhibit : tour.exhibits) {
    for (const Answers& row : exhibit.rows) {
      text += fmt::format(
          kLine, row.question, human_count(row.asked), human_count(row.yes), human_count(row.really_yes),
          human_count(row.false_negatives), human_count(row.false_positives), short_share(row.false_positive_rate()),
          human_bytes(row.bytes), human_bytes(row.exact_bytes), ratio_text(row.memory_ratio()),
          fmt::format("{:.0f}", row.ns()), fmt::format("{:.0f}", row.exact_ns()), ratio_text(row.time_ratio()));
    }
  }
  return text;
}

}  // namespace mankai::command::demo
