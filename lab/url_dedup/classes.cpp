#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lab/parts.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab::dedup {
namespace {

struct UrlField {
  std::uint64_t keys;
  std::uint64_t cells;  ///< of one array
  Flat bloom;           ///< with `cells` cells
  Layered faithful;     ///< with `cells` cells per array
  Layered repaired;     ///< with the same rate
  Layered squeezed;     ///< repaired, with `cells` cells in all arrays together
  Flat equal;           ///< with the cells of all arrays of the faithful one, and the best number of probes
  Flat equal_few;       ///< the same cells, 7 probes
  Segments segments;    ///< Algorithms 1 and 2 with `cells` cells
};

Result<UrlField> make_field(const Context& context) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(21, 24);
  const std::uint64_t keys = keys_for(cells, kRepository);
  constexpr std::uint32_t kFewProbes = 7;
  constexpr std::uint64_t kArrays = Site::kLevels + 1;
  // The rate of an array with a fifth of the bits, at its best number of probes.
  const double squeezed_rate = std::pow(kRepository.fpr, 1.0 / kArrays);
  MANKAI_ASSIGN(auto bloom, make_urls<Flat>(keys, cells, kRepository.k, context));
  MANKAI_ASSIGN(auto faithful, make_layered(keys, kRepository.fpr, UrlLayering::faithful, context));
  MANKAI_ASSIGN(auto repaired, make_layered(keys, kRepository.fpr, UrlLayering::repaired, context));
  MANKAI_ASSIGN(auto squeezed, make_layered(keys, squeezed_rate, UrlLayering::repaired, context));
  MANKAI_ASSIGN(auto equal, make_urls<Flat>(keys, cells * kArrays, 0, context));
  MANKAI_ASSIGN(auto equal_few, make_urls<Flat>(keys, cells * kArrays, kFewProbes, context));
  MANKAI_ASSIGN(auto segments, make_urls<Segments>(keys, cells, kRepository.k, context));
  MANKAI_ASSERT(faithful.filter().params().cell_count == cells && faithful.filter().params().k == kRepository.k);
  return UrlField{.keys = keys,
                  .cells = cells,
                  .bloom = std::move(bloom),
                  .faithful = std::move(faithful),
                  .repaired = std::move(repaired),
                  .squeezed = std::move(squeezed),
                  .equal = std::move(equal),
                  .equal_few = std::move(equal_few),
                  .segments = std::move(segments)};
}

constexpr std::size_t kBloom = 0;
constexpr std::size_t kFaithful = 1;
constexpr std::size_t kRepaired = 2;
constexpr std::size_t kEqual = 4;
constexpr std::size_t kSegments = 6;

template <class FieldLike, class Visit>
void for_each_filter(FieldLike& field, const Visit& visit) {
  visit("one Bloom filter", field.bloom);
  visit("multi-layer, faithful", field.faithful);
  visit("multi-layer, repaired", field.repaired);
  visit("multi-layer, repaired, in the bits of one Bloom filter", field.squeezed);
  visit("Bloom of equal total bits", field.equal);
  visit("Bloom of equal total bits, 7 probes", field.equal_few);
  visit("segments in one filter (Algorithms 1 and 2)", field.segments);
}

struct Rates {
  Estimate bloom, faithful, repaired, equal, segments;
};

void judge_members(const UrlField& field, const Urls& members, Findings& findings) {
  findings.judged({"bloom-denies-no-member", members.size()}, equals(0), exact(field.bloom.count_missed(members)));
  findings.judged({"multi-layer-denies-no-member", members.size()}, equals(0),
                  exact(field.faithful.count_missed(members)));
  findings.judged({"repaired-denies-no-member", members.size()}, equals(0),
                  exact(field.repaired.count_missed(members)));
  findings.judged({"algorithms-1-2-deny-no-member", members.size()}, equals(0),
                  exact(field.segments.count_missed(members)));
}

