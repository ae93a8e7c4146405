#include "lab/lab.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

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

Result<Outcome> run(const Source& source, const Context& context) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{.source = source, .findings = {}};
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
