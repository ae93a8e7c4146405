#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/exact_sets.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "lab/url_dedup/algorithms.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"

namespace mankai::lab::dedup {
namespace {

using Strings = std::vector<std::string>;

/// A set of URLs given as strings: what a call does includes splitting and hashing.
struct Structure {
  std::string name;
  std::function<void(std::string_view)> insert;
  std::function<bool(std::string_view)> contains;
  bool is_slow = false;  ///< an operation takes O(n)
};

template <class Set>
Structure exact_set(const char* name) {
  auto set = std::make_shared<Set>();
  const auto insert = [set](std::string_view url) {
    if constexpr (requires { set->append(url); }) {
      set->append(url);
    } else {
      set->insert(url);
    }
  };
  return {.name = name,
          .insert = insert,
          .contains = [set](std::string_view url) { return set->contains(url); },
          .is_slow = !std::is_same_v<Set, baseline::HashSet>};
}

// The program's "hash table": a list of zeros and ones, indexed by hash modulo its length.
Structure hash_list(const char* name, std::uint64_t cells, const HashSpec& hash) {
  auto list = std::make_shared<std::vector<std::uint8_t>>(cells);
  const auto cell = [list, hasher = Hasher(hash)](std::string_view url) -> std::uint8_t& {
    return (*list)[hasher(url).value % list->size()];
  };
  return {.name = name,
          .insert = [cell](std::string_view url) { cell(url) = 1; },
          .contains = [cell](std::string_view url) { return cell(url) != 0; }};
}

template <class Filter>
Structure filter_of(const char* name, Filter filter) {
  auto shared = std::make_shared<Filter>(std::move(filter));
  return {.name = name,
          .insert = [shared](std::string_view url) { shared->insert(shared->hasher()(url)); },
          .contains = [shared](std::string_view url) { return shared->may_contain(shared->hasher()(url)); }};
}

class Splitter {
 public:
  explicit Splitter(const Hasher& hasher) : hasher_(hasher) {}

  // Removes the scheme at the front only; the source's program removes it anywhere, even in a query.
  std::span<const Digest> operator()(std::string_view url) {
    const std::size_t scheme = url.find("://");
    url.remove_prefix(scheme == std::string_view::npos ? 0 : scheme + 3);
    std::size_t count = 0;
    while (count + 1 < digests_.size()) {
      const std::size_t slash = url.find('/');
      digests_[count++] = hasher_(url.substr(0, slash));
      if (slash == std::string_view::npos) {
        return std::span(digests_).first(count);
      }
      url.remove_prefix(slash + 1);
    }
    digests_[count++] = hasher_(url);
    return std::span(digests_).first(count);
  }

 private:
  Hasher hasher_;
  std::array<Digest, LayeredUrlBloom::kMaxLevels> digests_{};
};

Structure layers_of(const char* name, LayeredUrlBloom filter) {
  auto splitter = std::make_shared<Splitter>(filter.hasher());
  auto shared = std::make_shared<LayeredUrlBloom>(std::move(filter));
  return {.name = name,
          .insert = [shared, splitter](std::string_view url) { shared->insert((*splitter)(url)); },
          .contains = [shared, splitter](
                          std::string_view url) { return std::as_const(*shared).may_contain((*splitter)(url)); }};
}

constexpr const char* kLinearName = "linear search";
constexpr const char* kBinaryName = "binary search";
constexpr const char* kHashSetName = "hash set";
constexpr const char* kShortListName = "list of m cells";
constexpr const char* kLongListName = "list of 10^8 cells";
constexpr const char* kBloomName = "Bloom filter";
constexpr const char* kBlockedName = "blocked Bloom filter";
constexpr const char* kFaithfulName = "multi-layer, faithful";
constexpr const char* kRepairedName = "multi-layer, repaired";

Result<std::vector<Structure>> structures_for(std::uint64_t urls, const Context& context) {
  const HashSpec hash = context.hash();
  constexpr std::uint64_t kLongCells = 100'000'000;
  MANKAI_ASSIGN(auto bloom, Bloom::create({.keys = urls, .fpr = kRepository.fpr, .k = kRepository.k, .hash = hash}));
  MANKAI_ASSIGN(auto blocked, BlockedBloom::create({.keys = urls, .fpr = kRepository.fpr, .hash = hash}));
  const auto layered = [&](UrlLayering layering) {
    return LayeredUrlBloom::create({.keys = urls,
                                    .fpr = kRepository.fpr,
                                    .layering = layering,
                                    .max_levels = LayeredUrlBloom::kMaxLevels,
                                    .hash = hash});
  };
  MANKAI_ASSIGN(auto faithful, layered(UrlLayering::faithful));
  MANKAI_ASSIGN(auto repaired, layered(UrlLayering::repaired));
  return std::vector{exact_set<baseline::LinearScan>(kLinearName),
                     exact_set<baseline::SortedArray>(kBinaryName),
                     exact_set<baseline::HashSet>(kHashSetName),
                     hash_list(kShortListName, ArrayShape::of(urls, kRepository.fpr, context).cells, hash),
                     hash_list(kLongListName, kLongCells, hash),
                     filter_of(kBloomName, std::move(bloom)),
                     filter_of(kBlockedName, std::move(blocked)),
                     layers_of(kFaithfulName, std::move(faithful)),
                     layers_of(kRepairedName, std::move(repaired))};
}

struct Row {
  std::string name;
  double urls = 0;
  Estimate insert{};
  Estimate hit{};
  Estimate miss{};
};

constexpr std::size_t kRounds = 25;

/// The URLs of one measurement. The last insertions are timed.
struct Plan {
  const UrlGenerator& generator;
  std::uint64_t count;
  std::size_t operations;  ///< per round

