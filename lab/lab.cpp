#include "lab/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "examples/words/word_rules.hpp"
#include "lab/outside.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab {
namespace {

std::string_view needs(Missing missing) noexcept {
  switch (missing) {
    case Missing::data: return "needs --data";
    case Missing::word_list: return "needs words and hyphenation patterns: install wamerican and groff-base";
    case Missing::full_run: return "needs a run without --quick";
    case Missing::postgresql: return "needs a PostgreSQL server: install the package postgresql";
    case Missing::mankai: return "needs the program mankai, beside this one or in PATH";
    case Missing::redis_server: return "needs redis-server in PATH, and the module mankai-redis.so";
    case Missing::authors_data: return "needs data that the authors did not publish";
  }
  return "";
}

// The verdict with another expected value. That without the condition changes by the same factor.
Verdict judge_changed(Claim claim, double expected) {
  if (claim.otherwise && claim.side.expected.value != 0) {
    claim.otherwise->expected.value *= expected / claim.side.expected.value;
  }
  claim.side.expected.value = expected;
  return judge(claim);
}

Result<Outcome> run_once(const Source& source, const Context& context) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{.source = source, .findings = Findings(source.words, context)};
  for (const Part& part : source.parts) {
    context.progress(part.title);
    const Findings before = outcome.findings;
    outcome.findings.begin_part(part.title);
    auto done = part.measure(context, outcome.findings);
    if (!done && done.error().code == ErrorCode::not_found && context.data_dir) {
      // A folder with some of the data is good for the other parts.
      Context without = context;
      without.data_dir = std::nullopt;
      outcome.findings = before;
      outcome.findings.begin_part(part.title, done.error().message());
      done = part.measure(without, outcome.findings);
    }
    if (!done) {
      return std::unexpected(done.error().within(source.name));
    }
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::reproduced: return "reproduced";
    case Verdict::refuted: return "refuted";
    case Verdict::depends: return "depends";
    case Verdict::skipped: return "skipped";
  }
  return "unknown";
}

bool keeps(const Side& side, const Tolerance& tolerance, double standard_errors) noexcept {
  const Expected& expected = side.expected;
  const double excess = side.measured.value - expected.value;
  const double distance = expected.relation == Relation::equals    ? std::abs(excess)
                          : expected.relation == Relation::at_most ? excess
                                                                   : -excess;
  return distance <= tolerance.relative * std::abs(expected.value) + tolerance.absolute + expected.formula_error +
                         standard_errors * side.measured.error;
}

Verdict judge(const Claim& claim) noexcept {
  const bool holds = keeps(claim.side, claim.tolerance);
  if (!holds || !claim.otherwise) {
    return holds ? Verdict::reproduced : Verdict::refuted;
  }
  const bool is_decisive = !keeps(*claim.otherwise, claim.tolerance);
  if (claim.condition_by == ConditionBy::source_only) {
    return is_decisive ? Verdict::reproduced : Verdict::refuted;
  }
  return is_decisive && claim.condition_by == ConditionBy::ours ? Verdict::depends : Verdict::reproduced;
}

double changes_at(const Claim& claim) noexcept {
  constexpr double kStep = 1e-9;
  const double expected = claim.side.expected.value;
  double nearest = std::numeric_limits<double>::quiet_NaN();
  const auto consider = [&](const Side& side, double direction) {
    const double slack = claim.tolerance.absolute + side.expected.formula_error + kStandardErrors * side.measured.error;
    const double edge = (side.measured.value - direction * slack) /
                        (1 + direction * std::copysign(claim.tolerance.relative, side.expected.value));
    // A value of 0 is shifted, any other one multiplied.
    const double changed = expected == 0 ? edge : edge / side.expected.value * expected;
    const double step = kStep * std::max(std::abs(changed), kStep);
    const bool is_other = std::ranges::any_of(std::array{-step, 0.0, step}, [&](double further) {
      return judge_changed(claim, changed + further) != claim.verdict;
    });
    const bool is_nearer = std::isnan(nearest) || std::abs(changed - expected) < std::abs(nearest - expected);
    if (is_other && is_nearer && changed * expected >= 0) {
      nearest = changed;
    }
  };
  for (const Side& side : claim.otherwise ? std::vector{claim.side, *claim.otherwise} : std::vector{claim.side}) {
    for (const double direction : {1.0, -1.0}) {
      consider(side, direction);
    }
  }
  return nearest;
}

