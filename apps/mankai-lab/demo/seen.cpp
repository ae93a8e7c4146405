#include "mankai/seen/seen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai-lab/demo/recency.hpp"
#include "apps/mankai/report.hpp"
#include "lab/exact_sets.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::command::demo {
namespace {

// Half-life of the fading memory: a quarter of the crawler's events, which are a quarter of all events.
constexpr std::uint64_t kRememberedPart = 4;
constexpr std::uint64_t kEventsPerFetch = 4;

std::uint64_t remembered(std::uint64_t events) { return events / kEventsPerFetch / kRememberedPart; }

std::string_view canonical(std::string_view raw, url::CanonicalUrl& out) {
  return url::canonicalize(raw, out, url::UrlRules::keys) ? out.text() : raw;
}

/// Asks a class with `observe`; URLs are canonicalized before.
template <class Memory>
class Observing : public Side {
 public:
  explicit Observing(Memory memory) : memory_(std::move(memory)) {}

  void prepare(std::span<const DayEvent> events) override {
    keys_.clear();
    for (const DayEvent& event : events) {
      keys_.emplace_back(canonical(event.what, url_));
    }
  }
  Result<void> ask(std::span<const DayEvent> /*events*/, std::span<const bool> /*truth*/,
                   std::span<bool> yes) override {
    std::ranges::transform(keys_, yes.begin(), [this](const std::string& key) { return observe(key); });
    return {};
  }

 private:
  bool observe(const std::string& key) {
    if constexpr (requires { memory_.hasher(); }) {
      return memory_.observe(memory_.hasher()(key));
    } else {
      return memory_.observe(key);
    }
  }

  Memory memory_;
  url::CanonicalUrl url_;
  std::vector<std::string> keys_;
};

class ExactUrls : public Side {
 public:
  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> /*truth*/, std::span<bool> yes) override {
    std::ranges::transform(events, yes.begin(),
                           [this](const DayEvent& event) { return set_.observe(canonical(event.what, url_)); });
    return {};
  }
  [[nodiscard]] std::uint64_t size() const override { return set_.size(); }

 private:
  baseline::HashSet set_;
  url::CanonicalUrl url_;
};

class SeenSide : public Side {
 public:
  explicit SeenSide(Seen seen) : seen_(std::move(seen)) {}

  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> /*truth*/, std::span<bool> yes) override {
    urls_.clear();
    std::ranges::transform(events, std::back_inserter(urls_), &DayEvent::what);
    return seen_.observe(urls_, yes);
  }

 private:
  Seen seen_;
  std::vector<std::string_view> urls_;
};

Result<std::unique_ptr<Side>> make_seen(const SideOptions& options) {
  MANKAI_ASSIGN(auto seen, Seen::create({.keys = std::max<std::uint64_t>(options.size, 1),
                                         .fpr = kPromisedRate,
                                         .seed = {{options.seed, 0}},
                                         .canonical = true}));
  return std::make_unique<SeenSide>(std::move(seen));
}

Result<FadingFingerprints> fading_memory(std::uint64_t events, std::uint64_t seed) {
  return FadingFingerprints::create(
      {.keys = remembered(events), .fpr = kPromisedRate, .hash = HashSpec{.seed = {seed, 0}}});
}

Result<std::unique_ptr<Side>> make_fading(const SideOptions& options) {
  MANKAI_ASSIGN(auto memory, fading_memory(options.events, options.seed));
  return std::make_unique<Observing<FadingFingerprints>>(std::move(memory));
}

void show_crawler(const Day& day, const Measured& measured, Exhibit& exhibit) {
  Answers row{.name = "seen",
              .question = "Seen?",
              .about = "URLs the crawler finds",
              .promised = "none",
              .promised_rate = kPromisedRate};
  compare(day, Stream::frontier, measured, [](const DayEvent& /*event*/) { return true; }, row);
  exhibit.found.push_back(
      fmt::format("{} of {} URLs were repeats, many of them in another spelling; {} of these repeats were answered no. "
                  "{} of {} new URLs were answered yes: these a crawler would not have fetched.",
                  human_count(row.really_yes), human_count(row.asked), human_count(row.false_negatives),
                  human_count(row.false_positives), human_count(row.negatives)));
  exhibit.rows.push_back(std::move(row));
}

struct AgeBin {
  double ages = 0;
  std::uint64_t asked = 0;
  std::uint64_t known = 0;
};

constexpr std::size_t kBinsPerOctave = 2;

std::size_t bin_of(std::uint64_t age) {
  return static_cast<std::size_t>(std::log2(static_cast<double>(age)) * kBinsPerOctave);
}

struct Fading {
  Answers row;
  std::uint64_t new_keys = 0;
  std::uint64_t new_known = 0;
  std::vector<AgeBin> bins = std::vector<AgeBin>(64 * kBinsPerOctave);
};

