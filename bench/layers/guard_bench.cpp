// Checks of URLs by a guard of a million rules, as lists have them: nine of ten a domain, one a page.
//
//   layers --benchmark_filter=guard
//
// `guard/check/unlisted`: hosts that no rule knows; `below`: other pages and hosts below domains that have rules; and
// `blocked`. Each from the spelling that people post; `canonical` is that part alone. looks: how many a URL takes.

#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <vector>

#include "bench/layers/support.hpp"
#include "bench/random.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai::bench {
namespace {

constexpr std::size_t kRules = 1'000'000;
constexpr std::size_t kAsked = 1 << 16;
constexpr std::uint64_t kPageEvery = 10;

enum class Asked : std::uint8_t { unlisted, below, blocked };

bool is_page(std::uint64_t rule) { return rule % kPageEvery == 0; }

std::string domain(std::uint64_t number) {
  constexpr std::array<std::string_view, 4> kTops = {"com", "net", "info", "example"};
  return "site-" + std::to_string(random_integer(number) % 100'000'000'000) + "." + std::string(kTops[number % 4]);
}

std::string rule(std::uint64_t number) {
  return is_page(number) ? domain(number) + "/wp-content/" + std::to_string(number) : domain(number);
}

const Guard& guard() {
  static const Guard kGuard = [] {
    auto builder = GuardBuilder::create({.seed = std::array<std::uint64_t, 2>{1, 2}}).value();
    for (std::uint64_t i = 0; i < kRules; ++i) {
      static_cast<void>(builder.add_block(rule(i)).value());
    }
    return builder.build().value();
  }();
  return kGuard;
}

std::vector<std::string> urls(Asked asked) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    const std::uint64_t number = random_integer(~i) % kRules;
    const std::string path = "/gallery/2013/" + std::to_string(i) + ".html?v=" + std::to_string(number);
    switch (asked) {
      case Asked::unlisted: texts.push_back("https://www." + domain(number + kRules) + path); break;
      case Asked::below: texts.push_back("https://www." + domain(number / kPageEvery * kPageEvery) + path); break;
      case Asked::blocked: texts.push_back("https://www." + rule(number) + path); break;
    }
  }
  return texts;
}

void guard_check(benchmark::State& state, Asked asked) {
  const auto texts = urls(asked);
  GuardScratch scratch;
  std::uint64_t looks = 0;
  for (auto _ : state) {
    for (const std::string& text : texts) {
      const Verdict verdict = guard().check(text, scratch);
      looks += verdict.probes;
      benchmark::DoNotOptimize(verdict.answer);
    }
  }
  count_keys(state, texts.size());
  state.counters["looks"] =
      static_cast<double>(looks) / (static_cast<double>(state.iterations()) * static_cast<double>(texts.size()));
  state.counters["bits"] = guard().facts().bits_per_rule;
}

void guard_canonical(benchmark::State& state) {
  const auto texts = urls(Asked::unlisted);
  url::CanonicalUrl url;
  for (auto _ : state) {
    for (const std::string& text : texts) {
      benchmark::DoNotOptimize(url::canonicalize(text, url, url::UrlRules::safe_browsing).has_value());
    }
  }
  count_keys(state, texts.size());
}

BENCHMARK_CAPTURE(guard_check, unlisted, Asked::unlisted)->Name("guard/check/unlisted");
BENCHMARK_CAPTURE(guard_check, below, Asked::below)->Name("guard/check/below");
BENCHMARK_CAPTURE(guard_check, blocked, Asked::blocked)->Name("guard/check/blocked");
BENCHMARK(guard_canonical)->Name("guard/canonical");

}  // namespace
}  // namespace mankai::bench
