#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lab/parts.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

/// The number in the repository's file results4.
constexpr std::uint64_t kWikipediaUrls = 304'964;

// en.wikipedia.org/wiki/Title: one host, one directory, one title per URL.
Urls wikipedia(std::uint64_t first, std::uint64_t last, std::uint64_t seed) {
  Urls urls;
  const Digest host = mix_integer(1, seed);
  const Digest directory = mix_integer(2, seed);
  for (std::uint64_t title = first; title < last; ++title) {
    const std::array<Digest, 3> url = {host, directory, mix_integer(title + 3, seed)};
    urls.add(url);
  }
  return urls;
}

// Headlines have no slash, so they are one segment.
Urls headlines(std::uint64_t first, std::uint64_t last, std::uint64_t seed) {
  Urls urls;
  for (std::uint64_t text = first; text < last; ++text) {
    const Digest segment = mix_integer(text, seed);
    urls.add({&segment, 1});
  }
  return urls;
}

// The repository's counter: a filter per half of the data; keys that both filters contain, divided by all keys.
template <class Filter>
Estimate their_counter(const Filter& other_half, const Urls& half, std::uint64_t total) {
  const Estimate true_rate = other_half.rate(half);
  const double scale = static_cast<double>(half.size()) / static_cast<double>(total);
  return {.value = true_rate.value * scale, .error = true_rate.error * scale};
}

struct Pair {
  Flat bloom;
  Layered layered;
};

Result<Pair> make_pair_of(const Urls& urls, const Context& context) {
  MANKAI_ASSIGN(auto layered, make_layered(urls.size(), kRepository.fpr, UrlLayering::faithful, context));
  MANKAI_ASSIGN(auto bloom, make_urls<Flat>(urls.size(), layered.filter().params().cell_count, kRepository.k, context));
  Pair pair{.bloom = std::move(bloom), .layered = std::move(layered)};
  pair.bloom.insert(urls);
  pair.layered.insert(urls);
  return pair;
}

Result<void> measure_wikipedia(const Context& context, Findings& findings) {
  constexpr std::uint64_t kHalf = kWikipediaUrls / 2;
  const Urls first = wikipedia(0, kHalf, context.seed);
  const Urls second = wikipedia(kHalf, kWikipediaUrls, context.seed);
  // The array is a power of two, so a flat filter of exactly that size serves as the repository's baseline.
  MANKAI_ASSIGN(auto filter,
                Bloom::create({.keys = kHalf, .fpr = kRepository.fpr, .k = kRepository.k, .hash = context.hash()}));
  Flat bloom(FlatUrls(std::move(filter)), context.fault);
  bloom.insert(first);
  findings.judged("results4-bloom", equals(0.0251), their_counter(bloom, second, kWikipediaUrls));
  findings.judged("results4-is-a-rate", equals(1),
                  over(their_counter(bloom, second, kWikipediaUrls), bloom.rate(second)));
  MANKAI_ASSIGN(const auto pair, make_pair_of(first, context));
  const LayeredUrlBloom& layered = pair.layered.filter();
  findings.undecided({"results4-multi-layer", level_rate(layered, 2) * last_rate(layered) / 2}, equals(0.00043),
                     their_counter(pair.layered, second, kWikipediaUrls));
  return {};
}

Result<void> measure_headlines(const Context& context, Findings& findings) {
  const std::uint64_t count = context.trials(150'000, 1'000'000);
  MANKAI_ASSIGN(const auto pair, make_pair_of(headlines(0, count, context.seed), context));
  const Urls absent_keys = headlines(count, 4 * count, context.seed);
  const Estimate gain = over(pair.layered.rate(absent_keys), pair.bloom.rate(absent_keys));
  findings.judged("headlines-gain", at_most(2.61 / 2.82), gain);
  findings.judged("headlines-same-array", equals(1), gain);
  return {};
}

// The program's "Hash" is a list of 10^8 ones and zeros, indexed by hash modulo 10^8.
Result<void> measure_list(const Context& context, Findings& findings) {
  constexpr std::uint64_t kCells = 100'000'000;
  constexpr std::uint64_t kUrls = 1'000'000;
  Random random(context.seed);
  std::vector<bool> list(kCells);
  for (std::uint64_t i = 0; i < kUrls; ++i) {
    list[random.below(kCells)] = true;
  }
  std::uint64_t yes = 0;
  for (std::uint64_t i = 0; i < kUrls; ++i) {
    const std::uint64_t digest = random.next();
    yes += static_cast<std::uint64_t>(list[fastrange(digest, kCells)] || invents_yes(context.fault, digest));
  }
  findings.judged("hash-list-is-exact", equals(0), share(yes, kUrls));
  findings.judged("hash-list-rate", equals(-std::expm1(-static_cast<double>(kUrls) / kCells)), share(yes, kUrls));
  return {};
}

void skip_missing_data(Findings& findings) {
  findings.skipped("results1-bloom", equals(0.0324), Missing::authors_data);
  findings.skipped("results1-multi-layer", equals(0.01045), Missing::authors_data);
}

}  // namespace

Result<void> measure_repository(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_wikipedia(context, findings));
  MANKAI_TRY(measure_headlines(context, findings));
  skip_missing_data(findings);
  return measure_list(context, findings);
}

}  // namespace mankai::lab::dedup
