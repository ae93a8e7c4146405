#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/basket_gate/postgres.hpp"
#include "lab/basket_gate/table.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab::basket {
namespace {

constexpr double kGateRate = 0.01;
constexpr std::uint64_t kBaskets = 10'000;
constexpr const char* kBottleneck = "database-is-the-bottleneck-{}";
constexpr const char* kGateTime = "gate-time-{}-{}";

// Shoppers are numbered; the first kBaskets have a filled basket.
std::string cookie(std::uint64_t shopper) { return fmt::format("session={:016x}", Random(shopper).next()); }

// All shoppers, each once.
std::vector<std::uint64_t> shoppers_in_any_order(Random& random) {
  constexpr auto kShoppers = static_cast<std::uint64_t>(kBaskets / kFilled);
  std::vector<std::uint64_t> shoppers(kShoppers);
  for (std::uint64_t i = 0; i < kShoppers; ++i) {
    const std::uint64_t other = random.below(i + 1);
    shoppers[i] = shoppers[other];
    shoppers[other] = i;
  }
  return shoppers;
}

std::unordered_map<std::string, std::string> filled_baskets() {
  std::unordered_map<std::string, std::string> baskets;
  for (std::uint64_t shopper = 0; shopper < kBaskets; ++shopper) {
    baskets[cookie(shopper)] = fmt::format("{} books and {} records", shopper % 5 + 1, shopper % 3);
  }
  return baskets;
}

Result<Gate> gate_of_baskets(const Context& context, BloomAddressing addressing) {
  MANKAI_ASSIGN(auto gate,
                make_under_test<Bloom>({.keys = kBaskets, .fpr = kGateRate, .addressing = addressing}, context));
  for (std::uint64_t shopper = 0; shopper < kBaskets; ++shopper) {
    gate.insert(gate.filter().hasher()(std::string_view(cookie(shopper))));
  }
  return gate;
}

struct Database {
  std::string name;
  std::string_view shown;
  std::function<Result<std::optional<std::string>>(const std::string&)> basket_of;
  std::function<Result<std::uint64_t>()> queries;
  std::function<double()> seconds;  // processor time, so that other programs do not count
};

// Each page has a new shopper. Blocks of pages without the gate and with it take turns.
struct Pages {
  std::vector<double> before;             // seconds of each page's query
  std::vector<double> after;              // of the query behind the gate; 0 for a page that does not ask
  std::uint64_t wrong = 0;                // baskets shown otherwise than they are
  std::uint64_t queries_behind_gate = 0;  // as the database counts them
};

Result<Pages> show_pages(const Database& database, const Gate& gate, std::uint64_t count, const Context& context) {
  constexpr std::uint64_t kBlock = 500;
  Random random(context.seed);
  const std::vector<std::uint64_t> shoppers = shoppers_in_any_order(random);
  Pages pages;
  MANKAI_ASSIGN(const auto first_query, database.queries());
  for (std::uint64_t page = 0; page < count; ++page) {
    const std::uint64_t shopper = shoppers.at(page);
    const std::string session = cookie(shopper);
    const bool is_behind_gate = page / kBlock % 2 == 1;
    std::optional<std::string> basket;
    double seconds = 0;
    if (!is_behind_gate || gate.may_contain(gate.filter().hasher()(std::string_view(session)))) {
      const double start = database.seconds();
      MANKAI_ASSIGN(basket, database.basket_of(session));
      seconds = database.seconds() - start;
    }
    (is_behind_gate ? pages.after : pages.before).push_back(seconds);
    pages.wrong += basket.has_value() != (shopper < kBaskets) ? 1U : 0U;
  }
  MANKAI_ASSIGN(const auto last_query, database.queries());
  pages.queries_behind_gate = last_query - first_query - pages.before.size();
  return pages;
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) {
    total += value;
  }
  return total;
}

