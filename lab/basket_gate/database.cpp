#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab::basket {
namespace {

// Model of a database: one connection, first come first served; queries take 5 ms on average, exponentially
// distributed. A page adds 10 ms. Simulated time, so that results do not depend on the machine.
constexpr double kQueryMs = 5;
constexpr double kPageMs = 10;
constexpr double kPagesPerSecond = 150;
constexpr double kMsPerSecond = 1000;
constexpr std::uint64_t kBatches = 50;

struct Stub {
  Estimate load;        // share of time in which the database is busy
  Estimate latency_ms;  // of a page, including queries
};

// Returns whether the next page queries the database.
using Asks = std::function<bool(Random&)>;

// Pages are a Poisson process. Errors are those of batch means: neighboring pages wait for the same queue, batches are
// nearly independent.
Stub simulate(double pages_per_second, std::uint64_t pages, const Asks& asks, Random& random) {
  const std::uint64_t batch_pages = pages / kBatches;
  std::vector<double> batch_latency;
  std::vector<double> batch_load;
  double now = 0;
  double free_at = 0;
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    const double start = now;
    double latency = 0;
    double busy = 0;
    for (std::uint64_t i = 0; i < batch_pages; ++i) {
      now += random.exponential(kMsPerSecond / pages_per_second);
      latency += kPageMs;
      if (asks(random)) {
        const double query = random.exponential(kQueryMs);
        free_at = std::max(free_at, now) + query;
        busy += query;
        latency += free_at - now;
      }
    }
    batch_latency.push_back(latency / static_cast<double>(batch_pages));
    batch_load.push_back(busy / (now - start));
  }
  return {.load = mean(batch_load), .latency_ms = mean(batch_latency)};
}

// M/M/1 queue: queries arrive with rate r, so they take s / (1 - r s) on average, including waiting.
double formula_latency(double pages_per_second, double share_that_asks) {
  const double load = pages_per_second * share_that_asks * kQueryMs / kMsPerSecond;
  return kPageMs + share_that_asks * kQueryMs / (1 - load);
}

// Each page has a new shopper: a filled basket or an absent key.
Asks behind(const Gate& gate, std::uint64_t members_seed, std::uint64_t members) {
  return [&gate, members_seed, members](Random& random) {
    if (random.chance(kFilled)) {
      return gate.may_contain({Random(members_seed + random.below(members)).next()});
    }
    return gate.may_contain({random.next()});
  };
}

void judge_stub(const Stub& before, const Stub& after, double asked, Findings& findings) {
  const double load = kPagesPerSecond * kQueryMs / kMsPerSecond;
  findings.judged("load-before", equals(load), before.load);
  findings.judged("load-after", equals(load * asked), after.load);
  findings.judged("latency-before", equals(formula_latency(kPagesPerSecond, 1)), before.latency_ms);
  findings.judged("latency-after", equals(formula_latency(kPagesPerSecond, asked)), after.latency_ms);
  const Estimate in_database{.value = before.latency_ms.value - kPageMs, .error = before.latency_ms.error};
  findings.undecided("database-is-the-bottleneck", equals(2.0 / 3), in_database / before.latency_ms.value);
}

Figure sweep(const Asks& asks, double asked, std::uint64_t pages, Random& random, const Findings& findings) {
  Figure figure = findings.figure("page-latency");
  const auto add = [&](const std::string& gate, double rate, double share_that_asks, const Asks& these) {
    const Stub stub = simulate(rate, pages, these, random);
    figure.rows.push_back({gate, rate, formula_latency(rate, share_that_asks), stub.latency_ms.value,
                           stub.latency_ms.error, stub.load.value});
  };
  const Asks always = [](Random& /*random*/) { return true; };
  for (const double rate : {10.0, 20.0, 50.0, 100.0, 150.0, 180.0}) {
    add("before", rate, 1, always);
  }
  for (const double rate : {10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 3000.0}) {
    add("after", rate, asked, asks);
  }
  return figure;
}

// Uses wall-clock time, which depends on the machine.
Result<void> time_gate(const Context& context, Findings& findings) {
  constexpr std::uint64_t kAsked = 20'000;
  std::vector<Gate> gates;
  for (const BloomAddressing addressing : kAddressings) {
    MANKAI_ASSIGN(auto gate, make_gate({.phase = 10, .addressing = addressing}, context));
    Random random(context.seed);
    fill_to(gate, 0.5, random);
    gates.push_back(std::move(gate));
  }
  std::uint64_t yes = 0;
  const auto ask = [&yes, seed = context.seed](const Gate& gate) {
    Random random(seed);
    yes += count_of(0, kAsked, [&](std::uint64_t /*i*/) { return gate.may_contain({random.next()}); });
  };
  const std::array<std::function<void()>, 2> works = {[&] { ask(gates[0]); }, [&] { ask(gates[1]); }};
  const auto times = nanoseconds_interleaved(context.trials(5, 101), kAsked, works);
  for (std::size_t i = 0; i < times.size(); ++i) {
    findings.undecided({"gate-time-{}", name(kAddressings.at(i)), shown(kAddressings.at(i))}, at_most(kQueryMs * 1e6),
                       times[i]);
  }
  MANKAI_ASSERT(yes > 0);
  return {};
}

}  // namespace

Result<void> measure_database(const Context& context, Findings& findings) {
  constexpr double kRate = 0.01;
  constexpr std::uint64_t kMembers = 10'000;
  MANKAI_ASSIGN(auto gate, make_under_test<Bloom>({.keys = kMembers, .fpr = kRate}, context));
  for (std::uint64_t member = 0; member < kMembers; ++member) {
    gate.insert({Random(context.seed + member).next()});
  }
  Random random(context.seed);
  const Asks asks = behind(gate, context.seed, kMembers);
  const double asked = kFilled + (1 - kFilled) * gate.filter().fpr_estimate();
  const std::uint64_t pages = context.trials(1'000'000, 10'000'000);
  const Stub before = simulate(kPagesPerSecond, pages, [](Random& /*random*/) { return true; }, random);
  const Stub after = simulate(kPagesPerSecond, pages, asks, random);
  judge_stub(before, after, asked, findings);
  findings.add(sweep(asks, asked, context.trials(50'000, 1'000'000), random, findings));
  return time_gate(context, findings);
}

}  // namespace mankai::lab::basket
