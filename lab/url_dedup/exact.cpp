#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr std::uint64_t kAsked = 1000;

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
  findings.judged("linear-comparisons", equals(urls.size()), exact(static_cast<double>(comparisons) / kScans));
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
  findings.judged("binary-comparisons", at_most(std::floor(std::log2(n)) + 1), exact(most));
  Estimate share_moved = mean(moved);
  share_moved = {.value = share_moved.value / n, .error = share_moved.error / n};
  findings.judged("binary-insert-moves", equals(0.5), share_moved);
}

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
  findings.judged("hash-is-constant", at_most(2), exact(static_cast<double>(count) / static_cast<double>(found)));
}

// Bytes per key of std::unordered_set<std::string> on a 64-bit machine, without the allocator's overhead.
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
  findings.judged({"hash-stores-the-urls", hash_bytes / n, static_cast<double>(filter.cells_bytes()) / n}, at_least(10),
                  exact(hash_bytes / static_cast<double>(filter.cells_bytes())));
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
  findings.judged("bloom-is-certain-about-no", equals(0), exact(filter.count_missed(members)));
  findings.judged("bloom-may-say-yes-wrongly", equals(filter.filter().fpr_estimate()), filter.rate(as_urls(absent)));
}

}  // namespace

Result<void> measure_exact(const Context& context, Findings& findings) {
  const std::uint64_t count = context.trials(100'000, 1'000'000);
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.seed = context.seed}));
  MANKAI_ASSIGN(auto filter, Bloom::create({.keys = count, .fpr = kRepository.fpr, .hash = context.hash()}));
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
