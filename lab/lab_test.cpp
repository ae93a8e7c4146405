// The frame on small examples, and every source with each mutation: a broken filter or a wrong formula must change each
// verdict.

#include "lab/lab.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "lab/parts.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "lab/text.hpp"
#include "lab/under_test.hpp"

namespace mankai::lab {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Outcome quick_run(const Source& source, std::size_t seeds = 1) {
  Context context;
  context.quick = true;
  auto outcome = run(source, context, seeds);
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message();
  return std::move(outcome).value();
}

// A source with one part, "first", and a second one without claims.
Source source_of(const std::string& claims, std::function<void(const Context&, Findings&)> fill) {
  const std::string json = R"({"name": "mock", "title": "A <mock>", "origin": "\"Nobody\" & co",
    "essay": ["One.", "Two <b>."], "readings": [{"question": "What?", "answer": "<That>"}], "figures": [],
    "claims": {"first": [)" +
                           claims + R"(], "second": []}})";
  return source_from(json, {{"first",
                             [fill = std::move(fill)](const Context& context, Findings& findings) {
                               fill(context, findings);
                               return Result<void>{};
                             }},
                            {"second", [](const Context& /*context*/, Findings& /*findings*/) {
                               ADD_FAILURE() << "measured in vain";
                               return Result<void>{};
                             }}});
}

// The claim "one" with these further fields, all parts of the source.
Source source_of_one(const std::string& fields, std::function<void(Findings&)> fill) {
  Source source =
      source_of(R"({"id": "one", "place": "here", "claim": "It is <so>.", "formula": "a & b")" + fields + "}",
                [fill = std::move(fill)](const Context&, Findings& findings) { fill(findings); });
  source.parts.pop_back();
  return source;
}

std::vector<Outcome> outcomes_of(const std::string& fields, std::function<void(Findings&)> fill) {
  std::vector<Outcome> outcomes;
  outcomes.push_back(quick_run(source_of_one(fields, std::move(fill))));
  return outcomes;
}

// The claim "one", measured.
Claim claim_of(const std::string& fields, std::function<void(Findings&)> fill) {
  return outcomes_of(fields, std::move(fill)).at(0).findings.claims().at(0);
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
  EXPECT_TRUE(keeps({equals(1), {.value = 1.3, .error = 0.1}}));
  EXPECT_FALSE(keeps({equals(1), {.value = 1.31, .error = 0.1}}));
  EXPECT_FALSE(keeps({equals(1), {.value = 0.69, .error = 0.1}}));
  EXPECT_TRUE(keeps({equals(1).with_formula_error(0.02), {.value = 1.31, .error = 0.1}}));
  EXPECT_TRUE(keeps({equals(10), {.value = 10.2}}, {.relative = 0.02}));
  EXPECT_FALSE(keeps({equals(10), {.value = 10.3}}, {.relative = 0.02}));
  EXPECT_TRUE(keeps({equals(-10), {.value = -10.2}}, {.relative = 0.02}));
  EXPECT_TRUE(keeps({equals(10), {.value = 10.02}}, {.absolute = 0.02}));
  EXPECT_FALSE(keeps({equals(10), {.value = 10.03}}, {.absolute = 0.02}));
  EXPECT_TRUE(keeps({equals(0), {.value = 0}}));
  EXPECT_FALSE(keeps({equals(0), {.value = 1}}));
}

TEST(Judge, a_one_sided_claim_bounds_one_side) {
  EXPECT_TRUE(keeps({at_most(1), {.value = -100}}));
  EXPECT_FALSE(keeps({at_most(1), {.value = 1.5, .error = 0.1}}));
  EXPECT_TRUE(keeps({at_least(1), {.value = 100}}));
  EXPECT_FALSE(keeps({at_least(1), {.value = 0.5, .error = 0.1}}));
}

TEST(Judge, what_is_no_number_is_refuted) {
  EXPECT_FALSE(keeps({equals(1), {.value = kNan}}));
  EXPECT_FALSE(keeps({equals(kNan), {.value = 1, .error = 1}}));
  EXPECT_FALSE(keeps({equals(1), {.value = 1, .error = kNan}}));
}

TEST(Judge, a_claim_depends_if_its_condition_decides) {
  const auto verdict = [](double holds, double fails) {
    return claim_of(R"(, "condition": "in summer")",
                    [&](Findings& findings) {
                      findings.depends("one", {at_most(1), {.value = holds}}, {at_most(1), {.value = fails}});
                    })
        .verdict;
  };
  EXPECT_EQ(verdict(1, 2), Verdict::depends);
  EXPECT_EQ(verdict(1, 1), Verdict::reproduced);
  EXPECT_EQ(verdict(2, 2), Verdict::refuted);
  EXPECT_EQ(verdict(2, 1), Verdict::refuted) << "the condition is the wrong way around";
}

TEST(Judge, a_condition_of_the_source_is_no_dependence) {
  const auto judged = [](const std::string& by, double holds, double fails) {
    return claim_of(R"(, "condition": "in summer", "condition_by": ")" + by + '"', [&](Findings& findings) {
      findings.depends("one", {at_most(1), {.value = holds}}, {at_most(1), {.value = fails}});
    });
  };
  for (const std::string by : {"source", "source-only"}) {
    EXPECT_EQ(judged(by, 1, 2).verdict, Verdict::reproduced);
    EXPECT_EQ(judged(by, 2, 2).verdict, Verdict::refuted);
    EXPECT_EQ(judged(by, 2, 1).verdict, Verdict::refuted);
    EXPECT_EQ(judged(by, 1, 2).recorded, Verdict::reproduced);
  }
  EXPECT_EQ(judged("source", 1, 1).verdict, Verdict::reproduced);
  EXPECT_EQ(judged("source-only", 1, 1).verdict, Verdict::refuted) << "it holds in winter too";
}