// The time that a page waits for the basket: pages are a Poisson process, and the database serves one query after the
// other, for the measured times. Errors are those of batch means: neighboring pages wait for the same queue, batches
// are nearly independent.
Estimate time_behind_queue(const std::vector<double>& service, double pages_per_second, Random& random) {
  constexpr std::size_t kBatches = 50;
  constexpr std::size_t kRounds = 20;  // each service time is drawn so often on average
  std::vector<double> batches;
  double now = 0;
  double free_at = 0;
  double time = 0;
  const std::size_t batch_pages = service.size() * kRounds / kBatches;
  for (std::size_t page = 1; page <= batch_pages * kBatches; ++page) {
    const double seconds = service[random.below(service.size())];
    now += random.exponential(1 / pages_per_second);
    if (seconds > 0) {
      free_at = std::max(free_at, now) + seconds;
      time += free_at - now;
    }
    if (page % batch_pages == 0) {
      batches.push_back(time / static_cast<double>(batch_pages));
      time = 0;
    }
  }
  return mean(batches);
}

void judge_times(const Database& database, const Pages& pages, double gate_seconds, Figure& figure,
                 const Context& context, Findings& findings) {
  constexpr double kBusy = 0.75;
  constexpr double kQuiet = 0.05;
  constexpr double kPageInQueries = 2;  // the page itself takes twice as long as the query
  const double query = sum(pages.before) / static_cast<double>(pages.before.size());
  const double left = kFilled + (1 - kFilled) * kGateRate;
  Random random(context.seed);
  const auto before = [&](double load) { return time_behind_queue(pages.before, load / query, random); };
  const auto after = [&](double load) {
    Estimate time = time_behind_queue(pages.after, load / query, random);
    time.value += gate_seconds;
    return time;
  };
  findings.judged({"time-left-{}", database.name, database.shown, query * 1e6}, at_most(left),
                  quotient(after(kBusy), before(kBusy)));
  const Expected bottleneck = at_least(findings.threshold(kBottleneck));
  const auto share_of_page = [&](double load) {
    const Estimate time = before(load);
    const double page = time.value + kPageInQueries * query;
    return Side{bottleneck, {.value = time.value / page, .error = time.error / page}};
  };
  findings.depends({kBottleneck, database.name, database.shown}, share_of_page(kBusy), share_of_page(kQuiet));
  for (const double load : {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}) {
    const Estimate time = before(load);
    figure.rows.push_back({database.shown, "before", load, time.value / query, time.error / query});
  }
  for (const double load : {0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    const Estimate time = after(load);
    figure.rows.push_back({database.shown, "after", load, time.value / query, time.error / query});
  }
}

// Wall clock: medians of rounds that take turns. Returns the seconds of a question to the gate.
Result<double> judge_gate_cost(const Database& database, const Context& context, Findings& findings) {
  constexpr std::uint64_t kAsked = 1'000;
  constexpr std::size_t kRounds = 31;
  std::vector<Gate> gates;
  for (const BloomAddressing addressing : kAddressings) {
    MANKAI_ASSIGN(auto gate, gate_of_baskets(context, addressing));
    gates.push_back(std::move(gate));
  }
  std::vector<std::string> sessions;
  Random random(context.seed);
  const std::vector<std::uint64_t> shoppers = shoppers_in_any_order(random);
  std::transform(shoppers.begin(), shoppers.begin() + kAsked, std::back_inserter(sessions), cookie);
  std::uint64_t yes = 0;
  const auto ask = [&](const Gate& gate) {
    yes += count_of(0, kAsked, [&](std::uint64_t i) {
      return gate.may_contain(gate.filter().hasher()(std::string_view(sessions[i])));
    });
  };
  const auto query = [&] {
    yes += count_of(0, kAsked, [&](std::uint64_t i) { return database.basket_of(sessions[i]).has_value(); });
  };
  const std::array<std::function<void()>, 3> works = {[&] { ask(gates[0]); }, [&] { ask(gates[1]); }, query};
  const auto times = nanoseconds_interleaved(kRounds, kAsked, works);
  MANKAI_ASSERT(yes >= kAsked);
  for (std::size_t i = 0; i < gates.size(); ++i) {
    findings.judged({kGateTime, database.name, name(kAddressings.at(i)), database.shown, shown(kAddressings.at(i)),
                     times[i].value, times.back().value},
                    at_most(findings.threshold(kGateTime)), quotient(times[i], times.back()));
  }
  return times[0].value * 1e-9;
}

void skip_times(const std::string& name, std::string_view shown_name, Missing missing, Findings& findings) {
  findings.skipped({"time-left-{}", name, shown_name, 0.0}, at_most(kFilled + (1 - kFilled) * kGateRate), missing);
  findings.skipped({kBottleneck, name, shown_name}, at_least(findings.threshold(kBottleneck)), missing);
  for (const BloomAddressing addressing : kAddressings) {
    findings.skipped({kGateTime, name, mankai::name(addressing), shown_name, shown(addressing), 0.0, 0.0},
                     at_most(findings.threshold(kGateTime)), missing);
  }
}

Result<void> measure(const Database& database, Figure& figure, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto gate, gate_of_baskets(context, BloomAddressing::range));
  MANKAI_ASSIGN(const auto pages, show_pages(database, gate, context.trials(100'000, 200'000), context));
  findings.judged({"basket-is-right-{}", database.name, database.shown}, equals(0), exact(pages.wrong));
  const Estimate queries = share(pages.queries_behind_gate, pages.after.size());
  findings.judged({"queries-left-{}", database.name, database.shown},
                  equals(kFilled + (1 - kFilled) * gate.filter().fpr_estimate()), queries);
  if (context.quick) {
    skip_times(database.name, database.shown, Missing::full_run, findings);
    return {};
  }
  MANKAI_ASSIGN(const auto gate_seconds, judge_gate_cost(database, context, findings));
  judge_times(database, pages, gate_seconds, figure, context, findings);
  return {};
}

