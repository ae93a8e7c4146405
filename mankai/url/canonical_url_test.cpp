#include "mankai/url/canonical_url.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/url/browser_url.hpp"
#include "mankai/url/detail/canonicalizer.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::url {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string canonical(std::string_view raw, UrlRules rules = UrlRules::safe_browsing) {
  const auto url = canonicalize(raw, rules);
  return url ? std::string(url->text()) : "error: " + url.error().detail;
}

struct CanonicalExample {
  std::string_view raw;
  std::string_view canonical;
};

void expect_canonical(std::initializer_list<CanonicalExample> examples, UrlRules rules) {
  for (const auto& [raw, expected] : examples) {
    EXPECT_EQ(canonical(raw, rules), expected) << "raw: " << raw;
    EXPECT_EQ(canonical(expected, rules), expected) << "again: " << raw;
  }
}

// What both rules answer alike: all but escapes.
void expect_canonical(std::initializer_list<CanonicalExample> examples) {
  expect_canonical(examples, UrlRules::safe_browsing);
  expect_canonical(examples, UrlRules::keys);
}

TEST(CanonicalUrl, parts_are_views_that_make_up_the_text) {
  CanonicalUrl url;
  ASSERT_TRUE(
      canonicalize("HTTP://user:pw@WWW.Example.com:1234/a//b?q=/x//y#z", url, UrlRules::safe_browsing).has_value());
  EXPECT_EQ(url.text(), "http://www.example.com:1234/a/b?q=/x//y");
  EXPECT_EQ(url.scheme(), "http");
  EXPECT_EQ(url.authority(), "www.example.com:1234");
  EXPECT_EQ(url.host(), "www.example.com");
  EXPECT_EQ(url.path(), "/a/b");
  EXPECT_EQ(url.query(), "?q=/x//y");
  EXPECT_EQ(url.without_scheme(), "www.example.com:1234/a/b?q=/x//y");
  EXPECT_FALSE(url.is_ip());
}

TEST(CanonicalUrl, an_empty_one_has_empty_parts) {
  const CanonicalUrl url;
  EXPECT_EQ(url.text(), "");
  EXPECT_EQ(url.scheme(), "");
  EXPECT_EQ(url.authority(), "");
  EXPECT_EQ(url.path(), "");
  EXPECT_EQ(url.query(), "");
}

TEST(CanonicalUrl, schemes) {
  expect_canonical({
      {"example.org", "http://example.org/"},
      {"//example.org/x", "http://example.org/x"},
      {"example.org:8080/x", "http://example.org:8080/x"},
      {"localhost:80", "http://localhost/"},
      {"HTTPS:example.org", "https://example.org/"},
      {"http:/example.org", "http://example.org/"},
      {"svn+ssh://Example.org/a/../b", "svn+ssh://example.org/b"},
      {"1x://a/b", "http://1x/a/b"},
  });
}

TEST(CanonicalUrl, ports) {
  expect_canonical({
      {"http://a:80/", "http://a/"},
      {"https://a:443/", "https://a/"},
      {"ftp://a:21/", "ftp://a/"},
      {"https://a:80/", "https://a:80/"},
      {"http://a:/", "http://a/"},
      {"http://a:00081/", "http://a:81/"},
      {"gopher://a:70/", "gopher://a:70/"},
      {"http://a:0/", "http://a:0/"},
      {"http://a:65535/", "http://a:65535/"},
      {"http://a:65536/", "http://a:65536/"},  // no port, so a part of the host
      {"http://a:b:80/", "http://a:b/"},
      {"http://a:1:2/", "http://a:1/"},
      {"http://a:80./", "http://a/"},
      {"http://a:81.:80./", "http://a:81/"},
  });
  EXPECT_EQ(canonicalize("http://a:65536/", UrlRules::safe_browsing).value().host(), "a:65536");
  EXPECT_EQ(canonicalize("http://a:65535/", UrlRules::safe_browsing).value().host(), "a");
}

