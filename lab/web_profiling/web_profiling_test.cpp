// What the source measures with: draws, logs, the truth and the errors, each beside something simpler.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "lab/web_profiling/printed.hpp"
#include "lab/web_profiling/profiles.hpp"
#include "lab/web_profiling/threads.hpp"
#include "lab/web_profiling/visits.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"

namespace mankai::lab::profiling {
namespace {

// A profile whose estimates are given.
class Given : public Profile {
 public:
  Given(const Visits& visits, std::vector<double> counts, Fault fault = Fault::none)
      : Profile(fault), visits_(visits), counts_(std::move(counts)) {}
  void advance(Tick /*tick*/) override {}
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] std::optional<std::vector<std::string>> hottest(std::size_t /*most*/) const override { return list; }
  std::uint64_t taken = 0;
  std::optional<std::vector<std::string>> list{};

 protected:
  void take(const Batch& batch) override { taken += batch.digests.size(); }
  [[nodiscard]] DecayedCount counted(Digest digest) const override {
    const auto found = std::ranges::find(visits_.digests, digest);
    return {.raw = found == visits_.digests.end() ? 0
                                                  : counts_[static_cast<std::size_t>(found - visits_.digests.begin())]};
  }
  void counted(std::span<const Digest> digests, std::span<DecayedCount> counts) const override {
    std::ranges::transform(digests, counts.begin(), [this](Digest digest) { return counted(digest); });
  }
  [[nodiscard]] bool knows(Digest digest) const override { return counted(digest).raw != 0; }

