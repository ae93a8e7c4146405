#include <cmath>
#include <numbers>

#include "lab/parts.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

struct Point {
  double keys = 0;
  double cells = 0;
  double k = 0;
  double fill = 0;
  Estimate rate{};

  [[nodiscard]] double formula() const noexcept { return std::pow(-std::expm1(-k * keys / cells), k); }
  // Standard deviation of one array's rate from the formula.
  [[nodiscard]] double deviation() const noexcept {
    return formula() * k * fill_deviation(k * keys / cells, cells) / -std::expm1(-k * keys / cells);
  }
  [[nodiscard]] Estimate rate_of_any_array() const noexcept { return widened(rate, deviation()); }
};

Result<Point> measure(std::uint64_t keys, std::uint64_t cells, std::uint32_t k, const Context& context) {
  MANKAI_ASSIGN(auto filter, make_bloom(keys, cells, k, context));
  Flat under_test(FlatUrls(std::move(filter)), context.fault);
  const Site site(keys, context.seed);
  under_test.insert(site.members(0, keys));
  const Urls absent_keys = site.absent_keys(QueryClass::all_new, keys, keys);
  return Point{.keys = static_cast<double>(keys),
               .cells = static_cast<double>(under_test.filter().cell_count()),
               .k = static_cast<double>(k),
               .fill = under_test.filter().fill_ratio(),
               .rate = under_test.rate(absent_keys)};
}

void judge_formula(const Point& point, Findings& findings) {
  const double zeros = std::exp(-point.k * point.keys / point.cells);
  findings.judged(
      "zeros", equals(zeros),
      Estimate{.value = 1 - point.fill, .error = fill_deviation(point.k * point.keys / point.cells, point.cells)});
  findings.judged("bloom-rate", equals(point.formula()), point.rate_of_any_array());
}

Result<void> judge_larger(const Point& point, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto larger,
                measure(static_cast<std::uint64_t>(point.keys), 2 * static_cast<std::uint64_t>(point.cells),
                        static_cast<std::uint32_t>(point.k), context));
  findings.judged({"larger-array", larger.formula() / point.formula()}, at_most(1),
                  over(larger.rate_of_any_array(), point.rate_of_any_array()));
  return {};
}

Result<void> judge_optimum(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(100'000, 1'000'000);
  const std::uint64_t cells = 10 * keys;
  constexpr std::uint32_t kMost = 14;
  Figure figure = findings.figure("probes");
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
  findings.add(std::move(figure));
  findings.judged("best-probes", equals(static_cast<double>(cells) / static_cast<double>(keys) * std::numbers::ln2),
                  exact(best.k));
  findings.judged("best-fill", equals(0.5), exact(1 - best.fill));
  return {};
}

Result<void> judge_cost(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto small, make_bloom(1000, 6250, kRepository.k, context));
  MANKAI_ASSIGN(const auto large, make_bloom(1'000'000, 6'250'000, kRepository.k, context));
  findings.judged("probes-do-not-grow", equals(1),
                  exact(static_cast<double>(large.probes_per_key()) / small.probes_per_key()));
  findings.judged("space-is-m", equals(1),
                  exact(static_cast<double>(large.cells_bytes() * 8) / static_cast<double>(large.cell_count())));
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
