#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/ladder.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::uint64_t kHosts = 100'000;

bool is_blocked(const Counting& filter, const Ladder& ladder) {
  const Hasher hasher = filter.filter().hasher();
  return std::ranges::any_of(ladder.keys(), [&](const std::string& key) { return filter.may_contain(hasher(key)); });
}

struct Counts {
  std::uint64_t children = 0;
  std::uint64_t denied = 0;
  std::uint64_t others = 0;
  std::uint64_t blocked = 0;
  double formula = 0;  // a sum
  double keys = 0;
};

// Every second host is listed. One URL per host, so that no two URLs have a key in common.
Result<Counts> ask(const UrlGenerator& generator, const Counting& filter, std::uint64_t urls, double rate) {
  Ladder ladder;
  Counts counts;
  std::unordered_set<std::uint64_t> hosts;
  std::string url;
  for (std::uint64_t number = 0; hosts.size() < urls; ++number) {
    const std::uint64_t rank = generator.host_rank(number);
    if (!hosts.insert(rank).second) {
      continue;
    }
    url.clear();
    generator.append_url(number, url);
    MANKAI_TRY(ladder.climb(url));
    const bool blocked = is_blocked(filter, ladder);
    if (rank % 2 == 0) {
      ++counts.children;
      counts.denied += static_cast<std::uint64_t>(!blocked);
    } else {
      ++counts.others;
      counts.blocked += static_cast<std::uint64_t>(blocked);
      counts.formula -= std::expm1(static_cast<double>(ladder.keys().size()) * std::log1p(-rate));
      counts.keys += static_cast<double>(ladder.keys().size());
    }
  }
  return counts;
}

}  // namespace

Result<void> measure_roll_up(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto generator,
                UrlGenerator::create({.hosts = kHosts, .zipf_exponent = 0, .seed = context.seed}));
  MANKAI_ASSIGN(auto filter, make_counting(kHosts / 2, kRate, context));
  const Hasher hasher = filter.filter().hasher();
  std::string host;
  for (std::uint64_t rank = 0; rank < kHosts; rank += 2) {
    host.clear();
    generator.append_host(rank, host);
    filter.insert(hasher(host + "/"));
  }
  const Estimate rate = formula_rate(part_of(filter.filter(), kHosts / 2));
  MANKAI_ASSIGN(const auto counts, ask(generator, filter, context.trials(10'000, 80'000), rate.value));
  const auto others = static_cast<double>(counts.others);
  const double keys = counts.keys / others;
  findings.judged({"roll-up-marks-children", counts.children, kHosts / 2}, equals(0), exact(counts.denied));
  findings.judged({"roll-up-multiplies-the-error", keys}, equals(counts.formula / others),
                  widened(share(counts.blocked, counts.others), keys * rate.error));
  return {};
}

}  // namespace mankai::lab::spam