TEST(CanonicalUrl, ipv4_in_every_legal_form) {
  expect_canonical({
      {"http://0x7f.1/", "http://127.0.0.1/"},
      {"http://0177.0.0.01/", "http://127.0.0.1/"},
      {"http://2130706433/", "http://127.0.0.1/"},
      {"http://0X7F000001/", "http://127.0.0.1/"},
      {"http://1.2.3.4./", "http://1.2.3.4/"},
      {"http://1.2.3.4.5/", "http://1.2.3.4.5/"},
      {"http://4294967296/", "http://4294967296/"},
      {"http://08.0.0.1/", "http://08.0.0.1/"},
      {"http://0x/", "http://0x/"},
      {"http://1.2.3.4x/", "http://1.2.3.4x/"},
      {"http://1.2.3.+4/", "http://1.2.3.+4/"},
      {"http://1.2.3.4 x/", "http://1.2.3.4/"},
      {"http://1.2.3.4 xyz.example.org/", "http://1.2.3.4%20xyz.example.org/"},
      {"http://1.2.3 x/", "http://1.2.3%20x/"},
      {"http://\xEF\xBC\x91.2.3.4/", "http://1.2.3.4/"},  // a wide digit
  });
  EXPECT_TRUE(canonicalize("http://2130706433/", UrlRules::safe_browsing).value().is_ip());
  EXPECT_FALSE(canonicalize("http://1.2.3.4.5/", UrlRules::safe_browsing).value().is_ip());
}

TEST(CanonicalUrl, ipv6) {
  expect_canonical({
      {"http://[2001:0DB8:0:0:0:0:0:1]:8080/", "http://[2001:db8::1]:8080/"},
      {"http://[::]:80/", "http://[::]/"},
      {"http://[::ffff:1.2.3.4]/", "http://1.2.3.4/"},
      {"http://[::FFFF:102:304]/", "http://1.2.3.4/"},
      {"http://[64:ff9b::102:304]/", "http://1.2.3.4/"},
      {"http://[64:ff9b:1::102:304]/", "http://[64:ff9b:1::102:304]/"},
      {"http://[::1.2.3.4]/", "http://[::1.2.3.4]/"},
      {"http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"},
      {"http://[::1/", "http://[::1/"},
      {"http://[::1]x:80/", "http://[::1]x:80/"},
      {"http://[]/", "http://[]/"},
  });
  EXPECT_TRUE(canonicalize("http://[::1]/", UrlRules::safe_browsing).value().is_ip());
  EXPECT_FALSE(canonicalize("http://[::1/", UrlRules::safe_browsing).value().is_ip());
}

TEST(CanonicalUrl, hosts_beyond_ascii) {
  expect_canonical({
      {"http://B\xC3\xBC"
       "cher.example/",
       "http://xn--bcher-kva.example/"},
      {"http://b%C3%BC"
       "cher.example/",
       "http://xn--bcher-kva.example/"},
      {"http://fa\xC3\x9F.de/", "http://xn--fa-hia.de/"},  // not "fass"
      {"http://a\xE3\x80\x82"
       "b/",
       "http://a.b/"},  // an ideographic full stop
      // Refused by IDN: the bytes stay, escaped.
      {"http://\xE2\x98\x83.net/", "http://%E2%98%83.net/"},
      {"http://\xFF\xFE.net/", "http://%FF%FE.net/"},
      {"http://a\xEF\xBC\x8F"
       "b/",
       "http://a%EF%BC%8Fb/"},  // a wide slash would begin the path
      {"http://a\xEF\xBC\xA0"
       "b/",
       "http://a%EF%BC%A0b/"},  // a wide '@' would end a user
      // ASCII names are taken as they are.
      {"http://under_score.-x-.ab--cd.example/", "http://under_score.-x-.ab--cd.example/"},
  });
  const std::string long_label(100, 'x');
  EXPECT_EQ(canonical("http://" + long_label + "\xC3\xBC/"), "http://" + long_label + "%C3%BC/");
}

