#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lab/url_dedup/filters.hpp"
#include "lab/url_dedup/parts.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr const char* kIntroduction = "Multi layer bloom filter introduction";
constexpr const char* kAnalysis = "Analysis";
constexpr const char* kResults = "Experiment and Results";
constexpr const char* kConclusion = "Conclusion";

// Every filter, with the same URLs in it.
struct Field {
  std::uint64_t keys;
  std::uint64_t cells;  ///< of one array
  Flat bloom;           ///< so many cells
  Layered faithful;     ///< so many cells an array
  Layered repaired;     ///< of the same rate
  Layered squeezed;     ///< repaired, all arrays together in so many cells
  Flat equal;           ///< the cells of all arrays of the faithful one, and the best number of probes
  Flat equal_few;       ///< the same cells, 7 probes
  Segments segments;    ///< Algorithms 1 and 2 in so many cells
};

Result<Field> make_field(const Context& context) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(21, 24);
  const std::uint64_t keys = keys_for(cells, kRepository);
  constexpr std::uint32_t kFewProbes = 7;
  constexpr std::uint64_t kArrays = Site::kLevels + 1;
  // The rate of an array of a fifth of the bits, at its best number of probes.
  const double squeezed_rate = std::pow(kRepository.fpr, 1.0 / kArrays);
  auto bloom = make_bloom(keys, cells, kRepository.k, context);
  auto faithful = make_layered(keys, kRepository.fpr, UrlLayering::faithful, context);
  auto repaired = make_layered(keys, kRepository.fpr, UrlLayering::repaired, context);
  auto squeezed = make_layered(keys, squeezed_rate, UrlLayering::repaired, context);
  auto equal = make_bloom(keys, cells * kArrays, 0, context);
  auto equal_few = make_bloom(keys, cells * kArrays, kFewProbes, context);
  auto segments = make_bloom(keys, cells, kRepository.k, context);
  if (!bloom || !faithful || !repaired || !squeezed || !equal || !equal_few || !segments) {
    return fail(ErrorCode::out_of_space, "no memory for the filters of one table");
  }
  MANKAI_ASSERT(faithful->filter().params().cell_count == cells && faithful->filter().params().k == kRepository.k);
  return Field{.keys = keys,
               .cells = cells,
               .bloom = {FlatUrls(std::move(*bloom)), context.fault},
               .faithful = std::move(*faithful),
               .repaired = std::move(*repaired),
               .squeezed = std::move(*squeezed),
               .equal = {FlatUrls(std::move(*equal)), context.fault},
               .equal_few = {FlatUrls(std::move(*equal_few)), context.fault},
               .segments = {SegmentsInOneFilter(std::move(*segments)), context.fault}};
}

// Places in the order of for_each_filter.
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

void judge_members(const Field& field, const Urls& members, Findings& findings) {
  const auto judge = [&](const char* id, const char* place, const char* claim, std::uint64_t missed) {
    findings.judged({.id = id,
                     .place = place,
                     .claim = claim,
                     .formula = "no false negatives, so members that are denied = 0",
                     .unit = "URLs",
                     .expected = {.value = 0},
                     .measured = {.value = static_cast<double>(missed)},
                     .reason = fmt::format("{} members, each asked once.", members.size())});
  };
  judge("bloom-denies-no-member", "Bloom filter & analysis",
        "If a value is not in the Bloom filter, it was definitely not visited.", field.bloom.count_missed(members));
  judge("multi-layer-denies-no-member", kIntroduction,
        "A URL of which a segment is not at its layer was not inserted (faithful).",
        field.faithful.count_missed(members));
  judge("repaired-denies-no-member", kIntroduction, "The same of the repaired filter.",
        field.repaired.count_missed(members));
  judge("algorithms-1-2-deny-no-member", "Algorithm 2", "A URL that was inserted is found, segment by segment.",
        field.segments.count_missed(members));
}

// What is wrong with the printed rate for a class, where it is.
std::string why_refuted(QueryClass query) {
  switch (query) {
    case QueryClass::all_new: return "";
    case QueryClass::new_last:
      return "The directories are known, so only the last level and the last array can say no: f_L f_x, not f^L.";
    case QueryClass::recombined:
    case QueryClass::prefix: return "Every segment is known at its level, so only the last array can say no: f_x.";
    case QueryClass::swapped: return "XOR forgets the order, so the cells of the last array are a member's: 1.";
    case QueryClass::cancelled:
      return "XOR of a segment with itself is 0 whichever it is, so the cells of the last array are a member's: 1.";
  }
  return "";
}

