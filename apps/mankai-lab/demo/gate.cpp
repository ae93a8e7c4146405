#include "mankai/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"

namespace mankai::command::demo {
namespace {

constexpr Duration kLook = std::chrono::minutes(10);

/// The table of baskets as the shop's database has it, and what it would have answered.
struct Truth {
  std::vector<bool> has_basket;  // of the shopper of each event, before the event
  std::vector<Point> open;       // baskets at every look
  std::uint64_t most_open = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

using Baskets = std::pmr::unordered_set<std::pmr::string>;

// Asks for each page and keeps the table.
void run_part(Baskets& baskets, std::span<const DayEvent> part, Truth& truth) {
  for (const DayEvent& event : part) {
    const std::pmr::string cookie(event.who, baskets.get_allocator());
    truth.has_basket.push_back(baskets.contains(cookie));
    if (event.kind != TrafficKind::basket) {
      continue;
    }
    if (event.items == 0) {
      baskets.erase(cookie);
    } else {
      baskets.insert(cookie);
    }
    truth.most_open = std::max<std::uint64_t>(truth.most_open, baskets.size());
  }
}

Truth exact_answers(const Day& day) {
  Truth truth;
  CountedMemory memory;
  Baskets baskets(&memory);
  truth.has_basket.reserve(day.shop.size());
  for_each_part(day, day.shop, kLook, [&](std::span<const DayEvent> part, Time end) {
    timed(truth.seconds, [&] { run_part(baskets, part, truth); });
    truth.open.push_back({.x = seconds_into(day, end), .y = static_cast<double>(baskets.size())});
  });
  truth.bytes = memory.most_bytes();
  return truth;
}

/// What the gate is told of a basket that began or ended; of others nothing.
Result<void> change(Gate& gate, const DayEvent& event, bool has_basket, std::uint64_t position) {
  const std::string_view cookie = event.who;
  if (event.items == 0) {
    return gate.apply({.erased = {&cookie, 1}}, position);
  }
  return has_basket ? Result<void>{} : gate.apply({.inserted = {&cookie, 1}}, position);
}

/// Asks for every page and keeps the gate in step; where the gate says maybe and the table has no basket, it is told.
Result<void> run_part(Gate& gate, std::span<const DayEvent> part, std::size_t first, const Truth& truth,
                      std::vector<bool>& maybes) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    const DayEvent& event = part[i];
    const bool has_basket = truth.has_basket[first + i];
    if (event.kind == TrafficKind::basket) {
      maybes.push_back(false);
      MANKAI_TRY(change(gate, event, has_basket, first + i));
      continue;
    }
    const GateAnswer answer = gate.maybe(event.who);
    maybes.push_back(answer.is_maybe());
    if (answer.is_maybe() && !has_basket) {
      gate.report_false_positive(event.who, answer);
    }
  }
  return {};
}

/// The day with a gate: its answers, and how full it was.
struct Watched {
  std::vector<bool> maybes;
  std::vector<Point> saturation;
  std::vector<Point> forgetless;  // of a filter of the same size that cannot forget
  double seconds = 0;
};

Result<Watched> watch(Gate& gate, BlockedBloom& forgetless, const Day& day, const Truth& truth) {
  Watched watched;
  watched.maybes.reserve(day.shop.size());
  const Hasher hash = forgetless.hasher();
  Result<void> done;
  std::size_t first = 0;
  for_each_part(day, day.shop, kLook, [&](std::span<const DayEvent> part, Time end) {
    if (!done) {
      return;
    }
    timed(watched.seconds, [&] { done = run_part(gate, part, first, truth, watched.maybes); });
    first += part.size();
    for (const DayEvent& event : part) {
      if (event.kind == TrafficKind::basket && event.items > 0) {
        forgetless.insert(hash(event.who));
      }
    }
    const double x = seconds_into(day, end);
    watched.saturation.push_back({.x = x, .y = gate.facts().saturation});
    watched.forgetless.push_back({.x = x, .y = forgetless.fill_ratio()});
  });
  if (!done) {
    return std::unexpected(done.error());
  }
  return watched;
}

Plot gate_plot(const Watched& watched, const Truth& truth) {
  Plot plot{
      .id = "plot-gate",
      .title = "How full the gate is over the day",
      .description =
          "The share of the gate's cells in use follows the baskets that are open: little at night, most "
          "in the evening. A filter that cannot forget only fills up.",
      .x = day_axis(),
      .y = {.label = "share in use", .unit = AxisUnit::share, .least = 0, .greatest = 1},
      .curves = {{.name = "cells of the gate", .style = CurveStyle::line, .colour = 0, .points = watched.saturation},
                 {.name = "cells of a filter that cannot forget",
                  .style = CurveStyle::line,
                  .colour = 1,
                  .points = watched.forgetless},
                 {.name = "open baskets, of the most that were open at once",
                  .style = CurveStyle::dots,
                  .colour = 2,
                  .points = {}}}};
  constexpr std::size_t kEvery = 3;
  for (std::size_t i = 0; i < truth.open.size(); i += kEvery) {
    plot.curves.back().points.push_back(
        {.x = truth.open[i].x, .y = truth.open[i].y / static_cast<double>(truth.most_open)});
  }
  return plot;
}

Answers row_of(const Day& day, const Truth& truth, const Watched& watched, WrongByHour& by_hour) {
  Answers row{.name = "gate",
              .question = "Worth fetching?",
              .about = "has this shopper a basket? For every page",
              .promised = "none missed",
              .promised_share = kPromisedRate,
              .exact_bytes = truth.bytes,
              .seconds = watched.seconds,
              .exact_seconds = truth.seconds};
  for (std::size_t i = 0; i < day.shop.size(); ++i) {
    if (day.shop[i].kind != TrafficKind::page) {
      continue;
    }
    const bool is_wrong = watched.maybes[i] && !truth.has_basket[i];
    ++row.asked;
    row.yes += watched.maybes[i] ? 1 : 0;
    row.truth += truth.has_basket[i] ? 1 : 0;
    row.missed += truth.has_basket[i] && !watched.maybes[i] ? 1 : 0;
    row.wrong_yes += is_wrong ? 1 : 0;
    by_hour.add(day.shop[i].time, !truth.has_basket[i], is_wrong);
  }
  row.strangers = row.asked - row.truth;
  return row;
}

}  // namespace

