#include "mankai/url/readings.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace mankai::url {
namespace {

std::vector<std::string> readings_of(std::string_view raw) {
  UrlReadings readings;
  readings.read("http://other.example/\\x");  // what was read before leaves nothing behind
  readings.read(raw);
  std::vector<std::string> texts;
  for (const CanonicalUrl& url : readings.all()) {
    texts.emplace_back(url.text());
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(UrlReadings, most_urls_have_one) {
  for (const std::string_view raw :
       {"http://example.org/", "https://www.example.org/a/b?c=\\d", "HTTP://Example.ORG:80/%61/../b#c", "example.org/x",
        "http://b%C3%BCcher.example/", "http://[::1]:8080/", "http://0x7f.1/"}) {
    EXPECT_EQ(readings_of(raw).size(), 1U) << raw;
  }
}

TEST(UrlReadings, programs_split_differently) {
  EXPECT_EQ(readings_of("http://good.example%2f@bad.example/"),
            (Texts{"http://good.example/@bad.example/", "http://bad.example/"}));
  EXPECT_EQ(readings_of(R"(http://good.example/a\b)"),
            (Texts{R"(http://good.example/a\b)", "http://good.example/a/b"}));
  EXPECT_EQ(readings_of(R"(http://\bad.example/)"), (Texts{R"(http://\bad.example/)", "http://bad.example/"}));
  EXPECT_EQ(readings_of("http://1.0x.2.3/"), (Texts{"http://1.0x.2.3/", "http://1.0.2.3/"}));
}

TEST(UrlReadings, one_that_fails_is_left_out) {
  EXPECT_EQ(readings_of("http:///bad.example/"), (Texts{"http://bad.example/"}));
  EXPECT_EQ(readings_of("http://b%2561d.example/"), (Texts{"http://bad.example/"}));
  EXPECT_EQ(readings_of("http://276.2.3/"), (Texts{"http://20.2.0.3/"}));
  UrlReadings readings;
  readings.read("mailto:someone@bad.example");
  EXPECT_TRUE(readings.all().empty());
  EXPECT_EQ(readings.error().code, ErrorCode::invalid_argument);
}

TEST(UrlReadings, names_beyond_ascii) {
  EXPECT_EQ(readings_of("http://☃.bad。example/"),
            (Texts{"http://%E2%98%83.bad%E3%80%82example/", "http://xn--n3h.bad.example/"}));
  EXPECT_EQ(readings_of("http://faß.de/"), (Texts{"http://xn--fa-hia.de/", "http://fass.de/"}));
  // Undone twice and then mapped: by no browser, but by who does both.
  EXPECT_EQ(readings_of("http://%25E2%2598%2583.ｂad.example/"),
            (Texts{"http://%E2%98%83.%EF%BD%82ad.example/", "http://xn--n3h.bad.example/"}));
}

}  // namespace
}  // namespace mankai::url
