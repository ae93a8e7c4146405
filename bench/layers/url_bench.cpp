#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bench/layers/support.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"
#include "mankai/url/segments.hpp"

namespace mankai::bench {
namespace {

constexpr std::size_t kUrls = 16'384;

/// URLs as people post them: 73 bytes on average, five levels, one in four with a query.
struct Urls {
  std::vector<std::string> texts;
  std::vector<url::CanonicalUrl> canonical;
};

enum class Spelling : std::uint8_t { canonical, with_work };

Urls shared_links(Spelling spelling) {
  constexpr std::array<std::string_view, 8> kHosts = {
      "www.youtube.com",        "imgur.com",  "en.wikipedia.org", "www.nytimes.com",
      "old.example-blog.co.uk", "github.com", "www.flickr.com",   "news.bbc.co.uk"};
  constexpr std::array<std::string_view, 8> kWords = {
      "watch", "2013", "politics", "gallery", "article", "comments", "the-long-title-of-a-post", "r"};
  Urls urls;
  for (std::size_t i = 0; i < kUrls; ++i) {
    std::uint64_t draw = random_integer(i);
    const auto pick = [&draw](const auto& list) {
      draw = random_integer(draw);
      return list[draw % list.size()];
    };
    std::string text = draw % 2 == 0 ? "http://" : "https://";
    text.append(pick(kHosts));
    for (int segment = 0; segment < 3; ++segment) {
      text.append("/").append(pick(kWords));
    }
    text.append("/").append(std::to_string(draw % 1'000'000)).append(".html");
    if (draw % 4 == 0) {
      text.append("?v=").append(std::to_string(draw)).append("&feature=share");
    }
    if (spelling == Spelling::with_work) {
      text.append("/./a%20b#comments");
    }
    urls.canonical.push_back(url::canonicalize(text, url::UrlRules::safe_browsing).value());
    urls.texts.push_back(std::move(text));
  }
  return urls;
}

void url_canonicalize(benchmark::State& state, Spelling spelling) {
  const Urls urls = shared_links(spelling);
  url::CanonicalUrl out;
  for (auto _ : state) {
    for (const std::string& text : urls.texts) {
      benchmark::DoNotOptimize(url::canonicalize(text, out, url::UrlRules::safe_browsing));
    }
  }
  count_keys(state, kUrls);
}
BENCHMARK_CAPTURE(url_canonicalize, canonical_already, Spelling::canonical);
BENCHMARK_CAPTURE(url_canonicalize, escapes_dots_fragment, Spelling::with_work);

void url_canonicalize_idn(benchmark::State& state) {
  url::CanonicalUrl out;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        url::canonicalize("http://www.b\xC3\xBC"
                          "cher.example/a/b",
                          out, url::UrlRules::safe_browsing));
  }
}
BENCHMARK(url_canonicalize_idn);

void url_prefix_digests(benchmark::State& state) {
  const Urls urls = shared_links(Spelling::canonical);
  const Hasher hasher({.kind = HashKind::xxh3, .seed = {1, 0}});
  std::vector<std::string_view> segments;
  std::vector<Digest> digests;
  for (auto _ : state) {
    for (const auto& canonical : urls.canonical) {
      url::split_segments(canonical, segments);
      url::prefix_digests(hasher, segments, digests);
      benchmark::DoNotOptimize(digests.data());
    }
  }
  count_keys(state, kUrls);
}
BENCHMARK(url_prefix_digests);

void url_ladders(benchmark::State& state, url::HostLadder ladder) {
  const Urls urls = shared_links(Spelling::canonical);
  std::vector<std::string_view> hosts;
  std::vector<std::string_view> paths;
  for (auto _ : state) {
    for (const auto& canonical : urls.canonical) {
      hosts.clear();
      paths.clear();
      url::append_hosts(canonical, ladder, hosts);
      url::append_paths(canonical, url::PathLadder::safe_browsing, paths);
      benchmark::DoNotOptimize(hosts.data());
    }
  }
  count_keys(state, kUrls);
}
BENCHMARK_CAPTURE(url_ladders, v4, url::HostLadder::safe_browsing_v4);
BENCHMARK_CAPTURE(url_ladders, v5, url::HostLadder::safe_browsing_v5);

}  // namespace
}  // namespace mankai::bench
