// The vectors of iipc's urlcanon, made for web archives. Three of its rules differ as a whole, and are applied to its
// answers before they are held against ours: it keeps the fragment; it can keep runs of slashes, where Safe Browsing
// makes them one; and parsing.json has parts as they were written, so it is the URL put together from its host, port,
// path and query that must canonicalize to the same. Its SURT keys are another key form and not compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "mankai/url/canonical_url.hpp"
#include "tests/url/iipc_differences.hpp"
#include "tests/url/vectors.hpp"

namespace mankai::url {
namespace {

using test::Conformance;
using test::latin1_bytes;

std::string answer(std::string_view raw) {
  const auto url = canonicalize(raw, UrlRules::safe_browsing);
  return url ? std::string(url->text()) : "error";
}

std::string slashes_made_one(std::string path) {
  const auto is_run = [](char before, char byte) { return before == '/' && byte == '/'; };
  path.erase(std::unique(path.begin(), path.end(), is_run), path.end());
  return path;
}

TEST(Iipc, canonical_forms) {
  const auto path = test::shared_data("conformance/iipc-urlcanon-semantic_precise.json");
  MANKAI_SKIP_WITHOUT(path);
  Conformance conformance(test::iipc::kSemantic);
  const auto vectors = test::read_json(path);
  for (const auto& [raw, canonical] : vectors.items()) {
    const std::string expected = latin1_bytes(canonical.get<std::string>());
    conformance.check(latin1_bytes(raw), expected.substr(0, expected.find('#')), answer(latin1_bytes(raw)));
  }
  EXPECT_EQ(conformance.finish(), 280U);
}

TEST(Iipc, parts) {
  const auto path = test::shared_data("conformance/iipc-urlcanon-parsing.json");
  MANKAI_SKIP_WITHOUT(path);
  Conformance conformance(test::iipc::kParsing);
  const auto vectors = test::read_json(path);
  for (const auto& [raw, parts] : vectors.items()) {
    const auto part = [&](const char* name) { return latin1_bytes(parts.at(name).get<std::string>()); };
    std::string expected = "error";
    if (!part("host").empty()) {
      const std::string scheme = part("scheme").empty() ? "http" : part("scheme");
      expected = answer(scheme + "://" + part("host") + part("colon_before_port") + part("port") + part("path") +
                        part("question_mark") + part("query"));
    }
    conformance.check(latin1_bytes(raw), expected, answer(latin1_bytes(raw)));
  }
  EXPECT_EQ(conformance.finish(), 111U);
}

TEST(Iipc, dots_in_paths) {
  const auto path = test::shared_data("conformance/iipc-urlcanon-path_dots.json");
  MANKAI_SKIP_WITHOUT(path);
  const auto vectors = test::read_json(path);
  const auto check = [&](const std::string& part, const std::string& before,
                         std::span<const test::Difference> differences) {
    Conformance conformance(differences);
    for (const auto& [raw, resolved] : vectors.at(part).items()) {
      const std::string expected = before + slashes_made_one(resolved.get<std::string>());
      conformance.check(before + raw, expected, answer(before + raw));
    }
    EXPECT_EQ(conformance.finish(), 376U) << part;
  };
  check("special", "http://h", test::iipc::kSpecialDots);
  check("nonspecial", "foo://h", test::iipc::kNonspecialDots);
}

}  // namespace
}  // namespace mankai::url
