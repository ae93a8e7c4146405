#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai-lab/demo/page.hpp"
#include "apps/mankai-lab/demo/plot.hpp"
#include "apps/mankai-lab/demo/recency.hpp"

namespace mankai::command::demo {
namespace {

std::vector<std::string> texts_of(const Axis& axis, std::size_t most) {
  std::vector<std::string> texts;
  for (const double tick : ticks_of(axis, most)) {
    texts.push_back(tick_text(axis, tick));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Plot, ticks_are_round_and_within_the_axis) {
  EXPECT_EQ(texts_of({.least = 0, .greatest = 4'700}, 5), (Texts{"0", "1k", "2k", "3k", "4k"}));
  EXPECT_EQ(texts_of({.unit = AxisUnit::share, .least = 0, .greatest = 0.0125}, 6), (Texts{"0%", "0.5%", "1%"}));
  EXPECT_EQ(texts_of({.unit = AxisUnit::seconds, .least = 0, .greatest = 86'400}, 4),
            (Texts{"00:00", "06:00", "12:00", "18:00", "24:00"}));
  EXPECT_EQ(texts_of({.is_logarithmic = true, .least = 1, .greatest = 250'000}, 4),
            (Texts{"1", "10", "100", "1k", "10k", "100k"}));
}

TEST(Plot, ticks_are_never_many_more_than_wanted) {
  for (double greatest = 0.001; greatest < 1e9; greatest *= 1.37) {
    for (const std::size_t most : {3U, 5U, 9U}) {
      const auto ticks = ticks_of({.least = 0, .greatest = greatest}, most);
      EXPECT_LE(ticks.size(), most + 1) << greatest;
      EXPECT_GE(ticks.size(), 2U) << greatest;
      EXPECT_LE(ticks.back(), greatest * (1 + 1e-9));
    }
  }
}

Plot small_plot() {
  return {
      .id = "plot-x",
      .title = "a < b & \"c\"",
      .description = "<script>",
      .x = {.label = "x > 0"},
      .y = {.label = "y"},
      .curves = {{.name = "<i>", .style = CurveStyle::line, .color = 1, .points = {{.x = 0, .y = 0}, {.x = 2, .y = 9}}},
                 {.name = "dots", .style = CurveStyle::dots, .points = {{.x = 0.5, .y = 0.5, .error = 0.1}}}},
      .bands = {{.name = "<band>", .begin = 0.2, .end = 0.4}}};
}

TEST(Plot, text_from_data_is_escaped) {
  const std::string figure = plot_figure(small_plot());
  for (const std::string_view raw : {"a < b", "<script>", "x > 0", "<i>", "<band>", "& \"c"}) {
    EXPECT_FALSE(figure.contains(raw)) << raw;
  }
  EXPECT_TRUE(figure.contains("a &lt; b &amp; &quot;c&quot;"));
}

TEST(Plot, values_beyond_an_axis_stay_at_its_end) {
  const std::string svg = plot_svg(small_plot(), {.width = 182, .height = 172});
  EXPECT_TRUE(svg.contains("points=\"58.0,126.0 158.0,26.0\"")) << svg;
}

TEST(Recency, ages_count_different_keys_since) {
  // The naive way beside it: walk back to the key's last event and count what is met.
  std::vector<std::uint64_t> events;
  std::uint64_t state = 7;
  for (int i = 0; i < 600; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    events.push_back((state >> 33) % 97);
  }
  Ages ages(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::vector<std::uint64_t> met;
    std::size_t before = i;
    while (before > 0 && events[before - 1] != events[i]) {
      if (std::ranges::find(met, events[before - 1]) == met.end()) {
        met.push_back(events[before - 1]);
      }
      --before;
    }
    ASSERT_EQ(ages.next(events[i]), before == 0 ? 0 : met.size() + 1) << i;
  }
}

TEST(Recency, last_keys_are_the_last_different_ones) {
  LastKeys last(3);
  std::deque<std::string> naive;  // newest first
  for (const char letter : std::string("abcabcdabeeaabcdefabacada")) {
    const std::string key(1, letter);
    const auto found = std::ranges::find(naive, key);
    EXPECT_EQ(last.observe(key), found != naive.end());
    if (found != naive.end()) {
      naive.erase(found);
    }
    naive.push_front(key);
    naive.resize(std::min<std::size_t>(naive.size(), 3));
  }
}

TEST(Page, shows_every_row_and_knows_itself_again) {
  Answers row{.name = "x", .question = "<X>?", .about = "a & b", .asked = 1'000, .yes = 12, .really_yes = 2};
  row.false_positives = 10;
  row.negatives = 998;
  row.bytes = 1'024;
  row.exact_bytes = 7'168;
  row.seconds = row.exact_seconds = 0.001;
  const Tour tour{
      .asked_events = 1'000,
      .events = 1'003,
      .seed = 5,
      .exhibits = {
          {.id = "x", .heading = "h<1>", .text = "t", .found = {"f<2>"}, .rows = {row}, .plots = {small_plot()}}}};
  const std::string html = page(tour);
  EXPECT_TRUE(html.substr(0, 512).contains(kPageMark)) << "the command looks no further to know its own page";
  EXPECT_TRUE(html.contains("&lt;X&gt;?"));
  EXPECT_TRUE(html.contains("--events 1000 --seed 5"));
  for (const std::string_view raw : {"<X>", "h<1>", "f<2>", "a & b"}) {
    EXPECT_FALSE(html.contains(raw)) << raw;
  }
  EXPECT_TRUE(table(tour).contains("1.00%"));
  EXPECT_TRUE(table(tour).contains("7.0×")) << "times the memory";
  EXPECT_TRUE(html.contains("false negatives"));
}

TEST(Answers, a_rate_of_no_questions_is_zero) {
  EXPECT_EQ(Answers{}.false_positive_rate(), 0);
  EXPECT_EQ(Answers{}.ns(), 0);
  EXPECT_EQ(Answers{}.time_ratio(), 0);
}

TEST(Answers, every_answer_counts_on_its_side) {
  Answers row;
  for (const auto& [is_yes, is_really_yes] : {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
    row.count(is_yes, is_really_yes);
  }
  EXPECT_EQ(row.asked, 4U);
  EXPECT_EQ(row.yes, 2U);
  EXPECT_EQ(row.really_yes, 2U);
  EXPECT_EQ(row.false_negatives, 1U);
  EXPECT_EQ(row.false_positives, 1U);
  EXPECT_EQ(row.false_positive_rate(), 0.5);
}

TEST(EventReader, returns_what_was_written_in_order) {
  Day day{.options = day_options(20'000, 3)};
  for (int& file : day.files) {
    const auto made = new_file();
    ASSERT_TRUE(made);
    file = *made;
  }
  const auto events = write_day(day);
  ASSERT_TRUE(events);
  auto generator = TrafficGenerator::create(day.options);
  ASSERT_TRUE(generator);
  TrafficEvent expected;
  std::uint64_t fetches = 0;
  const auto next_fetch = [&] {
    while (generator->next(expected)) {
      if (expected.kind == TrafficKind::fetch) {
        return true;
      }
    }
    return false;
  };
  for_each_event(day, Stream::frontier, [&](const DayEvent& event) {
    ASSERT_TRUE(next_fetch());
    ++fetches;
    EXPECT_EQ(event.what, expected.what);
    EXPECT_EQ(event.time, expected.time);
    EXPECT_EQ(event.number, expected.number);
  });
  EXPECT_FALSE(next_fetch());
  EXPECT_GT(fetches * 5, *events);
  std::uint64_t rules = 0;
  for_each_event(day, Stream::rules, [&](const DayEvent& /*event*/) { ++rules; });
  EXPECT_EQ(rules, day.options.rules);
  EXPECT_TRUE(EventReader(day.file(Stream::none)).next().empty());
  std::ranges::for_each(day.files, close);
}

}  // namespace
}  // namespace mankai::command::demo
