#include "mankai/seen/seen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai-lab/demo/recency.hpp"
#include "apps/mankai/report.hpp"
#include "lab/exact_sets.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::command::demo {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::uint64_t kRememberedPart =
    16;  // the fading memory knows half of what came so small a part of the day ago

/// What every URL is compared by, and whether it came before.
struct Truth {
  std::vector<std::string> keys;
  std::vector<bool> is_repeat;
  std::uint64_t distinct = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

// A generated URL is one.
std::string_view canonical(std::string_view raw, url::CanonicalUrl& out) {
  return url::canonicalize(raw, out, url::UrlRules::keys) ? out.text() : raw;
}

Truth exact_answers(const Day& day) {
  Truth truth;
  CountedMemory memory;
  baseline::HashSet set(&memory);
  url::CanonicalUrl url;
  truth.is_repeat.reserve(day.frontier.size());
  timed(truth.seconds, [&] {
    for (const DayEvent& event : day.frontier) {
      truth.is_repeat.push_back(set.observe(canonical(event.what, url)));
    }
  });
  for (const DayEvent& event : day.frontier) {
    truth.keys.emplace_back(canonical(event.what, url));
  }
  truth.distinct = set.size();
  truth.bytes = memory.most_bytes();
  return truth;
}

/// Asks Seen about the whole frontier. Errors: as Seen's.
Result<std::vector<bool>> seen_answers(Seen& seen, const Day& day, double& seconds) {
  std::vector<std::string_view> urls;
  for (const DayEvent& event : day.frontier) {
    urls.push_back(event.what);
  }
  std::vector<bool> answers;
  answers.reserve(urls.size());
  std::array<bool, kBatch> batch{};
  Result<void> observed;
  timed(seconds, [&] {
    for (std::size_t i = 0; i < urls.size() && observed; i += kBatch) {
      const auto keys = std::span(urls).subspan(i, std::min(kBatch, urls.size() - i));
      observed = seen.observe(keys, std::span(batch).first(keys.size()));
      answers.insert(answers.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(keys.size()));
    }
  });
  if (!observed) {
    return std::unexpected(observed.error());
  }
  return answers;
}

Result<void> show_seen(const Day& day, const Truth& truth, std::uint64_t seed, Exhibit& exhibit) {
  auto seen = Seen::create({.keys = truth.distinct, .fpr = kPromisedRate, .seed = {{seed, 0}}, .canonical = true});
  if (!seen) {
    return std::unexpected(seen.error());
  }
  Answers row{.name = "seen",
              .question = "Seen?",
              .about = "URLs the crawler meets",
              .asked = day.frontier.size(),
              .promised = "none missed",
              .promised_share = kPromisedRate,
              .exact_bytes = truth.bytes,
              .exact_seconds = truth.seconds};
  MANKAI_ASSIGN(const auto answers, seen_answers(*seen, day, row.seconds));
  WrongByHour by_hour(day);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool is_wrong = answers[i] && !truth.is_repeat[i];
    row.yes += answers[i] ? 1 : 0;
    row.truth += truth.is_repeat[i] ? 1 : 0;
    row.missed += truth.is_repeat[i] && !answers[i] ? 1 : 0;
    row.wrong_yes += is_wrong ? 1 : 0;
    by_hour.add(day.frontier[i].time, !truth.is_repeat[i], is_wrong);
  }
  row.strangers = row.asked - row.truth;
  row.bytes = seen->filter().describe().image_bytes;
  exhibit.wrong_by_hour = by_hour.curve("Seen? The crawler", 0);
  exhibit.found.push_back(fmt::format(
      "{} of {} URLs had come before, many of them in another spelling; {} of these repeats were missed. {} "
      "of {} new URLs were reported as repeats: these a crawler would not have fetched.",
      human_count(row.truth), human_count(row.asked), human_count(row.missed), human_count(row.wrong_yes),
      human_count(row.strangers)));
  exhibit.rows.push_back(std::move(row));
  return {};
}

/// How many keys of an age were asked about, and known.
struct AgeBin {
  double ages = 0;  // their sum
  std::uint64_t asked = 0;
  std::uint64_t known = 0;
};

constexpr std::size_t kBinsAnOctave = 2;

std::size_t bin_of(std::uint64_t age) {
  return static_cast<std::size_t>(std::log2(static_cast<double>(age)) * kBinsAnOctave);
}

/// What the fading memory said, beside when each key came last.
struct Fading {
  Answers row;
  std::vector<AgeBin> bins = std::vector<AgeBin>(64 * kBinsAnOctave);
};