void judge_class(const UrlField& field, QueryClass query, const Rates& rates, Findings& findings) {
  const std::string words(shown(query));
  const std::string id(id_of(query));
  const double printed =
      printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k, Site::kLevels);
  findings.judged("printed-rate-" + id, at_most(printed), rates.faithful);
  findings.judged({"corrected-rate-{}", id, words}, equals(corrected_rate(field.faithful.filter(), query)),
                  rates.faithful);
  findings.judged({"repaired-rate-{}", id, words}, equals(corrected_rate(field.repaired.filter(), query)),
                  rates.repaired);
  findings.judged({"repaired-keeps-the-target-{}", id, words}, at_most(1.1 * kRepository.fpr), rates.repaired);
  findings.judged("less-than-bloom-" + id, at_most(0.5), over(rates.faithful, rates.bloom));
}

void judge_algorithms(const UrlField& field, QueryClass query, const Rates& rates, Findings& findings) {
  const double formula =
      printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k, 1);
  if (query == QueryClass::recombined || query == QueryClass::prefix) {
    findings.judged({"algorithms-1-2-{}", std::string(id_of(query)), std::string(shown(query))}, at_most(formula),
                    rates.segments);
  }
}

void judge_conclusions(const UrlField& field, const Rates& new_last, const Rates& recombined, Findings& findings) {
  findings.judged("far-fewer-in-their-test", at_most(0.1), over(new_last.faithful, new_last.bloom));
  findings.judged("extra-array-solves-recombination",
                  at_most(printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k,
                                       Site::kLevels)),
                  recombined.faithful);
  findings.judged("most-effective", at_most(new_last.equal.value + 3 * new_last.equal.error), new_last.faithful);
  findings.judged("takes-more-space", equals(Site::kLevels + 1),
                  exact(static_cast<double>(field.faithful.filter().cell_count()) /
                        static_cast<double>(field.bloom.filter().cell_count())));
  findings.judged(
      "same-work", equals(1),
      exact(static_cast<double>(field.faithful.filter().probes_per_key()) / field.bloom.filter().probes_per_key()));
  findings.judged(
      "more-work", equals(Site::kLevels + 1),
      exact(static_cast<double>(field.faithful.filter().probes_per_key()) / field.bloom.filter().probes_per_key()));
}

}  // namespace

Result<void> measure_classes(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto field, make_field(context));
  const Site site(field.keys, context.seed);
  const Urls members = site.members(0, field.keys);
  Figure figure = findings.figure("classes");
  for_each_filter(field, [&](const std::string& name, auto& filter) {
    filter.insert(members);
    figure.series.push_back(
        {.title = name, .x = "number", .y = "measured", .error = "error", .only = {{"filter", name}}});
  });
  figure.series.push_back({.title = "printed formula",
                           .x = "number",
                           .y = "printed formula",
                           .is_line = true,
                           .only = {{"filter", "multi-layer, faithful"}}});
  judge_members(field, members, findings);
  const double printed =
      printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k, Site::kLevels);
  Rates new_last;
  Rates recombined;
  double number = 0;
  for (const QueryClass query : kQueryClasses) {
    const Urls absent_keys = site.absent_keys(query, field.keys, field.keys);
    ++number;
    std::vector<Estimate> in_order;
    for_each_filter(field, [&](const std::string& name, const auto& filter) {
      const Estimate rate = in_order.emplace_back(filter.rate(absent_keys));
      double corrected = std::numeric_limits<double>::quiet_NaN();
      if constexpr (requires { corrected_rate(filter.filter(), query); }) {
        corrected = corrected_rate(filter.filter(), query);
      }
      figure.rows.push_back({shown(query), number, name,
                             static_cast<double>(filter.filter().cell_count()) / static_cast<double>(field.keys),
                             rate.value, rate.error, corrected, printed, absent_keys.size()});
    });
    const Rates rates{.bloom = in_order[kBloom],
                      .faithful = in_order[kFaithful],
                      .repaired = in_order[kRepaired],
                      .equal = in_order[kEqual],
                      .segments = in_order[kSegments]};
    judge_class(field, query, rates, findings);
    judge_algorithms(field, query, rates, findings);
    new_last = query == QueryClass::new_last ? rates : new_last;
    recombined = query == QueryClass::recombined ? rates : recombined;
  }
  judge_conclusions(field, new_last, recombined, findings);
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::dedup
