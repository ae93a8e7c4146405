#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "lab/counted_memory.hpp"
#include "lab/parts.hpp"
#include "lab/web_profiling/printed.hpp"
#include "lab/web_profiling/profiles.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/input/log_parser.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kBytesPerKilobyte = 1024;

// Kilobytes of one filter after all visits.
struct MemoryRow {
  double lambda = 0;
  double basic = 0;
  // The paper's four components, with links of the extra counters that were in use at most.
  double bloom = 0;
  double counters = 0;
  double pool = 0;
  double links = 0;
  double rounded_up = 0;  // all four, with λ C rounded up
  double allocated = 0;   // all four, with links for the whole pool
  double grown = 0;       // ours: no Bloom filter, and a pool that begins small and grows
  double variable = 0;    // the counters as numbers of their own length
  double extra = 0;       // the most extra counters in use, over m

  [[nodiscard]] double optimized() const noexcept { return bloom + counters + pool + links; }
};

double bits_of(double numbers) { return std::ceil(std::log2(numbers + 1)); }

// A link leads from a counter to an extra one, and back.
double links_of(double extra, double counters) {
  return extra * (bits_of(counters) + bits_of(counters / 2)) / 8 / kBytesPerKilobyte;
}

// Counters as numbers of their own length, as in the spectral Bloom filter [CohenMatias2003]: Elias's gamma code, and
// the place of every 64th. Nothing is left free for growth.
class VariableCounters {
 public:
  explicit VariableCounters(const std::vector<std::uint16_t>& counters) {
    for (const std::uint64_t counter : counters) {
      if (count_++ % kGroup == 0) {
        places_.push_back(static_cast<std::uint32_t>(bits_.size()));
      }
      const auto length = static_cast<std::size_t>(std::bit_width(counter + 1));
      bits_.insert(bits_.end(), length - 1, false);
      for (std::size_t bit = length; bit-- > 0;) {
        bits_.push_back(((counter + 1) >> bit & 1) != 0);
      }
    }
  }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t at) const {
    std::size_t place = places_[at / kGroup];
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i <= at % kGroup; ++i) {
      int length = 1;
      for (; !bits_[place]; ++place) {
        ++length;
      }
      for (value = 0; length > 0; --length) {
        value = value << 1 | (bits_[place++] ? 1U : 0U);
      }
    }
    return value - 1;
  }
  [[nodiscard]] double bytes() const noexcept {
    return static_cast<double>(bits_.size()) / 8 + static_cast<double>(places_.size() * sizeof(places_[0]));
  }

 private:
  static constexpr std::uint64_t kGroup = 64;

  std::vector<bool> bits_{};
  std::vector<std::uint32_t> places_{};
  std::uint64_t count_ = 0;
};

struct MemoryCase {
  const Visits& visits;
  std::uint64_t counters = 0;
  bool is_paper_only = false;  // not the other forms beside it
};

double variable_kilobytes(const MemoryCase& setting, const PrintedShape& shape) {
  PrintedBasic basic(shape);
  replay(basic, setting.visits);
  const VariableCounters variable(basic.counters());
  for (std::uint64_t at = 0; at < setting.counters; at += 1000) {
    MANKAI_ASSERT(variable[at] == basic.counters()[at]);
  }
  return variable.bytes() / kBytesPerKilobyte;
}

double extra_peak(const MemoryCase& setting, const PrintedShape& shape) {
  PrintedOptimized optimized(shape);
  replay(optimized, setting.visits);
  return static_cast<double>(optimized.extra_peak());
}

Result<double> allocated(const MemoryCase& setting, TimeDecayingPooledCounts::Options options, const Context& context) {
  CountedMemory memory;
  options.counters = setting.counters;
  options.k = kProbes;
  options.memory = memory.memory();
  MANKAI_ASSIGN(auto pooled, kMakePooled(options, context));
  pooled->insert(setting.visits);
  return memory.bytes() / kBytesPerKilobyte;
}

Result<double> allocated_basic(const MemoryCase& setting, const Decay& decay, const Context& context) {
  CountedMemory memory;
  MANKAI_ASSIGN(auto basic, kMakeBasic({.bytes = 2 * setting.counters,
                                        .k = kProbes,
                                        .decay = decay,
                                        .policy = DecayPolicy::floor,
                                        .memory = memory.memory()},
                                       context));
  basic->insert(setting.visits);
  return memory.bytes() / kBytesPerKilobyte;
}

