// Our filters beside others on the same work, in one interleaved run. The rows are in *_peers.cpp.

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/peers/keys.hpp"
#include "bench/peers/options.hpp"
#include "bench/peers/race.hpp"
#include "bench/peers/report.hpp"

namespace mankai::bench {
namespace {

constexpr std::array kIntegerPlans{
    Plan{.workload = "int-1e5", .keys = 100'000, .fills = 21, .repetitions = 21, .pool = 2'000'000, .chunk = 50'000},
    Plan{.workload = "int-1e7", .keys = 10'000'000, .fills = 7, .repetitions = 9, .pool = 2'000'000, .chunk = 125'000},
    Plan{
        .workload = "int-2e8", .keys = 200'000'000, .fills = 3, .repetitions = 9, .pool = 8'000'000, .chunk = 125'000}};
constexpr std::array kUrlPlans{
    Plan{.workload = "url-1e7", .keys = 10'000'000, .fills = 3, .repetitions = 9, .pool = 1'000'000, .chunk = 125'000}};
constexpr std::array kClasses{0.01, 0.001};

// Returns false when a peer is wrong.
template <class Key, class Plans, class MakeKeys>
bool run(const Options& options, const Plans& plans, const MakeKeys& make_keys, const Peers<Key>& peers,
         Report& report) {
  for (Plan plan : plans) {
    if (std::ranges::find(options.workloads, plan.workload) == options.workloads.end()) {
      continue;
    }
    plan.repetitions = options.repetitions != 0 ? options.repetitions : plan.repetitions;
    const KeySet<Key> set = make_keys(plan.keys, plan.pool);
    for (const double fpr : kClasses) {
      const Table table = Race<Key>(plan, set, peers, fpr).run();
      if (table.empty()) {
        return false;
      }
      report.add(table);
    }
  }
  return true;
}

std::vector<Presence> presences(const PeerLists& lists) {
  std::vector<Presence> all;
  for (const auto& peer : lists.integers) {
    all.push_back({std::string(peer.name), peer.version, peer.missing});
  }
  return all;
}

}  // namespace
}  // namespace mankai::bench

int main(int argc, char** argv) {
  using namespace mankai::bench;
  const auto options = parse(argc, argv);
  if (!options) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  PeerLists lists;
  for (const auto add : {add_mankai, add_boost, add_fastfilter, add_rocksdb, add_limits, add_exact_sets}) {
    add(lists);
  }
  const std::vector<Presence> all = presences(lists);
  Report report(*options, all);
  if (!report.is_open()) {
    std::fprintf(stderr, "cannot write into %s\n", options->out.c_str());
    return 2;
  }
  if (!run<Integer>(*options, kIntegerPlans, make_integers, lists.integers, report) ||
      !run<Url>(*options, kUrlPlans, make_urls, lists.urls, report)) {
    return 1;
  }
  const bool is_complete = std::ranges::all_of(all, [](const Presence& peer) { return peer.missing.empty(); });
  return options->is_strict && !is_complete ? 1 : 0;
}
