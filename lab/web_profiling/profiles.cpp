#include "lab/web_profiling/profiles.hpp"

#include <cmath>

namespace mankai::lab::profiling {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr double kRounding = 1e-9;

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
      const bool is_under = counts[i].raw < count * (1 - kRounding);
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
  std::vector<std::pair<double, double>> live;  // truth and relative error
  Accuracy accuracy;
  for (std::size_t page = 0; page < truth.pages(); ++page) {
    const double count = truth.at(page, visits.last());
    if (count < 1) {
      continue;
    }
    const double estimate = profile.estimate(visits.digests[page]).raw;
    live.emplace_back(count, std::abs(estimate - count) / count);
    accuracy.absolute += std::abs(estimate - count);
    accuracy.relative += live.back().second;
    accuracy.under += estimate < count * (1 - kRounding) ? 1 : 0;
  }
  const auto size = static_cast<double>(std::max<std::size_t>(live.size(), 1));
  const std::size_t top = std::min(kTopPages, live.size());
  std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(top), live.end(), std::greater<>());
  for (std::size_t i = 0; i < top; ++i) {
    accuracy.relative_top += live[i].second / static_cast<double>(top);
  }
  accuracy.live = live.size();
  accuracy.absolute /= size;
  accuracy.relative /= size;
  accuracy.under /= size;
  return accuracy;
}

}  // namespace mankai::lab::profiling