Result<MemoryRow> row_of(const MemoryCase& setting, double lambda, const Context& context) {
  constexpr double kSmallPool = 0.005;
  const auto counters = static_cast<double>(setting.counters);
  const Decay decay = drawn_decay(lambda);
  const PrintedShape shape{.counters = setting.counters, .k = kProbes, .lambda = lambda, .fault = context.fault};
  PrintedShape up = shape;
  up.is_rounded_up = true;
  const double extra = extra_peak(setting, shape);
  MemoryRow row{.lambda = lambda,
                .bloom = counters / 8 / kBytesPerKilobyte,
                .counters = counters / 2 / kBytesPerKilobyte,
                .pool = counters / 4 / kBytesPerKilobyte,
                .links = links_of(extra, counters),
                .extra = extra / counters};
  MANKAI_ASSIGN(row.basic, allocated_basic(setting, decay, context));
  if (setting.is_paper_only) {
    return row;
  }
  row.variable = variable_kilobytes(setting, shape);
  row.rounded_up = row.bloom + row.counters + row.pool + links_of(extra_peak(setting, up), counters);
  MANKAI_ASSIGN(row.allocated,
                allocated(setting, {.decay = decay, .lookup = PoolLookup::links, .gate = true}, context));
  MANKAI_ASSIGN(row.grown, allocated(setting, {.pool_share = kSmallPool, .decay = decay}, context));
  return row;
}

using MemoryRows = std::vector<MemoryRow>;

Result<MemoryRows> sweep(const MemoryCase& setting, std::span<const double> lambdas, const Context& context) {
  MemoryRows rows;
  for (const double lambda : lambdas) {
    context.progress(fmt::format("memory at λ = {}", lambda));
    MANKAI_ASSIGN(const auto row, row_of(setting, lambda, context));
    rows.push_back(row);
  }
  return rows;
}

// The least and the greatest ratio over all rows.
struct Span {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
};
Span span_of(const MemoryRows& rows, const std::function<double(const MemoryRow&)>& ratio) {
  Span span;
  for (const MemoryRow& row : rows) {
    span = {.least = std::min(span.least, ratio(row)), .most = std::max(span.most, ratio(row))};
  }
  return span;
}

Span factor_of(const MemoryRows& rows, double MemoryRow::* part) {
  return span_of(rows, [part](const MemoryRow& row) { return row.basic / row.*part; });
}
Span factor_of(const MemoryRows& rows) {
  return span_of(rows, [](const MemoryRow& row) { return row.basic / row.optimized(); });
}

void judge_axis(const MemoryRows& rows, std::uint64_t counters, Findings& findings) {
  findings.judged({"factor-2", factor_of(rows).most}, at_least(2), exact(factor_of(rows).least));
  findings.judged("factor-2-rounded-up", at_least(2), exact(factor_of(rows, &MemoryRow::rounded_up).least));
  findings.judged("factor-2-allocated", at_least(2), exact(factor_of(rows, &MemoryRow::allocated).least));
  findings.judged("factor-2-grown", at_least(2), exact(factor_of(rows, &MemoryRow::grown).least));
  findings.judged("smaller-than-variable", at_most(1),
                  exact(span_of(rows, [](const MemoryRow& row) { return row.optimized() / row.variable; }).most));
  const double kilobytes = 2 * static_cast<double>(counters) / kBytesPerKilobyte;
  const Span basic = span_of(rows, [](const MemoryRow& row) { return row.basic; });
  findings.judged("basic-is-flat", equals(kilobytes), exact(basic.most));
  const Span optimized = span_of(rows, [](const MemoryRow& row) { return row.optimized(); });
  findings.judged("optimized-is-flat", at_most(1 / (1 - rows.back().lambda)), exact(optimized.most / optimized.least));
}

Figure figure_of(const MemoryRows& rows, Figure figure) {
  for (const MemoryRow& row : rows) {
    const auto other = [](double kilobytes) {
      return kilobytes > 0 ? kilobytes : std::numeric_limits<double>::quiet_NaN();
    };
    figure.rows.push_back({100 * row.lambda, row.basic, row.optimized(), row.basic / 2, row.bloom, row.counters,
                           row.pool, row.links, row.extra, other(row.rounded_up), other(row.allocated),
                           other(row.grown), other(row.variable)});
  }
  return figure;
}

constexpr std::array kAxis = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.11, 0.12, 0.13};
constexpr std::array kFewOfAxis = {0.01, 0.07, 0.13};

std::span<const double> axis(const Context& context) {
  return context.quick ? std::span<const double>(kFewOfAxis) : std::span<const double>(kAxis);
}

Visits visits_of_figure_3(double z, const Context& context) {
  return draw({.visits = 1'000'000, .pages = 40'000, .per_epoch = 20'000, .z = z}, context);
}

