#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/exact_sets.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"

namespace mankai::lab::dedup {
namespace {

/// A fast page; most take several times as long. The source gives no value.
constexpr double kFetchNs = 50e6;
constexpr std::size_t kFewInserts = 1000;
constexpr std::size_t kFewLookups = 100;
constexpr std::size_t kManyOperations = 100'000;

using Strings = std::vector<std::string>;

// Bytes per key without the allocator's overhead: the string, and its text if that is not stored in place.
double string_bytes(double mean_length) noexcept { return static_cast<double>(sizeof(std::string)) + mean_length + 1; }

template <class Set>
class Exact {
 public:
  static constexpr bool kIsSlow = !std::is_same_v<Set, baseline::HashSet>;
  static constexpr const char* kName = !kIsSlow                                     ? "hash set"
                                       : std::is_same_v<Set, baseline::SortedArray> ? "binary search"
                                                                                    : "linear search";
  void insert(std::string_view url) {
    if constexpr (requires { set_.append(url); }) {
      set_.append(url);
    } else {
      set_.insert(url);
    }
  }
  [[nodiscard]] bool contains(std::string_view url) const { return set_.contains(url); }
  // A node of the hash set also has a link and the hash, and each key has a bucket.
  [[nodiscard]] static double bytes(double /*urls*/, double mean_length) {
    return string_bytes(mean_length) + (kIsSlow ? 0 : 3 * sizeof(void*));
  }

 private:
  Set set_;
};

template <class Filter>
class Filtered {
 public:
  static constexpr const char* kName = std::is_same_v<Filter, Bloom> ? "Bloom filter" : "blocked Bloom filter";
  static constexpr bool kIsSlow = false;
  explicit Filtered(Filter filter) : filter_(std::move(filter)) {}
  void insert(std::string_view url) { filter_.insert(filter_.hasher()(url)); }
  [[nodiscard]] bool contains(std::string_view url) const { return filter_.may_contain(filter_.hasher()(url)); }
  [[nodiscard]] double bytes(double urls, double /*mean_length*/) const {
    return static_cast<double>(filter_.cells_bytes()) / urls;
  }

 private:
  Filter filter_;
};

template <UrlLayering kLayering>
class LayeredStrings {
 public:
  static constexpr const char* kName =
      kLayering == UrlLayering::faithful ? "multi-layer, faithful" : "multi-layer, repaired";
  static constexpr bool kIsSlow = false;
  explicit LayeredStrings(LayeredUrlBloom filter) : filter_(std::move(filter)), hasher_(filter_.hasher()) {}
  void insert(std::string_view url) { filter_.insert(std::span(digests_).first(split(url))); }
  [[nodiscard]] bool contains(std::string_view url) {
    const LayeredUrlBloom& asked = filter_;
    return asked.may_contain(std::span(digests_).first(split(url)));
  }
  [[nodiscard]] double bytes(double urls, double /*mean_length*/) const {
    return static_cast<double>(filter_.cells_bytes()) / urls;
  }

 private:
  // Removes the scheme at the front only; the source's program removes it anywhere, even in a query.
  std::size_t split(std::string_view url) {
    const std::size_t scheme = url.find("://");
    url.remove_prefix(scheme == std::string_view::npos ? 0 : scheme + 3);
    std::size_t count = 0;
    while (count + 1 < digests_.size()) {
      const std::size_t slash = url.find('/');
      digests_[count++] = hasher_(url.substr(0, slash));
      if (slash == std::string_view::npos) {
        return count;
      }
      url.remove_prefix(slash + 1);
    }
    digests_[count++] = hasher_(url);
    return count;
  }