TEST(Run, most_seeds_decide_and_an_unexpected_verdict_is_measured_again) {
  Source source =
      source_of(R"({"id": "first"}, {"id": "later"}, {"id": "never"})", [](const Context& context, Findings& findings) {
        findings.judged("first", equals(1), exact(context.seed == 1 ? 2 : 1));
        findings.judged("later", equals(1), exact(context.seed == 1 ? 1 : 2));
        findings.judged("never", equals(1), exact(2));
      });
  source.parts.pop_back();
  Outcome outcome = run(source, {}).value();
  const auto verdict = [&outcome](std::size_t i) { return outcome.findings.claims().at(i).verdict; };
  EXPECT_EQ(verdict(0), Verdict::refuted);
  ASSERT_TRUE(confirm(outcome, {}));
  EXPECT_EQ(verdict(0), Verdict::reproduced);
  EXPECT_EQ(verdict(1), Verdict::refuted);
  EXPECT_EQ(verdict(2), Verdict::refuted);
  EXPECT_EQ(outcome.findings.claims().at(0).seeds(), 3U);
  outcome = run(source, {}, 3).value();
  EXPECT_EQ(verdict(0), Verdict::reproduced);
  EXPECT_EQ(verdict(1), Verdict::refuted);
}

Claim changing_at(const std::string& fields, const Expected& expected, const Estimate& measured) {
  return claim_of(fields, [&](Findings& findings) { findings.judged("one", expected, measured); });
}

TEST(Judge, the_expected_value_at_which_the_verdict_changes) {
  const std::string with_tolerance = R"(, "tolerance": 0.1, "tolerance_reason": "so")";
  EXPECT_NEAR(changes_at(changing_at("", equals(10), {.value = 11, .error = 1})), 8, 1e-9);
  EXPECT_NEAR(changes_at(changing_at("", equals(10), exact(10))), 10, 1e-9);
  EXPECT_NEAR(changes_at(changing_at("", equals(10), exact(15))), 15, 1e-9) << "refuted, and reproduced there";
  EXPECT_NEAR(changes_at(changing_at("", at_most(10), exact(2))), 2, 1e-9);
  EXPECT_NEAR(changes_at(changing_at(with_tolerance, at_most(10), exact(2.2))), 2, 1e-9);
  EXPECT_NEAR(changes_at(changing_at(with_tolerance, at_least(10), exact(18))), 20, 1e-9);
  EXPECT_NEAR(std::abs(changes_at(changing_at("", equals(0), {.value = 0, .error = 1}))), 3, 1e-9);
  EXPECT_NEAR(changes_at(changing_at("", at_most(0), exact(2))), 2, 1e-9);
  EXPECT_TRUE(std::isnan(changes_at(changing_at("", equals(10), {.value = kNan}))));
  const Claim both = claim_of(R"(, "condition": "in summer")", [](Findings& findings) {
    findings.depends("one", {at_most(10), exact(4)}, {at_most(20), exact(30)});
  });
  EXPECT_NEAR(changes_at(both), 15, 1e-9) << "half as much again, and it holds in winter too";
}

