#include "mankai/url/browser_url.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mankai::url {
namespace {

using namespace std::string_view_literals;

std::string browser_text(std::string_view raw, Deviations deviations = Deviations::kept) {
  BrowserUrl url;
  const auto parsed = parse_browser_url(raw, deviations, url);
  return parsed ? std::string(url.text()) : "refused";
}

struct BrowserExample {
  std::string_view raw;
  std::string_view text;
};

void expect_browser_text(std::initializer_list<BrowserExample> examples) {
  for (const auto& [raw, expected] : examples) {
    EXPECT_EQ(browser_text(raw), expected) << "raw: " << raw;
    if (expected != "refused") {
      EXPECT_EQ(browser_text(expected), expected) << "again: " << raw;
    }
  }
}

TEST(BrowserUrl, parts_are_views_that_make_up_the_text) {
  BrowserUrl url;
  ASSERT_TRUE(parse_browser_url(R"( HTTPS:\\user:pw@WWW.Example.com:0444\a/b?q=\#z)", Deviations::kept, url));
  EXPECT_EQ(url.text(), R"(https://www.example.com:444/a/b?q=\)");
  EXPECT_EQ(url.scheme(), "https");
  EXPECT_EQ(url.host(), "www.example.com");
  EXPECT_EQ(url.authority(), "www.example.com:444");
  EXPECT_EQ(url.path_and_query(), R"(/a/b?q=\)");
  ASSERT_FALSE(parse_browser_url("/x", Deviations::kept, url));
  EXPECT_EQ(url.text().size() + url.host().size() + url.path_and_query().size(), 0U);
}

TEST(BrowserUrl, the_authority_is_split_before_escapes_are_undone) {
  expect_browser_text({
      {"http://x%2f@bad.example/", "http://bad.example/"},
      {"http://x%3f@bad.example/", "http://bad.example/"},
      {"http://x%23@bad.example/", "http://bad.example/"},
      {"http://good.example%2f@bad.example/", "http://bad.example/"},
      {"http://a@b@bad.example", "http://bad.example/"},
      {"http://a:b@bad.example:81/x%2Fy", "http://bad.example:81/x%2Fy"},
      {"http://b%61d.example/", "http://bad.example/"},
      {"http://bad%2eexample/", "http://bad.example/"},
      {"http://bad%2fexample/", "refused"},
      {"http://b%2561d.example/", "refused"},
      {"http://user@/", "refused"},
      {"http://bad.example%3a80/", "refused"},
  });
}

TEST(BrowserUrl, slashes_after_the_scheme) {
  expect_browser_text({
      {R"(http://\bad.example/)", "http://bad.example/"},
      {R"(http:\\\bad.example/)", "http://bad.example/"},
      {"http:///bad.example/", "http://bad.example/"},
      {"http:////bad.example?q", "http://bad.example/?q"},
      {"http:bad.example", "http://bad.example/"},
      {"wss:/bad.example:443", "wss://bad.example/"},
      {"//bad.example/x", "http://bad.example/x"},
      {R"(\\bad.example\x)", "http://bad.example/x"},
      {"///bad.example/", "http://bad.example/"},
      {"bad.example", "http://bad.example/"},
      {R"(bad.example:81\x)", "http://bad.example:81/x"},
      {R"(svn+ssh://bad.example/a\b)", R"(svn+ssh://bad.example/a\b)"},
      {R"(file:\\bad.example\share)", "file://bad.example/share"},
      {"file:///etc/passwd", "refused"},
      {"/bad.example", "refused"},
      {"mailto:a@bad.example", "refused"},
      {"http://", "refused"},
      {"", "refused"},
  });
}

TEST(BrowserUrl, line_ends_tabs_and_what_stands_around_a_url_go) {
  expect_browser_text({
      {"\x01 ht\ttp://b\na\rd.example/a\tb \x1f", "http://bad.example/ab"},
      {"http://bad.example#/\\x", "http://bad.example/"},
      {"http://bad.example/a ?b", "http://bad.example/a ?b"},
      {"http://b\x01"
       "ad.example/",
       "refused"},
      {"http://b\x7f"
       "ad.example/",
       "refused"},
      {"http://b\0ad.example/"sv, "refused"},
  });
}

TEST(BrowserUrl, ports) {
  expect_browser_text({
      {"http://a:80/", "http://a/"},
      {"https://a:80", "https://a:80/"},
      {"http://a:/", "http://a/"},
      {"http://a:00000000000000081/", "http://a:81/"},
      {"http://a:65536/", "refused"},
      {"http://a:b/", "refused"},
      {"http://a:1:2/", "refused"},
      {"http://:80/", "refused"},
  });
}

TEST(BrowserUrl, ipv4_in_every_form) {
  expect_browser_text({
      {"http://1.0x.2.3/", "http://1.0.2.3/"},
      {"http://0x.0x.0x.1/", "http://0.0.0.1/"},
      {"http://0x/", "http://0.0.0.0/"},
      {"http://0X7F.1/", "http://127.0.0.1/"},
      {"http://0177.0.0.01", "http://127.0.0.1/"},
      {"http://2130706433./", "http://127.0.0.1/"},
      {"http://1.2.772/", "http://1.2.3.4/"},
      {"http://%31.2.3.4/", "http://1.2.3.4/"},
      {"http://\xEF\xBC\x91.2.3.4/", "http://1.2.3.4/"},
      {"http://1.2.3.4../", "http://1.2.3.4../"},
      {"http://1.2.3.4x/", "http://1.2.3.4x/"},
      {"http://1.2.3.0x4g/", "http://1.2.3.0x4g/"},
      {"http://4294967296/", "refused"},
      {"http://99999999999999999999999/", "refused"},
      {"http://1.2.3.256/", "refused"},
      {"http://256.2.3.4/", "refused"},
      {"http://1..3.4/", "refused"},
      {"http://1.2.3.4.5/", "refused"},
      {"http://08.0.0.1/", "refused"},
      {"http://a.1/", "refused"},
  });
}

TEST(BrowserUrl, ipv6) {
  expect_browser_text({
      {"http://[2001:0DB8:0:0:1:0:0:1]:8080/", "http://[2001:db8::1:0:0:1]:8080/"},
      {"http://[::]:80", "http://[::]/"},
      {"http://[1:0:0:2:0:0:0:0]/", "http://[1:0:0:2::]/"},
      {"http://[1:0:2:3:4:5:6:7]/", "http://[1:0:2:3:4:5:6:7]/"},
      {"http://[::1.2.3.4]/", "http://[::102:304]/"},
      {"http://x%2f@[::%31]/", "http://[::1]/"},
      {"http://[::1/", "refused"},
      {"http://[::1]x/", "refused"},
      {"http://[::1%25eth0]/", "refused"},
      {"http://::1/", "refused"},
  });
}

TEST(BrowserUrl, every_label_is_mapped_by_itself) {
  expect_browser_text({
      {"http://☃.bad。example/", "http://xn--n3h.bad.example/"},
      {"http://-x.ｂad.example/", "http://-x.bad.example/"},
      {"http://🍕.ｂad.example/", "http://xn--vi8h.bad.example/"},
      {"http://☃.net/", "http://xn--n3h.net/"},
      {"http://%E2%98%83.net/", "http://xn--n3h.net/"},
      {"http://XN--N3H.net/", "http://xn--n3h.net/"},
      {"http://xn--☃.ｂad.example/", "http://xn--xn---8g3b.bad.example/"},
      {"http://Bu\xCC\x88"
       "cher.example/",
       "http://xn--bcher-kva.example/"},
      {"http://\u0663.\u05D0.bad.example/", "http://xn--cib.xn--4db.bad.example/"},
      {"http://b\u00ADa\u200Bd\uFE0F\u2060.example/", "http://bad.example/"},
      {"http://％62ad.example/", "http://bad.example/"},
      {"http://％2562ad.example/", "refused"},
      {"http://bad.example／x/", "refused"},
      {"http://bad.example\u3000/", "http://bad.example /"},
      {"http://\xFF.bad.example/", "refused"},
      {"http://\xC0\xAE.bad.example/", "refused"},
      {"http://\xED\xA0\x80.bad.example/", "refused"},
      {"http://\u00AD/", "refused"},
  });
}

// Debian 12's libunistring does not know these; browsers do.
TEST(BrowserUrl, characters_newer_than_the_library_are_mapped) {
  expect_browser_text({
      {"http://\U0001CCD7\U0001CCD6\U0001CCD9.e\u200Bxample/", "http://bad.example/"},
      {"http://\U0001CCF0\U0001CCF9.\uA7F1.example/", "http://09.s.example/"},
      {"http://\U0001E030.example/", "http://xn--80a.example/"},
      {"http://\U00010D50.example/", "http://xn--dh0d.example/"},
  });
}

TEST(BrowserUrl, deviations_have_three_mappings) {
  struct {
    std::string_view raw;
    std::string_view kept;
    std::string_view capital_mapped;
    std::string_view mapped;
  } const examples[] = {
      {"fa\u00DF.de", "http://xn--fa-hia.de/", "http://xn--fa-hia.de/", "http://fass.de/"},
      {"fa\u1E9E.de", "http://xn--fa-hia.de/", "http://fass.de/", "http://fass.de/"},
      {"stra\u00DFenme\u1E9Ee.de", "http://xn--straenmee-j1ae.de/", "http://xn--straenmesse-y6a.de/",
       "http://strassenmesse.de/"},
      {"\u03B2\u03CC\u03BB\u03BF\u03C2.com", "http://xn--nxasmm1c.com/", "http://xn--nxasmm1c.com/",
       "http://xn--nxasmq6b.com/"},
      {"b\u200Cad.example", "http://xn--bad-9m0a.example/", "http://xn--bad-9m0a.example/", "http://bad.example/"},
  };
  BrowserUrl url;
  for (const auto& [raw, kept, capital_mapped, mapped] : examples) {
    EXPECT_EQ(browser_text(raw), kept);
    EXPECT_EQ(browser_text(raw, Deviations::capital_mapped), capital_mapped);
    EXPECT_EQ(browser_text(raw, Deviations::mapped), mapped);
    ASSERT_TRUE(parse_browser_url(raw, Deviations::kept, url));
    EXPECT_TRUE(url.has_deviations());
    EXPECT_EQ(url.has_capital_sharp_s(), kept != capital_mapped);
  }
  ASSERT_TRUE(parse_browser_url("b\u00FCcher.example", Deviations::kept, url));
  EXPECT_FALSE(url.has_deviations() || url.has_capital_sharp_s());
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

// Mapping takes microseconds per character, and what is too far left for any rule is not worth them: a host of 1 MiB
// would take seconds. What is left is longer than any name, so that no rule takes it for another host.
TEST(BrowserUrl, hosts_longer_than_any_name_are_cut_in_front) {
  constexpr std::size_t kTimes = 20'000;
  for (const std::string_view text :
       {"\uFDFA", "\u2603.", "a.\u2603.", "\u1112\u1161\u11AB", "u\u0308\u0304", "\uFF0561", "\u3002\u3002\u00FC"}) {
    BrowserUrl url;
    ASSERT_TRUE(parse_browser_url("http://" + repeated(text, kTimes) + ".bad.example/", Deviations::kept, url)) << text;
    EXPECT_TRUE(url.host().ends_with(".bad.example")) << text;
    EXPECT_LT(url.host().size(), 10'000U) << text;
    std::string host(url.host());
    host.erase(std::ranges::unique(host, [](char x, char y) { return x == '.' && y == '.'; }).begin(), host.end());
    EXPECT_GT(host.size(), kNameBytesMax) << text;
  }
}

// None of these makes a host longer.
TEST(BrowserUrl, rows_of_what_does_not_count_are_mapped_to_their_end) {
  constexpr std::size_t kTimes = 20'000;
  for (const std::string_view zero : {"\uFF10", "\uFF10\u2070\u2080\U0001D7CE", "0\u00AD"}) {
    EXPECT_EQ(browser_text("http://" + repeated(zero, kTimes) + "17.2.3.4/"), "http://15.2.3.4/") << zero;
    EXPECT_EQ(browser_text("http://\uFF10x" + repeated(zero, kTimes) + "11.2.3.4/"), "http://17.2.3.4/") << zero;
  }
  const std::string dots = browser_text("http://\u00FC." + repeated("\u3002", kTimes) + "bad.example/");
  EXPECT_TRUE(dots.starts_with("http://xn--tda..") && dots.ends_with("..bad.example/"));
  EXPECT_EQ(browser_text("http://x" + repeated("\u00AD", kTimes) + "bad.example/"), "http://xbad.example/");
  EXPECT_EQ(browser_text("http://\xFF." + repeated("\uFDFA", kTimes) + ".bad.example/"), "refused");
}

// A limit on the length of what is mapped would be a way around a guard.
TEST(BrowserUrl, long_hosts_are_mapped_to_their_end) {
  std::string invisible;
  for (int i = 0; i < 600; ++i) {
    invisible += "\u00AD";
  }
  EXPECT_EQ(browser_text("http://" + invisible + "bad.example/"), "http://bad.example/");
  std::string labels;
  for (int i = 0; i < 2000; ++i) {
    labels += "\u2603.";
  }
  EXPECT_TRUE(browser_text("http://" + labels + "\uFF42ad.example/").ends_with(".xn--n3h.bad.example/"));
}

// Punycode takes the number of characters times that of the different ones: a label of 60,000 different ones would take
// minutes, were it encoded whole.
TEST(BrowserUrl, a_label_of_many_different_characters_costs_little) {
  std::string label;
  for (char32_t character = 0x4E00; character < 0x9F00; ++character) {
    label += {static_cast<char>(0xE0 | character >> 12), static_cast<char>(0x80 | (character >> 6 & 0x3F)),
              static_cast<char>(0x80 | (character & 0x3F))};
  }
  std::string host;
  for (int i = 0; i < 10; ++i) {
    host += label;
  }
  BrowserUrl url;
  ASSERT_TRUE(parse_browser_url("http://" + host + ".bad.example/", Deviations::kept, url));
  EXPECT_TRUE(url.host().ends_with(".bad.example"));
  EXPECT_GT(url.host().size(), 255 + std::string_view(".bad.example").size());
  EXPECT_LT(url.host().size(), 2000U);
}

}  // namespace
}  // namespace mankai::url