Fading compare_fading(const Day& day, const Measured& measured) {
  Fading fading;
  const std::vector<char> told = measured.ours.answers();
  const std::vector<char> truth = measured.exact.answers();
  Ages ages(told.size());
  Answers& row = fading.row;
  for_each_event(day, Stream::frontier, [&](const DayEvent& event) {
    const bool is_known = told.at(row.asked) != 0;
    const std::uint64_t age = ages.next(event.number);
    row.count(is_known, truth.at(row.asked) != 0);
    if (age > 0) {
      AgeBin& bin = fading.bins.at(bin_of(age));
      bin.ages += static_cast<double>(age);
      ++bin.asked;
      bin.known += is_known ? 1 : 0;
    } else {
      ++fading.new_keys;
      fading.new_known += is_known ? 1 : 0;
    }
  });
  // Both answers are right for keys older than the window.
  row.negatives = fading.new_keys;
  row.false_positives = fading.new_known;
  row.add_costs(measured);
  return fading;
}

Plot fading_plot(const FadingFingerprints& memory, const Fading& fading) {
  Plot plot{.id = "plot-fading",
            .title = "Survival by age",
            .description =
                "The share of URLs that the filter still finds, by the number of later distinct URLs: nearly all of "
                "the newest, half at its half-life, hardly any of the oldest. The measured points lie on the curve of "
                "the formula.",
            .x = {.label = "later distinct URLs, logarithmic", .is_logarithmic = true, .least = 1, .greatest = 2},
            .y = {.label = "still found", .unit = AxisUnit::share, .least = 0, .greatest = 1},
            .curves = {{.name = "formula", .style = CurveStyle::line, .color = 1, .points = {}},
                       {.name = "measured", .style = CurveStyle::dots, .color = 0, .points = {}}}};
  constexpr std::uint64_t kEnough = 30;
  for (const AgeBin& bin : fading.bins) {
    if (bin.asked < kEnough) {
      continue;
    }
    const double age = bin.ages / static_cast<double>(bin.asked);
    const double share = static_cast<double>(bin.known) / static_cast<double>(bin.asked);
    plot.curves[1].points.push_back(
        {.x = age, .y = share, .error = 2 * std::sqrt(share * (1 - share) / static_cast<double>(bin.asked))});
    plot.x.greatest = std::max(plot.x.greatest, age * 1.2);
  }
  constexpr int kSteps = 120;
  for (int step = 0; step <= kSteps; ++step) {
    const double age = std::pow(plot.x.greatest, static_cast<double>(step) / kSteps);
    plot.curves[0].points.push_back({.x = age, .y = memory.survival(age - 1)});
  }
  return plot;
}

Result<void> show_fading(const Day& day, const Measured& measured, Exhibit& exhibit) {
  MANKAI_ASSIGN(const auto memory, fading_memory(day.options.events, day.options.seed));
  Fading fading = compare_fading(day, measured);
  Answers& row = fading.row;
  const std::string window = human_count(remembered(day.options.events));
  row.name = "seen-recently";
  row.question = "Seen recently?";
  row.about = fmt::format("among the last {} different URLs", window);
  row.promised = "half at that age";
  row.promised_rate = kPromisedRate;
  exhibit.found.push_back(fmt::format(
      "A filter of {} that overwrites old keys was queried for recent URLs. Of {} among the last {} distinct ones it "
      "did not find {}: the older, the fewer are found, as the plot shows. It never has to be emptied.",
      human_bytes(memory.image_bytes()), human_count(row.really_yes), window, human_count(row.false_negatives)));
  exhibit.plots.push_back(fading_plot(memory, fading));
  exhibit.rows.push_back(std::move(row));
  return {};
}

}  // namespace

const Question kSeen{.name = "seen",
                     .list = Stream::none,
                     .asked = Stream::frontier,
                     .ours = make_seen,
                     .exact = [](const SideOptions& /*options*/) -> Result<std::unique_ptr<Side>> {
                       return std::make_unique<ExactUrls>();
                     }};
const Question kSeenRecently{.name = "seen-recently",
                             .list = Stream::none,
                             .asked = Stream::frontier,
                             .ours = make_fading,
                             .exact = [](const SideOptions& options) -> Result<std::unique_ptr<Side>> {
                               return std::make_unique<Observing<LastKeys>>(LastKeys(remembered(options.events)));
                             }};

Result<Exhibit> show_seen(const Day& day, const Facts& facts) {
  Exhibit exhibit{
      .id = "seen",
      .heading = "Have I seen it?",
      .text =
          "A crawler finds the same pages again and again, under many spellings, and should fetch each of them once. "
          "It asks of every URL whether it came before: a repeat is always recognized, and a new one is lost at the "
          "rate that was chosen.",
      .found = {},
      .rows = {},
      .plots = {}};
  show_crawler(day, facts.seen, exhibit);
  MANKAI_TRY(show_fading(day, facts.seen_recently, exhibit));
  return exhibit;
}

}  // namespace mankai::command::demo
