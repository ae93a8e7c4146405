#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/traffic/url_generator.hpp"
#include "lab/url_dedup/filters.hpp"
#include "lab/url_dedup/parts.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr const char* kPlace = "1.1 Problem Statement";
constexpr std::uint64_t kAsked = 1000;

// The URLs from one number to another.
std::vector<std::string> urls_of(const UrlGenerator& generator, std::uint64_t first, std::uint64_t last) {
  std::vector<std::string> urls(last - first);
  for (std::string& url : urls) {
    generator.append_url(first++, url);
  }
  return urls;
}

void judge_linear(const std::vector<std::string>& urls, const std::vector<std::string>& absent, Findings& findings) {
  std::uint64_t comparisons = 0;
  const auto compare = [&comparisons](const std::string& a, const std::string& b) {
    ++comparisons;
    return a == b;
  };
  constexpr std::size_t kScans = 20;
  for (std::size_t i = 0; i < kScans; ++i) {
    static_cast<void>(std::ranges::find_if(urls, [&](const std::string& url) { return compare(url, absent[i]); }));
  }
  findings.judged(
      {.id = "linear-comparisons",
       .place = kPlace,
       .claim = "Where the URL is last or absent, a linear search compares with every URL: 1 million of them.",
       .formula = "n comparisons; here n is the number of URLs inserted",
       .unit = "comparisons",
       .expected = {.value = static_cast<double>(urls.size())},
       .measured = {.value = static_cast<double>(comparisons) / kScans}});
}

void judge_binary(const std::vector<std::string>& sorted, const std::vector<std::string>& absent, Findings& findings) {
  std::uint64_t most = 0;
  std::vector<double> moved;
  for (const std::string& url : absent) {
    std::uint64_t comparisons = 0;
    const auto place = std::ranges::lower_bound(sorted, url, [&comparisons](const auto& a, const auto& b) {
      ++comparisons;
      return a < b;
    });
    most = std::max(most, comparisons);
    moved.push_back(static_cast<double>(sorted.end() - place));
  }
  const auto n = static_cast<double>(sorted.size());
  findings.judged({.id = "binary-comparisons",
                   .place = kPlace,
                   .claim = "A binary search takes O(log n) comparisons.",
                   .formula = "at most floor(log2 n) + 1",
                   .unit = "comparisons",
                   .expected = {.value = std::floor(std::log2(n)) + 1, .relation = Relation::at_most},
                   .measured = {.value = static_cast<double>(most)}});
  Estimate share_moved = mean(moved);
  share_moved = {.value = share_moved.value / n, .error = share_moved.error / n};
  findings.judged({.id = "binary-insert-moves",
                   .place = kPlace,
                   .claim = "Inserting into a sorted array is costly, since it has to stay sorted.",
                   .formula = "half of the keys move, O(n): (n / 2) / n",
                   .expected = {.value = 0.5, .tolerance = 0.02},
                   .measured = share_moved,
                   .reason = "The new URLs come from the same sites as the old ones."});
}

// Counts comparisons of keys.
struct CountingEqual {
  std::uint64_t* count;
  bool operator()(const std::string& a, const std::string& b) const {
    ++*count;
    return a == b;
  }
};

void judge_hash(const std::vector<std::string>& urls, Findings& findings) {
  std::uint64_t count = 0;
  std::unordered_set<std::string, std::hash<std::string>, CountingEqual> set(0, {}, CountingEqual{&count});
  set.insert(urls.begin(), urls.end());
  count = 0;
  std::uint64_t found = 0;
  for (const std::string& url : urls) {
    found += static_cast<std::uint64_t>(set.contains(url));
  }
  findings.judged({.id = "hash-is-constant",
                   .place = kPlace,
                   .claim = "A hash table has almost constant look-up time, O(1), depending on its hash.",
                   .formula = "keys compared with per look-up of a member: 1, and a little for collisions",
                   .unit = "comparisons",
                   .expected = {.value = 2, .relation = Relation::at_most},
                   .measured = {.value = static_cast<double>(count) / static_cast<double>(found)}});
}

// What a key takes in std::unordered_set<std::string> on a 64-bit machine, without the allocator's own bytes.
double hash_set_bytes(const std::string& url) {
  constexpr std::size_t kNode = sizeof(void*) + sizeof(std::string) + sizeof(std::size_t);
  constexpr std::size_t kInPlace = 15;
  return static_cast<double>(sizeof(void*) + kNode + (url.size() > kInPlace ? url.size() + 1 : 0));
}

void judge_space(const std::vector<std::string>& urls, const Bloom& filter, Findings& findings) {
  double hash_bytes = 0;
  for (const std::string& url : urls) {
    hash_bytes += hash_set_bytes(url);
  }
  const auto n = static_cast<double>(urls.size());
  findings.judged(
      {.id = "hash-stores-the-urls",
       .place = kPlace,
       .claim = "A hash table takes O(n) space for the URLs themselves; a Bloom filter stores bits instead.",
       .formula = "bytes a URL in a hash set, at least ten times those of a Bloom filter at 5 %",
       .unit = "times",
       .expected = {.value = 10, .relation = Relation::at_least},
       .measured = {.value = hash_bytes / static_cast<double>(filter.cells_bytes())},
       .reason =
           fmt::format("{:.0f} bytes against {:.2f}.", hash_bytes / n, static_cast<double>(filter.cells_bytes()) / n)});
}

void judge_false_positives(const std::vector<std::string>& urls, const std::vector<std::string>& absent, Flat& filter,
                           Findings& findings) {
  const Hasher hasher = filter.filter().hasher();
  const auto as_urls = [&hasher](const std::vector<std::string>& strings) {
    Urls hashed;
    for (const std::string& text : strings) {
      const Digest digest = hasher(std::string_view(text));
      hashed.add({&digest, 1});
    }
    return hashed;
  };
  const Urls members = as_urls(urls);
  filter.insert(members);
  findings.judged({.id = "bloom-is-certain-about-no",
                   .place = "Bloom filter & analysis",
                   .claim = "A value one of whose cells is 0 is definitely not visited.",
                   .formula = "members that are denied = 0, URLs hashed as strings",
                   .unit = "URLs",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(filter.count_missed(members))}});
  findings.judged({.id = "bloom-may-say-yes-wrongly",
                   .place = kPlace,
                   .claim = "False positives arise, as items may have the same hash values.",
                   .formula = "fill^k",
                   .expected = {.value = filter.filter().fpr_estimate()},
                   .measured = filter.rate(as_urls(absent))});
}

}  // namespace

Result<void> measure_exact(const Context& context, Findings& findings) {
  const std::uint64_t count = context.trials(100'000, 1'000'000);
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.seed = context.seed}));
  MANKAI_ASSIGN(auto filter, Bloom::create({.keys = count,
                                            .fpr = kRepository.fpr,
                                            .hash = {.kind = HashKind::xxh3, .seed = {context.seed, 0}}}));
  std::vector<std::string> urls = urls_of(generator, 0, count);
  const std::vector<std::string> absent = urls_of(generator, count, count + count / 10);
  judge_linear(urls, absent, findings);
  judge_hash(urls, findings);
  judge_space(urls, filter, findings);
  Flat under_test(FlatUrls(std::move(filter)), context.fault);
  judge_false_positives(urls, absent, under_test, findings);
  std::ranges::sort(urls);
  judge_binary(urls, {absent.begin(), absent.begin() + kAsked}, findings);
  return {};
}

}  // namespace mankai::lab::dedup
