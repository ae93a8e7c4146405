#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "lab/url_dedup/filters.hpp"
#include "lab/url_dedup/parts.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr const char* kPlace = "False positive analysis";

// One standard deviation of the share of zeros when so many probes fall on the cells.
double zeros_deviation(double probes, double cells) noexcept {
  const double x = probes / cells;
  return std::sqrt((std::exp(-x) - (1 + x) * std::exp(-2 * x)) / cells);
}

struct Point {
  double keys = 0;
  double cells = 0;
  double k = 0;
  double fill = 0;
  Estimate rate{};

  [[nodiscard]] double formula() const noexcept { return std::pow(-std::expm1(-k * keys / cells), k); }
  // How far one array's own rate strays from the formula.
  [[nodiscard]] double deviation() const noexcept {
    return formula() * k * zeros_deviation(k * keys, cells) / -std::expm1(-k * keys / cells);
  }
  [[nodiscard]] Estimate rate_of_any_array() const noexcept {
    return {.value = rate.value, .error = std::hypot(rate.error, deviation())};
  }
};

Result<Point> measure(std::uint64_t keys, std::uint64_t cells, std::uint32_t k, const Context& context) {
  MANKAI_ASSIGN(auto filter, make_bloom(keys, cells, k, context));
  Flat under_test(FlatUrls(std::move(filter)), context.fault);
  const Site site(keys, context.seed);
  under_test.insert(site.members(0, keys));
  const Urls strangers = site.strangers(QueryClass::all_new, keys, keys);
  return Point{.keys = static_cast<double>(keys),
               .cells = static_cast<double>(under_test.filter().cell_count()),
               .k = static_cast<double>(k),
               .fill = under_test.filter().fill_ratio(),
               .rate = under_test.rate(strangers)};
}

void judge_formula(const Point& point, Findings& findings) {
  const double zeros = std::exp(-point.k * point.keys / point.cells);
  findings.judged({.id = "zeros",
                   .place = kPlace,
                   .claim = "A cell is 0 after n insertions with probability (1 - 1/m)^(kn), about e^(-kn/m).",
                   .formula = "e^(-kn/m)",
                   .expected = {.value = zeros},
                   .measured = {.value = 1 - point.fill, .error = zeros_deviation(point.k * point.keys, point.cells)}});
  findings.judged({.id = "bloom-rate",
                   .place = kPlace,
                   .claim = "A lookup of what was not inserted answers present with probability (1 - e^(-kn/m))^k.",
                   .formula = "(1 - e^(-kn/m))^k",
                   .expected = {.value = point.formula()},
                   .measured = point.rate_of_any_array(),
                   .reason = "Of a filter of whole URLs; Algorithms 1 and 2 are another thing."});
}

Result<void> judge_larger(const Point& point, const Context& context, Findings& findings) {
  const auto larger = measure(static_cast<std::uint64_t>(point.keys), 2 * static_cast<std::uint64_t>(point.cells),
                              static_cast<std::uint32_t>(point.k), context);
  if (!larger) {
    return std::unexpected(larger.error());
  }
  findings.judged({.id = "larger-array",
                   .place = kPlace,
                   .claim = "A larger m reduces the false positives.",
                   .formula = "rate with 2m cells / rate with m, at most 1",
                   .expected = {.value = 1, .relation = Relation::at_most},
                   .measured = over(larger->rate_of_any_array(), point.rate_of_any_array()),
                   .reason = fmt::format("By the formula {:.4f}.", larger->formula() / point.formula())});
  return {};
}

Result<void> judge_optimum(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(100'000, 1'000'000);
  const std::uint64_t cells = 10 * keys;
  constexpr std::uint32_t kMost = 14;
  Figure figure{.name = "probes",
                .title = "One Bloom filter of 10 bits a URL over its number of probes",
                .caption = "The line is (1 - e^(-kn/m))^k. Rings: what the cells that are set predict, fill^k.",
                .x = {.label = "probes"},
                .y = {.label = "false positive rate", .is_logarithmic = true},
                .columns = {"k", "fill", "formula", "fill to the k", "measured", "error"}};
  Point best{.rate = {.value = 1}};
  for (std::uint32_t k = 1; k <= kMost; ++k) {
    MANKAI_ASSIGN(const auto point, measure(keys, cells, k, context));
    const double predicted = std::pow(point.fill, k);
    figure.rows.push_back(
        {static_cast<double>(k), point.fill, point.formula(), predicted, point.rate.value, point.rate.error});
    if (best.k == 0 || predicted < std::pow(best.fill, best.k)) {
      best = point;
    }
  }
  figure.series = {{.title = "formula", .x = "k", .y = "formula", .is_line = true},
                   {.title = "measured", .x = "k", .y = "measured", .error = "error"},
                   {.title = "from the fill", .x = "k", .y = "fill to the k", .is_hollow = true}};
  findings.add(std::move(figure));
  findings.judged({.id = "best-probes",
                   .place = kPlace,
                   .claim = "The best number of hash functions is k = m ln 2 / n.",
                   .formula = "(m/n) ln 2 = 6.93, so 7 of the whole numbers",
                   .expected = {.value = static_cast<double>(cells) / static_cast<double>(keys) * std::numbers::ln2,
                                .tolerance = 0.5},
                   .measured = {.value = best.k}});
  findings.judged({.id = "best-fill",
                   .place = kPlace,
                   .claim = "The optimum is where a cell is 0 with probability 1/2.",
                   .formula = "e^(-kn/m) = 1/2, up to the rounding of k",
                   .expected = {.value = 0.5, .tolerance = 0.01},
                   .measured = {.value = 1 - best.fill}});
  return {};
}

Result<void> judge_cost(const Context& context, Findings& findings) {
  const auto small = make_bloom(1000, 6250, kRepository.k, context);
  const auto large = make_bloom(1'000'000, 6'250'000, kRepository.k, context);
  if (!small || !large) {
    return fail(ErrorCode::out_of_space, "no memory for a Bloom filter of a million URLs");
  }
  findings.judged({.id = "probes-do-not-grow",
                   .place = kPlace,
                   .claim = "Insertion and query take O(k), whatever the number of URLs.",
                   .formula = "probes with 10^6 URLs / probes with 10^3",
                   .expected = {.value = 1},
                   .measured = {.value = static_cast<double>(large->probes_per_key()) / small->probes_per_key()},
                   .reason = "In cells; beyond the caches each takes longer."});
  findings.judged({.id = "space-is-m",
                   .place = kPlace,
                   .claim = "A Bloom filter is a bit array of size m: O(m) space.",
                   .formula = "bytes times 8 / m",
                   .expected = {.value = 1, .tolerance = 0.001},
                   .measured = {.value = static_cast<double>(large->cells_bytes() * 8) /
                                         static_cast<double>(large->cell_count())}});
  return {};
}

}  // namespace

Result<void> measure_bloom(const Context& context, Findings& findings) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 23);
  MANKAI_ASSIGN(const auto point, measure(keys_for(cells, kRepository), cells, kRepository.k, context));
  judge_formula(point, findings);
  MANKAI_TRY(judge_larger(point, context, findings));
  MANKAI_TRY(judge_optimum(context, findings));
  return judge_cost(context, findings);
}

}  // namespace mankai::lab::dedup
