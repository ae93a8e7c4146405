#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/counted_memory.hpp"
#include "lab/dablooms/filters.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/filter/bloom/bloom.hpp"

namespace mankai::lab::spam {
namespace {

constexpr double kPublished = 0.988;

using Text = std::basic_string<char, std::char_traits<char>, CountingAllocator<char>>;
// Not noexcept, so that the library caches the hash in the nodes as for std::string.
struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Table = std::unordered_set<Text, Hash, std::equal_to<>, CountingAllocator<Text>>;

struct Usage {
  double urls = 0;
  double length = 0;   // bytes per URL
  double table = 0;    // bytes per URL
  double buckets = 0;  // per URL
};

// A node has a link, the string with its 16 bytes for short texts, and the hash. A longer text is allocated separately.
double table_formula(const Usage& usage) {
  return 2 * sizeof(void*) + sizeof(Text) + usage.length + 1 + sizeof(void*) * usage.buckets;
}

// Bytes per key of a counting filter with the best number of probes.
double counting_formula(double fpr) {
  return 4 / kBitsPerByte * -std::log(fpr) / (std::numbers::ln2 * std::numbers::ln2);
}

// The bytes per entry of a table from which on a filter at 1% needs 1.2% of them.
double entry_of_published() { return counting_formula(kRate) / (1 - kPublished); }

void judge_table(const Usage& usage, Findings& findings) {
  findings.judged("table-is-not-efficient", at_least(1), exact(usage.table / usage.length));
  findings.judged({"table-bytes", usage.urls, usage.length, 2500 / usage.table}, equals(table_formula(usage)),
                  exact(usage.table));
}

void judge_filter(const Usage& usage, const Usage& longer, double filter, const Estimate& rate, Findings& findings) {
  const Side large{at_least(kPublished), exact(1 - filter / longer.table)};
  const Side usual{at_least(kPublished), exact(1 - filter / usage.table)};
  findings.judged({"memory-reduction", filter}, equals(1 - counting_formula(kRate) / table_formula(usage)),
                  usual.measured);
  findings.judged("memory-rate", at_most(kRate), rate);
  const double cells = usage.table * (1 - kPublished) * 2;
  findings.depends({"ninety-eight-point-eight", entry_of_published(), longer.table, usage.table,
                    std::exp(-cells * std::numbers::ln2 * std::numbers::ln2)},
                   large, usual);
}

Result<Figure> figure_of(const Usage& usage, const Context& context, const Findings& findings) {
  Figure figure = findings.figure({"memory", usage.urls, usage.table});
  const auto keys = static_cast<std::uint64_t>(usage.urls);
  for (const double rate : {0.3, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001}) {
    CountedMemory of_counting;
    CountedMemory of_bloom;
    const auto counting = make_counting(keys, rate, context, of_counting.memory());
    const auto bloom = Bloom::create({.keys = keys, .fpr = rate, .hash = context.hash(), .memory = of_bloom.memory()});
    if (!counting || !bloom) {
      return fail(ErrorCode::out_of_space, "no memory for two filters");
    }
    figure.rows.push_back({rate, usage.table, usage.table * (1 - kPublished), counting_formula(rate),
                           of_counting.bytes() / usage.urls, counting_formula(rate) / 4,
                           of_bloom.bytes() / usage.urls});
  }
  return figure;
}

// Time of the processor for a URL that is not listed, hashing included, in the filter and in the table.
void judge_time(const Table& table, const Counting& filter, const UrlGenerator& generator, Findings& findings) {
  constexpr std::uint64_t kAsked = 100'000;
  std::vector<std::string> absent_keys(kAsked);
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    generator.append_url(table.size() + i, absent_keys[i]);
  }
  const Hasher hasher = filter.filter().hasher();
  std::uint64_t yes = 0;
  const auto time_of = [&](const auto& contains) {
    const double before = thread_cpu_seconds();
    for (const std::string& url : absent_keys) {
      yes += static_cast<std::uint64_t>(contains(url));
    }
    return (thread_cpu_seconds() - before) / static_cast<double>(kAsked);
  };
  std::vector<double> of_filter;
  std::vector<double> of_table;
  for (int round = 0; round < 15; ++round) {
    of_filter.push_back(time_of([&](const std::string& url) { return filter.may_contain(hasher(url)); }));
    of_table.push_back(time_of([&](const std::string& url) { return table.contains(std::string_view(url)); }));
  }
  MANKAI_ASSERT(yes < kAsked * of_filter.size() * 2);
  constexpr double kNano = 1e9;
  const Estimate time = mean(of_filter) / (1 / kNano);
  findings.judged({"performance-is-kept", time.value, mean(of_table).value * kNano},
                  at_most(findings.threshold("performance-is-kept")), time);
}

struct Filled {
  Table table;
  Usage usage;
};

// Puts URLs into a table, with a longer path if `padding` is not empty.
Filled fill_table(const UrlGenerator& generator, std::uint64_t urls, std::string_view padding) {
  const std::uint64_t before = Counted::bytes;
  Filled filled{.table = {}, .usage = {.urls = static_cast<double>(urls)}};
  std::string url;
  for (std::uint64_t number = 0; number < urls; ++number) {
    url.clear();
    generator.append_url(number, url);
    url += padding;
    filled.table.emplace(url);
    filled.usage.length += static_cast<double>(url.size()) / filled.usage.urls;
  }
  filled.usage.table = static_cast<double>(Counted::bytes - before) / filled.usage.urls;
  filled.usage.buckets = static_cast<double>(filled.table.bucket_count()) / filled.usage.urls;
  return filled;
}

}  // namespace

Result<void> measure_memory(const Context& context, Findings& findings) {
  const std::uint64_t urls = context.trials(50'000, 1'000'000);
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.count = urls, .seed = context.seed}));
  CountedMemory memory;
  MANKAI_ASSIGN(auto filter, make_counting(urls, kRate, context, memory.memory()));
  const Hasher hasher = filter.filter().hasher();
  std::string url;
  for (std::uint64_t number = 0; number < urls; ++number) {
    url.clear();
    generator.append_url(number, url);
    filter.insert(hasher(url));
  }
  const Filled usual = fill_table(generator, urls, {});
  // Entries a tenth above the size from which on the published reduction holds.
  const auto padding = static_cast<std::size_t>(std::max(0.0, 1.1 * entry_of_published() - usual.usage.table));
  const Usage longer = fill_table(generator, urls, std::string(padding, 'a')).usage;
  judge_table(usual.usage, findings);
  judge_filter(usual.usage, longer, memory.bytes() / usual.usage.urls,
               rate_of(filter, Keys(context.seed), context.trials(200'000, 4'000'000)), findings);
  if (!context.quick) {
    judge_time(usual.table, filter, generator, findings);
  }
  MANKAI_ASSIGN(auto figure, figure_of(usual.usage, context, findings));
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::spam
