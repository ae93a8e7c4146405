// The frame on small examples, and every source with each planted fault, where a verdict must differ from the recorded
// one.

#include "lab/lab.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "lab/random.hpp"
#include "lab/report.hpp"
#include "lab/sources.hpp"
#include "lab/text.hpp"
#include "lab/under_test.hpp"

namespace mankai::lab {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Outcome> quick_run(const Source& source, Fault fault) {
  Context context;
  context.quick = true;
  context.fault = fault;
  auto outcome = run(source, context);
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message();
  std::vector<Outcome> outcomes;
  if (outcome) {
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

Source source_of(std::function<void(Findings&)> fill) {
  return {.name = "mock",
          .title = "A <mock>",
          .origin = "\"Nobody\" & co",
          .essay = "One.\n\nTwo <b>.",
          .readings = {{"What?", "<That>"}},
          .run = [fill = std::move(fill)](const Context& /*context*/, Findings& findings) {
            fill(findings);
            return Result<void>{};
          }};
}

std::vector<Outcome> outcomes_of(std::function<void(Findings&)> fill) {
  return quick_run(source_of(std::move(fill)), Fault::none);
}

Claim claim_of(double expected, Estimate measured, Verdict recorded = Verdict::reproduced) {
  return {.id = "one",
          .place = "here",
          .claim = "It is <so>.",
          .formula = "a & b",
          .expected = {.value = expected},
          .measured = measured,
          .recorded = recorded};
}

Figure figure_of() {
  return {.name = "fig",
          .title = "Figure <1>",
          .caption = "",
          .x = {.label = "x \"quoted\" \\"},
          .y = {.label = "y", .is_logarithmic = true},
          .columns = {"x", "y", "error", "kind"},
          .rows = {{1.0, 0.5, 0.6, std::string("a,b")},
                   {2.0, kNan, 0.0, std::string("say \"no\"")},
                   {3.0, 0.25, 0.1, std::string("c")}},
          .series = {{.title = "t", .x = "x", .y = "y", .error = "error"},
                     {.title = "", .x = "x", .y = "y", .is_line = true, .only = {{"kind", "c"}}}}};
}

TEST(Judge, three_standard_errors_and_the_tolerance_are_allowed) {
  EXPECT_EQ(judge({.value = 1}, {.value = 1.3, .error = 0.1}), Verdict::reproduced);
  EXPECT_EQ(judge({.value = 1}, {.value = 1.31, .error = 0.1}), Verdict::refuted);
  EXPECT_EQ(judge({.value = 1}, {.value = 0.69, .error = 0.1}), Verdict::refuted);
  EXPECT_EQ(judge({.value = 1, .tolerance = 0.02}, {.value = 1.31, .error = 0.1}), Verdict::reproduced);
  EXPECT_EQ(judge({.value = 0}, {.value = 0}), Verdict::reproduced);
  EXPECT_EQ(judge({.value = 0}, {.value = 1}), Verdict::refuted);
}

TEST(Judge, a_one_sided_claim_bounds_one_side) {
  const Expected at_most{.value = 1, .relation = Relation::at_most};
  const Expected at_least{.value = 1, .relation = Relation::at_least};
  EXPECT_EQ(judge(at_most, {.value = -100}), Verdict::reproduced);
  EXPECT_EQ(judge(at_most, {.value = 1.5, .error = 0.1}), Verdict::refuted);
  EXPECT_EQ(judge(at_least, {.value = 100}), Verdict::reproduced);
  EXPECT_EQ(judge(at_least, {.value = 0.5, .error = 0.1}), Verdict::refuted);
}

TEST(Judge, what_is_no_number_is_refuted) {
  EXPECT_EQ(judge({.value = 1}, {.value = kNan}), Verdict::refuted);
  EXPECT_EQ(judge({.value = kNan}, {.value = 1, .error = 1}), Verdict::refuted);
  EXPECT_EQ(judge({.value = 1}, {.value = 1, .error = kNan}), Verdict::refuted);
}

TEST(Findings, only_a_differing_verdict_is_unexpected) {
  const auto outcomes = outcomes_of([](Findings& findings) {
    findings.judged(claim_of(1, {.value = 1}));
    findings.judged(claim_of(1, {.value = 2}, Verdict::refuted));
    findings.depends(claim_of(1, {.value = 2}));
    findings.skipped(claim_of(1, {}), "needs --data");
    EXPECT_EQ(findings.claims().back().verdict, Verdict::skipped);
  });
  EXPECT_EQ(unexpected_count(outcomes), 0U);
  EXPECT_EQ(unexpected_count(outcomes_of([](Findings& findings) { findings.judged(claim_of(1, {.value = 2})); })), 1U);
  EXPECT_EQ(unexpected_count(
                outcomes_of([](Findings& findings) { findings.judged(claim_of(1, {.value = 1}, Verdict::refuted)); })),
            1U);
}

TEST(Findings, a_sources_error_names_the_source) {
  Source source = source_of([](Findings& /*findings*/) {});
  source.run = [](const Context& /*context*/, Findings& /*findings*/) -> Result<void> {
    return fail(ErrorCode::corrupt, "bad line");
  };
  const auto outcome = run(source, {});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().detail, "mock: bad line");
}

TEST(Measure, estimates_follow_their_formulas) {
  const Estimate half = share(50, 100);
  EXPECT_DOUBLE_EQ(half.value, 0.5);
  EXPECT_DOUBLE_EQ(half.error, 0.05);
  EXPECT_GT(share(0, 100).error, 0);
  EXPECT_EQ(share(0, 100).value, 0);
  const Estimate middle = mean(std::array{1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(middle.value, 2);
  EXPECT_DOUBLE_EQ(middle.error, std::sqrt(1.0 / 3));
  EXPECT_DOUBLE_EQ(ratio_of_sums(std::array{2.0, 4.0}, std::array{1.0, 2.0}).value, 2);
  EXPECT_DOUBLE_EQ(ratio_of_sums(std::array{2.0, 4.0}, std::array{1.0, 2.0}).error, 0);
  EXPECT_GT(ratio_of_sums(std::array{2.0, 5.0}, std::array{1.0, 2.0}).error, 0);
  const Estimate divided = quotient({.value = 6, .error = 0.6}, {.value = 2, .error = 0});
  EXPECT_DOUBLE_EQ(divided.value, 3);
  EXPECT_DOUBLE_EQ(divided.error, 0.3);
}

TEST(Measure, draws_have_their_means) {
  constexpr int kDraws = 100'000;
  Random random(1);
  double waited = 0;
  double tried = 0;
  int yes = 0;
  for (int i = 0; i < kDraws; ++i) {
    waited += random.exponential(5);
    tried += static_cast<double>(random.geometric(12));
    yes += random.chance(0.25) ? 1 : 0;
  }
  // Five standard errors.
  EXPECT_NEAR(waited / kDraws, 5, 0.08);
  EXPECT_NEAR(tried / kDraws, 12, 0.19);
  EXPECT_NEAR(static_cast<double>(yes) / kDraws, 0.25, 0.007);
  EXPECT_EQ(random.geometric(1), 1U);
}

TEST(Faults, one_key_in_64_and_none_when_sound) {
  int lost = 0;
  int invented = 0;
  for (std::uint64_t digest = 0; digest < 6400; ++digest) {
    lost += loses_insert(Fault::forgets_keys, digest) ? 1 : 0;
    invented += invents_yes(Fault::invents_keys, digest) ? 1 : 0;
    EXPECT_FALSE(loses_insert(Fault::none, digest) || loses_insert(Fault::invents_keys, digest));
    EXPECT_FALSE(invents_yes(Fault::none, digest) || invents_yes(Fault::forgets_keys, digest));
  }
  EXPECT_EQ(lost, 100);
  EXPECT_EQ(invented, 100);
}

TEST(Text, numbers_are_short) {
  EXPECT_EQ(shown(145363.0), "145363");
  EXPECT_EQ(shown(0.0), "0");
  EXPECT_EQ(shown(9.765625e-4), "0.0009766");
  EXPECT_EQ(shown(1e12), "1e+12");
  EXPECT_EQ(shown(kNan), "–");
  Claim claim = claim_of(0.5, {.value = 0.25, .error = 0.0123});
  claim.unit = "ms";
  claim.expected.relation = Relation::at_most;
  EXPECT_EQ(shown(claim), "at most 0.5 ms");
  EXPECT_EQ(shown_measured(claim), "0.25 ± 0.012 ms");
  claim.measured = {.value = 145503, .error = 113.4};
  EXPECT_EQ(shown_measured(claim), "145503 ± 113 ms");
}

TEST(Text, html_is_escaped) { EXPECT_EQ(html_escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"); }

TEST(Text, csv_quotes_what_needs_it_and_keeps_all_digits) {
  EXPECT_EQ(csv(figure_of()), "x,y,error,kind\r\n1,0.5,0.6,\"a,b\"\r\n2,,0,\"say \"\"no\"\"\"\r\n3,0.25,0.1,c\r\n");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
}

TEST(Text, json_has_null_for_what_was_not_measured) {
  const std::string json = claims_json(outcomes_of([](Findings& findings) {
    Claim odd = claim_of(1, {.value = kNan, .error = 0.5});
    odd.claim = "quote \" backslash \\ byte \xff";
    findings.judged(odd);
    findings.skipped(claim_of(1, {.value = 5}), "needs --data");
  }));
  EXPECT_NE(json.find("quote \\\" backslash \\\\ byte \xEF\xBF\xBD"), std::string::npos) << json;
  EXPECT_NE(json.find("\"verdict\": \"refuted\""), std::string::npos);
  EXPECT_NE(json.find("\"as_recorded\": false"), std::string::npos);
  EXPECT_NE(json.find("\"reason\": \"needs --data\""), std::string::npos);
  EXPECT_EQ(json.find("5.0"), std::string::npos) << "a skipped claim has no measured value";
  EXPECT_EQ(json.find("nan"), std::string::npos);
}

TEST(Text, the_summary_shows_skipped_and_unexpected_claims) {
  const std::string text = summary(outcomes_of([](Findings& findings) {
    findings.judged(claim_of(1, {.value = 2}));
    findings.skipped(claim_of(1, {}), "needs --data");
  }));
  EXPECT_NE(text.find("<- recorded: reproduced"), std::string::npos) << text;
  EXPECT_NE(text.find("needs --data"), std::string::npos);
  EXPECT_NE(text.find("0 reproduced, 1 refuted, 0 depend, 1 skipped"), std::string::npos);
  EXPECT_NE(text.find("1 verdict differs"), std::string::npos);
}

TEST(Page, texts_are_escaped_and_what_cannot_be_drawn_is_a_table) {
  const auto outcomes = outcomes_of([](Findings& findings) {
    findings.judged(claim_of(1, {.value = 2}));
    findings.add(figure_of());
  });
  const std::string failed = page(outcomes, {}, [](const Figure&) { return fail(ErrorCode::io, "<no> gnuplot"); });
  EXPECT_NE(failed.find("Not drawn: &lt;no&gt; gnuplot"), std::string::npos);
  EXPECT_NE(failed.find("say &quot;no&quot;"), std::string::npos);
  EXPECT_NE(failed.find("It is &lt;so&gt;."), std::string::npos);
  EXPECT_NE(failed.find("recorded: reproduced"), std::string::npos);
  for (const std::string_view raw : {"<so>", "<mock>", "<That>", "Two <b>", "<no>", "Figure <1>"}) {
    EXPECT_EQ(failed.find(raw), std::string::npos) << raw;
  }
  const std::string drawn =
      page(outcomes, {}, [](const Figure& figure) -> Result<std::string> { return "<svg>" + figure.name + "</svg>"; });
  EXPECT_NE(drawn.find("<svg>mock-fig</svg>"), std::string::npos) << "names differ between sources";
  EXPECT_NE(drawn.find("say &quot;no&quot;"), std::string::npos) << "the table is there too";
  EXPECT_LT(drawn.find("<svg>mock-fig"), drawn.find("<table")) << "plots come first, tables fold below";
  EXPECT_GT(drawn.find("<table"), drawn.find("<details>"));
}

TEST(Plot, the_script_has_what_can_be_drawn) {
  const std::string script = plot_script(figure_of());
  // On the logarithmic axis a bar that would reach below 0 ends at a twentieth of the value.
  EXPECT_NE(script.find("$series0 << END\n1 0.5 0.025 1.1\n3 0.25 0.15 0.35\nEND\n"), std::string::npos) << script;
  EXPECT_NE(script.find("$series1 << END\n3 0.25 0.25 0.25\nEND\n"), std::string::npos) << "only rows of kind c";
  EXPECT_NE(script.find("set xlabel \"x \\\"quoted\\\" \\\\\""), std::string::npos);
  EXPECT_NE(script.find("set logscale y"), std::string::npos);
  EXPECT_EQ(script.find("set logscale x"), std::string::npos);
  EXPECT_EQ(script.find("nan"), std::string::npos);
}

TEST(Plot, gnuplot_draws_it_where_it_is_installed) {
  const auto svg = plot_svg(figure_of());
  if (!svg && svg.error().code == ErrorCode::not_found) {
    GTEST_SKIP() << "gnuplot is not installed";
  }
  ASSERT_TRUE(svg.has_value()) << svg.error().message();
  EXPECT_TRUE(svg->starts_with("<svg"));
  EXPECT_NE(svg->find("id=\"fig-"), std::string::npos) << "ids are the figure's own";
  EXPECT_EQ(svg->find("id='gp"), std::string::npos);
}

TEST(Sources, names_and_ids_are_unique_and_plain) {
  const auto is_plain = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  };
  std::set<std::string> names;
  for (const Source& source : all_sources()) {
    EXPECT_TRUE(is_plain(source.name) && names.insert(source.name).second) << source.name;
  }
}

// That every verdict is as recorded where nothing is planted is tested by the command's quick run
// (tests/command/lab_test.py).
TEST(Sources, each_planted_fault_flips_a_verdict_and_every_claim_is_complete) {
  for (const Source& source : all_sources()) {
    for (const Fault fault : {Fault::forgets_keys, Fault::invents_keys}) {
      const auto outcomes = quick_run(source, fault);
      EXPECT_GT(unexpected_count(outcomes), 0U) << source.name;
      for (const Outcome& outcome : outcomes) {
        std::set<std::string> ids;
        for (const Claim& claim : outcome.findings.claims()) {
          EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
          EXPECT_FALSE(claim.place.empty() || claim.claim.empty() || claim.formula.empty()) << claim.id;
          EXPECT_TRUE(claim.recorded != Verdict::refuted || !claim.basis.empty()) << claim.id << " says no reason";
          EXPECT_TRUE(claim.verdict != Verdict::depends || !claim.reason.empty()) << claim.id << " says no reason";
        }
      }
    }
  }
}

}  // namespace
}  // namespace mankai::lab