TEST(Judge, a_factor_of_2_decides_or_the_margin_has_a_reason) {
  const std::string reason = R"(, "margin_reason": "It says less, not how much.")";
  EXPECT_TRUE(formula_decides(changing_at("", at_most(10), exact(6))));
  EXPECT_FALSE(formula_decides(changing_at("", at_most(10), exact(4))));
  EXPECT_FALSE(formula_decides(changing_at("", equals(0), exact(0)))) << "no factor changes 0";
  EXPECT_EQ(shown_margin(changing_at(reason, at_most(10), exact(6))),
            "Verdict changes at 6, 0.6 times the expected value");
  EXPECT_EQ(
      shown_margin(changing_at(reason, at_most(10), exact(4))),
      "Verdict changes at 4, 0.4 times the expected value. The measurement is 2.5 times within the bound: It says "
      "less, not how much.");
}

TEST(Findings, the_tolerance_is_that_of_the_words) {
  const auto verdict = [](const std::string& fields) {
    return claim_of(fields, [](Findings& findings) { findings.judged("one", equals(10), {.value = 10.2}); }).verdict;
  };
  EXPECT_EQ(verdict(""), Verdict::refuted);
  EXPECT_EQ(verdict(R"(, "tolerance": 0.02, "tolerance_reason": "rounded")"), Verdict::reproduced);
  EXPECT_EQ(verdict(R"(, "tolerance_absolute": 0.2, "tolerance_reason": "rounded")"), Verdict::reproduced);
  EXPECT_DEATH(verdict(R"(, "tolerance": 0.02)"), "") << "without a reason";
}

TEST(Findings, a_threshold_is_that_of_the_words) {
  const auto threshold = [](const std::string& fields) {
    double value = 0;
    claim_of(fields, [&value](Findings& findings) {
      value = findings.threshold("one");
      findings.judged("one", at_most(value), exact(1));
    });
    return value;
  };
  EXPECT_EQ(threshold(R"(, "threshold": 3, "threshold_reason": "Few are three.")"), 3);
  EXPECT_DEATH(threshold(""), "");
  EXPECT_DEATH(threshold(R"(, "threshold": 3)"), "") << "without a reason";
}

TEST(Findings, a_row_for_an_id_has_the_fields_of_its_pattern) {
  const Source source = source_of(
      R"({"id": "at-{}", "place": "here", "claim": "At {0}.", "formula": "f", "unit": "ms", "recorded": "refuted"},
         {"id": "at-2", "recorded": "reproduced", "basis": "so {0}"})",
      [](const Context&, Findings& findings) {
        findings.judged({"at-{}", 1}, equals(0), exact(1));
        findings.judged({"at-{}", 2}, equals(0), exact(0));
      });
  Source first = source;
  first.parts.pop_back();
  const Outcome outcome = quick_run(first);
  const std::vector<Claim>& claims = outcome.findings.claims();
  EXPECT_EQ(claims.at(0).claim, "At 1.");
  EXPECT_EQ(claims.at(0).recorded, Verdict::refuted);
  EXPECT_EQ(claims.at(0).part, "first");
  EXPECT_EQ(claims.at(1).unit, "ms");
  EXPECT_EQ(claims.at(1).basis, "so 2");
  EXPECT_EQ(claims.at(1).recorded, Verdict::reproduced);
}

TEST(Findings, statements_of_the_source_are_counted_once_and_ours_apart) {
  Source source = source_of(
      R"({"id": "at-{}", "claim": "c", "recorded": "refuted"}, {"id": "at-2", "claim": "c", "statement": "other"},
         {"id": "same", "claim": "c", "statement": "other"}, {"id": "may", "claim": "c", "condition": "in summer"},
         {"id": "our-{}", "claim": "c", "by": "ours"}, {"id": "model", "claim": "c", "by": "ours", "kind": "model"},
         {"id": "absent", "claim": "c", "statement": "at-{}"}, {"id": "nothing", "claim": "c"})",
      [](const Context&, Findings& findings) {
        for (const double value : {1, 2, 3}) {
          findings.judged({"at-{}", value}, equals(2), exact(value));
          findings.judged({"our-{}", value}, equals(2), exact(value));
        }
        findings.judged("same", equals(1), exact(1));
        findings.depends("may", {at_most(1), exact(1)}, {at_most(1), exact(2)});
        findings.judged("model", equals(1), exact(1));
        findings.skipped("absent", equals(1), Missing::data);
        findings.skipped("nothing", equals(1), Missing::data);
      });
  source.parts.pop_back();
  const Findings findings = run(source, {}).value().findings;
  EXPECT_EQ(
      verdict_line(findings),
      "4 statements of the source: 1 reproduced, 1 refuted, 1 depending, 1 skipped; ours: 1 reproduced, 2 refuted; "
      "not counted: 1 on models");
  EXPECT_EQ(remarks(findings.claims().back()), "");
  EXPECT_EQ(remarks(findings.claims().at(8)), "ours; model, not counted");
}