TEST(CanonicalUrl, safe_browsing_decodes_every_escape) {
  expect_canonical(
      {
          {"http://h/%41%2541%252541", "http://h/AAA"},
          {"http://h/%%34%31", "http://h/A"},
          {"http://h/%", "http://h/%25"},
          {"http://h/%4", "http://h/%254"},
          {"http://h/%zz", "http://h/%25zz"},
          {"http://h/%e4?%2520#%41", "http://h/%E4?%20"},
          {"http://h/a%23b", "http://h/a%23b"},
          {"http://h/%00"sv, "http://h/%00"},
          {"http://h/\0x?\x01\x7f"sv, "http://h/%00x?%01%7F"},
          {"http://h/%09%0a", "http://h/%09%0A"},
          {"http://h/%\t41\n", "http://h/A"},
          {"http://h/a%3Fb%2Fc", "http://h/a?b/c"},
          {"http%3a//h%2f%2e%2e%2fx", "http://h/x"},
      },
      UrlRules::safe_browsing);
}

TEST(CanonicalUrl, keys_decode_only_escapes_that_change_nothing) {
  expect_canonical(
      {
          {"http://h/%41%7e%2D%2e%5F%30", "http://h/A~-._0"},
          {"http://h/%22%3c%3e%5e%60%7b%7c%7d", "http://h/\"<>^`{|}"},
          {"http://h/%2541%252541", "http://h/%2541%252541"},  // a '%' stays one, and completes no escape
          {"http://h/%%34%31", "http://h/%2541"},
          {"http://h/%", "http://h/%25"},
          {"http://h/%4", "http://h/%254"},
          {"http://h/%4%41", "http://h/%254A"},
          {"http://h/%zz", "http://h/%25zz"},
          {"http://h/%e4?%2520#%41", "http://h/%E4?%2520"},
          {"http://h/%00\0?\x01\x7f"sv, "http://h/%00%00?%01%7F"},
          {"http://h/%09%0a ", "http://h/%09%0A"},
          {"http://h/%\t41\n", "http://h/A"},
          {"http://h/%2e%2e/a/%2E/b", "http://h/a/b"},
          {"http://%48%2Dx.Example/", "http://h-x.example/"},
          {"http://h%3a80%2f/", "http://h%3A80%2F/"},
          {"http://u%40@h/", "http://h/"},
          {"http://%C3%BC%2Fx/", "http://%C3%BC%2Fx/"},
          {"http://b%c3%bc"
           "cher.example/",
           "http://xn--bcher-kva.example/"},
      },
      UrlRules::keys);
}

// Goal: different URLs stay different keys. Method: every byte that RFC 3986 reserves, and '\', beside its
// escape, in every part in which it may stand; '#' begins the fragment as it is, and so is no pair.
TEST(CanonicalUrl, keys_tell_a_reserved_byte_from_its_escape) {
  constexpr std::string_view kKept = ":/?#[]@!$&'()*+,;=\\";
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char byte : kKept) {
    const std::string escape = {'%', kDigits[static_cast<unsigned>(byte) >> 4U], kDigits[byte & 15]};
    for (const std::string& before : {"http://h/a"s, "http://h/a/b?q=1"s, "http://h/?"s}) {
      const std::string escaped = canonical(before + escape + "b=1", UrlRules::keys);
      EXPECT_NE(escaped, canonical(before + byte + "b=1", UrlRules::keys)) << before << byte;
      EXPECT_NE(escaped, canonical(before + "b=1", UrlRules::keys)) << before << byte;
      EXPECT_EQ(escaped, canonical(escaped, UrlRules::keys));
    }
  }
}

TEST(CanonicalUrl, paths) {
  expect_canonical({
      {"http://h?q", "http://h/?q"},
      {"http://h/.", "http://h/"},
      {"http://h/a/.", "http://h/a/"},
      {"http://h/a/..", "http://h/"},
      {"http://h/a/b/..", "http://h/a/"},
      {"http://h/../../a", "http://h/a"},
      {"http://h/...", "http://h/..."},
      {"http://h/.a/..b/", "http://h/.a/..b/"},
      {"http://h/a//../b", "http://h/a/b"},  // dots first, then slashes
      {"http://h//", "http://h/"},
      {"http://h/a/?x=/../y//z", "http://h/a/?x=/../y//z"},
      {"http://h/a?", "http://h/a?"},
      {"http://h/a;b=c", "http://h/a;b=c"},
      {"http://h/a\\..\\b", "http://h/a\\..\\b"},
  });
}

