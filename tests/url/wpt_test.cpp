// The vectors of the web platform: what browsers make of a URL. Their rules are not Safe Browsing's, so this is a
// report by the kind of difference (docs/url.md has it), and a search for crashes and unstable answers.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <string_view>

#include "mankai/url/canonical_url.hpp"
#include "tests/url/vectors.hpp"

namespace mankai::url {
namespace {

// Returns the canonical form, or nothing where there is none; what is canonical must stay so.
std::string stable_answer(std::string_view raw) {
  const auto url = canonicalize(raw, UrlRules::safe_browsing);
  if (!url) {
    EXPECT_EQ(url.error().code, ErrorCode::invalid_argument);
    return {};
  }
  const auto again = canonicalize(url->text(), UrlRules::safe_browsing);
  EXPECT_TRUE(again && again->text() == url->text()) << url->text();
  return std::string(url->text());
}

// A browser's answer without what is no part of a key: fragment, user and password.
std::string without_extras(const nlohmann::json& vector) {
  std::string href = vector.at("href").get<std::string>();
  href.resize(href.size() - vector.value("hash", std::string()).size());
  const std::size_t slashes = href.find("//");
  const std::size_t at = href.find('@');
  const std::size_t authority = slashes == std::string::npos ? 0 : slashes + 2;
  const bool has_user =
      !vector.value("username", std::string()).empty() || !vector.value("password", std::string()).empty();
  return has_user && at != std::string::npos ? href.erase(authority, at + 1 - authority) : href;
}

std::string_view kind_of_difference(const nlohmann::json& vector) {
  const std::string input = vector.at("input").get<std::string>();
  const std::string ours = stable_answer(input);
  if (vector.value("failure", false)) {
    return ours.empty() ? "same: refused" : "browsers refuse, ours is defined";
  }
  const std::string theirs = without_extras(vector);
  if (ours == theirs) {
    return "same text";
  }
  if (!ours.empty() && ours == stable_answer(theirs)) {
    return "same key: ours, made from the browser's answer";
  }
  static const std::regex kScheme(R"(^[\x01-\x20]*[A-Za-z][A-Za-z0-9+.-]*:)");
  const bool has_base = vector.contains("base") && vector.at("base").is_string() && vector.at("base") != "about:blank";
  if (has_base && !std::regex_search(input, kScheme)) {
    return "relative to a base, which we do not have";
  }
  if (ours.empty()) {
    return vector.value("host", std::string()).empty() ? "no host" : "host only in browsers";
  }
  return input.find('\\') != std::string::npos ? "different: backslash" : "different";
}

TEST(WebPlatform, urls_are_reported_by_kind_of_difference) {
  const auto path = test::shared_data("conformance/wpt-urltestdata.json.zst");
  MANKAI_SKIP_WITHOUT(path);
  std::map<std::string_view, int> counts;
  int vectors = 0;
  for (const auto files = {path, test::shared_data("conformance/ada_extra_urltestdata.json")};
       const auto& file : files) {
    const auto all = test::read_json(file);
    for (const auto& vector : all) {
      if (vector.is_object()) {
        ++vectors;
        ++counts[kind_of_difference(vector)];
      }
    }
  }
  int sum = 0;
  for (const auto& [kind, count] : counts) {
    std::printf("%5d  %.*s\n", count, static_cast<int>(kind.size()), kind.data());
    sum += count;
  }
  EXPECT_EQ(sum, vectors);
  EXPECT_EQ(vectors, 891 + 28);
}

TEST(WebPlatform, names_beyond_ascii_have_stable_answers) {
  const auto path = test::shared_data("conformance/wpt-IdnaTestV2.json.zst");
  MANKAI_SKIP_WITHOUT(path);
  for (const auto files = {path, test::shared_data("conformance/wpt-toascii.json")}; const auto& file : files) {
    int vectors = 0;
    int agreeing = 0;
    int refused = 0;
    const auto all = test::read_json_with_halves(file);
    for (const auto& vector : all) {
      if (!vector.is_object()) {
        continue;
      }
      ++vectors;
      const auto url = canonicalize("http://" + vector.at("input").get<std::string>() + "/", UrlRules::safe_browsing);
      static_cast<void>(stable_answer("http://" + vector.at("input").get<std::string>() + "/"));
      const bool is_escaped = !url || url->host().find('%') != std::string_view::npos;
      refused += static_cast<int>(is_escaped);
      const auto& output = vector.at("output");
      agreeing += static_cast<int>(output.is_null() ? is_escaped : url && url->host() == output.get<std::string>());
    }
    std::printf("%s: %d of %d agree, %d refused by IDN\n", file.filename().c_str(), agreeing, vectors, refused);
    EXPECT_GT(vectors, 0);
  }
}

}  // namespace
}  // namespace mankai::url
