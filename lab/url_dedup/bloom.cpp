#include <array>
#include <cmath>
#include <numbers>

#include "lab/parts.hpp"
#include "lab/url_dedup/algorithms.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

struct Point {
  double keys = 0;
  double cells = 0;
  std::uint32_t k = 0;
  double fill = 0;
  Estimate rate{};

  [[nodiscard]] double formula() const noexcept { return printed_rate(keys, cells, k, 1); }
  [[nodiscard]] Estimate rate_of_any_array() const noexcept { return widened(rate, array_deviation(keys, cells, k)); }
};

Result<Point> measure(std::uint64_t keys, std::uint64_t cells, std::uint32_t k, const Context& context) {
  MANKAI_ASSIGN(auto filter, make_bloom(keys, cells, k, context));
  Flat under_test(FlatUrls(std::move(filter)), context.fault);
  const Site site(keys, context.seed);
  under_test.insert(site.members(0, keys));
  const Urls absent_keys = site.absent_keys(QueryClass::all_new, keys, keys);
  return Point{.keys = static_cast<double>(keys),
               .cells = static_cast<double>(under_test.filter().cell_count()),
               .k = k,
               .fill = under_test.filter().fill_ratio(),
               .rate = under_test.rate(absent_keys)};
}

void judge_formula(const Point& point, Findings& findings) {
  const double probes_per_cell = point.k * point.keys / point.cells;
  findings.judged("zeros", equals(std::exp(-probes_per_cell)),
                  Estimate{.value = 1 - point.fill, .error = fill_deviation(probes_per_cell, point.cells)});
  findings.judged("bloom-rate", equals(point.formula()), point.rate_of_any_array());
}

Result<void> judge_larger(const Point& point, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto larger, measure(static_cast<std::uint64_t>(point.keys),
                                           2 * static_cast<std::uint64_t>(point.cells), point.k, context));
  findings.judged("larger-array", equals(larger.formula() / point.formula()),
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

struct Work {
  Estimate written{};  ///< cells set by the first insertion into an empty filter
  Estimate hit{};      ///< cells read for a member
  Estimate miss{};     ///< cells read for an absent key, the filter holding its number of URLs
};

// Insertions into our filter, one at a time; lookups in the report's, which counts what it reads.
Result<Work> measure_work(std::uint64_t keys, const Context& context) {
  const ArrayShape shape = ArrayShape::of(keys, kRepository.fpr, context);
  const Site site(keys, context.seed);
  MANKAI_ASSIGN(auto bloom, make_bloom(keys, shape.cells, shape.k, context));
  constexpr std::uint64_t kInsertions = 200;
  std::vector<double> written;
  for (std::uint64_t i = 0; i < kInsertions; ++i) {
    bloom.clear();
    bloom.insert(whole(site.url(i)));
    written.push_back(std::round(bloom.fill_ratio() * static_cast<double>(bloom.cell_count())));
  }
  const Urls members = site.members(0, keys);
  Classic classic(ClassicAlgorithm(shape), context.fault);
  classic.insert(members);
  const auto read_each = [&classic](const Urls& urls) {
    const std::uint64_t before = classic.filter().touched();
    static_cast<void>(classic.count_yes(urls));
    return static_cast<double>(classic.filter().touched() - before) / static_cast<double>(urls.size());
  };
  const double miss = read_each(site.absent_keys(QueryClass::all_new, keys, keys));
  // A miss reads j cells with probability fill^(j - 1), so the deviation of one is below 2.
  constexpr double kDeviation = 2;
  return Work{.written = mean(written),
              .hit = exact(read_each(members)),
              .miss = {.value = miss, .error = kDeviation / std::sqrt(static_cast<double>(keys))}};
}

Result<void> judge_operations(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto small, measure_work(context.trials(10'000, 10'000), context));
  MANKAI_ASSIGN(const auto large, measure_work(context.trials(200'000, 1'000'000), context));
  findings.judged({"insertion-does-not-grow", large.written.value}, equals(1), over(large.written, small.written));
  findings.judged({"query-does-not-grow", large.hit.value}, equals(1), over(large.hit, small.hit));
  findings.judged({"miss-does-not-grow", large.miss.value}, equals(1), over(large.miss, small.miss));
  return {};
}

Result<void> judge_array_space(const Context& context, Findings& findings) {
  constexpr std::uint64_t kKeys = 1'000'000;
  constexpr std::uint64_t kCells = 6'250'000;
  constexpr double kBitsPerByte = 8;
  std::array<CountedMemory, 2> memories;
  MANKAI_ASSIGN(const auto small, make_bloom(kKeys, kCells, kRepository.k, context, memories[0].memory()));
  MANKAI_ASSIGN(const auto large, make_bloom(kKeys, 2 * kCells, kRepository.k, context, memories[1].memory()));
  const auto small_bytes = static_cast<double>(memories[0].bytes());
  findings.judged("space-is-m", equals(1), exact(small_bytes * kBitsPerByte / static_cast<double>(kCells)));
  findings.judged("space-is-linear", equals(2), exact(static_cast<double>(memories[1].bytes()) / small_bytes));
  return {};
}

}  // namespace

Result<void> measure_bloom(const Context& context, Findings& findings) {
  const std::uint64_t cells = std::uint64_t{1} << context.trials(20, 23);
  MANKAI_ASSIGN(const auto point, measure(keys_for(cells, kRepository), cells, kRepository.k, context));
  judge_formula(point, findings);
  MANKAI_TRY(judge_larger(point, context, findings));
  MANKAI_TRY(judge_optimum(context, findings));
  MANKAI_TRY(judge_operations(context, findings));
  return judge_array_space(context, findings);
}

}  // namespace mankai::lab::dedup
