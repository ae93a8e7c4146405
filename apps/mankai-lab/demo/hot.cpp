#include "mankai/hot/hot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"

namespace mankai::command::demo {
namespace {

constexpr Duration kHalfLife = std::chrono::minutes(30);
constexpr Duration kLook = std::chrono::minutes(10);  // how often somebody looks at the list
constexpr std::uint64_t kMemoryBytes = std::uint64_t{32} << 10;
constexpr std::size_t kTop = 10;
constexpr std::size_t kDrawn = 5;  // pages in the plot
constexpr std::string_view kProducts = "/product/";

using Truth = ExactDecayedCounts;

/// The pages of the day as both are given them.
struct Pages {
  std::vector<DayEvent> events;
  std::vector<std::string_view> keys;
  std::vector<Time> times;
};

Pages product_pages(const Day& day) {
  Pages pages;
  for (const DayEvent& event : day.shop) {
    if (event.kind == TrafficKind::page && event.what.starts_with(kProducts)) {
      pages.events.push_back(event);
      pages.keys.push_back(event.what);
      pages.times.push_back(event.time);
    }
  }
  return pages;
}

/// How hot a page was at every look, estimated and true.
using Heat = std::map<std::string, std::vector<std::pair<Point, Point>>, std::less<>>;

/// Everything that is noted at a look.
struct Notes {
  Answers row;
  double excess = 0;  // sum over the entries of the lists
  std::uint64_t looks = 0;
  std::map<std::string, std::uint64_t, std::less<>> leads;  // how often a page was the hottest
};

/// Compares the two lists of a moment.
void compare(const std::vector<Hot::Entry>& told, const std::vector<Truth::Entry>& truth, const Hot& hot,
             Notes& notes) {
  const auto is_in = [](const auto& list, std::string_view key) {
    return std::ranges::any_of(list, [key](const auto& entry) { return entry.key == key; });
  };
  ++notes.looks;
  notes.row.yes += told.size();
  notes.row.truth += truth.size();
  for (const Hot::Entry& entry : told) {
    notes.row.wrong_yes += is_in(truth, entry.key) ? 0 : 1;
  }
  for (const Truth::Entry& entry : truth) {
    notes.row.missed += is_in(told, entry.key) ? 0 : 1;
    notes.excess += hot.estimate(entry.key).raw / entry.count - 1;
  }
  if (!truth.empty()) {
    ++notes.leads[std::string(truth.front().key)];
  }
}

/// Runs through the day; calls `look` at each look with the time. Errors: as Hot's.
template <class Look>
Result<void> run(const Day& day, const Pages& pages, Hot& hot, Truth& exact, Answers& row, const Look& look) {
  std::size_t begin = 0;
  const Duration epoch = hot.decay().epoch;
  Result<void> done;
  for_each_part(day, pages.events, kLook, [&](std::span<const DayEvent> part, Time end) {
    const auto keys = std::span(pages.keys).subspan(begin, part.size());
    const auto times = std::span(pages.times).subspan(begin, part.size());
    begin += part.size();
    if (!done) {
      return;
    }
    timed(row.seconds, [&] { done = hot.observe(keys, times); });
    timed(row.exact_seconds, [&] {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        exact.insert(keys[i], tick_of(times[i], epoch));
      }
    });
    if (auto moved = hot.advance_to(end); done && !moved) {
      done = moved;
    }
    look(end);
  });
  return done;
}

/// The sale's page and the others that led most often.
std::vector<std::string> pages_to_draw(const Day& day, const Notes& notes) {
  std::vector<std::pair<std::uint64_t, std::string>> by_leads;
  for (const auto& [key, leads] : notes.leads) {
    if (key != day.sale_path) {
      by_leads.emplace_back(leads, key);
    }
  }
  std::ranges::sort(by_leads, std::greater<>());
  std::vector<std::string> drawn = {std::string(day.sale_path)};
  for (const auto& [leads, key] : by_leads) {
    if (drawn.size() < kDrawn) {
      drawn.push_back(key);
    }
  }
  return drawn;
}

Plot hot_plot(const Day& day, const std::vector<std::string>& drawn, const Heat& heat) {
  constexpr double kRoom = 1.08;
  const double sale = seconds_into(day, day.sale_start);
  Plot plot{.id = "plot-hot",
            .title = "The hottest product pages over the day",
            .description =
                "Decayed counts of the leading products over the day, estimated and exact. "
                "The two agree. During the flash sale its product rises above all others and then fades.",
            .x = day_axis(),
            .y = {.label = "views, halved every 30 minutes", .least = 0, .greatest = 1},
            .curves = {},
            .bands = {{.name = "flash sale",
                       .begin = sale,
                       .end = sale + std::chrono::duration<double>(TrafficGenerator::kSaleLength).count()}}};
  constexpr double kVisible = 0.01;  // of the axis: dots on it would hide it
  constexpr std::size_t kEvery = 3;  // of the looks, so that dots stand apart
  Curve truth{.name = "dots: the exact truth", .style = CurveStyle::dots, .colour = 5, .points = {}};
  for (const auto& [key, looks] : heat) {
    for (const auto& [told, exact] : looks) {
      plot.y.greatest = std::max(plot.y.greatest, told.y * kRoom);
    }
  }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    Curve curve{.name = drawn[i], .style = CurveStyle::line, .colour = i, .points = {}};
    const auto& looks = heat.find(drawn[i])->second;
    for (std::size_t look = 0; look < looks.size(); ++look) {
      curve.points.push_back(looks[look].first);
      if (look % kEvery == i % kEvery && looks[look].second.y > kVisible * plot.y.greatest) {
        truth.points.push_back(looks[look].second);
      }
    }
    plot.curves.push_back(std::move(curve));
  }
  plot.curves.push_back(std::move(truth));
  return plot;
}

