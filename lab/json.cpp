// The only file of the lab that includes this header, because it compiles slowly.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>

#include "lab/text.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab {

/// Returns a folder's `words.json`. CMake generates this function.
// NOLINTNEXTLINE(misc-use-internal-linkage): it is in a file of its own
std::string_view words_of(std::string_view folder);

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kClaimKinds> kKinds = {"counted", "arithmetic", "reconstruction", "model"};
constexpr std::array<std::string_view, 2> kWhose = {"source", "ours"};

// Returns "" if the key is missing.
std::string text(const Json& object, const char* key) { return object.value(key, std::string()); }

// Returns the number of the field's word.
std::size_t choice_of(const Json& object, const char* key, std::span<const std::string_view> words,
                      std::string_view usual) {
  const auto found = std::ranges::find(words, object.value(key, std::string(usual)));
  MANKAI_ASSERT(found != words.end());
  return static_cast<std::size_t>(found - words.begin());
}

constexpr std::array<std::string_view, 3> kConditionBy = {"ours", "source", "source-only"};

ConditionBy condition_by(const Json& claim) {
  return static_cast<ConditionBy>(choice_of(claim, "condition_by", kConditionBy, "ours"));
}

// A claim with a condition of ours is expected to depend on it.
Verdict verdict_of(const Json& claim) {
  const bool is_ours = claim.contains("condition") && condition_by(claim) == ConditionBy::ours;
  const auto usual = name(is_ours ? Verdict::depends : Verdict::reproduced);
  const std::string word = claim.value("recorded", std::string(usual));
  for (const Verdict verdict : {Verdict::reproduced, Verdict::refuted, Verdict::depends}) {
    if (word == name(verdict)) {
      return verdict;
    }
  }
  MANKAI_ASSERT(false);
  return Verdict::skipped;
}

Tolerance tolerance_of(const Json& claim) {
  Tolerance tolerance{.relative = claim.value("tolerance", 0.0),
                      .absolute = claim.value("tolerance_absolute", 0.0),
                      .reason = text(claim, "tolerance_reason")};
  MANKAI_ASSERT((tolerance.relative + tolerance.absolute > 0) == !tolerance.reason.empty());
  return tolerance;
}

std::optional<double> number(const Json& object, const char* key) {
  return object.contains(key) ? std::optional(object[key].get<double>()) : std::nullopt;
}

Threshold threshold_of(const Json& claim) {
  Threshold threshold{.value = number(claim, "threshold"), .reason = text(claim, "threshold_reason")};
  MANKAI_ASSERT(threshold.value.has_value() == !threshold.reason.empty());
  return threshold;
}

Claim claim_of(const Json& json) {
  return {.id = text(json, "id"),
          .place = text(json, "place"),
          .claim = text(json, "claim"),
          .is_ours = choice_of(json, "by", kWhose, "source") == 1,
          .statement = text(json, "statement"),
          .definition = text(json, "definition"),
          .formula = text(json, "formula"),
          .unit = text(json, "unit"),
          .condition = text(json, "condition"),
          .condition_by = condition_by(json),
          .kind = static_cast<ClaimKind>(choice_of(json, "kind", kKinds, "counted")),
          .tolerance = tolerance_of(json),
          .threshold = threshold_of(json),
          .margin_reason = text(json, "margin_reason"),
          .recorded = verdict_of(json),
          .basis = text(json, "basis"),
          .reason = text(json, "reason")};
}

Axis axis_of(const Json& json) {
  return {.label = text(json, "label"),
          .is_logarithmic = json.value("log", false),
          .from = number(json, "from"),
          .to = number(json, "to")};
}

std::optional<std::size_t> color_of(const Json& json) {
  return json.contains("color") ? std::optional(json["color"].get<std::size_t>()) : std::nullopt;
}

Series series_of(const Json& json) {
  return {.title = text(json, "title"),
          .x = text(json, "x"),
          .y = text(json, "y"),
          .error = text(json, "error"),
          .is_line = json.value("line", false),
          .is_hollow = json.value("hollow", false),
          .only = json.value("only", decltype(Series::only){}),
          .color = color_of(json)};
}

Figure figure_of(const Json& json) {
  Figure figure{.name = text(json, "name"),
                .place = text(json, "place"),
                .title = text(json, "title"),
                .caption = text(json, "caption"),
                .x = axis_of(json["x"]),
                .y = axis_of(json["y"]),
                .columns = json.value("columns", std::vector<std::string>())};
  for (const Json& series : json.value("series", Json::array())) {
    figure.series.push_back(series_of(series));
  }
  for (const Json& published : json.value("published", Json::array())) {
    figure.published.push_back({.title = text(published, "title"),
                                .place = text(published, "place"),
                                .points = published["points"].get<decltype(Published::points)>(),
                                .color = color_of(published)});
    MANKAI_ASSERT(!figure.published.back().place.empty());
  }
  return figure;
}

// Whether the id could come from the pattern, whose placeholders stand for any text.
bool is_of(std::string_view id, std::string_view pattern) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) {
    return id == pattern;
  }
  if (!id.starts_with(pattern.substr(0, open))) {
    return false;
  }
  pattern.remove_prefix(pattern.find('}') + 1);
  for (id.remove_prefix(open); !id.empty(); id.remove_prefix(1)) {
    if (is_of(id, pattern)) {
      return true;
    }
  }
  return pattern.empty();
}