bool formula_decides(const Claim& claim) noexcept {
  constexpr double kFactor = 2;
  const double factor = changes_at(claim) / claim.side.expected.value;
  return factor >= 1 / kFactor && factor <= kFactor;
}

std::size_t Claim::seeds() const noexcept { return std::accumulate(verdicts.begin(), verdicts.end(), std::size_t{0}); }

std::size_t Claim::flips() const noexcept { return seeds() - *std::ranges::max_element(verdicts); }

void Figure::add_series(const std::string& formula, const std::string& title_of_line, Series points) {
  points.color = points.color.value_or(series.size() / 2);
  series.push_back({.title = title_of_line,
                    .x = points.x,
                    .y = formula,
                    .is_line = true,
                    .only = points.only,
                    .color = points.color});
  series.push_back(std::move(points));
}

void Entry::fill_in(std::string& text) const {
  if (has_values_) {
    text = fmt::vformat(text, values_);
  }
}

Findings::Findings(std::shared_ptr<const Words> words, const Context& context)
    : words_(std::move(words)), context_(context) {}

Claim Findings::claim(const Entry& entry, const Side& side) const {
  std::string id = entry.id();
  entry.fill_in(id);
  Claim claim = words_->claim(part_, entry.id(), id);
  claim.id = std::move(id);
  claim.part = part_;
  for (std::string Claim::* const field : {&Claim::place, &Claim::claim, &Claim::definition, &Claim::formula,
                                           &Claim::condition, &Claim::basis, &Claim::reason, &Claim::margin_reason}) {
    entry.fill_in(claim.*field);
  }
  claim.side = side;
  return claim;
}

Figure Findings::figure(const Entry& entry) const {
  Figure figure = words_->figure(entry.id());
  for (std::string* text : {&figure.name, &figure.title, &figure.caption}) {
    entry.fill_in(*text);
  }
  return figure;
}

Tolerance Findings::tolerance(const std::string& id) const { return words_->claim(part_, id, id).tolerance; }

double Findings::threshold(const std::string& id) const {
  const Threshold threshold = words_->claim(part_, id, id).threshold;
  MANKAI_ASSERT(threshold.value.has_value());
  return *threshold.value;
}

void Findings::add(Claim claim, Verdict verdict) {
  claim.verdict = verdict;
  claim.verdicts.at(static_cast<std::size_t>(verdict)) = 1;
  claims_.push_back(std::move(claim));
}

void Findings::judged(const Entry& entry, const Expected& expected, const Estimate& measured) {
  Claim judged = claim(entry, {.expected = expected, .measured = measured});
  MANKAI_ASSERT(judged.condition.empty());
  const Verdict verdict = judge(judged);
  add(std::move(judged), verdict);
}

void Findings::depends(const Entry& entry, const Side& holds, const Side& fails) {
  Claim judged = claim(entry, holds);
  MANKAI_ASSERT(!judged.condition.empty());
  judged.otherwise = fails;
  const Verdict verdict = judge(judged);
  add(std::move(judged), verdict);
}

void Findings::skipped(const Entry& entry, const Expected& expected, Missing missing) {
  Claim skipped = claim(entry, {.expected = expected});
  skipped.could_run = !is_missing(missing);
  const std::string needed =
      missing == Missing::data && !missing_file_.empty() ? "needs " + missing_file_ : std::string(needs(missing));
  // A reason with places has measured values, which a skipped claim lacks.
  const std::string reason = words_->claim(part_, entry.id(), skipped.id).reason;
  skipped.reason = skipped.could_run ? "Skipped, although this run has what it needs" : needed;
  skipped.reason += reason.empty() || reason.contains('{') ? "" : ". " + reason;
  if (skipped.could_run || !context_.quick) {
    add(std::move(skipped), Verdict::skipped);
  }
}