Result<void> measure_logs(const Context& context, Findings& findings) {
  for (const Log& log : kLogs) {
    const auto entry = [&](std::size_t pages) { return Entry("factor-2-{}", log.id, log.what, pages); };
    if (!context.data_dir) {
      findings.skipped(entry(0), at_least(2), Missing::data);
      continue;
    }
    constexpr std::uint64_t kEpochs = 50;
    MANKAI_ASSIGN(auto read, read_log(path_of(log, context), kLogHalfLife, context));
    const Visits visits = in_epochs(std::move(read), kEpochs);
    MANKAI_ASSIGN(const auto rows, sweep({.visits = visits, .counters = 2 * visits.names.size(), .is_paper_only = true},
                                         kFewOfAxis, context));
    findings.judged(entry(visits.names.size()), at_least(2), exact(factor_of(rows).least));
  }
  return {};
}

// Reads the visits' lines of a log and hashes their pages with k functions, or inserts the known digests alone.
template <class Printed>
std::uint64_t create(const Visits& visits, std::span<const std::string> lines, const Context& context) {
  constexpr double kMiddle = 0.07;  // of the figure's axis
  Printed filter({.counters = 2 * visits.names.size(), .k = kProbes, .lambda = kMiddle});
  if (lines.empty()) {
    replay(filter, visits);
    return filter.touched();
  }
  auto parser = LogParser::create();
  MANKAI_ASSERT(parser.has_value());
  std::vector<Hasher> hashers;
  for (std::uint64_t j = 0; j < kProbes; ++j) {
    hashers.emplace_back(HashSpec{.kind = HashKind::siphash, .seed = {context.seed, j}});
  }
  LogRecord record;
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    if (epoch > 0) {
      filter.decay();
    }
    for (const std::uint32_t page : visits.of(epoch)) {
      MANKAI_ASSERT(parser->parse(lines[page], record) == LogLine::record);
      Digest digest{};
      for (const Hasher& hasher : hashers) {
        digest.value ^= hasher(record.target).value;
      }
      filter.insert(digest);
    }
  }
  return filter.touched();
}

void judge_creation(const Visits& visits, const Context& context, Findings& findings) {
  if (context.quick) {
    findings.skipped({"creation-time", 0.0, 0.0, 0.0, 0.0}, equals(1.1), Missing::full_run);
    return;
  }
  std::vector<std::string> lines;
  for (const std::string& name : visits.names) {
    lines.push_back(fmt::format(
        R"line(10.0.0.1 - - [01/Jul/1995:00:00:09 -0400] "GET {} HTTP/1.0" 200 1839 "-" "Mozilla/1.1N (X11; I; Linux)")line",
        name));
  }
  std::uint64_t touched = 0;
  const std::array<std::function<void()>, 4> works = {
      [&] { touched += create<PrintedBasic>(visits, lines, context); },
      [&] { touched += create<PrintedOptimized>(visits, lines, context); },
      [&] { touched += create<PrintedBasic>(visits, {}, context); },
      [&] { touched += create<PrintedOptimized>(visits, {}, context); }};
  constexpr std::size_t kRounds = 21;
  const auto times = nanoseconds_interleaved(kRounds, visits.pages.size(), works);
  MANKAI_ASSERT(touched > 0);
  findings.depends({"creation-time", times[0].value, times[1].value, times[2].value, times[3].value},
                   {.expected = equals(1.1), .measured = quotient(times[1], times[0])},
                   {.expected = equals(1.1), .measured = quotient(times[3], times[2])});
}

}  // namespace

Result<void> measure_memory(const Context& context, Findings& findings) {
  constexpr double kOfFigure1 = 1.2;
  const Visits visits = visits_of_figure_3(kOfFigure1, context);
  const MemoryCase setting{.visits = visits, .counters = 2 * visits.names.size()};
  MANKAI_ASSIGN(const auto rows, sweep(setting, axis(context), context));
  judge_axis(rows, setting.counters, findings);
  findings.add(figure_of(rows, findings.figure("figure-3")));

  constexpr std::array kAll = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0};
  constexpr std::array kFew = {0.1, 0.99, 1.0};
  MANKAI_ASSIGN(const auto over_all,
                sweep({.visits = visits, .counters = setting.counters, .is_paper_only = context.quick},
                      context.quick ? std::span<const double>(kFew) : std::span<const double>(kAll), context));
  findings.judged({"factor-2-lambda", factor_of({over_all.back()}).least}, at_least(2),
                  exact(factor_of(MemoryRows(over_all.begin(), over_all.end() - 1)).least));
  findings.judged("optimized-grows-with-lambda", at_least(1),
                  exact(over_all.back().optimized() / over_all.front().optimized()));
  findings.add(figure_of(over_all, findings.figure("memory-lambda")));

  const Visits flat = visits_of_figure_3(1, context);
  MANKAI_ASSIGN(const auto of_flat,
                sweep({.visits = flat, .counters = setting.counters, .is_paper_only = true}, kFewOfAxis, context));
  findings.judged("factor-2-zipf-10", at_least(2), exact(factor_of(of_flat).least));
  MANKAI_TRY(measure_logs(context, findings));
  judge_creation(visits, context, findings);
  return {};
}

}  // namespace mankai::lab::profiling