TEST(CanonicalUrl, rubbish_around_a_url_is_dropped) {
  expect_canonical({
      {" \t\v\fhttp://h/a \r\n", "http://h/a"},
      {"ht\ttp:/\n/h\r/a", "http://h/a"},
      {"http://h/ #x", "http://h/"},
      {"\0h\0"sv, "http://h/"},
  });
}

TEST(CanonicalUrl, only_a_missing_host_is_an_error) {
  for (const std::string_view raw :
       {""sv, "  "sv, "#x"sv, "/"sv, "/a"sv, "?a"sv, ":"sv, ":80"sv, "http:"sv, "http://"sv, "http:///a"sv,
        "http://:80/"sv, "http://u@/"sv, "http://./"sv, "http://.:80./"sv, "///a"sv, "mailto:a@b.c"sv,
        "file:///etc/passwd"sv, "javascript:alert(1)"sv}) {
    CanonicalUrl url;
    ASSERT_TRUE(canonicalize("http://before/", url, UrlRules::safe_browsing).has_value());
    const auto done = canonicalize(raw, url, UrlRules::safe_browsing);
    ASSERT_FALSE(done.has_value()) << raw;
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(done.error().detail.find("host"), std::string::npos);
    EXPECT_EQ(url.text(), "") << "nothing of the one before is left";
    EXPECT_EQ(url.host(), "");
  }
}

TEST(CanonicalUrl, long_urls_have_answers_in_linear_time) {
  constexpr std::size_t kBytes = std::size_t{1} << 16U;
  const std::string tower = "http://h/%" + [] {
    std::string text;
    while (text.size() < kBytes) {
      text += "25";
    }
    return text;
  }();
  EXPECT_EQ(canonical(tower), "http://h/%25");  // undone one by one it would take half an hour's worth of passes
  EXPECT_EQ(canonical("http://" + std::string(kBytes, 'a')), "http://" + std::string(kBytes, 'a') + "/");
  EXPECT_EQ(canonical("http://h/" + std::string(kBytes, '/')), "http://h/");
  std::string climbing = "http://h";
  while (climbing.size() < kBytes) {
    climbing += "/a/..";
  }
  EXPECT_EQ(canonical(climbing), "http://h/");
  const std::string beyond_ascii(kBytes, '\xFF');
  EXPECT_EQ(canonical("http://" + beyond_ascii).size(), std::string_view("http:///").size() + 3 * kBytes);
}

// Goal: no step looks at what it has left behind again. Method: a megabyte of each thing that a rule acts on, in every
// part of a URL: a step that starts anew with each of them would take minutes, all of these take seconds.
TEST(CanonicalUrl, a_megabyte_of_what_a_rule_acts_on_has_a_stable_answer) {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  constexpr std::array kPieces = {":1"sv,       ":"sv,    ":0"sv,       "0"sv,
                                  ".:"sv,       ":1."sv,  "."sv,        ".a"sv,
                                  "a."sv,       "1."sv,   "0x1."sv,     "xn--a."sv,
                                  "[::"sv,      "["sv,    "]"sv,        "]:1"sv,
                                  "[]:1"sv,     "::1"sv,  "@"sv,        "a:b@"sv,
                                  "http:"sv,    "a+"sv,   "/../"sv,     "/./"sv,
                                  "//"sv,       "/"sv,    "/a/.."sv,    "/a"sv,
                                  "/.a"sv,      "%"sv,    "25"sv,       "%25"sv,
                                  "%2"sv,       "%41"sv,  "%2e/"sv,     "%2f."sv,
                                  "%3a1"sv,     "#"sv,    "?"sv,        "\t"sv,
                                  " "sv,        "\0"sv,   "\xC3\xBC"sv, "\xE3\x80\x82"sv,
                                  "\xC2\xAD"sv, "\xFF."sv};
  CanonicalUrl url;
  CanonicalUrl again;
  for (const std::string_view piece : kPieces) {
    std::string many;
    while (many.size() < kBytes) {
      many += piece;
    }
    for (const std::string& raw :
         {many, "http://a" + many, "http://" + many + "b:8/", "http://a/%" + many, "a?" + many}) {
      for (const UrlRules rules : {UrlRules::safe_browsing, UrlRules::keys}) {
        if (canonicalize(raw, url, rules)) {
          ASSERT_TRUE(canonicalize(url.text(), again, rules).has_value()) << piece;
          ASSERT_EQ(again.text(), url.text()) << piece;
          ASSERT_EQ(again.host(), url.host()) << piece;
        }
      }
    }
    if (piece == ":1" || piece == ":1.") {
      EXPECT_EQ(canonical("http://a" + many + "/"), "http://a:1/");
    }
  }
}

