#include "mankai/url/readings.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(readings_of("http://☃.straßenmeẞe.de/"),
            (Texts{"http://%E2%98%83.stra%C3%9Fenme%E1%BA%9Ee.de/", "http://xn--n3h.xn--straenmee-j1ae.de/",
                   "http://xn--n3h.xn--straenmesse-y6a.de/", "http://xn--n3h.strassenmesse.de/"}));
  // Undone twice and then mapped: by no browser, but by who does both.
  EXPECT_EQ(readings_of("http://%25E2%2598%2583.ｂad.example/"),
            (Texts{"http://%E2%98%83.%EF%BD%82ad.example/", "http://xn--n3h.bad.example/"}));
}

// The hosts differ in the three readings, of the URL and of what is in front of its user.
TEST(UrlReadings, are_seven_at_most) { EXPECT_EQ(readings_of("http://☃.ßẞ.example\\@☃.ẞß.example/").size(), 7U); }

TEST(UrlReadings, a_name_that_stays_escaped_is_nameable_only_where_browsers_refuse_it) {
  const auto nameable = [](std::string_view raw) {
    UrlReadings readings;
    readings.read(raw);
    Texts texts;
    for (const CanonicalUrl& url : readings.nameable()) {
      texts.emplace_back(url.text());
    }
    return texts;
  };
  EXPECT_EQ(nameable("http://ok.☃.net/"), Texts{"http://ok.xn--n3h.net/"});
  EXPECT_EQ(nameable("http://example.org/"), Texts{"http://example.org/"});
  EXPECT_EQ(nameable("http://a b.example/"), Texts{"http://a%20b.example/"});
  EXPECT_EQ(nameable("http://\xFF.example/"), Texts{"http://%FF.example/"});
  EXPECT_EQ(nameable("http://☃|.bad.example%2f@ok.example/"),
            (Texts{"http://%E2%98%83|.bad.example/@ok.example/", "http://ok.example/"}));
}

}  // namespace
}  // namespace mankai::url
