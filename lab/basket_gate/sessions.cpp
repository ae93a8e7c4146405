#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

constexpr double kMeanPages = 12;
constexpr double kRate = 0.01;

struct Session {
  std::string cookie;
  std::uint64_t pages = 0;
  bool has_basket = false;
};

std::vector<Session> make_sessions(std::uint64_t count, Random& random) {
  std::vector<Session> sessions;
  sessions.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    sessions.push_back({.cookie = fmt::format("session={:016x}", random.next()),
                        .pages = random.geometric(kMeanPages),
                        .has_basket = random.chance(kFilled)});
  }
  return sessions;
}

// Sums per session, for ratio_of_sums.
struct Served {
  std::vector<double> pages;
  std::vector<double> queries;         // answered yes
  std::vector<double> wasted;          // of these, with an empty basket
  std::vector<double> useful;          // of these, with a filled basket
  std::vector<double> affected_pages;  // of sessions with a false positive
  std::uint64_t empty_sessions = 0;
  std::uint64_t told_empty = 0;  // pages with a false negative
};

Served serve(const std::vector<Session>& sessions, const Gate& gate) {
  Served served;
  const Hasher hasher = gate.filter().hasher();
  for (const Session& session : sessions) {
    double yes = 0;
    for (std::uint64_t page = 0; page < session.pages; ++page) {
      yes += gate.may_contain(hasher(std::string_view(session.cookie))) ? 1 : 0;
    }
    const auto pages = static_cast<double>(session.pages);
    served.pages.push_back(pages);
    served.queries.push_back(yes);
    served.wasted.push_back(session.has_basket ? 0 : yes);
    served.useful.push_back(session.has_basket ? yes : 0);
    served.empty_sessions += static_cast<std::uint64_t>(!session.has_basket);
    served.told_empty += session.has_basket ? session.pages - static_cast<std::uint64_t>(yes) : 0;
    if (!session.has_basket && yes > 0) {
      served.affected_pages.push_back(yes);
    }
  }
  return served;
}

Result<Gate> gate_of(const std::vector<Session>& sessions, const Context& context) {
  const auto baskets = std::ranges::count_if(sessions, &Session::has_basket);
  MANKAI_ASSIGN(auto gate,
                make_under_test<Bloom>({.keys = static_cast<std::uint64_t>(baskets), .fpr = kRate}, context));
  for (const Session& session : sessions) {
    if (session.has_basket) {
      gate.insert(gate.filter().hasher()(std::string_view(session.cookie)));
    }
  }
  return gate;
}

void judge_queries(const Served& served, double rate, Findings& findings) {
  Estimate avoided = ratio_of_sums(served.queries, served.pages);
  avoided.value = 1 - avoided.value;
  findings.judged("no-basket-is-overlooked", equals(0), exact(served.told_empty));
  findings.judged("queries-avoided", equals((1 - kFilled) * (1 - rate)), avoided);
  findings.judged("queries-wasted", equals((1 - kFilled) * rate), ratio_of_sums(served.wasted, served.pages));
  findings.judged("share-of-yes-that-is-right", equals(kFilled / (kFilled + (1 - kFilled) * rate)),
                  ratio_of_sums(served.useful, served.queries));
}

void judge_repeats(const Served& served, double rate, Findings& findings) {
  // P(at least one page hit) if pages were independent, with geometric lengths of mean M: f M / (1 + f (M - 1)).
  const double if_independent = rate * kMeanPages / (1 + rate * (kMeanPages - 1));
  findings.judged({"shoppers-affected", if_independent}, equals(rate),
                  share(served.affected_pages.size(), served.empty_sessions));
  findings.judged("same-shopper-again", equals(kMeanPages), mean(served.affected_pages));
}

Figure figure_of(const Served& served, const Findings& findings) {
  constexpr std::size_t kLongest = 48;
  std::vector<double> counts(kLongest + 1);
  for (const double pages : served.affected_pages) {
    counts.at(std::min(static_cast<std::size_t>(pages), kLongest)) += 1;
  }
  Figure figure = findings.figure("repeats");
  auto left = static_cast<double>(served.affected_pages.size());
  for (std::size_t n = 1; n < kLongest; ++n) {
    const Estimate measured = share(static_cast<std::uint64_t>(left), served.affected_pages.size());
    figure.rows.push_back(
        {n, std::pow(1 - 1 / kMeanPages, static_cast<double>(n - 1)), measured.value, measured.error});
    left -= counts[n];
  }
  return figure;
}

// With the fewest probes that the paper allows.
Result<Side> right_yes_at(double saturation, double likely, const Context& context, Random& random) {
  MANKAI_ASSIGN(auto gate, make_gate({.phase = 5}, context));
  fill_to(gate, saturation, random);
  const Estimate rate = absent_let_through(gate, context.trials(200'000, 4'000'000), random);
  const double let_through = kFilled + (1 - kFilled) * rate.value;
  return Side{
      at_least(likely),
      {.value = kFilled / let_through, .error = kFilled * (1 - kFilled) * rate.error / (let_through * let_through)}};
}

}  // namespace

Result<void> measure_sessions(const Context& context, Findings& findings) {
  Random random(context.seed);
  const std::vector<Session> sessions = make_sessions(context.trials(200'000, 2'000'000), random);
  MANKAI_ASSIGN(const auto gate, gate_of(sessions, context));
  const Served served = serve(sessions, gate);
  const double rate = gate.filter().fpr_estimate();
  judge_queries(served, rate, findings);
  const double likely = findings.threshold("yes-is-likely-right");
  MANKAI_ASSIGN(const auto half_set, right_yes_at(0.5, likely, context, random));
  MANKAI_ASSIGN(const auto more_set, right_yes_at(0.75, likely, context, random));
  findings.depends("yes-is-likely-right", half_set, more_set);
  judge_repeats(served, rate, findings);
  findings.add(figure_of(served, findings));
  return {};
}

}  // namespace mankai::lab::basket