TEST(CanonicalUrl, a_host_too_long_for_any_name_is_not_asked_for_its_punycode) {
  const auto soft_hyphens = [](std::size_t count) {  // IDN drops them, so the name is short however many there are
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += "\xC2\xAD";
    }
    return text;
  };
  EXPECT_EQ(canonical("http://\xC3\xBC" + soft_hyphens(511) + "/"), "http://xn--tda/");
  const std::string escaped = canonical("http://\xC3\xBC" + soft_hyphens(512) + "/");
  EXPECT_TRUE(escaped.starts_with("http://%C3%BC%C2%AD"));
  EXPECT_EQ(escaped.size(), std::string_view("http:///").size() + std::size_t{513} * std::string_view("%C2%AD").size());
  EXPECT_EQ(canonical(escaped), escaped);
}

TEST(CanonicalUrl, a_loop_keeps_its_memory) {
  CanonicalUrl url;
  ASSERT_TRUE(canonicalize("http://h/%20" + std::string(1000, 'x'), url, UrlRules::safe_browsing).has_value());
  const char* const memory = url.text().data();
  for (const std::string_view raw : {"http://example.org/a", "example.org:8080/a/../b%20c?d", "http://0x7f.1/", ""}) {
    static_cast<void>(canonicalize(raw, url, UrlRules::safe_browsing));
    EXPECT_EQ(url.text().data(), memory) << raw;
  }
}

TEST(CanonicalUrl, may_be_canonicalized_into_itself) {
  CanonicalUrl url;
  ASSERT_TRUE(canonicalize("http://example.org/a", url, UrlRules::safe_browsing).has_value());
  ASSERT_TRUE(canonicalize(url.text(), url, UrlRules::safe_browsing).has_value());
  EXPECT_EQ(url.text(), "http://example.org/a");
  ASSERT_TRUE(canonicalize("http://1.2.3.4:8080/a", url, UrlRules::safe_browsing).has_value());
  ASSERT_TRUE(canonicalize(url.authority(), url, UrlRules::safe_browsing).has_value());
  EXPECT_EQ(url.text(), "http://1.2.3.4:8080/");
}