void judge_class(const Field& field, QueryClass query, const Rates& rates, Findings& findings) {
  const std::string words(shown(query));
  const std::string id(id_of(query));
  const double printed =
      printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k, Site::kLevels);
  findings.judged(
      {.id = "printed-rate-" + id,
       .place = kAnalysis,
       .claim = "The multi-layer filter's false positive rate is the product of the layers' rates: " + words + ".",
       .formula = "printed: (1 - e^(-kn/m))^(kL) with L = 4",
       .expected = {.value = printed, .relation = Relation::at_most},
       .measured = rates.faithful,
       .recorded = query == QueryClass::all_new ? Verdict::reproduced : Verdict::refuted,
       .basis = why_refuted(query),
       .reason = query == QueryClass::all_new
                     ? "An upper bound here: level 1 holds hosts, of which there are few, so it is nearly empty."
                     : ""});
  findings.judged(
      {.id = "corrected-rate-" + id,
       .place = kAnalysis,
       .claim = "Corrected: only the arrays that do not know their part can say no: " + words + " (faithful).",
       .formula = "product of fill^k over the levels that do not know their segment, times fill^k of the "
                  "last array unless its cells are a member's",
       .expected = {.value = corrected_rate(field.faithful.filter(), query)},
       .measured = rates.faithful});
  findings.judged({.id = "repaired-rate-" + id,
                   .place = kAnalysis,
                   .claim = "Repaired, the same formula holds without exceptions: " + words + ".",
                   .formula = "as corrected, and the last array's cells are never a member's",
                   .expected = {.value = corrected_rate(field.repaired.filter(), query)},
                   .measured = rates.repaired});
  findings.judged({.id = "repaired-keeps-the-target-" + id,
                   .place = kAnalysis,
                   .claim = "Repaired, the rate stays within a tenth of the nominal one: " + words + ".",
                   .formula = "1.1 p",
                   .expected = {.value = 1.1 * kRepository.fpr, .relation = Relation::at_most},
                   .measured = rates.repaired});
  const bool is_less = query == QueryClass::all_new || query == QueryClass::new_last;
  findings.judged(
      {.id = "less-than-bloom-" + id,
       .place = kAnalysis,
       .claim = "The false positive rate of the multi-layer filter is less than a classic one's: " + words + ".",
       .formula = "rate of the multi-layer filter / rate of one Bloom filter of m bits, at most 1/2 to count",
       .expected = {.value = 0.5, .relation = Relation::at_most},
       .measured = over(rates.faithful, rates.bloom),
       .recorded = is_less ? Verdict::reproduced : Verdict::refuted,
       .basis = is_less ? "" : "f_x or 1 against f: no better than one of its five arrays.",
       .reason = is_less ? "With five times the bits." : ""});
}

void judge_algorithms(const Field& field, QueryClass query, const Rates& rates, Findings& findings) {
  const double formula =
      printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells), kRepository.k, 1);
  if (query == QueryClass::recombined || query == QueryClass::prefix) {
    findings.judged({.id = "algorithms-1-2-" + std::string(id_of(query)),
                     .place = "Algorithm 2; False positive analysis",
                     .claim = "LOOKUP answers present for a URL that was not inserted with probability "
                              "(1 - e^(-kn/m))^k: " +
                              std::string(shown(query)) + ".",
                     .formula = "(1 - e^(-kn/m))^k with n URLs",
                     .expected = {.value = formula, .relation = Relation::at_most},
                     .measured = rates.segments,
                     .recorded = Verdict::refuted,
                     .basis =
                         "The printed algorithms insert the segments one by one: whatever consists of seen segments "
                         "is present.",
                     .reason = "The program's own baseline hashes the whole URL; this one exists on paper, and here."});
  }
}