 private:
  const Visits& visits_;
  std::vector<double> counts_;
};

// Four visits to a, two to b, one to c, all in one epoch.
Visits small_visits() {
  return {.names = {"a", "b", "c"},
          .digests = {{64}, {65}, {66}},
          .pages = {0, 0, 0, 0, 1, 1, 2},
          .epochs = {{.tick = {5}, .end = 7}}};
}

TEST(Zipf, draws_have_their_shares) {
  constexpr int kDraws = 200'000;
  for (const double z : {0.0, 0.8, 1.2}) {
    const Zipf zipf(50, z);
    Random random(3);
    std::array<int, 50> counts{};
    for (int i = 0; i < kDraws; ++i) {
      ++counts.at(zipf(random));
    }
    for (std::size_t page = 0; page < counts.size(); ++page) {
      const double p = std::pow(static_cast<double>(page) + 1, -z) / harmonic(50, z);
      EXPECT_NEAR(counts[page], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << z << " " << page;
    }
  }
}

TEST(Harmonic, small_sums) {
  EXPECT_DOUBLE_EQ(harmonic(4, 0), 4);
  EXPECT_DOUBLE_EQ(harmonic(4, 1), 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4);
  EXPECT_DOUBLE_EQ(harmonic(3, 2), 1 + 1.0 / 4 + 1.0 / 9);
}

TEST(Draw, epochs_have_their_visits_and_pages_their_names) {
  Context context;
  const Visits visits = draw({.visits = 1050, .pages = 7, .per_epoch = 100, .z = 1}, context);
  ASSERT_EQ(visits.epochs.size(), 11U);
  EXPECT_EQ(visits.of(0).size(), 100U);
  EXPECT_EQ(visits.of(10).size(), 50U);
  EXPECT_EQ(visits.last().value, 11U);
  EXPECT_EQ(visits.digests[6], Hasher(context.hash())(visits.names[6]));
  EXPECT_EQ(draw({.visits = 1050, .pages = 7, .per_epoch = 100, .z = 1}, context).pages, visits.pages);
}

TEST(Truth, equals_the_exact_baseline) {
  Context context;
  const Visits visits = draw({.visits = 3000, .pages = 40, .per_epoch = 100, .z = 1}, context);
  const Truth truth = truth_of(visits, 0.9);
  ExactDecayedCounts exact(0.9);
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    for (const std::uint32_t page : visits.of(epoch)) {
      exact.insert(visits.names[page], visits.epochs[epoch].tick);
    }
  }
  double mass = 0;
  for (std::size_t page = 0; page < visits.names.size(); ++page) {
    EXPECT_NEAR(truth.at(page, {40}), exact.estimate(visits.names[page], {40}), 1e-9) << page;
    mass += truth.at(page, {40});
  }
  EXPECT_DOUBLE_EQ(truth.mass({40}), mass);
}

TEST(ReadLog, targets_without_query_in_epochs_and_nothing_else) {
  const auto path = std::filesystem::temp_directory_path() / "mankai_web_profiling_test.log";
  std::ofstream(path) << "10.0.0.1 - - [01/Jan/2020:00:00:10 +0000] \"GET /a?x=1 HTTP/1.0\" 200 5\n"
                         "no request at all\n"
                         "10.0.0.1 - - [01/Jan/2020:00:00:20 +0000] \"GET /b HTTP/1.0\" 200 5\n"
                         "10.0.0.1 - - [01/Jan/2020:00:01:05 +0000] \"GET /a HTTP/1.0\" 200 5\n"
                         "10.0.0.1 - - [01/Jan/2020:00:00:50 +0000] \"GET /c HTTP/1.0\" 200 5\n";
  const auto visits = read_log(path.string(), std::chrono::minutes(1), {});
  std::filesystem::remove(path);
  ASSERT_TRUE(visits.has_value()) << visits.error().message();
  EXPECT_EQ(visits->names, (std::vector<std::string>{"/a", "/b", "/c"}));
  EXPECT_EQ(visits->pages, (std::vector<std::uint32_t>{0, 1, 0, 2}));
  ASSERT_EQ(visits->epochs.size(), 2U);
  EXPECT_EQ(visits->of(0).size(), 2U);
  EXPECT_EQ(visits->epochs[1].tick.value, visits->epochs[0].tick.value + 1) << "a late line is of the newest epoch";
  EXPECT_FALSE(read_log("/nowhere/there.log", std::chrono::minutes(1), {}).has_value());
}

TEST(InEpochs, all_visits_are_in_epochs_of_equal_length) {
  Context context;
  const Visits drawn = draw({.visits = 1003, .pages = 7, .per_epoch = 100, .z = 1}, context);
  const Visits visits = in_epochs(drawn, 10);
  EXPECT_EQ(visits.pages, drawn.pages);
  ASSERT_EQ(visits.epochs.size(), 10U);
  EXPECT_EQ(visits.of(0).size(), 100U);
  EXPECT_EQ(visits.epochs.back().end, 1003U);
  const auto counts = visits_of_pages(visits);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 1003U);
}

