#include "mankai/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/report.hpp"
#include "lab/exact_sets.hpp"

namespace mankai::command::demo {
namespace {

std::vector<std::string_view> cookies_of(std::span<const DayEvent> events) {
  std::vector<std::string_view> cookies;
  std::ranges::transform(events, std::back_inserter(cookies), &DayEvent::who);
  return cookies;
}

class ExactBaskets : public Side {
 public:
  Result<void> load(std::span<const DayEvent> events) override {
    for (const DayEvent& event : events) {
      baskets_.insert(event.who);
    }
    most_ = baskets_.size();
    return {};
  }
  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> /*truth*/, std::span<bool> yes) override {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const DayEvent& event = events[i];
      if (event.kind == TrafficKind::page) {
        yes[i] = baskets_.contains(event.who);
      } else if (event.items == 0) {
        baskets_.erase(event.who);
      } else {
        baskets_.insert(event.who);
        most_ = std::max<std::uint64_t>(most_, baskets_.size());
      }
    }
    return {};
  }
  [[nodiscard]] std::uint64_t size() const override { return most_; }

 private:
  baseline::HashSet baskets_;
  std::uint64_t most_ = 0;
};

/// The gate, kept in sync with the table. A maybe without a row is reported to the gate.
class GateSide : public Side {
 public:
  explicit GateSide(Gate gate) : gate_(std::move(gate)) {}

  Result<void> load(std::span<const DayEvent> events) override {
    return gate_.apply({.inserted = cookies_of(events)}, ++position_);
  }
  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> truth, std::span<bool> yes) override {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const DayEvent& event = events[i];
      if (event.kind != TrafficKind::page) {
        MANKAI_TRY(change(event));
        continue;
      }
      const GateAnswer answer = gate_.maybe(event.who);
      yes[i] = answer.is_maybe();
      if (answer.is_maybe() && !truth[i]) {
        gate_.report_false_positive(event.who, answer);
      }
    }
    return {};
  }

 private:
  // The gate changes only when a basket is created or removed.
  Result<void> change(const DayEvent& event) {
    const std::span<const std::string_view> cookie(&event.who, 1);
    if (event.items == 0) {
      return gate_.apply({.erased = cookie}, ++position_);
    }
    return event.items == 1 ? gate_.apply({.inserted = cookie}, ++position_) : Result<void>{};
  }

  Gate gate_;
  std::uint64_t position_ = 0;
};

Result<std::unique_ptr<Side>> make_gate(const SideOptions& options) {
  MANKAI_ASSIGN(auto gate, Gate::create({.keys = options.size, .fpr = kPromisedRate, .seed = {{options.seed, 0}}}));
  return std::make_unique<GateSide>(std::move(gate));
}

}  // namespace

const Question kGate{.name = "gate",
                     .list = Stream::baskets,
                     .asked = Stream::shop,
                     .ours = make_gate,
                     .exact = [](const SideOptions& /*options*/) -> Result<std::unique_ptr<Side>> {
                       return std::make_unique<ExactBaskets>();
                     }};

Result<Exhibit> show_gate(const Day& day, const Facts& facts) {
  Answers row{.name = "gate",
              .question = "Worth fetching?",
              .about = fmt::format("has this shopper one of {} baskets?", human_count(facts.gate.exact.size)),
              .promised = "none",
              .promised_rate = kPromisedRate};
  compare(day, Stream::shop, facts.gate, [](const DayEvent& event) { return event.kind == TrafficKind::page; }, row);
  Exhibit exhibit{
      .id = "gate",
      .heading = "Is there anything to fetch?",
      .text =
          "On every page a shop asks its database what is in the shopper's basket, and most often the answer is: "
          "nothing. A gate in front of the database answers who may have one. All others need no query.",
      .found = {},
      .rows = {},
      .plots = {}};
  exhibit.found.push_back(fmt::format(
      "Without the gate, {} pages need {} queries. With it, {} queries remain: {} are saved. Of {} pages of shoppers "
      "with a basket, {} were answered no.",
      human_count(row.asked), human_count(row.asked), human_count(row.yes),
      human_share(1 - static_cast<double>(row.yes) / static_cast<double>(std::max<std::uint64_t>(row.asked, 1))),
      human_count(row.really_yes), human_count(row.false_negatives)));
  exhibit.found.push_back(
      fmt::format("The gate stays in step with the table: baskets come and go all day, and at most {} are open at "
                  "once. A shopper who was a false positive is stored, so the same false positive rarely comes twice.",
                  human_count(facts.gate.exact.size)));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
