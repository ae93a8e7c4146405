// The only file of the lab that includes this header, because it compiles slowly.
#include <nlohmann/json.hpp>

#include "lab/text.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab {

/// Returns a folder's `words.json`. CMake generates this function.
// NOLINTNEXTLINE(misc-use-internal-linkage): it is in a file of its own
std::string_view words_of(std::string_view folder);

namespace {

using Json = nlohmann::ordered_json;

// Returns "" if the key is missing.
std::string text(const Json& object, const char* key) { return object.value(key, std::string()); }

Verdict verdict_of(const Json& claim) {
  const std::string word = claim.value("recorded", "reproduced");
  MANKAI_ASSERT(word == name(Verdict::reproduced) || word == name(Verdict::refuted));
  return word == name(Verdict::refuted) ? Verdict::refuted : Verdict::reproduced;
}

Claim claim_of(const Json& json) {
  return {.id = text(json, "id"),
          .place = text(json, "place"),
          .claim = text(json, "claim"),
          .formula = text(json, "formula"),
          .unit = text(json, "unit"),
          .recorded = verdict_of(json),
          .basis = text(json, "basis"),
          .reason = text(json, "reason")};
}

Axis axis_of(const Json& json) { return {.label = text(json, "label"), .is_logarithmic = json.value("log", false)}; }

Series series_of(const Json& json) {
  Series series{.title = text(json, "title"),
                .x = text(json, "x"),
                .y = text(json, "y"),
                .error = text(json, "error"),
                .is_line = json.value("line", false),
                .is_hollow = json.value("hollow", false),
                .only = json.value("only", decltype(Series::only){})};
  if (json.contains("color")) {
    series.color = json["color"].get<std::size_t>();
  }
  return series;
}

Figure figure_of(const Json& json) {
  Figure figure{.name = text(json, "name"),
                .title = text(json, "title"),
                .caption = text(json, "caption"),
                .x = axis_of(json["x"]),
                .y = axis_of(json["y"]),
                .columns = json.value("columns", std::vector<std::string>())};
  for (const Json& series : json.value("series", Json::array())) {
    figure.series.push_back(series_of(series));
  }
  return figure;
}

std::shared_ptr<const Words> words_in(const Json& json) {
  auto words = std::make_shared<Words>();
  for (const Json& claim : json["claims"]) {
    words->claims.emplace(text(claim, "id"), claim_of(claim));
  }
  for (const Json& figure : json["figures"]) {
    words->figures.emplace(text(figure, "name"), figure_of(figure));
  }
  return words;
}

Json object(const Outcome& outcome, const Claim& claim) {
  const bool is_measured = claim.verdict != Verdict::skipped;
  auto object = Json::object();
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
  object["measured"] = is_measured ? Json(claim.measured.value) : Json();
  object["error"] = is_measured ? Json(claim.measured.error) : Json();
  object["verdict"] = name(claim.verdict);
  object["reason"] = claim.reason;
  object["recorded_verdict"] = name(claim.recorded);
  object["recorded_basis"] = claim.basis;
  object["as_recorded"] = claim.is_as_recorded();
  return object;
}

}  // namespace

Source source_of(std::string_view folder, std::vector<Part> parts) {
  const Json json = Json::parse(words_of(folder));
  Source source{.name = text(json, "name"),
                .title = text(json, "title"),
                .origin = text(json, "origin"),
                .essay = "",
                .readings = {},
                .words = words_in(json),
                .run = [parts = std::move(parts)](const Context& context, Findings& findings) -> Result<void> {
                  for (const Part& part : parts) {
                    context.progress(part.title);
                    MANKAI_TRY(part.measure(context, findings));
                  }
                  return {};
                }};
  for (const std::string paragraph : json["essay"]) {
    source.essay += (source.essay.empty() ? "" : "\n\n") + paragraph;
  }
  for (const Json& reading : json["readings"]) {
    source.readings.push_back({text(reading, "question"), text(reading, "answer")});
  }
  return source;
}

std::string claims_json(const std::vector<Outcome>& outcomes) {
  auto claims = Json::array();
  for (const Outcome& outcome : outcomes) {
    for (const Claim& claim : outcome.findings.claims()) {
      claims.push_back(object(outcome, claim));
    }
  }
  constexpr int kIndent = 2;
  return claims.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mankai::lab
