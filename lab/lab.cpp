#include "lab/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "mankai/base/assert.hpp"

namespace mankai::lab {

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::reproduced: return "reproduced";
    case Verdict::refuted: return "refuted";
    case Verdict::depends: return "depends";
    case Verdict::skipped: return "skipped";
  }
  return "unknown";
}

Verdict judge(const Expected& expected, const Estimate& measured, double standard_errors) noexcept {
  const double excess = measured.value - expected.value;
  const double distance = expected.relation == Relation::equals    ? std::abs(excess)
                          : expected.relation == Relation::at_most ? excess
                                                                   : -excess;
  return distance <= expected.tolerance + standard_errors * measured.error ? Verdict::reproduced : Verdict::refuted;
}

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

Claim Findings::claim(const Entry& entry, const Expected& expected, const Estimate& measured) const {
  std::string id = entry.id();
  entry.fill_in(id);
  const auto pattern = words_->claims.find(entry.id());
  const auto special = words_->claims.find(id);
  MANKAI_ASSERT(pattern != words_->claims.end() || special != words_->claims.end());
  Claim claim = pattern != words_->claims.end() ? pattern->second : special->second;
  claim.id = std::move(id);
  if (special != words_->claims.end()) {
    claim.recorded = special->second.recorded;
  }
  for (std::string Claim::* const field :
       {&Claim::place, &Claim::claim, &Claim::formula, &Claim::basis, &Claim::reason}) {
    std::string& text = claim.*field;
    if (special != words_->claims.end() && !(special->second.*field).empty()) {
      text = special->second.*field;
    }
    entry.fill_in(text);
  }
  claim.expected = expected;
  claim.measured = measured;
  return claim;
}

Figure Findings::figure(const Entry& entry) const {
  const auto found = words_->figures.find(entry.id());
  MANKAI_ASSERT(found != words_->figures.end());
  Figure figure = found->second;
  for (std::string* text : {&figure.name, &figure.title, &figure.caption}) {
    entry.fill_in(*text);
  }
  return figure;
}

void Findings::judged(const Entry& entry, const Expected& expected, const Estimate& measured) {
  judged(claim(entry, expected, measured));
}

void Findings::depends(const Entry& entry, const Expected& expected, const Estimate& measured) {
  depends(claim(entry, expected, measured));
}

void Findings::skipped(const Entry& entry, const Expected& expected, std::string needs) {
  skipped(claim(entry, expected, {}), std::move(needs));
}

void Findings::judged(Claim claim) {
  claim.verdict = judge(claim.expected, claim.measured);
  claims_.push_back(std::move(claim));
}

void Findings::depends(Claim claim) {
  claim.recorded = Verdict::depends;
  claim.verdict = Verdict::depends;
  claims_.push_back(std::move(claim));
}

void Findings::skipped(Claim claim, std::string needs) {
  claim.verdict = Verdict::skipped;
  claim.reason = std::move(needs);
  claims_.push_back(std::move(claim));
}

Result<void> measure_all(std::initializer_list<Measure*> measures, const Context& context, Findings& findings) {
  for (Measure* const measure : measures) {
    MANKAI_TRY(measure(context, findings));
  }
  return {};
}

Result<Outcome> run(const Source& source, const Context& context) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{.source = source, .findings = Findings(source.words)};
  if (auto done = source.run(context, outcome.findings); !done) {
    return std::unexpected(done.error().within(source.name));
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

std::size_t unexpected_count(const std::vector<Outcome>& outcomes) noexcept {
  std::size_t count = 0;
  for (const Outcome& outcome : outcomes) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(outcome.findings.claims(), [](const Claim& claim) { return !claim.is_as_recorded(); }));
  }
  return count;
}

}  // namespace mankai::lab
