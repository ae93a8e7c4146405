// The vectors of the web platform, of which every host of a URL that needs no base must be a browser's; what browsers
// refuse for the sake of IDNA alone, and the little that Chromium takes beyond the Standard, is counted.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/url/browser_url.hpp"
#include "tests/url/vectors.hpp"

namespace mankai::url {
namespace {

std::optional<std::string> browser_host(std::string_view raw) {
  BrowserUrl url;
  return parse_browser_url(raw, Deviations::kept, url) ? std::optional(std::string(url.host())) : std::nullopt;
}

bool is_special(const nlohmann::json& vector) {
  constexpr std::array<std::string_view, 5> kSpecial = {"http:", "https:", "ftp:", "ws:", "wss:"};
  return std::ranges::find(kSpecial, vector.value("protocol", std::string())) != kSpecial.end();
}

bool needs_base(const nlohmann::json& vector) {
  return vector.contains("base") && vector.at("base").is_string() && vector.at("base") != "about:blank";
}

// Whether the vector's answer is the same without its base: the input names a host of its own.
bool is_absolute(const nlohmann::json& vector) {
  const std::string input = vector.at("input").get<std::string>();
  const std::size_t begin = std::min(input.find_first_not_of("\t\n\r \x01\x1f"), input.size());
  const std::size_t colon = input.find(':', begin);
  return !needs_base(vector) ||
         (colon != std::string::npos && colon > begin && input.size() > colon + 2 &&
          std::string_view("/\\").contains(input[colon + 1]) && std::string_view("/\\").contains(input[colon + 2]));
}

TEST(BrowserVectors, hosts_of_urls) {
  const auto path = test::shared_data("conformance/wpt-urltestdata.json.zst");
  MANKAI_SKIP_WITHOUT(path);
  int compared = 0;
  int refused = 0;
  int taken = 0;
  for (const auto files = {path, test::shared_data("conformance/ada_extra_urltestdata.json")};
       const auto& file : files) {
    const auto all = test::read_json(file);
    for (const auto& vector : all) {
      if (!vector.is_object() || !is_absolute(vector)) {
        continue;
      }
      const std::string input = vector.at("input").get<std::string>();
      const auto host = browser_host(input);
      if (vector.value("failure", false)) {
        ++(host ? taken : refused);
      } else if (is_special(vector)) {
        ++compared;
        EXPECT_EQ(host.value_or("refused"), vector.at("hostname").get<std::string>()) << input;
      }
    }
  }
  std::printf("%d hosts, %d refused as by browsers, %d taken that they refuse\n", compared, refused, taken);
  EXPECT_GT(compared, 200);
  EXPECT_GT(refused, 200);
  EXPECT_LT(taken, 30);
}

TEST(BrowserVectors, names_beyond_ascii) {
  const auto path = test::shared_data("conformance/wpt-IdnaTestV2.json.zst");
  MANKAI_SKIP_WITHOUT(path);
  for (const auto files = {path, test::shared_data("conformance/wpt-toascii.json")}; const auto& file : files) {
    int compared = 0;
    int taken = 0;
    const auto all = test::read_json_with_halves(file);
    for (const auto& vector : all) {
      if (!vector.is_object()) {
        continue;
      }
      const std::string input = vector.at("input").get<std::string>();
      const auto& output = vector.at("output");
      const auto host = browser_host("https://" + input + "/x");
      if (input.empty()) {
        continue;  // the path's "x" would be the host
      }
      if (output.is_null()) {
        taken += static_cast<int>(host.has_value());
      } else {
        ++compared;
        EXPECT_EQ(host.value_or("refused"), output.get<std::string>()) << input;
      }
    }
    std::printf("%s: %d names, %d taken that browsers refuse\n", file.filename().c_str(), compared, taken);
    EXPECT_GT(compared, 20);
  }
}

}  // namespace
}  // namespace mankai::url