// Goal: what is copied is what the rules and browsers give. Method: URLs of every length around those of vectors and
// chunks, with each byte of the parsers' alphabets in each place.
TEST(CanonicalUrl, plain_urls_are_what_the_rules_give) {
  constexpr std::string_view kBytes = "/.?#%\\ @:-_09azAZ~!\x7f\x80\t";
  constexpr std::string_view kPlain =
      "www.a-b_c.1st.example/dir/a.b/c-d/~e/f,g;h/i=j/k.l/m_n/o/p/q+r/s/t/u/v/w.html?a=1&b=//x/../y&c=http://d.example/"
      "e"
      "/f/g/h/i/j/k";
  CanonicalUrl copied;
  CanonicalUrl by_rules;
  BrowserUrl opened;
  std::size_t copies = 0;
  std::size_t others = 0;
  for (const std::string_view scheme : {""sv, "http://"sv, "https://"sv}) {
    for (std::size_t size = 0; size <= kPlain.size(); ++size) {
      const std::string plain = std::string(scheme).append(kPlain.substr(0, size));
      for (std::size_t place = 0; place < plain.size(); ++place) {
        std::string raw = plain;
        raw[place] = kBytes[(size + place) % kBytes.size()];
        if (!copy_plain(raw, copied)) {
          ++others;
          continue;
        }
        ++copies;
        for (const UrlRules rules : {UrlRules::safe_browsing, UrlRules::keys}) {
          ASSERT_TRUE(Canonicalizer::rewrite(raw, by_rules, rules)) << raw;
          ASSERT_EQ(copied, by_rules) << raw;
          ASSERT_EQ(copied.host(), by_rules.host()) << raw;
          ASSERT_EQ(copied.last_label(), by_rules.last_label()) << raw;
          ASSERT_EQ(copied.last_two_labels(), by_rules.last_two_labels()) << raw;
          ASSERT_EQ(copied.path(), by_rules.path()) << raw;
          ASSERT_EQ(copied.query(), by_rules.query()) << raw;
          ASSERT_FALSE(by_rules.is_ip()) << raw;
        }
        ASSERT_TRUE(parse_browser_url(raw, Deviations::kept, opened)) << raw;
        ASSERT_TRUE(canonicalize(opened.text(), by_rules, UrlRules::safe_browsing)) << raw;
        ASSERT_EQ(copied, by_rules) << raw;
      }
    }
  }
  EXPECT_GT(copies, others / 2);
  EXPECT_GT(others, copies / 2);
  for (const std::size_t size : {26U, 60U, 64U, 65U, 127U, 128U, 129U}) {
    EXPECT_TRUE(copy_plain(std::string("http://").append(kPlain).substr(0, size), copied)) << size;
  }
}

// Goal: idempotence, and a shortcut that gives what the rules give. Method: URLs drawn from pieces that the rules act
// on, which random bytes would hardly ever put together.
TEST(CanonicalUrl, drawn_urls_have_stable_answers) {
  constexpr std::array kPieces = {
      "http://"sv,      "https:"sv,       "//"sv,       "/"sv,       "."sv,        ".."sv,   ":"sv,
      ":80"sv,          ":8"sv,           "@"sv,        "?"sv,       "#"sv,        "%"sv,    "%2"sv,
      "%25"sv,          "%2e"sv,          "5"sv,        "a"sv,       "B"sv,        "com"sv,  "1"sv,
      "0x1"sv,          "08"sv,           "["sv,        "]"sv,       "::1"sv,      " "sv,    "\t"sv,
      "\0"sv,           "\\"sv,           "_"sv,        "xn--"sv,    "\xC3\xBC"sv, "\xFF"sv, "%E3%80%82"sv,
      "\xEF\xBC\x91"sv, "\xEF\xBC\x9A"sv, "\xC2\xAD"sv, "1.2.3.4"sv, "%3A"sv,      "%2F"sv,  "\xCC\x88"sv};
  constexpr int kUrls = test::kIsSampled ? 50'000 : 500'000;
  std::uint64_t state = 20'261'121;
  const auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // the multiplier and increment of Knuth's MMIX
    return (state >> 33U) % below;
  };
  CanonicalUrl url;
  CanonicalUrl by_rules;
  CanonicalUrl again;
  int answered = 0;
  for (int i = 0; i < kUrls; ++i) {
    std::string raw;
    for (std::uint64_t piece = draw(12); piece > 0; --piece) {
      raw += kPieces[draw(kPieces.size())];
    }
    const UrlRules rules = i % 2 == 0 ? UrlRules::safe_browsing : UrlRules::keys;
    const bool is_answered = canonicalize(raw, url, rules).has_value();
    ASSERT_EQ(Canonicalizer::rewrite(raw, by_rules, rules).has_value(), is_answered) << raw;
    ASSERT_EQ(url.text(), by_rules.text()) << raw;
    if (is_answered) {
      ++answered;
      ASSERT_TRUE(canonicalize(url.text(), again, rules).has_value()) << raw;
      ASSERT_EQ(again.text(), url.text()) << raw;
      ASSERT_EQ(again.host(), url.host()) << raw;
      ASSERT_EQ(again.is_ip(), url.is_ip()) << raw;
    }
  }
  EXPECT_GT(answered, kUrls / 2);
}

}  // namespace
}  // namespace mankai::url
