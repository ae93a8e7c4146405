#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "lab/parts.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

/// The conference paper's maximum of URLs, and its cells per array.
constexpr double kPaperKeys = 3'500'000;
constexpr double kPaperCells = 16'829'152;
/// Its steps, as shares of the maximum.
constexpr std::array<double, 6> kSteps = {1 / 3.5, 1.5 / 3.5, 2 / 3.5, 2.5 / 3.5, 3 / 3.5, 1};

struct Race {
  Flat bloom;
  Layered faithful;
  Layered repaired;
  Flat equal;
};

Result<Race> make_race(std::uint64_t keys, std::uint64_t cells, const Context& context) {
  MANKAI_ASSIGN(auto bloom, make_urls<Flat>(keys, cells, kConference.k, context));
  MANKAI_ASSIGN(auto faithful, make_layered(keys, kConference.fpr, UrlLayering::faithful, context));
  MANKAI_ASSIGN(auto repaired, make_layered(keys, kConference.fpr, UrlLayering::repaired, context));
  MANKAI_ASSIGN(auto equal, make_urls<Flat>(keys, cells * (Site::kLevels + 1), 0, context));
  return Race{.bloom = std::move(bloom),
              .faithful = std::move(faithful),
              .repaired = std::move(repaired),
              .equal = std::move(equal)};
}

void judge_sizing(Findings& findings) {
  const double log_of_2 = std::log(2.0);
  const double cells = -kPaperKeys * std::log(kConference.fpr) / (log_of_2 * log_of_2);
  findings.judged("conference-size", equals(kPaperCells), exact(cells));
  findings.judged("conference-probes", equals(3), exact(std::floor(cells / kPaperKeys * log_of_2)));
}

void add_rows(double n, const Race& race, QueryClass query, const Urls& absent_keys, double cells, Figure& figure) {
  const auto add = [&](const char* name, const Estimate& rate, double formula) {
    figure.rows.push_back(
        {n, name, shown(query), rate.value, rate.error, formula, printed_rate(n, cells, kConference.k, Site::kLevels)});
  };
  add("one Bloom filter", race.bloom.rate(absent_keys), race.bloom.filter().fpr_estimate());
  add("multi-layer, faithful", race.faithful.rate(absent_keys), corrected_rate(race.faithful.filter(), query));
  add("multi-layer, repaired", race.repaired.rate(absent_keys), corrected_rate(race.repaired.filter(), query));
  add("Bloom of equal total bits", race.equal.rate(absent_keys), race.equal.filter().fpr_estimate());
}

struct Queries {
  Urls new_last{};
  Urls recombined{};
  Urls many_new_last{};  ///< for rare false positives
};

void judge_step(double step, double n, double cells, const Race& race, const Queries& queries, Findings& findings) {
  const std::string millions = fmt::format("{:.1f}", step * kPaperKeys / 1e6);
  const std::string id = fmt::format("{:.0f}", step * kPaperKeys / 1e5);
  const double bloom = printed_rate(n, cells, kConference.k, 1);
  const Estimate layered = race.faithful.rate(queries.many_new_last);
  findings.judged({"bloom-at-{}", id, millions}, equals(bloom),
                  widened(race.bloom.rate(queries.new_last), array_deviation(n, cells, kConference.k)));
  findings.judged({"multi-layer-at-{}", id, millions}, equals(printed_rate(n, cells, kConference.k, Site::kLevels)),
                  layered);
  findings.judged({"multi-layer-corrected-at-{}", id, millions},
                  equals(corrected_rate(race.faithful.filter(), QueryClass::new_last)), layered);
  findings.judged({"recombined-at-{}", id, millions},
                  equals(corrected_rate(race.faithful.filter(), QueryClass::recombined)),
                  race.faithful.rate(queries.recombined));
}

}  // namespace

Result<void> measure_growth(const Context& context, Findings& findings) {
  judge_sizing(findings);
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 24);
  const std::uint64_t keys = keys_for(cells, kConference);
  MANKAI_ASSIGN(auto race, make_race(keys, cells, context));
  const Site site(keys, context.seed);
  Figure figure = findings.figure("number-of-urls");
  std::uint64_t inserted = 0;
  for (const double step : kSteps) {
    const auto target = static_cast<std::uint64_t>(std::llround(step * static_cast<double>(keys)));
    const Urls more = site.members(inserted, target);
    race.bloom.insert(more);
    race.faithful.insert(more);
    race.repaired.insert(more);
    race.equal.insert(more);
    inserted = target;
    // False positives of the multi-layer filter are rare at first: 2 in 100,000 at the first step.
    constexpr double kMany = 0.5;
    const std::uint64_t asked = context.trials(200'000, 1'000'000);
    const std::uint64_t asked_of_layers = step < kMany ? context.trials(2'000'000, 4'000'000) : asked;
    const Queries queries{.new_last = site.absent_keys(QueryClass::new_last, inserted, asked),
                          .recombined = site.absent_keys(QueryClass::recombined, inserted, asked),
                          .many_new_last = site.absent_keys(QueryClass::new_last, inserted, asked_of_layers)};
    const auto n = static_cast<double>(inserted);
    add_rows(n, race, QueryClass::new_last, queries.new_last, static_cast<double>(cells), figure);
    add_rows(n, race, QueryClass::recombined, queries.recombined, static_cast<double>(cells), figure);
    judge_step(step, n, static_cast<double>(cells), race, queries, findings);
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::dedup