TEST(Findings, only_a_differing_verdict_is_unexpected) {
  const auto concerns = [](const std::string& fields, double measured) {
    return concerns_of(
        outcomes_of(fields, [&](Findings& findings) { findings.judged("one", equals(1), {.value = measured}); }));
  };
  EXPECT_TRUE(concerns("", 1).are_none());
  EXPECT_TRUE(concerns(R"(, "recorded": "refuted")", 2).are_none());
  EXPECT_EQ(concerns("", 2).unexpected, 1U);
  EXPECT_EQ(concerns(R"(, "recorded": "refuted")", 1).unexpected, 1U);
}

TEST(Findings, a_skip_that_could_run_fails_the_run) {
  const auto skip = [](Missing missing, const Context& context) {
    std::vector<Outcome> outcomes;
    outcomes.push_back(
        run(source_of_one("", [&](Findings& findings) { findings.skipped("one", equals(1), missing); }), context)
            .value());
    return outcomes;
  };
  Context full;
  EXPECT_TRUE(concerns_of(skip(Missing::data, full)).are_none());
  EXPECT_EQ(skip(Missing::data, full).at(0).findings.claims().at(0).verdict, Verdict::skipped);
  EXPECT_EQ(concerns_of(skip(Missing::full_run, full)).could_run, 1U);
  full.data_dir = "data";
  EXPECT_EQ(concerns_of(skip(Missing::data, full)).could_run, 1U);
  Context quick;
  quick.quick = true;
  EXPECT_TRUE(skip(Missing::data, quick).at(0).findings.claims().empty()) << "no row";
}

TEST(Run, a_part_whose_file_is_missing_is_measured_without_data) {
  Source source = source_of(R"({"id": "one", "claim": "c", "reason": "Stands for 2 claims."})",
                            [](const Context& /*context*/, Findings& /*findings*/) {});
  source.parts.pop_back();
  source.parts[0].measure = [](const Context& context, Findings& findings) -> Result<void> {
    if (context.data_dir) {
      findings.judged("one", equals(1), exact(1));
      return fail(ErrorCode::not_found, "a.log: cannot open");
    }
    findings.skipped("one", equals(1), Missing::data);
    return {};
  };
  const Outcome outcome = run(source, {.data_dir = "."}).value();
  ASSERT_EQ(outcome.findings.claims().size(), 1U) << "what was measured before is dropped";
  EXPECT_EQ(outcome.findings.claims().at(0).reason, "needs a.log: cannot open. Stands for 2 claims.");
  EXPECT_FALSE(outcome.findings.claims().at(0).could_run);
}

TEST(Run, a_verdict_that_differs_between_seeds_flips) {
  const auto differing_from = [](std::uint64_t first) {
    Source all = source_of(R"({"id": "one", "place": "p", "claim": "c", "formula": "f"})",
                           [first](const Context& context, Findings& findings) {
                             findings.judged("one", equals(0), exact(context.seed >= first ? 1 : 0));
                           });
    all.parts.pop_back();
    return all;
  };
  std::vector<Outcome> outcomes;
  outcomes.push_back(quick_run(differing_from(10), 10));
  const Claim& claim = outcomes[0].findings.claims().at(0);
  EXPECT_EQ(claim.verdict, Verdict::reproduced);
  EXPECT_EQ(claim.seeds(), 10U);
  EXPECT_EQ(claim.flips(), 1U);
  EXPECT_EQ(concerns_of(outcomes).flipping, 0U) << "one of ten may be chance";
  EXPECT_EQ(concerns_of({quick_run(differing_from(9), 10)}).flipping, 1U);
  EXPECT_EQ(concerns_of({quick_run(differing_from(9), 9)}).flipping, 0U) << "too few seeds to say";
  EXPECT_NE(summary(outcomes).find("flips: 1 of 10"), std::string::npos);
}

