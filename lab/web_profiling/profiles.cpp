#include "lab/web_profiling/profiles.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace mankai::lab::profiling {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr double kRounding = 1e-9;

bool is_below(double estimate, double count) noexcept { return estimate < count * (1 - kRounding); }

struct Asked {
  std::size_t page = 0;
  double count = 0;
  double estimate = 0;

  [[nodiscard]] double error() const noexcept { return std::abs(estimate - count); }
};

// The pages with a decayed count above 0: live ones first, and of these the hottest in order.
struct Answers {
  std::vector<Asked> pages{};
  std::size_t live = 0;
  std::size_t ordered = 0;
};
Answers ask(const Profile& profile, const Visits& visits, const Truth& truth) {
  Answers answers;
  std::vector<Asked>& asked = answers.pages;
  for (std::size_t page = 0; page < truth.pages(); ++page) {
    if (const double count = truth.at(page, visits.last()); count > 0) {
      asked.push_back({.page = page, .count = count, .estimate = profile.estimate(visits.digests[page]).raw});
    }
  }
  const auto dead = std::ranges::partition(asked, [](const Asked& page) { return page.count >= 1; }).begin();
  answers.live = static_cast<std::size_t>(dead - asked.begin());
  answers.ordered = std::min(kTopPages, answers.live);
  std::ranges::partial_sort(
      asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(answers.ordered), dead,
      [](const Asked& a, const Asked& b) { return std::pair(b.count, a.page) < std::pair(a.count, b.page); });
  return answers;
}

// The names of the pages with the highest estimates; equal ones in no order that says anything of their counts.
std::vector<std::string> names_of_highest(std::vector<Asked> asked, const Visits& visits, std::size_t most) {
  const auto rank = [&](const Asked& page) { return std::pair(page.estimate, visits.digests[page.page].value); };
  const auto middle = asked.begin() + static_cast<std::ptrdiff_t>(std::min(most, asked.size()));
  std::ranges::partial_sort(asked, middle, std::greater<>(), rank);
  std::vector<std::string> names;
  std::transform(asked.begin(), middle, std::back_inserter(names),
                 [&](const Asked& page) { return visits.names[page.page]; });
  return names;
}

// The share of the hottest live pages that is listed. A page as hot as the last of them counts as well.
double recall_of(const Profile& profile, const Answers& answers, const Visits& visits) {
  const std::size_t wanted = std::min(kListed, answers.live);
  auto listed = profile.hottest(wanted);
  if (!listed) {
    listed = names_of_highest(answers.pages, visits, wanted);
  }
  std::unordered_set<std::string_view> hottest;
  for (const Asked& page : std::span(answers.pages).first(answers.live)) {
    if (page.count >= answers.pages[wanted - 1].count) {
      hottest.insert(visits.names[page.page]);
    }
  }
  const auto found = std::ranges::count_if(*listed, [&](const std::string& name) { return hottest.contains(name); });
  return static_cast<double>(found) / static_cast<double>(wanted);
}

}  // namespace

void Profile::insert(const Visits& visits, std::span<const std::uint32_t> pages, Tick tick) {
  advance(tick);
  std::array<Digest, kBatch> digests{};
  std::array<std::string_view, kBatch> names;
  while (!pages.empty()) {
    const auto now = pages.first(std::min(kBatch, pages.size()));
    std::size_t count = 0;
    for (const std::uint32_t page : now) {
      if (!loses_insert(fault_, visits.digests[page].value)) {
        digests[count] = visits.digests[page];
        names[count++] = visits.names[page];
      }
    }
    take({.digests = std::span(digests).first(count), .names = std::span(names).first(count)});
    pages = pages.subspan(now.size());
  }
}

void Profile::insert(const Visits& visits) {
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    insert(visits, visits.of(epoch), visits.epochs[epoch].tick);
  }
}

void Profile::estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const {
  counted(digests, counts);
  for (std::size_t i = 0; fault_ == Fault::invents_keys && i < digests.size(); ++i) {
    counts[i] = with_fault(counts[i], digests[i]);
  }
}

void check(const Profile& profile, const Visits& visits, const Truth& truth, Tick tick, Tally& tally) {
  std::array<DecayedCount, kBatch> counts{};
  for (std::size_t first = 0; first < truth.pages(); first += kBatch) {
    const std::size_t size = std::min(kBatch, truth.pages() - first);
    profile.estimate(std::span(visits.digests).subspan(first, size), std::span(counts).first(size));
    for (std::size_t i = 0; i < size; ++i) {
      const double count = truth.at(first + i, tick);
      if (count == 0 || counts[i].is_saturated) {
        tally.saturated += static_cast<std::uint64_t>(count != 0);
        continue;
      }
      const bool is_under = is_below(counts[i].raw, count);
      ++tally.checks;
      tally.under += static_cast<std::uint64_t>(is_under);
      tally.live += static_cast<std::uint64_t>(count >= 1);
      tally.live_under += static_cast<std::uint64_t>(count >= 1 && is_under);
      tally.most_lost = std::max(tally.most_lost, count - counts[i].raw);
      tally.most_gained = std::max(tally.most_gained, counts[i].raw - count);
    }
  }
}

Tally replay_and_check(Profile& profile, const Visits& visits, double lambda) {
  Truth truth(visits.names.size(), lambda);
  Tally tally;
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    const Tick tick = visits.epochs[epoch].tick;
    profile.insert(visits, visits.of(epoch), tick);
    for (const std::uint32_t page : visits.of(epoch)) {
      truth.insert(page, tick);
    }
    check(profile, visits, truth, tick, tally);
  }
  return tally;
}

Accuracy accuracy_of(const Profile& profile, const Visits& visits, const Truth& truth) {
  const Answers answers = ask(profile, visits, truth);
  const std::vector<Asked>& asked = answers.pages;
  const auto live = std::span(asked).first(answers.live);
  Accuracy accuracy{.live = live.size(), .checks = asked.size()};
  for (const Asked& page : live) {
    accuracy.absolute += page.error();
    accuracy.relative += page.error() / page.count;
    accuracy.under += is_below(page.estimate, page.count) ? 1 : 0;
  }
  const auto top = live.first(answers.ordered);
  for (const Asked& page : top) {
    accuracy.relative_top += page.error() / page.count / static_cast<double>(top.size());
  }
  for (const Asked& page : top.first(std::min(kListed, top.size()))) {
    accuracy.worst_top = std::max(accuracy.worst_top, page.error() / page.count);
  }
  const auto size = static_cast<double>(std::max<std::size_t>(live.size(), 1));
  accuracy.absolute /= size;
  accuracy.relative /= size;
  accuracy.under /= size;
  if (!live.empty()) {
    const auto under =
        std::ranges::count_if(asked, [](const Asked& page) { return is_below(page.estimate, page.count); });
    accuracy.under_of_checks = static_cast<double>(under) / static_cast<double>(asked.size());
    accuracy.recall = recall_of(profile, answers, visits);
  }
  return accuracy;
}

}  // namespace mankai::lab::profiling
