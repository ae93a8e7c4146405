#include "mankai/hot/hot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"

namespace mankai::command::demo {
namespace {

constexpr Duration kHalfLife = std::chrono::minutes(30);
constexpr Duration kLook = std::chrono::minutes(10);  // between two looks at the list
constexpr std::uint64_t kMemoryBytes = std::uint64_t{256} << 10;
constexpr std::size_t kTop = 10;
constexpr std::size_t kDrawn = 5;
constexpr std::string_view kProducts = "/product/";

using Truth = ExactDecayedCounts;

bool is_view(const DayEvent& event) { return event.kind == TrafficKind::page && event.what.starts_with(kProducts); }

struct Views {
  std::vector<std::string_view> keys;
  std::vector<Time> times;

  void add(const DayEvent& event) {
    keys.push_back(event.what);
    times.push_back(event.time);
  }
  void clear() {
    keys.clear();
    times.clear();
  }
};

Result<Hot> new_hot(std::uint64_t seed) {
  MANKAI_ASSIGN(const auto decay, Decay::of_half_life(kHalfLife));
  return Hot::create({.decay = decay, .memory_bytes = kMemoryBytes, .seed = {{seed, 0}}});
}

void insert(Truth& exact, const Views& views, Duration epoch) {
  for (std::size_t i = 0; i < views.keys.size(); ++i) {
    exact.insert(views.keys[i], tick_of(views.times[i], epoch));
  }
}

class Counting : public Side {
 public:
  explicit Counting(std::function<Result<void>(const Views&)> count) : count_(std::move(count)) {}

  void prepare(std::span<const DayEvent> events) override {
    views_.clear();
    for (const DayEvent& event : events) {
      if (is_view(event)) {
        views_.add(event);
      }
    }
  }
  Result<void> ask(std::span<const DayEvent> /*events*/, std::span<const bool> /*truth*/,
                   std::span<bool> /*yes*/) override {
    return count_(views_);
  }