void judge_conclusions(const Field& field, const Rates& new_last, const Rates& recombined, Findings& findings) {
  findings.judged({.id = "far-fewer-in-their-test",
                   .place = kResults,
                   .claim = "The false positives of the multi-layer filter are far fewer than the Bloom filter's.",
                   .formula = "their test, an identifier appended to the URL: at most a tenth",
                   .expected = {.value = 0.1, .relation = Relation::at_most},
                   .measured = over(new_last.faithful, new_last.bloom),
                   .reason = "Holds for this class of absent keys, with five times the bits."});
  findings.judged({.id = "extra-array-solves-recombination",
                   .place = kIntroduction,
                   .claim = "The extra array solves the problem that recombined URLs are accepted.",
                   .formula = "then their rate would be the printed one, f^L",
                   .expected = {.value = printed_rate(static_cast<double>(field.keys), static_cast<double>(field.cells),
                                                      kRepository.k, Site::kLevels),
                                .relation = Relation::at_most},
                   .measured = recombined.faithful,
                   .recorded = Verdict::refuted,
                   .basis = "It lowers their rate from 1 to f_x, that of one Bloom filter of m bits.",
                   .reason = ""});
  findings.judged(
      {.id = "most-effective",
       .place = kConclusion,
       .claim = "Having the fewest false positives, the multi-layer filter is the most effective.",
       .formula = "its rate in its own test is at most that of one Bloom filter with as many bits in all",
       .expected = {.value = new_last.equal.value + 3 * new_last.equal.error, .relation = Relation::at_most},
       .measured = new_last.faithful,
       .recorded = Verdict::refuted,
       .basis = "31 bits a URL in one array give f = 3e-7, in five arrays f_L f_x = 2.5e-3.",
       .reason = "One filter of equal bits is better on every class but that of all segments new."});
  findings.judged({.id = "takes-more-space",
                   .place = kConclusion,
                   .claim = "The multi-layer filter takes more space than a classic one.",
                   .formula = "L + 1 arrays of m bits",
                   .unit = "times",
                   .expected = {.value = Site::kLevels + 1, .tolerance = 0.02},
                   .measured = {.value = static_cast<double>(field.faithful.filter().cell_count()) /
                                         static_cast<double>(field.bloom.filter().cell_count())}});
  findings.judged(
      {.id = "same-work",
       .place = kConclusion,
       .claim = "Both filters take the same time for insertion and for query.",
       .formula = "cells that a member's query looks at, over those of one Bloom filter: the same would be 1",
       .unit = "times",
       .expected = {.value = 1},
       .measured = {.value = static_cast<double>(field.faithful.filter().probes_per_key()) /
                             field.bloom.filter().probes_per_key()},
       .recorded = Verdict::refuted,
       .basis = "(L + 1) k cells instead of k. The results section itself says that it takes longer.",
       .reason = "In cells; the nanoseconds are in the figures of time."});
  findings.judged({.id = "more-work",
                   .place = kResults,
                   .claim = "Query and insertion take longer in the multi-layer filter, which has more hash functions.",
                   .formula = "L + 1 times the cells",
                   .unit = "times",
                   .expected = {.value = Site::kLevels + 1},
                   .measured = {.value = static_cast<double>(field.faithful.filter().probes_per_key()) /
                                         field.bloom.filter().probes_per_key()}});
}

Figure empty_figure() {
  return {.name = "classes",
          .title = "False positives per class of absent keys",
          .caption =
              "1: all segments new, 2: seen directories and a new last segment (the source's test), 3: "
              "recombined, 4: proper prefix, 5: swapped levels, 6: canceled repeats. Lines are the printed "
              "formula. What is not drawn was never hit.",
          .x = {.label = "class of absent keys"},
          .y = {.label = "false positive rate", .is_logarithmic = true},
          .columns = {"class", "number", "filter", "bits per URL", "measured", "error", "corrected formula",
                      "printed formula", "strangers"}};
}

}  // namespace

Result<void> measure_classes(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto field, make_field(context));
  const Site site(field.keys, context.seed);
  const Urls members = site.members(0, field.keys);
  Figure figure = empty_figure();
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
    const Urls strangers = site.strangers(query, field.keys, field.keys);
    ++number;
    std::vector<Estimate> in_order;
    for_each_filter(field, [&](const std::string& name, const auto& filter) {
      const Estimate rate = in_order.emplace_back(filter.rate(strangers));
      double corrected = std::numeric_limits<double>::quiet_NaN();
      if constexpr (requires { corrected_rate(filter.filter(), query); }) {
        corrected = corrected_rate(filter.filter(), query);
      }
      figure.rows.push_back({std::string(shown(query)), number, name,
                             static_cast<double>(filter.filter().cell_count()) / static_cast<double>(field.keys),
                             rate.value, rate.error, corrected, printed, static_cast<double>(strangers.size())});
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