  [[nodiscard]] std::uint64_t timed() const noexcept { return kRounds * operations; }
};

void fill(std::vector<Structure*>& structures, const Plan& plan) {
  constexpr std::uint64_t kChunk = 10'000;
  const std::uint64_t end = plan.count - plan.timed();
  for (std::uint64_t start = 0; start < end; start += kChunk) {
    const Strings urls = urls_of(plan.generator, start, std::min(start + kChunk, end));
    for (Structure* const structure : structures) {
      if (structure->name != kBinaryName) {
        std::ranges::for_each(urls, structure->insert);
      }
    }
  }
  if (const auto sorted = std::ranges::find(structures, kBinaryName, [](Structure* one) { return one->name; });
      sorted != structures.end()) {
    Strings urls = urls_of(plan.generator, 0, end);
    std::ranges::sort(urls);  // so each insertion appends
    std::ranges::for_each(urls, (*sorted)->insert);
  }
}

// CPU time, which other processes affect less.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Times the operations of all structures in turn.
std::vector<Row> time_in_turn(std::vector<Structure*> structures, const Plan& plan) {
  fill(structures, plan);
  const Strings last = urls_of(plan.generator, plan.count - plan.timed(), plan.count);
  const Strings absent_keys = urls_of(plan.generator, plan.count, plan.count + plan.operations);
  Strings members(plan.operations);
  Random random(plan.count);
  for (std::string& url : members) {
    plan.generator.append_url(random.below(plan.count), url);
  }
  std::uint64_t yes = 0;
  const auto asked = [&yes](const Structure& structure, const Strings& urls) {
    for (const std::string& url : urls) {
      yes += static_cast<std::uint64_t>(structure.contains(url));
    }
  };
  std::vector<std::size_t> inserted(structures.size());
  std::vector<std::function<void()>> inserts;
  std::vector<std::function<void()>> queries;
  for (std::size_t i = 0; i < structures.size(); ++i) {
    inserts.emplace_back([&, i] {
      for (std::size_t end = inserted[i] + plan.operations; inserted[i] < end; ++inserted[i]) {
        structures[i]->insert(last[inserted[i]]);
      }
    });
    queries.emplace_back([&, i] { asked(*structures[i], members); });
    queries.emplace_back([&, i] { asked(*structures[i], absent_keys); });
  }
  const auto insert = nanoseconds_interleaved(kRounds, plan.operations, inserts, cpu_seconds);
  const auto query = nanoseconds_interleaved(kRounds, plan.operations, queries, cpu_seconds);
  MANKAI_ASSERT(yes >= structures.size() * plan.operations);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < structures.size(); ++i) {
    rows.push_back({.name = structures[i]->name,
                    .urls = static_cast<double>(plan.count),
                    .insert = insert[i],
                    .hit = query[2 * i],
                    .miss = query[2 * i + 1]});
  }
  return rows;
}

Result<std::vector<Row>> time_all(const UrlGenerator& generator, std::uint64_t count, const Context& context) {
  MANKAI_ASSIGN(auto structures, structures_for(count, context));
  std::vector<Structure*> slow;
  std::vector<Structure*> fast;
  for (Structure& structure : structures) {
    (structure.is_slow ? slow : fast).push_back(&structure);
  }
  constexpr std::size_t kFew = 10;
  constexpr std::size_t kMany = 10'000;
  std::vector<Row> rows = time_in_turn(slow, {.generator = generator, .count = count, .operations = kFew});
  std::ranges::move(time_in_turn(fast, {.generator = generator,
                                        .count = count,
                                        .operations = std::min<std::uint64_t>(kMany, count / 2 / kRounds)}),
                    std::back_inserter(rows));
  return rows;
}

const Row& row_of(const std::vector<Row>& rows, std::string_view name) {
  return *std::ranges::find_if(rows, [name](const Row& row) { return row.name == name; });
}

void judge_ratios(const std::vector<Row>& rows, Findings& findings) {
  const Row& bloom = row_of(rows, kBloomName);
  const Row& layered = row_of(rows, kFaithfulName);
  const auto judge = [&](const char* id, const char* what, const Estimate& ratio) {
    findings.judged({"time-more-{}", id, what, bloom.urls}, at_least(findings.threshold("time-more-{}")), ratio);
    findings.judged({"time-same-{}", id, what, bloom.urls}, equals(1), ratio);
  };
  judge("insert", "insertion", over(layered.insert, bloom.insert));
  judge("query", "query", over(layered.hit, bloom.hit));
}

void judge_traditional(const std::vector<Row>& rows, Findings& findings) {
  const Row& linear = row_of(rows, kLinearName);
  findings.judged({"time-linear", linear.miss.value / linear.urls}, at_least(findings.threshold("time-linear")),
                  over(linear.miss, row_of(rows, kLongListName).miss));
  for (const char* const name : {kBloomName, kFaithfulName}) {
    const char* const id = name == kBloomName ? "bloom" : "multi-layer";
    const auto judge = [&](const std::string& pattern, const char* other) {
      findings.judged({pattern, id, name}, at_most(findings.threshold(pattern)),
                      over(row_of(rows, name).hit, row_of(rows, other).hit));
    };
    judge("time-{}-linear", kLinearName);
    judge("time-{}-binary", kBinaryName);
    judge("time-{}-list", kShortListName);
  }
}

void judge_fetches(const std::vector<Row>& rows, Findings& findings) {
  const double few = findings.threshold("fetch-{}");
  for (const auto& [id, name] : {std::pair("linear-search", kLinearName), std::pair("binary-search", kBinaryName),
                                 std::pair("hash-set", kHashSetName), std::pair("list", kShortListName),
                                 std::pair("bloom", kBloomName), std::pair("multi-layer", kFaithfulName)}) {
    const Row& row = row_of(rows, name);
    findings.judged({"fetch-{}", id, row.name, row.urls}, name == kLinearName ? at_least(few) : at_most(few), row.miss);
  }
}

// In milliseconds as in the figures: all insertions, or queries for half of the URLs.
Figure figure_of(const std::vector<Row>& rows, Figure figure) {
  constexpr double kNsPerMs = 1e6;
  for (const Row& row : rows) {
    const double scale = row.urls / kNsPerMs;
    figure.rows.push_back({row.name, row.urls, row.insert.value * scale, row.hit.value * scale / 2,
                           row.miss.value * scale / 2, row.insert.value, row.hit.value, row.miss.value});
  }
  return figure;
}

}  // namespace

Result<void> measure_times(const Context& context, Findings& findings) {
  if (context.quick) {
    return {};
  }
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.seed = context.seed}));
  std::vector<Row> all;
  std::vector<Row> rows;
  for (const std::uint64_t count : {32'432U, 269'452U, 1'562'978U}) {
    context.progress(fmt::format("times at {} URLs", count));
    MANKAI_ASSIGN(rows, time_all(generator, count, context));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  judge_ratios(rows, findings);
  judge_traditional(rows, findings);
  judge_fetches(rows, findings);
  for (const char* const name : {"figure-4", "figure-5", "query-times", "insertion-times"}) {
    findings.add(figure_of(all, findings.figure(name)));
  }
  return {};
}

}  // namespace mankai::lab::dedup
