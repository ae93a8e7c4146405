#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/parts.hpp"
#include "lab/url_dedup/algorithms.hpp"
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
  Estimate bloom, faithful, repaired, segments;
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
  findings.judged({"printed-rate-{}", id, words}, equals(printed), rates.faithful);
  if (query != QueryClass::all_new) {  // whose corrected rate no number of trials tells from 0
    findings.judged({"corrected-rate-{}", id, words}, equals(corrected_rate(field.faithful.filter(), query)),
                    rates.faithful);
    findings.judged({"repaired-rate-{}", id, words}, equals(corrected_rate(field.repaired.filter(), query)),
                    rates.repaired);
  }
  if (query != QueryClass::all_new && query != QueryClass::new_last) {  // whose rates are far lower
    findings.judged({"repaired-keeps-the-target-{}", id, words}, at_most(kRepository.fpr), rates.repaired);
  }
  findings.judged(
      {"algorithms-1-2-{}", id, words},
      equals(printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k, 1)),
      rates.segments);
}

void judge_conclusions(const UrlField& field, const std::map<QueryClass, Rates>& rates, Findings& findings) {
  std::vector<Estimate> with_new;
  std::vector<Estimate> all_known;
  for (const auto& [query, measured] : rates) {
    const bool has_new = query == QueryClass::all_new || query == QueryClass::new_last;
    (has_new ? with_new : all_known).push_back(over(measured.faithful, measured.bloom));
  }
  const Expected less = at_most(findings.threshold("less-than-bloom"));
  findings.depends("less-than-bloom",
                   {.expected = less, .measured = *std::ranges::max_element(with_new, {}, &Estimate::value)},
                   {.expected = less, .measured = *std::ranges::min_element(all_known, {}, &Estimate::value)});
  const Rates& new_last = rates.at(QueryClass::new_last);
  const Estimate in_their_test = over(new_last.faithful, new_last.bloom);
  for (const char* const id : {"far-fewer-in-their-test", "most-effective"}) {
    findings.judged(id, at_most(findings.threshold(id)), in_their_test);
  }
  findings.judged("extra-array-lowers-recombination", at_most(findings.threshold("extra-array-lowers-recombination")),
                  rates.at(QueryClass::recombined).faithful);
  findings.judged("most-effective-in-equal-bits", at_most(field.equal.filter().fpr_estimate()), new_last.faithful);
}

// Where the printed formula's assumptions hold: two layers of n different segments each, and absent keys that share
// none.
void judge_assumptions(const Context& context, Findings& findings) {
  constexpr std::size_t kLayers = 2;
  const Pages pages(context.trials(200'000, 2'000'000), kLayers, context.seed);
  const ArrayShape shape = ArrayShape::of(pages.half(), kRepository.fpr, context);
  const auto without_host = [&pages](bool is_second_half) {
    Urls urls;
    for (std::uint64_t i = 0; i < pages.half(); ++i) {
      urls.add(std::span<const Digest>(pages.url(is_second_half, i)).last(kLayers));
    }
    return urls;
  };
  Layers layered(LayeredAlgorithm(shape), context.fault);
  layered.insert(without_host(false));
  const Urls absent_keys = without_host(true);
  const double printed = std::pow(shape.expected_rate(pages.half()), kLayers);
  const auto in_layers = [&](std::uint64_t i) { return layered.filter().layers_contain(absent_keys[i]); };
  findings.judged("assumptions-layers-alone", equals(printed),
                  share(count_of(0, absent_keys.size(), in_layers), absent_keys.size()));
  findings.judged("assumptions-with-last-array", equals(printed), layered.rate(absent_keys));
}

Result<void> judge_space(const UrlField& field, const Urls& members, const Context& context, Findings& findings) {
  CountedMemory of_bloom;
  CountedMemory of_layers;
  MANKAI_ASSIGN(const auto bloom, make_bloom(field.keys, field.cells, kRepository.k, context, of_bloom.memory()));
  MANKAI_ASSIGN(auto layered,
                make_layered(field.keys, kRepository.fpr, UrlLayering::faithful, context, of_layers.memory()));
  layered.insert(members);
  findings.judged("takes-more-space", equals(Site::kLevels + 1),
                  exact(static_cast<double>(of_layers.bytes()) / static_cast<double>(of_bloom.bytes())));
  return {};
}

struct Cost {
  double insert = 0;
  double hit = 0;
  double miss = 0;  ///< a new last segment
  double all_new = 0;
};

template <class UnderTest>
Cost cells_touched(UnderTest filter, const Urls& members, const Urls& new_last, const Urls& all_new) {
  std::uint64_t before = 0;
  const auto touched_by = [&](const Urls& urls) {
    const std::uint64_t touched = filter.filter().touched();
    return static_cast<double>(touched - std::exchange(before, touched)) / static_cast<double>(urls.size());
  };
  const auto asked = [&](const Urls& urls) {
    static_cast<void>(filter.count_yes(urls));
    return touched_by(urls);
  };
  filter.insert(members);
  Cost cost;
  cost.insert = touched_by(members);
  cost.hit = asked(members);
  cost.miss = asked(new_last);
  cost.all_new = asked(all_new);
  return cost;
}

// "The same time" and "more time", in cells that the program's algorithms touch.
void judge_work(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(100'000, 1'000'000);
  const ArrayShape shape = ArrayShape::of(keys, kRepository.fpr, context);
  const Site site(keys, context.seed);
  const Urls members = site.members(0, keys);
  const Urls new_last = site.absent_keys(QueryClass::new_last, keys, keys);
  const Urls all_new = site.absent_keys(QueryClass::all_new, keys, keys);
  const Cost classic = cells_touched(Classic(ClassicAlgorithm(shape), context.fault), members, new_last, all_new);
  const Cost layered = cells_touched(Layers(LayeredAlgorithm(shape), context.fault), members, new_last, all_new);
  const auto judge = [&](const char* id, const char* what, double one, double other) {
    findings.judged({"same-work-{}", id, what, one, other}, equals(1), exact(other / one));
    findings.judged({"more-work-{}", id, what, one, other}, at_least(findings.threshold("more-work-{}")),
                    exact(other / one));
  };
  judge("insert", "an insertion", classic.insert, layered.insert);
  judge("hit", "a query for a member", classic.hit, layered.hit);
  judge("miss", "a query for an absent page in a known directory", classic.miss, layered.miss);
  judge("all-new", "a query for a URL of an unknown host", classic.all_new, layered.all_new);
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
  std::map<QueryClass, Rates> rates_of_classes;
  double number = 0;
  for (const QueryClass query : kQueryClasses) {
    // Three standard errors of no hits are 2.7e-6: the printed rate, 6e-6, is told from 0 with a tolerance of half.
    constexpr std::uint64_t kMany = 2'400'000;
    const std::uint64_t asked = query == QueryClass::all_new ? std::max(field.keys, kMany) : field.keys;
    const Urls absent_keys = site.absent_keys(query, field.keys, asked);
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
                      .segments = in_order[kSegments]};
    judge_class(field, query, rates, findings);
    rates_of_classes.emplace(query, rates);
  }
  judge_conclusions(field, rates_of_classes, findings);
  judge_assumptions(context, findings);
  judge_work(context, findings);
  findings.add(std::move(figure));
  return judge_space(field, members, context, findings);
}

}  // namespace mankai::lab::dedup
