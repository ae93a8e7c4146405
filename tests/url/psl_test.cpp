// The Public Suffix List's own vectors, against the list of the same age.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "mankai/url/canonical_url.hpp"
#include "mankai/url/public_suffixes.hpp"
#include "tests/url/vectors.hpp"

namespace mankai::url {
namespace {

constexpr const char* kList = "conformance/public_suffix_list-2026-08-19.dat.zst";

std::string canonical_host(const std::string& host) {
  // A leading dot is no part of a canonical host, and is to be refused as it is.
  return host.starts_with('.') ? host : std::string(canonicalize(host, UrlRules::safe_browsing).value().host());
}

// Both files say the same in two notations; "null" stands for no answer and for no question.
void check(const PublicSuffixes& suffixes, const std::string& host, const std::string& expected) {
  const std::string asked = host == "null" ? std::string() : canonical_host(host);
  const std::string answer = expected == "null" ? std::string() : canonical_host(expected);
  EXPECT_EQ(suffixes.registrable_domain(asked), answer) << host;
}

PublicSuffixes newest() { return PublicSuffixes::from_bytes(test::read_zstd(test::shared_data(kList))).value(); }

TEST(PublicSuffixList, tests_txt) {
  MANKAI_SKIP_WITHOUT(test::shared_data(kList));
  const auto suffixes = newest();
  std::ifstream file(test::shared_data("conformance/psl-tests.txt"));
  std::size_t checked = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string host;
    std::string expected;
    if (!line.starts_with("//") && words >> host >> expected) {
      check(suffixes, host, expected);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 78U);
}

TEST(PublicSuffixList, test_psl_txt) {
  MANKAI_SKIP_WITHOUT(test::shared_data(kList));
  const auto suffixes = newest();
  std::ifstream file(test::shared_data("conformance/psl-test_psl.txt"));
  const std::regex call(R"(^checkPublicSuffix\('?([^',]*)'?, '?([^']*?)'?\);)");
  std::size_t checked = 0;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, call)) {
      check(suffixes, match[1], match[2]);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 78U);
}

}  // namespace
}  // namespace mankai::url