 private:
  std::function<Result<void>(const Views&)> count_;
  Views views_;
};

Result<std::unique_ptr<Side>> make_hot(const SideOptions& options) {
  MANKAI_ASSIGN(auto hot, new_hot(options.seed));
  return std::make_unique<Counting>([hot = std::make_shared<Hot>(std::move(hot))](const Views& views) {
    return hot->observe(views.keys, views.times);
  });
}

Result<std::unique_ptr<Side>> make_exact(const SideOptions& /*options*/) {
  MANKAI_ASSIGN(const auto decay, Decay::of_half_life(kHalfLife));
  return std::make_unique<Counting>(
      [decay, exact = std::make_shared<Truth>(decay.lambda())](const Views& views) -> Result<void> {
        insert(*exact, views, decay.epoch);
        return {};
      });
}

/// Estimated and exact count of a page at each look.
using Heat = std::map<std::string, std::vector<std::pair<Point, Point>>, std::less<>>;

struct Notes {
  Answers row;
  double excess = 0;  // sum over all list entries
  std::uint64_t looks = 0;
  std::map<std::string, std::uint64_t, std::less<>> leads;  // looks at which a page was the hottest
};

void compare_lists(const std::vector<Hot::Entry>& told, const std::vector<Truth::Entry>& truth, const Hot& hot,
                   Notes& notes) {
  const auto is_in = [](const auto& list, std::string_view key) {
    return std::ranges::any_of(list, [key](const auto& entry) { return entry.key == key; });
  };
  ++notes.looks;
  notes.row.yes += told.size();
  notes.row.really_yes += truth.size();
  for (const Hot::Entry& entry : told) {
    notes.row.false_positives += is_in(truth, entry.key) ? 0 : 1;
  }
  for (const Truth::Entry& entry : truth) {
    notes.row.false_negatives += is_in(told, entry.key) ? 0 : 1;
    notes.excess += hot.estimate(entry.key).raw / entry.count - 1;
  }
  if (!truth.empty()) {
    ++notes.leads[std::string(truth.front().key)];
  }
}

/// Processes the day and calls `look(time)` at each look. Errors: as Hot.
template <class Look>
Result<void> run(const Day& day, Hot& hot, Truth& exact, const Look& look) {
  const Duration epoch = hot.decay().epoch;
  Time end = day.options.start + kLook;
  Views views;
  Result<void> done;
  const auto count = [&] {
    done = done ? hot.observe(views.keys, views.times) : done;
    insert(exact, views, epoch);
    views.clear();
  };
  const auto look_before = [&](Time time) {
    for (; end <= time; end += kLook) {
      count();
      done = done ? hot.advance_to(end) : done;
      look(end);
    }
  };
  EventReader reader(day.file(Stream::shop));
  for (auto block = reader.next(); !block.empty() && done; block = reader.next()) {
    for (const DayEvent& event : block) {
      look_before(event.time);
      if (is_view(event)) {
        views.add(event);
      }
    }
    count();
  }
  look_before(day.options.start + std::chrono::hours(24));
  return done;
}

/// Returns the sale's page and those that were the hottest most often.
std::vector<std::string> pages_to_draw(const std::string& sale_path, const Notes& notes) {
  std::vector<std::pair<std::uint64_t, std::string>> by_leads;
  for (const auto& [key, leads] : notes.leads) {
    if (key != sale_path) {
      by_leads.emplace_back(leads, key);
    }
  }
  std::ranges::sort(by_leads, std::greater<>());
  std::vector<std::string> drawn = {sale_path};
  for (const auto& [leads, key] : by_leads) {
    if (drawn.size() < kDrawn) {
      drawn.push_back(key);
    }
  }
  return drawn;
}

Plot hot_plot(double sale, const std::vector<std::string>& drawn, const Heat& heat) {
  constexpr double kRoom = 1.08;
  Plot plot{.id = "plot-hot",
            .title = "The hottest product pages over the day",
            .description =
                "Decayed counts of the leading products over the day, estimated and exact. The two agree. During the "
                "flash sale its product rises above all others and then decays.",
            .x = day_axis(),
            .y = {.label = "views, halved every 30 minutes", .least = 0, .greatest = 1},
            .curves = {},
            .bands = {{.name = "flash sale",
                       .begin = sale,
                       .end = sale + std::chrono::duration<double>(TrafficGenerator::kSaleLength).count()}}};
  constexpr double kVisible = 0.01;  // share of the axis; lower dots would hide it
  constexpr std::size_t kEvery = 3;  // plots every third look, so that dots stay apart
  Curve truth{.name = "dots: the exact truth", .style = CurveStyle::dots, .color = 5, .points = {}};
  for (const auto& [key, looks] : heat) {
    for (const auto& [told, exact] : looks) {
      plot.y.greatest = std::max(plot.y.greatest, told.y * kRoom);
    }
  }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    Curve curve{.name = drawn[i], .style = CurveStyle::line, .color = i, .points = {}};
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

/// Records the counts of selected pages in a second pass: they are known only after the first.
Result<Heat> heat_of(const Day& day, const std::vector<std::string>& drawn) {
  MANKAI_ASSIGN(auto hot, new_hot(day.options.seed));
  Truth exact(hot.decay().lambda());
  Heat heat;
  MANKAI_TRY(run(day, hot, exact, [&](Time now) {
    for (const std::string& key : drawn) {
      const double x = seconds_into(day, now);
      heat[key].push_back(
          {{.x = x, .y = hot.estimate(key).raw}, {.x = x, .y = exact.estimate(key, tick_of(now, hot.decay().epoch))}});
    }
  }));
  return heat;
}

Result<Notes> look_at(const Day& day, std::size_t& products) {
  MANKAI_ASSIGN(auto hot, new_hot(day.options.seed));
  Truth exact(hot.decay().lambda());
  Notes notes;
  MANKAI_TRY(run(day, hot, exact, [&](Time now) {
    compare_lists(hot.top(kTop), exact.top(kTop, tick_of(now, hot.decay().epoch)), hot, notes);
  }));
  products = exact.size();
  return notes;
}

}  // namespace

const Question kHot{.name = "hot", .list = Stream::none, .asked = Stream::shop, .ours = make_hot, .exact = make_exact};

Result<Exhibit> show_hot(const Day& day, const Facts& facts) {
  std::size_t products = 0;
  MANKAI_ASSIGN(auto notes, look_at(day, products));
  MANKAI_ASSIGN(const auto traffic, TrafficGenerator::create(day.options));
  std::string sale_path;
  traffic.append_sale_path(sale_path);
  const std::vector<std::string> drawn = pages_to_draw(sale_path, notes);
  MANKAI_ASSIGN(const auto heat, heat_of(day, drawn));
  Answers& row = notes.row;
  row.name = "hot";
  row.question = "Hot?";
  row.about = fmt::format("names in {} lists of the ten hottest of {} products", notes.looks, human_count(products));
  row.asked = row.really_yes;
  for_each_event(day, Stream::shop, [&row](const DayEvent& event) { row.steps += is_view(event) ? 1 : 0; });
  row.negatives = row.yes;
  row.promised = "counts never too low";
  row.add_costs(facts.hot);
  Exhibit exhibit{
      .id = "hot",
      .heading = "What is hot right now?",
      .text =
          "A shop wants to know which pages are viewed most, not since the beginning of time but recently. "
          "Every view counts one and decays, here to a half in 30 minutes. The names of the hottest pages can be asked "
          "for at any moment.",
      .found = {},
      .rows = {},
      .plots = {hot_plot(seconds_into(day, traffic.sale_start()), drawn, heat)}};
  exhibit.found.push_back(fmt::format(
      "{} views of {} products. In {} looks at the ten hottest, one every ten minutes, {} of {} names were right; the "
      "counts of the ten hottest were {} too high on average.",
      human_count(row.steps), human_count(products), human_count(notes.looks),
      human_count(row.yes - row.false_positives), human_count(row.yes),
      human_share(std::max(0.0, notes.excess / static_cast<double>(std::max<std::uint64_t>(row.really_yes, 1))))));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