TEST(Run, one_claim_needs_its_part_only) {
  const Source source = source_of(
      R"({"id": "at-{}-{:.0f}-x", "place": "p", "claim": "c", "formula": "f"}, {"id": "other", "claim": "c"})",
      [](const Context&, Findings& findings) {
        findings.judged({"at-{}-{:.0f}-x", 1, 2.0}, equals(0), exact(0));
        findings.judged("other", equals(0), exact(0));
      });
  const auto outcome = run_claim(source, "at-1-2-x", {});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  ASSERT_EQ(outcome->findings.claims().size(), 1U);
  EXPECT_NE(details(*outcome, {}).find("mock/at-1-2-x\n"), std::string::npos);
  for (const std::string_view id : {"at-1-3-x", "at-1", "nothing"}) {
    const auto missing = run_claim(source, id, {});
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  }
}

TEST(Run, a_sources_error_names_the_source) {
  Source source = source_of_one("", [](Findings& /*findings*/) {});
  source.parts[0].measure = [](const Context& /*context*/, Findings& /*findings*/) -> Result<void> {
    return fail(ErrorCode::corrupt, "bad line");
  };
  const auto outcome = run(source, {});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().detail, "mock: bad line");
}

TEST(Measure, estimates_follow_their_formulas) {
  const Estimate half = share(50, 100);
  EXPECT_DOUBLE_EQ(half.value, 0.5);
  EXPECT_DOUBLE_EQ(half.error, 0.5 / std::sqrt(109));
  EXPECT_GT(3 * share(0, 1000).error, 0.006) << "6 would not be rare";
  EXPECT_EQ(share(0, 100).value, 0);
  const Estimate middle = mean(std::array{1.0, 2.0, 3.0, 4.0, 5.0});
  EXPECT_DOUBLE_EQ(middle.value, 3);
  EXPECT_NEAR(middle.error, std::sqrt(2.5 / 5) * 6.620 / 3, 0.02);  // Student's t with 4 degrees of freedom
  EXPECT_DOUBLE_EQ(ratio_of_sums(std::array{2.0, 4.0}, std::array{1.0, 2.0}).value, 2);
  EXPECT_DOUBLE_EQ(ratio_of_sums(std::array{2.0, 4.0}, std::array{1.0, 2.0}).error, 0);
  EXPECT_GT(ratio_of_sums(std::array{2.0, 5.0}, std::array{1.0, 2.0}).error, 0);
  const Estimate divided = quotient({.value = 6, .error = 0.6}, {.value = 2, .error = 0});
  EXPECT_DOUBLE_EQ(divided.value, 3);
  EXPECT_DOUBLE_EQ(divided.error, 0.3);
  const Estimate central = median({9, 1, 5, 3, 7});
  EXPECT_EQ(central.value, 5);
  EXPECT_NEAR(central.error, 1.858 * 2 / std::sqrt(5), 0.001) << "from the quartiles 3 and 7";
  EXPECT_EQ(median({4, 2}).value, 3);
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

TEST(Faults, a_crowd_is_eight_keys_the_inserted_one_first) {
  const auto crowd = [](Fault fault) {
    std::vector<std::uint64_t> added;
    insert_crowd(fault, {7}, [&added](Digest digest) { added.push_back(digest.value); });
    return added;
  };
  EXPECT_EQ(crowd(Fault::none), std::vector<std::uint64_t>{7});
  const std::vector<std::uint64_t> added = crowd(Fault::crowds_cells);
  EXPECT_EQ(added.front(), 7U);
  EXPECT_EQ(std::set<std::uint64_t>(added.begin(), added.end()).size(), 8U);
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
  Claim claim;
  claim.unit = "ms";
  claim.side = {at_most(0.5), {.value = 0.25, .error = 0.0123}};
  EXPECT_EQ(shown(claim), "at most 0.5 ms");
  EXPECT_EQ(shown_measured(claim), "0.25 ± 0.012 ms");
  claim.otherwise = Side{at_most(0.5), {.value = 1}};
  EXPECT_EQ(shown(claim), "at most 0.5 ms");
  EXPECT_EQ(shown_measured(claim), "0.25 ± 0.012 ms; otherwise 1 ms");
  claim.otherwise.reset();
  claim.side = {{}, {.value = 145503, .error = 113.4}};
  EXPECT_EQ(shown_measured(claim), "145503 ± 113 ms");
  EXPECT_EQ(shown_tolerance(claim), "");
  claim.tolerance = {.relative = 0.025, .absolute = 3};
  claim.side.expected.formula_error = 0.125;
  EXPECT_EQ(shown_tolerance(claim), "2.5%; 3 ms; formula ± 0.12");
}

TEST(Text, html_is_escaped) { EXPECT_EQ(html_escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"); }

TEST(Text, code_is_between_backticks) {
  EXPECT_EQ(html_text("a `b<` c `d`"), "a <code>b&lt;</code> c <code>d</code>");
  EXPECT_EQ(html_text("a ` b"), "a ` b") << "one alone is literal";
  EXPECT_EQ(html_text(""), "");
}

TEST(Text, csv_quotes_what_needs_it_and_keeps_all_digits) {
  EXPECT_EQ(csv(figure_of()), "x,y,error,kind\r\n1,0.5,0.6,\"a,b\"\r\n2,,0,\"say \"\"no\"\"\"\r\n3,0.25,0.1,c\r\n");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
}

// The claim "one", measured as not a number, and a skipped one.
std::vector<Outcome> odd_outcomes() {
  std::vector<Outcome> outcomes;
  Source source = source_of(
      R"({"id": "odd", "claim": "quote \" backslash \\ é", "definition": "ours", "kind": "counted"},
         {"id": "skipped", "claim": "c"}, {"id": "sum", "kind": "arithmetic", "claim": "c"},
         {"id": "guess", "kind": "reconstruction", "claim": "c"})",
      [](const Context&, Findings& findings) {
        findings.judged("odd", equals(1), {.value = kNan, .error = 0.5});
        findings.skipped("skipped", equals(1), Missing::data);
        findings.judged("sum", equals(1), exact(1));
        findings.judged("guess", equals(1), exact(1));
      });
  source.parts.pop_back();
  outcomes.push_back(run(source, {}).value());
  return outcomes;
}

TEST(Text, json_has_null_for_what_was_not_measured) {
  Context context;
  context.seed = 5;
  const std::string json = claims_json(odd_outcomes(), context);
  EXPECT_NE(json.find("quote \\\" backslash \\\\ é"), std::string::npos) << json;
  EXPECT_NE(json.find("\"verdict\": \"refuted\""), std::string::npos);
  EXPECT_NE(json.find("\"as_recorded\": false"), std::string::npos);
  EXPECT_NE(json.find("\"by\": \"source\",\n    \"statement\": \"odd\""), std::string::npos);
  EXPECT_NE(json.find("\"reason\": \"needs --data\""), std::string::npos);
  EXPECT_NE(json.find("\"measured\": null"), std::string::npos);
  EXPECT_NE(json.find("\"command\": \"mankai-lab claim mock/odd --seed 5\""), std::string::npos) << json;
  EXPECT_EQ(json.find("nan"), std::string::npos);
}

TEST(Text, the_summary_shows_skipped_and_unexpected_claims) {
  const std::string text = summary(odd_outcomes());
  EXPECT_NE(text.find("<- recorded: reproduced"), std::string::npos) << text;
  EXPECT_NE(text.find("needs --data"), std::string::npos);
  EXPECT_NE(text.find("2 statements of the source: 1 refuted, 1 skipped; not counted: 1 arithmetic, 1 reconstructed"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1 verdict differs"), std::string::npos);
}

TEST(Page, texts_are_escaped_and_what_cannot_be_drawn_is_a_table) {
  const auto outcomes = outcomes_of("", [](Findings& findings) {
    findings.judged("one", equals(1), {.value = 2});
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
  EXPECT_NE(drawn.find("<code class=\"small\">mankai-lab claim mock/one</code>"), std::string::npos);
  EXPECT_LT(drawn.find("<svg>mock-fig"), drawn.find("<table")) << "plots come first, tables fold below";
  EXPECT_GT(drawn.find("<table"), drawn.find("<details>"));
}

TEST(Page, a_figure_without_series_is_a_table) {
  Figure figure = figure_of();
  figure.series.clear();
  const auto outcomes = outcomes_of("", [&figure](Findings& findings) { findings.add(figure); });
  const std::string html = page(outcomes, {}, [](const Figure&) -> Result<std::string> {
    ADD_FAILURE() << "drawn";
    return "";
  });
  EXPECT_EQ(html.find("Not drawn"), std::string::npos);
  EXPECT_NE(html.find("say &quot;no&quot;"), std::string::npos);
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

TEST(Plot, published_points_and_the_sources_axes_are_drawn) {
  Figure figure = figure_of();
  figure.x.from = 0.5;
  figure.x.to = 13;
  figure.published.push_back({.title = "theirs", .place = "figure 3", .points = {{2, 0.125}, {4, 0.0625}}});
  const std::string script = plot_script(figure);
  EXPECT_NE(script.find("$published0 << END\n2 0.125\n4 0.0625\nEND\n"), std::string::npos) << script;
  EXPECT_NE(script.find("linecolor rgb \"#000000\" title \"theirs (published)\""), std::string::npos);
  figure.published.back().color = 1;
  EXPECT_NE(plot_script(figure).find("linecolor rgb \"#D55E00\" title \"theirs (published)\""), std::string::npos);
  EXPECT_NE(script.find("set xrange [0.5:13]"), std::string::npos);
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

constexpr std::array kFaults = {Fault::forgets_keys, Fault::invents_keys, Fault::crowds_cells, Fault::never_decays,
                                Fault::levels_draws};

// Removes the claims whose verdict the fault changes; a claim that is not measured any more has changed too.
void erase_changed(std::vector<Claim>& claims, const std::vector<Claim>& broken) {
  std::erase_if(claims, [&broken](const Claim& claim) {
    const auto same = std::ranges::find(broken, claim.id, &Claim::id);
    return same == broken.end() || same->verdict != claim.verdict;
  });
}

// Returns the counted claims whose verdict nothing changes: neither a formula that is off by a factor of 2 at most, nor
// a fault. Faults are measured in the parts that have claims left, in the quick run without a margin_reason: those with
// one would take as much time as all others.
std::set<std::string> cannot_fail(const Source& source, const Outcome& sound, Context context) {
  std::set<std::string> ids;
  for (const Part& part : source.parts) {
    std::vector<Claim> left = sound.findings.claims();
    std::erase_if(left, [&part](const Claim& claim) {
      return claim.part != part.title || claim.kind != ClaimKind::counted || claim.verdict == Verdict::skipped ||
             formula_decides(claim);
    });
    const auto is_open = [&context](const Claim& claim) { return !context.quick || claim.margin_reason.empty(); };
    Source one = source;
    one.parts = {part};
    for (const Fault fault : kFaults) {
      if (std::ranges::any_of(left, is_open)) {
        context.fault = fault;
        erase_changed(left, run(one, context).value().findings.claims());
      }
    }
    for (const Claim& claim : left) {
      ids.insert(claim.id);
    }
  }
  return ids;
}

void expect_complete(const Outcome& outcome) {
  std::set<std::string> ids;
  for (const Claim& claim : outcome.findings.claims()) {
    EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
    EXPECT_FALSE(claim.place.empty() || claim.claim.empty() || claim.formula.empty()) << claim.id;
    EXPECT_TRUE(claim.recorded != Verdict::refuted || !claim.basis.empty()) << claim.id << " says no reason";
    EXPECT_FALSE(claim.could_run) << claim.id;
  }
}

void expect_that_each_can_fail(const Context& context) {
  for (const Source& source : all_sources()) {
    const Outcome sound = run(source, context).value();
    expect_complete(sound);
    const auto ids = cannot_fail(source, sound, context);
    for (const Claim& claim : sound.findings.claims()) {
      if (claim.kind == ClaimKind::counted && claim.verdict != Verdict::skipped) {
        EXPECT_EQ(ids.contains(claim.id), !claim.margin_reason.empty())
            << source.name << "/" << claim.id
            << " needs a margin_reason if neither a fault nor a factor of 2 changes it";
      }
    }
  }
}

// That every verdict is as recorded where nothing is planted is tested by the command's quick run
// (tests/command/lab_test.py).
TEST(Sources, each_claim_is_complete_and_can_fail) { expect_that_each_can_fail({.quick = true, .data_dir = {}}); }

// The full run with real data, which takes long: `make lab-mutants`.
TEST(Sources, DISABLED_each_claim_of_the_full_run_is_complete_and_can_fail) {
  expect_that_each_can_fail({.data_dir = MANKAI_SHARED_DIR "/data"});
}

}  // namespace
}  // namespace mankai::lab