Json object(const Side& side) {
  const Expected& expected = side.expected;
  auto object = Json::object();
  object["expected"] = expected.value;
  object["relation"] = expected.relation == Relation::equals    ? "equals"
                       : expected.relation == Relation::at_most ? "at most"
                                                                : "at least";
  object["formula_error"] = expected.formula_error;
  object["measured"] = side.measured.value;
  object["error"] = side.measured.error;
  return object;
}

Json object(const Outcome& outcome, const Claim& claim, const Context& context) {
  auto object = Json::object();
  object["source"] = outcome.source.name;
  object["id"] = claim.id;
  object["part"] = claim.part;
  object["place"] = claim.place;
  object["claim"] = claim.claim;
  object["by"] = kWhose.at(claim.is_ours ? 1 : 0);
  object["statement"] = claim.statement;
  object["definition"] = claim.definition;
  object["kind"] = kKinds.at(static_cast<std::size_t>(claim.kind));
  object["formula"] = claim.formula;
  object.update(lab::object(claim.side));
  if (claim.verdict == Verdict::skipped) {
    object["measured"] = Json();
    object["error"] = Json();
  }
  object["unit"] = claim.unit;
  object["tolerance"] = claim.tolerance.relative;
  object["tolerance_absolute"] = claim.tolerance.absolute;
  object["tolerance_reason"] = claim.tolerance.reason;
  object["threshold"] = claim.threshold.value ? Json(*claim.threshold.value) : Json();
  object["threshold_reason"] = claim.threshold.reason;
  object["changes_at"] = changes_at(claim);
  object["margin_reason"] = claim.margin_reason;
  object["condition"] = claim.condition;
  object["condition_by"] = claim.condition.empty() ? "" : kConditionBy.at(static_cast<std::size_t>(claim.condition_by));
  object["otherwise"] = claim.otherwise ? lab::object(*claim.otherwise) : Json();
  object["verdict"] = name(claim.verdict);
  object["reason"] = claim.reason;
  object["recorded_verdict"] = name(claim.recorded);
  object["recorded_basis"] = claim.basis;
  object["as_recorded"] = claim.is_as_recorded();
  object["seed"] = context.seed;
  object["seeds"] = claim.seeds();
  object["flips"] = claim.flips();
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    object["verdicts"][std::string(name(static_cast<Verdict>(i)))] = claim.verdicts.at(i);
  }
  object["command"] = command(outcome, claim, context);
  return object;
}

}  // namespace

struct Words::Rows {
  Json json;

  // Returns null if the part has no such row.
  [[nodiscard]] Json row(const std::string& part, std::string_view id) const {
    for (const Json& row : json["claims"][part]) {
      if (row["id"] == id) {
        return row;
      }
    }
    return {};
  }
};

Words::Words(std::string_view json) : rows_(std::make_unique<const Rows>(Json::parse(json))) {}
Words::~Words() = default;

Claim Words::claim(const std::string& part, const std::string& pattern, const std::string& id) const {
  Json row = rows_->row(part, pattern);
  const Json special = rows_->row(part, id);
  MANKAI_ASSERT(!row.is_null() || !special.is_null());
  row.merge_patch(special.is_null() ? Json::object() : special);
  Claim claim = claim_of(row);
  claim.statement = claim.statement.empty() ? pattern : claim.statement;
  return claim;
}

Figure Words::figure(const std::string& name) const {
  const Json& figures = rows_->json["figures"];
  const auto found = std::ranges::find_if(figures, [&name](const Json& figure) { return figure["name"] == name; });
  MANKAI_ASSERT(found != figures.end());
  return figure_of(*found);
}

std::vector<std::string> Words::ids(const std::string& part) const {
  std::vector<std::string> ids;
  for (const Json& row : rows_->json["claims"][part]) {
    ids.push_back(text(row, "id"));
  }
  return ids;
}

bool Words::may_have(const std::string& part, std::string_view id) const {
  return std::ranges::any_of(rows_->json["claims"][part], [id](const Json& row) { return is_of(id, text(row, "id")); });
}

Source source_from(std::string_view json, std::vector<Part> parts) {
  const Json parsed = Json::parse(json);
  Source source{.name = text(parsed, "name"),
                .title = text(parsed, "title"),
                .origin = text(parsed, "origin"),
                .essay = "",
                .readings = {},
                .words = std::make_shared<const Words>(json),
                .parts = std::move(parts)};
  MANKAI_ASSERT(parsed["claims"].size() == source.parts.size());
  for (const Part& part : source.parts) {
    MANKAI_ASSERT(parsed["claims"].contains(part.title));
  }
  for (const std::string paragraph : parsed["essay"]) {
    source.essay += (source.essay.empty() ? "" : "\n\n") + paragraph;
  }
  for (const Json& reading : parsed["readings"]) {
    source.readings.push_back({text(reading, "question"), text(reading, "answer")});
  }
  return source;
}

Source source_of(std::string_view folder, std::vector<Part> parts) {
  return source_from(words_of(folder), std::move(parts));
}

std::string claims_json(const std::vector<Outcome>& outcomes, const Context& context) {
  auto claims = Json::array();
  for (const Outcome& outcome : outcomes) {
    for (const Claim& claim : outcome.findings.claims()) {
      claims.push_back(object(outcome, claim, context));
    }
  }
  constexpr int kIndent = 2;
  return claims.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mankai::lab