void ask_fading(FadingFingerprints& memory, const Day& day, const Truth& truth, Fading& fading) {
  std::vector<bool> known;
  known.reserve(truth.keys.size());
  const Hasher hash = memory.hasher();
  timed(fading.row.seconds, [&] {
    for (const std::string& key : truth.keys) {
      known.push_back(memory.observe(hash(key)));
    }
  });
  std::vector<bool> is_recent;
  is_recent.reserve(truth.keys.size());
  LastKeys last_keys(static_cast<std::uint64_t>(memory.half_life()));
  timed(fading.row.exact_seconds, [&] {
    for (const std::string& key : truth.keys) {
      is_recent.push_back(last_keys.observe(key));
    }
  });
  fading.row.asked = known.size();
  fading.row.exact_bytes = last_keys.bytes();
  Ages ages(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::uint64_t age = ages.next(day.frontier[i].number);
    fading.row.yes += known[i] ? 1 : 0;
    fading.row.truth += is_recent[i] ? 1 : 0;
    fading.row.missed += is_recent[i] && !known[i] ? 1 : 0;
    fading.row.strangers += age == 0 ? 1 : 0;
    fading.row.wrong_yes += age == 0 && known[i] ? 1 : 0;
    if (age > 0) {
      AgeBin& bin = fading.bins.at(bin_of(age));
      bin.ages += static_cast<double>(age);
      ++bin.asked;
      bin.known += known[i] ? 1 : 0;
    }
  }
}

Plot fading_plot(const FadingFingerprints& memory, const Fading& fading) {
  Plot plot{
      .id = "plot-fading",
      .title = "Fading: how much is still remembered",
      .description =
          "The share of URLs that the fading memory still knows, by how many came since: nearly all of "
          "the youngest, half at its half-life, hardly any of the old. The measured points lie on "
          "the curve of the formula.",
      .x = {.label = "different URLs that came since, logarithmic", .is_logarithmic = true, .least = 1, .greatest = 2},
      .y = {.label = "still known", .unit = AxisUnit::share, .least = 0, .greatest = 1},
      .curves = {{.name = "formula", .style = CurveStyle::line, .colour = 1, .points = {}},
                 {.name = "measured", .style = CurveStyle::dots, .colour = 0, .points = {}}}};
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

Result<void> show_fading(const Day& day, const Truth& truth, std::uint64_t seed, Exhibit& exhibit) {
  auto memory = FadingFingerprints::create({.keys = std::max<std::uint64_t>(truth.keys.size() / kRememberedPart, 1),
                                            .fpr = kPromisedRate,
                                            .hash = HashSpec{.seed = {seed, 0}}});
  if (!memory) {
    return std::unexpected(memory.error());
  }
  Fading fading;
  fading.row.name = "seen-lately";
  fading.row.question = "Seen recently?";
  fading.row.promised_share = kPromisedRate;
  ask_fading(*memory, day, truth, fading);
  const auto horizon = static_cast<std::uint64_t>(memory->half_life());
  fading.row.about = fmt::format("among the last {} different URLs", human_count(horizon));
  fading.row.promised = "half at that age";
  fading.row.bytes = memory->image_bytes();
  exhibit.found.push_back(fmt::format(
      "A memory that fades, {}, was asked whether a URL came recently. Of those among the last {} different "
      "ones it knew all but {} of "
      "{}: the older, the fewer, as the plot shows. It never has to be emptied.",
      human_bytes(fading.row.bytes), human_count(horizon), human_count(fading.row.missed),
      human_count(fading.row.truth)));
  exhibit.plots.push_back(fading_plot(*memory, fading));
  exhibit.rows.push_back(std::move(fading.row));
  return {};
}

}  // namespace

Result<Exhibit> ask_seen(const Day& day, std::uint64_t seed) {
  Exhibit exhibit{
      .id = "seen",
      .heading = "Have I seen it?",
      .text =
          "A crawler meets the same pages again and again, under many spellings, and should fetch each of them once. "
          "It asks of every URL whether it came before: a repeat is always recognized, and a new one is lost at the "
          "rate that was chosen.",
      .found = {},
      .rows = {},
      .plots = {},
      .wrong_by_hour = {}};
  const Truth truth = exact_answers(day);
  MANKAI_TRY(show_seen(day, truth, seed, exhibit));
  MANKAI_TRY(show_fading(day, truth, seed, exhibit));
  return exhibit;
}

}  // namespace mankai::command::demo
