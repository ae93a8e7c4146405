#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kKilobyte = 1024;

struct Encoding {
  PoolLookup lookup;
  const char* id;
  const char* words;
};
constexpr std::array<Encoding, 3> kEncodings = {{
    {PoolLookup::hash, "hash", "a table of overflowed counters only"},
    {PoolLookup::links, "links", "two-way links"},
    {PoolLookup::array, "array", "a link for every counter"},
}};

// Kilobytes of one filter after all visits.
struct Size {
  double used = 0;       // first digits, extra digits in use, and their index
  double allocated = 0;  // with the whole pool of m / 2
  double grown = 0;      // with a pool that starts small and grows
  double extra = 0;      // peak of extra digits in use, over m
};

struct MemoryRow {
  double lambda = 0;
  double basic = 0;
  std::array<Size, kEncodings.size()> pooled{};
};

double allocated(const TimeDecayingPooledCounts::Use& use) {
  return static_cast<double>(use.counters_bytes + use.digits_bytes + use.lookup_bytes) / kKilobyte;
}

Result<TimeDecayingPooledCounts::Use> use_of(const Setting& setting, double lambda, PoolLookup lookup, double pool,
                                             const Context& context) {
  MANKAI_ASSIGN(auto pooled, kMakePooled({.counters = setting.counters,
                                          .k = kProbes,
                                          .pool_share = pool,
                                          .decay = drawn_decay(lambda),
                                          .lookup = lookup},
                                         context));
  pooled->insert(setting.visits);
  return pooled->filter().use();
}

Result<Size> size_of(const Setting& setting, double lambda, PoolLookup lookup, const Context& context) {
  constexpr double kPaper = 0.5;
  constexpr double kSmall = 0.005;
  MANKAI_ASSIGN(const auto paper, use_of(setting, lambda, lookup, kPaper, context));
  MANKAI_ASSIGN(const auto small, use_of(setting, lambda, lookup, kSmall, context));
  return Size{
      .used = static_cast<double>(paper.counters_bytes + paper.digits_bytes_used + paper.lookup_bytes_used) / kKilobyte,
      .allocated = allocated(paper),
      .grown = allocated(small),
      .extra = static_cast<double>(paper.digits_peak) / static_cast<double>(setting.counters)};
}

Result<MemoryRow> row_of(const Setting& setting, double lambda, const Context& context) {
  MANKAI_ASSIGN(
      auto basic,
      kMakeBasic(
          {.bytes = 2 * setting.counters, .k = kProbes, .decay = drawn_decay(lambda), .policy = DecayPolicy::floor},
          context));
  basic->insert(setting.visits);
  MemoryRow row{.lambda = lambda, .basic = static_cast<double>(basic->bytes()) / kKilobyte};
  for (std::size_t i = 0; i < kEncodings.size(); ++i) {
    MANKAI_ASSIGN(const auto size, size_of(setting, lambda, kEncodings[i].lookup, context));
    row.pooled[i] = size;
  }
  return row;
}

double least(std::span<const MemoryRow> rows, const std::function<double(const MemoryRow&)>& value) {
  double found = std::numeric_limits<double>::infinity();
  for (const MemoryRow& row : rows) {
    found = std::min(found, value(row));
  }
  return found;
}
double most(std::span<const MemoryRow> rows, const std::function<double(const MemoryRow&)>& value) {
  return -least(rows, [&](const MemoryRow& row) { return -value(row); });
}

// The paper's statements about the figure, for one encoding, over the printed axis: λ = 1% to 13%.
void judge_encoding(std::span<const MemoryRow> rows, std::size_t i, Findings& findings) {
  const Encoding& encoding = kEncodings[i];
  findings.judged({"factor-2-used-{}", encoding.id, encoding.words}, at_least(2),
                  exact(least(rows, [i](const MemoryRow& row) { return row.basic / row.pooled[i].used; })));
  findings.judged({"factor-2-allocated-{}", encoding.id, encoding.words}, at_least(2),
                  exact(least(rows, [i](const MemoryRow& row) { return row.basic / row.pooled[i].allocated; })));
}