Result<Exhibit> ask_gate(const Day& day, std::uint64_t seed) {
  const Truth truth = exact_answers(day);
  const std::uint64_t keys = std::max<std::uint64_t>(truth.most_open, 1);
  auto gate = Gate::create({.keys = keys, .fpr = kPromisedRate, .seed = {{seed, 0}}});
  auto forgetless = BlockedBloom::create({.keys = keys, .fpr = kPromisedRate, .hash = HashSpec{.seed = {seed, 0}}});
  if (!gate || !forgetless) {
    return std::unexpected(gate ? forgetless.error() : gate.error());
  }
  MANKAI_ASSIGN(const auto watched, watch(*gate, *forgetless, day, truth));
  WrongByHour by_hour(day);
  Answers row = row_of(day, truth, watched, by_hour);
  row.bytes = gate->facts().image_bytes + GateOptions{}.memo_bytes;
  const GateCounts counts = gate->counts();
  Exhibit exhibit{
      .id = "gate",
      .heading = "Is there anything to fetch?",
      .text =
          "On every page a shop asks its database what is in the shopper's basket, and nearly always the answer is: "
          "nothing. A gate in front of the database knows who may have one; all the others need no query at all.",
      .found = {},
      .rows = {},
      .plots = {gate_plot(watched, truth)},
      .wrong_by_hour = by_hour.curve("Worth fetching? The gate", 2)};
  exhibit.found.push_back(fmt::format(
      "For {} pages {} queries were left to make: {} were saved. Pages of shoppers with a basket that were told there "
      "is "
      "none: {} of {}.",
      human_count(row.asked), human_count(row.yes),
      human_share(static_cast<double>(counts.empty) / static_cast<double>(std::max<std::uint64_t>(counts.asked, 1))),
      human_count(row.missed), human_count(row.truth)));
  exhibit.found.push_back(fmt::format(
      "A shopper who was asked for in vain is remembered in {}, and {} more queries were saved by that. At most {} "
      "baskets were open at once, and {} of the gate's cells in use: such a filter is best used at a half.",
      human_bytes(GateOptions{}.memo_bytes), human_count(counts.memo_hits), human_count(truth.most_open),
      human_share(std::ranges::max(watched.saturation, {}, &Point::y).y)));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