Result<Hot> new_hot(std::uint64_t seed) {
  MANKAI_ASSIGN(const auto decay, Decay::of_half_life(kHalfLife));
  return Hot::create({.decay = decay, .memory_bytes = kMemoryBytes, .seed = {{seed, 0}}});
}

/// The heat of chosen pages, by a second run through the day: which pages these are is known after the first.
Result<Heat> heat_of(const Day& day, const Pages& pages, const std::vector<std::string>& drawn, std::uint64_t seed) {
  MANKAI_ASSIGN(auto hot, new_hot(seed));
  Truth exact(hot.decay().lambda());
  Answers unused;
  Heat heat;
  MANKAI_TRY(run(day, pages, hot, exact, unused, [&](Time now) {
    for (const std::string& key : drawn) {
      const double x = seconds_into(day, now);
      heat[key].push_back(
          {{.x = x, .y = hot.estimate(key).raw}, {.x = x, .y = exact.estimate(key, tick_of(now, hot.decay().epoch))}});
    }
  }));
  return heat;
}

}  // namespace

Result<Exhibit> ask_hot(const Day& day, std::uint64_t seed) {
  const Pages pages = product_pages(day);
  auto hot = new_hot(seed);
  if (!hot) {
    return std::unexpected(hot.error());
  }
  CountedMemory memory;
  Truth exact(hot->decay().lambda(), &memory);
  Notes notes;
  MANKAI_TRY(run(day, pages, *hot, exact, notes.row, [&](Time now) {
    compare(hot->top(kTop), exact.top(kTop, tick_of(now, hot->decay().epoch)), *hot, notes);
  }));
  const std::vector<std::string> drawn = pages_to_draw(day, notes);
  MANKAI_ASSIGN(const auto heat, heat_of(day, pages, drawn, seed));
  Answers& row = notes.row;
  row.name = "hot";
  row.question = "Hot?";
  row.about = fmt::format("names in {} lists of ten products", human_count(notes.looks));
  row.asked = row.truth;
  row.steps = pages.events.size();
  row.strangers = row.yes;
  row.promised = "counts never too low";
  row.bytes = hot->filter().image_bytes();
  row.exact_bytes = memory.most_bytes();
  Exhibit exhibit{
      .id = "hot",
      .heading = "What is hot right now?",
      .text =
          "A shop wants to know which pages are looked at most, not since the beginning of time but recently. "
          "Every view counts one and fades, here to a half in 30 minutes, and the hottest pages are known by "
          "name at any moment.",
      .found = {},
      .rows = {},
      .plots = {hot_plot(day, drawn, heat)},
      .wrong_by_hour = {}};
  exhibit.found.push_back(fmt::format(
      "{} views of {} products. In {} looks at the ten hottest, one every ten minutes, {} of {} names were right; the "
      "counts of the truly hottest were {} too high on average.",
      human_count(row.steps), human_count(exact.size()), human_count(notes.looks), human_count(row.yes - row.wrong_yes),
      human_count(row.yes),
      human_share(std::max(0.0, notes.excess / static_cast<double>(std::max<std::uint64_t>(row.truth, 1))))));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