bool Findings::is_missing(Missing missing) const {
  switch (missing) {
    case Missing::data: return !context_.data_dir || !missing_file_.empty();
    case Missing::word_list: return !word_rules::are_installed();
    case Missing::full_run: return context_.quick;
    case Missing::postgresql: return !find_postgresql();
    case Missing::mankai: return !Program::find("mankai");
    case Missing::redis_server: return !Program::find("redis-server") || !find_redis_module();
    case Missing::authors_data: return true;
  }
  return false;
}

Result<void> measure_all(std::initializer_list<Measure*> measures, const Context& context, Findings& findings) {
  for (Measure* const measure : measures) {
    MANKAI_TRY(measure(context, findings));
  }
  return {};
}

namespace {

// Measures with so many seeds after the context's. A claim has the verdict of most seeds, the first one's if others
// have as many.
Result<void> add_seeds(Outcome& outcome, const Source& source, Context context, std::size_t seeds) {
  for (std::size_t i = 0; i < seeds; ++i) {
    ++context.seed;
    MANKAI_ASSIGN(const auto other, run_once(source, context));
    outcome.seconds += other.seconds;
    for (Claim& claim : outcome.findings.claims()) {
      const auto same = std::ranges::find(other.findings.claims(), claim.id, &Claim::id);
      if (same != other.findings.claims().end()) {
        ++claim.verdicts.at(static_cast<std::size_t>(same->verdict));
      }
    }
  }
  for (Claim& claim : outcome.findings.claims()) {
    const auto most = std::ranges::max_element(claim.verdicts);
    if (*most > claim.verdicts.at(static_cast<std::size_t>(claim.verdict))) {
      claim.verdict = static_cast<Verdict>(most - claim.verdicts.begin());
    }
  }
  return {};
}

}  // namespace

Result<Outcome> run(const Source& source, const Context& context, std::size_t seeds) {
  MANKAI_ASSIGN(auto outcome, run_once(source, context));
  MANKAI_TRY(add_seeds(outcome, source, context, seeds - 1));
  return outcome;
}

Result<void> confirm(Outcome& outcome, const Context& context) {
  Source unexpected = outcome.source;
  std::erase_if(unexpected.parts, [&outcome](const Part& part) {
    return std::ranges::all_of(outcome.findings.claims(), [&part](const Claim& claim) {
      return claim.part != part.title || claim.verdict == Verdict::skipped || claim.is_as_recorded();
    });
  });
  return unexpected.parts.empty() ? Result<void>() : add_seeds(outcome, unexpected, context, 2);
}

Result<Outcome> run_claim(const Source& source, std::string_view id, const Context& context, std::size_t seeds) {
  Source one = source;
  for (const Part& part : source.parts) {
    if (!source.words->may_have(part.title, id)) {
      continue;
    }
    one.parts = {part};
    MANKAI_ASSIGN(auto outcome, run(one, context, seeds));
    if (std::erase_if(outcome.findings.claims(), [id](const Claim& claim) { return claim.id != id; });
        !outcome.findings.claims().empty()) {
      return outcome;
    }
  }
  return fail(ErrorCode::not_found, fmt::format("{} measures no claim '{}' in this run", source.name, id));
}

Concerns concerns_of(const std::vector<Outcome>& outcomes) noexcept {
  Concerns concerns;
  for (const Outcome& outcome : outcomes) {
    for (const Claim& claim : outcome.findings.claims()) {
      concerns.could_run += claim.could_run ? 1U : 0U;
      concerns.unexpected += !claim.is_as_recorded() && !claim.could_run ? 1U : 0U;
      concerns.flipping += claim.is_unstable() ? 1U : 0U;
    }
  }
  return concerns;
}

}  // namespace mankai::lab
