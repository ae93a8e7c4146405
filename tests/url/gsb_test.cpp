// The vectors of Safe Browsing's own client. They are what its Go client gives; where its documentation says otherwise
// we follow the documentation, and the vector is listed with the reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"
#include "tests/url/vectors.hpp"

namespace mankai::url {
namespace {

using test::Conformance;
using test::Difference;
using test::latin1_bytes;

constexpr std::string_view kFile = "conformance/gsb-canonicalization-vectors.json";
constexpr std::string_view kError = "error";

std::string joined(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return std::accumulate(lines.begin(), lines.end(), std::string(),
                         [](std::string text, const std::string& line) { return std::move(text) + line + ' '; });
}

// What the vectors of one function hold: no output for an error, one string, or several without an order.
std::string expected(const nlohmann::json& vector) {
  if (vector.at("fail").get<bool>()) {
    return std::string(kError);
  }
  const auto& output = vector.at("output");
  if (!output.is_array()) {
    return latin1_bytes(output.get<std::string>());
  }
  std::vector<std::string> lines;
  for (const auto& line : output) {
    lines.push_back(latin1_bytes(line.get<std::string>()));
  }
  return joined(std::move(lines));
}

template <class Answer>
std::size_t run(const std::string& function, std::span<const Difference> differences, const Answer& answer) {
  const auto vectors = test::read_json(test::shared_data(std::string(kFile))).at("tests").at(function);
  Conformance conformance(differences);
  for (const auto& vector : vectors) {
    const std::string raw = latin1_bytes(vector.at("url").get<std::string>());
    const auto url = canonicalize(raw, UrlRules::safe_browsing);
    conformance.check(raw, expected(vector), url ? answer(*url) : std::string(kError));
  }
  return conformance.finish();
}

TEST(SafeBrowsing, canonical_urls) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  static constexpr Difference kDifferences[] = {
      {"http://some%1bhost.com/%1b", "http://some%1Bhost.com/%1B",
       "the documentation has hexadecimal digits in upper case, the Go client in lower"},
  };
  // The Go function leaves out port and query, which its ladders take from elsewhere.
  const auto answer = [](const CanonicalUrl& url) {
    return std::string(url.scheme()).append("://").append(url.host()).append(url.path());
  };
  EXPECT_EQ(run("TestCanonicalURL", kDifferences, answer), 52U);
}

TEST(SafeBrowsing, canonical_hosts) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  EXPECT_EQ(run("TestCanonicalHost", {}, [](const CanonicalUrl& url) { return std::string(url.host()); }), 9U);
}

TEST(SafeBrowsing, canonical_paths) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  EXPECT_EQ(run("TestCanonicalPath", {}, [](const CanonicalUrl& url) { return std::string(url.path()); }), 10U);
}

TEST(SafeBrowsing, addresses) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  const auto answer = [](const CanonicalUrl& url) { return url.is_ip() ? std::string(url.host()) : std::string(); };
  EXPECT_EQ(run("TestParseIPAddress", {}, answer), 11U);
}

TEST(SafeBrowsing, host_suffixes) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  static constexpr Difference kDifferences[] = {
      {"http://a.b.c.d.e.f.kita.tokyo.jp",
       "a.b.c.d.e.f.kita.tokyo.jp e.f.kita.tokyo.jp f.kita.tokyo.jp kita.tokyo.jp tokyo.jp ",
       "suffixes start from the last 5 labels in the documentation, from the last 7 in the Go client"},
      {"www.google.com", "google.com www.google.com ",
       "no vector, but the answer of another one that was taken for a vector when they were extracted"},
  };
  const auto answer = [](const CanonicalUrl& url) {
    std::vector<std::string_view> hosts;
    append_hosts(url, HostLadder::safe_browsing_v4, hosts);
    return joined({hosts.begin(), hosts.end()});
  };
  EXPECT_EQ(run("TestGenerateLookupHosts", kDifferences, answer), 6U);
}

TEST(SafeBrowsing, path_prefixes) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  const auto answer = [](const CanonicalUrl& url) {
    std::vector<std::string_view> paths;
    append_paths(url, PathLadder::safe_browsing, paths);
    return joined({paths.begin(), paths.end()});
  };
  EXPECT_EQ(run("TestGenerateLookupPaths", {}, answer), 4U);
}

TEST(SafeBrowsing, expressions) {
  MANKAI_SKIP_WITHOUT(test::shared_data(std::string(kFile)));
  static constexpr std::string_view kFiveLabels = "a.b.c.d.e.f.g.h.i/ e.f.g.h.i/ f.g.h.i/ g.h.i/ h.i/ ";
  static constexpr std::string_view kReason = "the last 5 labels in the documentation, the last 7 in the Go client";
  static constexpr Difference kDifferences[] = {
      {"http://a.b.c.d.e.f.g.h.i/", kFiveLabels, kReason},
      {"https://a.b.c.d.e.f.g.h.i/", kFiveLabels, kReason},
      {"a.b.c.d.e.f.g.h.i/", kFiveLabels, kReason},
  };
  const auto answer = [](const CanonicalUrl& url) {
    std::vector<Expression> expressions;
    append_expressions(url, HostLadder::safe_browsing_v4, PathLadder::safe_browsing, expressions);
    std::vector<std::string> lines;
    for (const Expression& expression : expressions) {
      lines.push_back(std::string(expression.host).append(expression.path));
    }
    return joined(std::move(lines));
  };
  EXPECT_EQ(run("TestGeneratePatterns", kDifferences, answer), 14U);
}

}  // namespace
}  // namespace mankai::url
