#include <algorithm>
#include <cmath>
#include <limits>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/exact_sets.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/segments.hpp"

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

// A hash of which only so many different values are left. Not noexcept: the standard library then stores the values,
// and compares them before the keys.
struct FewValues {
  std::uint64_t values;
  std::size_t operator()(const std::string& url) const { return std::hash<std::string>()(url) % values; }
};

// Keys compared with per lookup of a member.
double comparisons(std::span<const std::string> urls, std::uint64_t hash_values) {
  std::uint64_t count = 0;
  std::unordered_set<std::string, FewValues, CountingEqual> set(0, FewValues{hash_values}, CountingEqual{&count});
  set.insert(urls.begin(), urls.end());
  count = 0;
  std::uint64_t found = 0;
  for (const std::string& url : urls) {
    found += static_cast<std::uint64_t>(set.contains(url));
  }
  return static_cast<double>(count) / static_cast<double>(found);
}

// "Almost constant", "it depends mostly on the quality of hash function used": ten times the URLs, with all values of
// the hash and with few.
void judge_hash(std::span<const std::string> urls, Findings& findings) {
  constexpr std::size_t kFewUrls = 3000;
  constexpr std::size_t kManyUrls = 10 * kFewUrls;
  constexpr std::uint64_t kFewHashes = 100;
  const auto growth = [&](std::uint64_t values) {
    return exact(comparisons(urls.first(kManyUrls), values) / comparisons(urls.first(kFewUrls), values));
  };
  findings.depends({"hash-is-constant", kFewHashes},
                   {.expected = equals(1), .measured = growth(std::numeric_limits<std::uint64_t>::max())},
                   {.expected = equals(1), .measured = growth(kFewHashes)});
}

class CountingResource : public std::pmr::memory_resource {
 public:
  [[nodiscard]] double bytes() const noexcept { return static_cast<double>(bytes_); }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::uint64_t bytes_ = 0;
};

// Bytes that are really allocated, without the allocator's own.
Result<void> judge_allocated(const std::vector<std::string>& urls, const Context& context, Findings& findings) {
  CountingResource of_table;
  baseline::HashSet table(&of_table);
  CountingResource of_array;
  std::pmr::vector<std::pmr::string> array(&of_array);
  array.reserve(urls.size());
  double half_table = 0;
  for (const std::string& url : urls) {
    table.insert(url);
    array.emplace_back(url);
    half_table = table.size() == urls.size() / 2 ? of_table.bytes() : half_table;
  }
  CountedMemory of_bloom;
  MANKAI_ASSIGN(
      const auto bloom,
      Bloom::create(
          {.keys = urls.size(), .fpr = kRepository.fpr, .hash = context.hash(), .memory = of_bloom.memory()}));
  CountedMemory of_layers;
  MANKAI_ASSIGN(auto layered,
                make_layered(urls.size(), kRepository.fpr, UrlLayering::faithful, context, of_layers.memory()));
  const Hasher hasher(context.hash());
  Urls hashed;
  std::vector<std::string_view> segments;
  std::vector<Digest> digests;
  for (const std::string& url : urls) {
    url::CanonicalUrl canonical;
    if (url::canonicalize(url, canonical, url::UrlRules::keys)) {
      url::split_segments(canonical, segments);
      url::segment_digests(hasher, segments, digests);
      hashed.add(digests);
    }
  }
  layered.insert(hashed);
  const auto n = static_cast<double>(urls.size());
  const auto bloom_bytes = static_cast<double>(of_bloom.bytes());
  const auto layers_bytes = static_cast<double>(of_layers.bytes());
  findings.judged({"hash-space-is-linear", of_table.bytes() / n}, equals(2), exact(of_table.bytes() / half_table));
  findings.judged({"bloom-takes-less", of_table.bytes() / n, bloom_bytes / n},
                  at_most(findings.threshold("bloom-takes-less")), exact(bloom_bytes / of_table.bytes()));
  findings.judged({"multi-layer-takes-less", of_array.bytes() / n, layers_bytes / n},
                  at_most(findings.threshold("multi-layer-takes-less")), exact(layers_bytes / of_array.bytes()));
  return {};
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
  MANKAI_TRY(judge_allocated(urls, context, findings));
  Flat under_test(FlatUrls(std::move(filter)), context.fault);
  judge_false_positives(urls, absent, under_test, findings);
  std::ranges::sort(urls);
  judge_binary(urls, {absent.begin(), absent.begin() + kAsked}, findings);
  return {};
}

}  // namespace mankai::lab::dedup