void judge_low(std::span<const MemoryRow> rows, Findings& findings) {
  for (std::size_t i = 0; i < kEncodings.size(); ++i) {
    judge_encoding(rows, i, findings);
  }
  constexpr std::size_t kHash = 0;
  findings.judged("factor-2-grown-hash", at_least(2),
                  exact(least(rows, [](const MemoryRow& row) { return row.basic / row.pooled[kHash].grown; })));
  findings.judged("basic-is-flat", equals(0),
                  exact(most(rows, [](const MemoryRow& row) { return row.basic; }) -
                        least(rows, [](const MemoryRow& row) { return row.basic; })));
  findings.judged("optimized-is-flat", at_most(1.15),
                  exact(most(rows, [](const MemoryRow& row) { return row.pooled[kHash].used; }) /
                        least(rows, [](const MemoryRow& row) { return row.pooled[kHash].used; })));
}

void judge_high(std::span<const MemoryRow> rows, Findings& findings) {
  constexpr std::size_t kHash = 0;
  findings.judged("optimized-grows-with-lambda", at_least(1),
                  exact(rows.back().pooled[kHash].used / rows.front().pooled[kHash].used));
  findings.undecided("factor-2", at_least(2),
                     exact(least(rows, [](const MemoryRow& row) { return row.basic / row.pooled[kHash].used; })));
}

Figure figure_of(std::span<const MemoryRow> rows, Figure figure) {
  for (const Encoding& encoding : kEncodings) {
    for (const char* const what : {"used", "pool of m/2", "grown"}) {
      figure.columns.push_back(fmt::format("{}, {}", encoding.id, what));
    }
    figure.series.push_back(
        {.title = encoding.words, .x = "λ", .y = fmt::format("{}, used", encoding.id), .is_line = true});
  }
  for (const MemoryRow& row : rows) {
    std::vector<Cell> cells = {row.lambda, row.basic, row.pooled[0].extra};
    for (const Size& size : row.pooled) {
      cells.insert(cells.end(), {size.used, size.allocated, size.grown});
    }
    figure.rows.push_back(std::move(cells));
  }
  return figure;
}

Result<std::vector<MemoryRow>> sweep(const Setting& setting, std::span<const double> lambdas, const Context& context) {
  std::vector<MemoryRow> rows;
  for (const double lambda : lambdas) {
    context.progress(fmt::format("memory at λ = {}", lambda));
    MANKAI_ASSIGN(const auto row, row_of(setting, lambda, context));
    rows.push_back(row);
  }
  return rows;
}

Result<void> claim_creation(const Setting& setting, const Context& context, Findings& findings) {
  const Decay decay = drawn_decay(0.9);
  bool is_made = true;
  const auto use = [&](const auto& made) {
    is_made = is_made && made.has_value();
    if (made) {
      (*made)->insert(setting.visits);
    }
  };
  const std::array<std::function<void()>, 2> works = {
      [&] {
        use(kMakeBasic({.bytes = 2 * setting.counters, .k = kProbes, .decay = decay, .policy = DecayPolicy::floor},
                       context));
      },
      [&] { use(kMakePooled({.counters = setting.counters, .k = kProbes, .decay = decay}, context)); }};
  const auto times = nanoseconds_interleaved(context.trials(3, 11), setting.visits.pages.size(), works);
  if (!is_made) {
    return fail(ErrorCode::out_of_space, "no memory for two filters");
  }
  findings.undecided({"creation-time", times[1].value, times[0].value}, equals(1.1), quotient(times[1], times[0]));
  return {};
}

}  // namespace

Result<void> measure_memory(const Context& context, Findings& findings) {
  const Setting setting = figure_3(context);
  constexpr std::array kLow = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.11, 0.12, 0.13};
  constexpr std::array kFewLow = {0.01, 0.07, 0.13};
  constexpr std::array kHigh = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0};
  constexpr std::array kFewHigh = {0.1, 0.5, 0.9, 0.99, 1.0};
  MANKAI_ASSIGN(const auto low, context.quick ? sweep(setting, kFewLow, context) : sweep(setting, kLow, context));
  MANKAI_ASSIGN(const auto high, context.quick ? sweep(setting, kFewHigh, context) : sweep(setting, kHigh, context));
  judge_low(low, findings);
  judge_high(high, findings);
  findings.add(figure_of(low, findings.figure("memory-percent")));
  findings.add(figure_of(high, findings.figure("memory-lambda")));
  return claim_creation(setting, context, findings);
}

}  // namespace mankai::lab::profiling