  LayeredUrlBloom filter_;
  Hasher hasher_;
  std::array<Digest, LayeredUrlBloom::kMaxLevels> digests_{};
};

struct Row {
  std::string name;
  double urls = 0;
  Estimate insert{};
  Estimate hit{};
  Estimate miss{};
  double bytes = 0;
};

struct Plan {
  const UrlGenerator& generator;
  std::uint64_t count;
  std::size_t rounds;
};

template <class Structure>
void fill(Structure& structure, const Plan& plan, std::uint64_t count) {
  constexpr std::uint64_t kChunk = 10'000;
  if constexpr (std::is_same_v<Structure, Exact<baseline::SortedArray>>) {
    Strings sorted = urls_of(plan.generator, 0, count);
    std::ranges::sort(sorted);  // so each insert appends
    for (const std::string& url : sorted) {
      structure.insert(url);
    }
    return;
  }
  for (std::uint64_t start = 0; start < count; start += kChunk) {
    for (const std::string& url : urls_of(plan.generator, start, std::min(start + kChunk, count))) {
      structure.insert(url);
    }
  }
}

template <class Structure>
Row time_structure(Structure structure, const Plan& plan) {
  const std::size_t most_inserts = Structure::kIsSlow ? kFewInserts : kManyOperations;
  const auto inserts = std::min<std::uint64_t>(plan.count / 2, most_inserts);
  const auto lookups = std::min<std::uint64_t>(plan.count / 2, Structure::kIsSlow ? kFewLookups : kManyOperations);
  fill(structure, plan, plan.count - inserts);
  const Strings last = urls_of(plan.generator, plan.count - inserts, plan.count);
  Strings members;
  Random random(plan.count);
  for (std::uint64_t i = 0; i < lookups; ++i) {
    plan.generator.append_url(random.below(plan.count), members.emplace_back());
  }
  const Strings absent_keys = urls_of(plan.generator, plan.count, plan.count + lookups);
  const std::array<std::function<void()>, 1> insert = {[&] {
    for (const std::string& url : last) {
      structure.insert(url);
    }
  }};
  std::uint64_t yes = 0;
  const auto ask = [&](const Strings& urls) {
    for (const std::string& url : urls) {
      yes += static_cast<std::uint64_t>(structure.contains(url));
    }
  };
  const std::array<std::function<void()>, 2> look_up = {[&] { ask(members); }, [&] { ask(absent_keys); }};
  Row row{.name = Structure::kName, .urls = static_cast<double>(plan.count)};
  row.insert = nanoseconds_interleaved(1, inserts, insert).front();
  const auto times = nanoseconds_interleaved(Structure::kIsSlow ? 1 : plan.rounds, lookups, look_up);
  MANKAI_ASSERT(yes >= lookups);
  row.hit = times[0];
  row.miss = times[1];
  double length = 0;
  for (const std::string& url : members) {
    length += static_cast<double>(url.size());
  }
  row.bytes = structure.bytes(row.urls, length / static_cast<double>(lookups));
  return row;
}

Result<std::vector<Row>> time_all(const Plan& plan, const Context& context) {
  const HashSpec hash = context.hash();
  const double fpr = kRepository.fpr;
  std::vector<Row> rows;
  rows.push_back(time_structure(Exact<baseline::LinearScan>(), plan));
  rows.push_back(time_structure(Exact<baseline::SortedArray>(), plan));
  rows.push_back(time_structure(Exact<baseline::HashSet>(), plan));
  MANKAI_ASSIGN(auto bloom, Bloom::create({.keys = plan.count, .fpr = fpr, .k = kRepository.k, .hash = hash}));
  MANKAI_ASSIGN(auto blocked, BlockedBloom::create({.keys = plan.count, .fpr = fpr, .hash = hash}));
  constexpr std::size_t kLevels = LayeredUrlBloom::kMaxLevels;
  MANKAI_ASSIGN(
      auto faithful,
      LayeredUrlBloom::create(
          {.keys = plan.count, .fpr = fpr, .layering = UrlLayering::faithful, .max_levels = kLevels, .hash = hash}));
  MANKAI_ASSIGN(auto repaired,
                LayeredUrlBloom::create({.keys = plan.count, .fpr = fpr, .max_levels = kLevels, .hash = hash}));
  rows.push_back(time_structure(Filtered(std::move(bloom)), plan));
  rows.push_back(time_structure(Filtered(std::move(blocked)), plan));
  rows.push_back(time_structure(LayeredStrings<UrlLayering::faithful>(std::move(faithful)), plan));
  rows.push_back(time_structure(LayeredStrings<UrlLayering::repaired>(std::move(repaired)), plan));
  return rows;
}

const Row& row_of(const std::vector<Row>& rows, std::string_view name) {
  return *std::ranges::find_if(rows, [name](const Row& row) { return row.name == name; });
}

void claim_ratios(const std::vector<Row>& rows, Findings& findings) {
  const Row& bloom = row_of(rows, "Bloom filter");
  const Row& layered = row_of(rows, "multi-layer, faithful");
  const Estimate insert = over(layered.insert, bloom.insert);
  const Estimate query = over(layered.hit, bloom.hit);
  findings.undecided({"time-insert-same", bloom.urls}, equals(1), insert);
  findings.undecided({"time-query-same", bloom.urls}, equals(1), query);
  findings.undecided({"time-insert-program", bloom.urls}, equals(3.1), insert);
  findings.undecided({"time-query-program", bloom.urls}, equals(4.6), query);
}

void claim_fetches(const std::vector<Row>& rows, Findings& findings) {
  for (const Row& row : rows) {
    std::string id = row.name;
    std::ranges::replace(id, ' ', '-');
    std::erase(id, ',');
    std::ranges::transform(id, id.begin(), [](char c) { return c == 'B' ? 'b' : c; });
    findings.undecided({"fetch-{}", id, row.name, row.urls, row.miss.value}, at_most(1e-3),
                       Estimate{.value = row.miss.value / kFetchNs, .error = row.miss.error / kFetchNs});
  }
}

void claim_exact(const std::vector<Row>& rows, Findings& findings) {
  const Row& linear = row_of(rows, "linear search");
  const Row& sorted = row_of(rows, "binary search");
  const Row& hashed = row_of(rows, "hash set");
  const Row& bloom = row_of(rows, "Bloom filter");
  findings.undecided("time-linear", equals(98), exact(linear.miss.value / linear.urls));
  findings.undecided("time-binary", equals(0), sorted.miss);
  findings.undecided("time-hash", equals(1200), hashed.hit);
  findings.undecided("time-against-traditional", at_most(1), over(bloom.miss, hashed.miss));
  findings.judged("space-against-traditional", at_most(1),
                  exact(row_of(rows, "multi-layer, faithful").bytes / sorted.bytes));
}

Figure figure_of(const std::vector<Row>& rows, Figure figure, const std::string& y) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    figure.rows.push_back(
        {row.name, row.urls, row.insert.value, row.hit.value, row.miss.value, row.bytes, row.miss.value / kFetchNs});
    if (std::ranges::find(names, row.name) == names.end()) {
      names.push_back(row.name);
      figure.series.push_back({.title = row.name, .x = "urls", .y = y, .only = {{"structure", row.name}}});
    }
  }
  return figure;
}

}  // namespace

Result<void> measure_times(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.seed = context.seed}));
  const std::uint64_t most = context.trials(10'000, 10'000'000);
  std::vector<Row> all;
  std::vector<Row> rows;
  for (std::uint64_t count = 1000; count <= most; count *= 10) {
    context.progress(fmt::format("times at {} URLs", count));
    MANKAI_ASSIGN(auto timed,
                  time_all({.generator = generator, .count = count, .rounds = context.trials(1, 5)}, context));
    rows = std::move(timed);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  claim_ratios(rows, findings);
  claim_exact(rows, findings);
  claim_fetches(rows, findings);
  findings.add(figure_of(all, findings.figure("query-time"), "miss ns"));
  findings.add(figure_of(all, findings.figure("insertion-time"), "insert ns"));
  findings.add(figure_of(all, findings.figure("space"), "bytes per URL"));
  return {};
}

}  // namespace mankai::lab::dedup