TEST(Printed, both_algorithms_count_alike_with_both_roundings) {
  Context context;
  const Visits visits = draw({.visits = 60'000, .pages = 300, .per_epoch = 3000, .z = 1.2}, context);
  for (const double lambda : {0.1, 0.9, 1.0}) {
    for (const bool is_rounded_up : {false, true}) {
      const PrintedShape shape{.counters = 600, .k = 4, .lambda = lambda, .is_rounded_up = is_rounded_up};
      PrintedBasic basic(shape);
      PrintedOptimized optimized(shape);
      replay(basic, visits);
      replay(optimized, visits);
      for (const Digest page : visits.digests) {
        ASSERT_EQ(basic.count(page), optimized.count(page)) << lambda << is_rounded_up;
      }
      EXPECT_GT(optimized.extra_peak(), 0U);
    }
  }
}

TEST(Printed, a_page_that_nobody_else_touches_has_its_decayed_count) {
  const PrintedShape shape{.counters = 1000, .k = 3, .lambda = 0.5};
  PrintedOptimized filter(shape);
  for (int i = 0; i < 1001; ++i) {
    filter.insert({7});
  }
  filter.decay();
  EXPECT_EQ(filter.count({7}), 500U);
  filter.insert({7});
  filter.decay();
  EXPECT_EQ(filter.count({7}), 250U);
  EXPECT_EQ(filter.count({8}), 0U);
}

TEST(Check, counts_what_is_below_the_truth) {
  const Visits visits = small_visits();
  const Truth truth = truth_of(visits, 0.5);
  Tally tally;
  // One tick later the truth is 2, 1 and 0.5: too low, equal, too high.
  check(Given(visits, {1.5, 1, 2}), visits, truth, {6}, tally);
  EXPECT_EQ(tally.checks, 3U);
  EXPECT_EQ(tally.under, 1U);
  EXPECT_EQ(tally.live, 2U);
  EXPECT_EQ(tally.live_under, 1U);
  EXPECT_DOUBLE_EQ(tally.most_lost, 0.5);
  EXPECT_DOUBLE_EQ(tally.most_gained, 1.5);
}

TEST(Accuracy, is_over_live_pages) {
  const Visits visits = small_visits();
  const Accuracy accuracy = accuracy_of(Given(visits, {5, 1, 1}), visits, truth_of(visits, 0.5));
  EXPECT_EQ(accuracy.live, 3U);
  EXPECT_DOUBLE_EQ(accuracy.absolute, 2.0 / 3);
  EXPECT_DOUBLE_EQ(accuracy.relative, (0.25 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(accuracy.relative_top, accuracy.relative);
  EXPECT_DOUBLE_EQ(accuracy.under, 1.0 / 3);
  EXPECT_DOUBLE_EQ(accuracy.worst_top, 0.5);
  EXPECT_EQ(accuracy.checks, 3U);
}

TEST(Accuracy, recall_is_of_the_list_or_of_the_highest_estimates) {
  Visits visits;
  for (std::uint32_t page = 0; page < 300; ++page) {
    visits.names.push_back(std::to_string(page));
    visits.digests.push_back({page});
    visits.pages.insert(visits.pages.end(), 300 - page, page);
  }
  visits.epochs = {{.tick = {5}, .end = visits.pages.size()}};
  const Truth truth = truth_of(visits, 0.5);
  std::vector<double> counts(300, 0);
  for (std::size_t page = 50; page < 300; ++page) {
    counts[page] = 300 - static_cast<double>(page);
  }
  EXPECT_DOUBLE_EQ(accuracy_of(Given(visits, counts), visits, truth).recall, 0.5);
  Given listing(visits, counts);
  listing.list = {"0", "99", "100"};
  EXPECT_DOUBLE_EQ(accuracy_of(listing, visits, truth).recall, 0.02);
}

TEST(Threads, each_work_is_called_once_and_an_error_is_returned) {
  std::array<std::atomic<int>, 100> calls{};
  EXPECT_TRUE(in_threads(calls.size(), [&](std::size_t at) -> Result<void> {
                ++calls.at(at);
                return {};
              }).has_value());
  EXPECT_TRUE(std::ranges::all_of(calls, [](const auto& count) { return count == 1; }));
  const auto failed = in_threads(calls.size(), [](std::size_t at) -> Result<void> {
    return at == 7 ? Result<void>(fail(ErrorCode::io, "seventh")) : Result<void>();
  });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().detail, "seventh");
}

TEST(Profile, faults_lose_and_invent_keys) {
  const Visits visits = small_visits();
  Given sound(visits, {1, 1, 1});
  Given forgetful(visits, {1, 1, 1}, Fault::forgets_keys);
  sound.insert(visits);
  forgetful.insert(visits);
  EXPECT_EQ(sound.taken, 7U);
  EXPECT_EQ(forgetful.taken, 3U) << "a has a digest that is lost";
  const Given inventive(visits, {1, 0, 0}, Fault::invents_keys);
  EXPECT_TRUE(inventive.may_contain({65}));
  EXPECT_FALSE(inventive.may_contain({66}));
  std::array<DecayedCount, 3> counts{};
  inventive.estimate(visits.digests, counts);
  EXPECT_EQ(counts[1].raw, 1);
  EXPECT_EQ(counts[2].raw, 0);
}

}  // namespace
}  // namespace mankai::lab::profiling
