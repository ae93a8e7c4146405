// The only file of the lab that sees this header, which takes long to compile.
#include <nlohmann/json.hpp>

#include "lab/text.hpp"

namespace mankai::lab {
namespace {

nlohmann::ordered_json object(const Outcome& outcome, const Claim& claim) {
  const bool is_measured = claim.verdict != Verdict::skipped;
  auto object = nlohmann::ordered_json::object();
  object["source"] = outcome.source.name;
  object["id"] = claim.id;
  object["place"] = claim.place;
  object["claim"] = claim.claim;
  object["formula"] = claim.formula;
  object["expected"] = claim.expected.value;
  object["relation"] = claim.expected.relation == Relation::equals    ? "equals"
                       : claim.expected.relation == Relation::at_most ? "at most"
                                                                      : "at least";
  object["unit"] = claim.unit;
  object["measured"] = is_measured ? nlohmann::ordered_json(claim.measured.value) : nlohmann::ordered_json();
  object["error"] = is_measured ? nlohmann::ordered_json(claim.measured.error) : nlohmann::ordered_json();
  object["verdict"] = name(claim.verdict);
  object["reason"] = claim.reason;
  object["recorded_verdict"] = name(claim.recorded);
  object["recorded_basis"] = claim.basis;
  object["as_recorded"] = claim.is_as_recorded();
  return object;
}

}  // namespace

std::string claims_json(const std::vector<Outcome>& outcomes) {
  auto claims = nlohmann::ordered_json::array();
  for (const Outcome& outcome : outcomes) {
    for (const Claim& claim : outcome.findings.claims()) {
      claims.push_back(object(outcome, claim));
    }
  }
  constexpr int kIndent = 2;
  return claims.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mankai::lab
