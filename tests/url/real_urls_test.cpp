// Real URLs, in millions: every one has an answer or no host, no answer changes when it is canonicalized again, and
// the shortcut gives what the rules give.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/url/canonical_url.hpp"
#include "mankai/url/detail/canonicalizer.hpp"
#include "mankai/url/segments.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai::url {
namespace {

struct RealUrls {
  std::string_view file;
  char separator;
  std::size_t column;
  double no_host_at_most;  ///< share of lines without a host: rubbish and headings of the file
};

constexpr RealUrls kFiles[] = {
    {"urls/reddit-links-a.tsv.zst", '\t', 2, 0.001},
    {"urls/userbait-11k.txt.zst", '\n', 0, 0.01},
    {"urls/iscx-benign-35k.txt.zst", '\n', 0, 0.001},
    {"urls/citizenlab-test-lists.csv.zst", ',', 1, 0.001},
    {"urls/debian-homepages.txt.zst", '\n', 0, 0.001},
    {"blocklists/urlhaus-online-2025-04-21.csv.zst", ',', 2, 0.001},
    {"blocklists/blp-phishing-nl.txt.zst", '\n', 0, 0.001},
    {"blocklists/maltrail-domains-a.txt.zst", '\n', 0, 0.001},
};

std::string_view column(std::string_view line, char separator, std::size_t index) {
  for (; index > 0 && !line.empty(); --index) {
    line.remove_prefix(std::min(line.find(separator), line.size() - 1) + 1);
  }
  std::string_view field = line.substr(0, line.find(separator));
  if (field.size() > 1 && field.starts_with('"') && field.ends_with('"')) {
    field = field.substr(1, field.size() - 2);
  }
  return field;
}

struct Counts {
  std::size_t urls = 0;
  std::size_t canonical_already = 0;
  std::size_t escaped_hosts = 0;
  std::size_t without_host = 0;
};

// One set of URLs for a whole file, as a loop over millions has it.
class Checker {
 public:
  void check(std::string_view raw) {
    ++counts_.urls;
    check_stable(raw, UrlRules::keys);
    check_stable(raw, UrlRules::safe_browsing);
    if (url_.text().empty()) {
      ++counts_.without_host;
      return;
    }
    split_segments(url_, segments_);
    ASSERT_GE(segments_.size(), 2U) << raw;
    counts_.canonical_already += static_cast<std::size_t>(url_.text() == raw);
    counts_.escaped_hosts += static_cast<std::size_t>(url_.host().find('%') != std::string_view::npos);
  }
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  // Leaves the answer in url_, which is empty for what has no host.
  void check_stable(std::string_view raw, UrlRules rules) {
    const auto done = canonicalize(raw, url_, rules);
    ASSERT_EQ(Canonicalizer::rewrite(raw, by_rules_, rules).has_value(), done.has_value()) << raw;
    ASSERT_EQ(url_.text(), by_rules_.text()) << raw;
    if (done) {
      ASSERT_TRUE(canonicalize(url_.text(), again_, rules).has_value()) << raw;
      ASSERT_EQ(url_.text(), again_.text()) << raw;
      ASSERT_EQ(url_.host(), again_.host()) << raw;
    }
  }

  CanonicalUrl url_;
  CanonicalUrl by_rules_;
  CanonicalUrl again_;
  std::vector<std::string_view> segments_;
  Counts counts_;
};

class RealUrlsTest : public testing::TestWithParam<RealUrls> {};

TEST_P(RealUrlsTest, have_stable_answers) {
  const auto& [file, separator, index, no_host_at_most] = GetParam();
  const auto path = test::shared_data(std::string(file));
  MANKAI_SKIP_WITHOUT(path);
  const std::string text = test::read_zstd(path);
  Checker checker;
  for (std::string_view rest = text; !rest.empty() && !HasFatalFailure();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const std::string_view raw = column(line, separator, index); !raw.empty()) {
      checker.check(raw);
    }
  }
  const Counts& counts = checker.counts();
  std::printf("%s: %zu URLs, %zu canonical already, %zu hosts that stay escaped, %zu without a host\n",
              path.filename().c_str(), counts.urls, counts.canonical_already, counts.escaped_hosts,
              counts.without_host);
  EXPECT_GT(counts.urls, 5000U);
  EXPECT_LE(static_cast<double>(counts.without_host), no_host_at_most * static_cast<double>(counts.urls));
}

INSTANTIATE_TEST_SUITE_P(Files, RealUrlsTest, testing::ValuesIn(kFiles));

}  // namespace
}  // namespace mankai::url