Result<void> measure_sqlite(Figure& figure, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  MANKAI_ASSIGN(auto table, Table::create(folder.file("shop"), filled_baskets()));
  return measure({.name = "sqlite",
                  .shown = "SQLite",
                  .basket_of = [&table](const std::string& key) { return table.value_of(key); },
                  .queries = [&table]() -> Result<std::uint64_t> { return table.queries(); },
                  .seconds = thread_cpu_seconds},
                 figure, context, findings);
}

Result<void> measure_postgresql(Figure& figure, const Context& context, Findings& findings) {
  constexpr const char* kName = "postgresql";
  constexpr std::string_view kShown = "PostgreSQL";
  const auto programs = find_postgresql();
  if (context.quick || !programs) {
    const Missing missing = context.quick ? Missing::full_run : Missing::postgresql;
    findings.skipped({"basket-is-right-{}", kName, kShown}, equals(0), missing);
    findings.skipped({"queries-left-{}", kName, kShown}, equals(kFilled + (1 - kFilled) * kGateRate), missing);
    skip_times(kName, kShown, missing, findings);
    return {};
  }
  MANKAI_ASSIGN(auto server, Postgres::start(*programs, filled_baskets()));
  return measure({.name = kName,
                  .shown = kShown,
                  .basket_of = [&server](const std::string& key) { return server.value_of(key); },
                  .queries = [&server] { return server.queries(); },
                  .seconds = [&server] { return thread_cpu_seconds() + server.cpu_seconds(); }},
                 figure, context, findings);
}

}  // namespace

Result<void> measure_database(const Context& context, Findings& findings) {
  Figure figure = findings.figure("page-latency");
  MANKAI_TRY(measure_sqlite(figure, context, findings));
  MANKAI_TRY(measure_postgresql(figure, context, findings));
  if (!figure.rows.empty()) {
    findings.add(std::move(figure));
  }
  return {};
}

}  // namespace mankai::lab::basket
