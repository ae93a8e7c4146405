// What a rule covers and what it does not, spelled in all the ways there are: through an overlay, and through an exact
// base made of the same rules.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/guard/guard.hpp"

namespace mankai::test {
namespace {

using Answer = Verdict::Answer;
using Texts = std::vector<std::string>;

Guard make(const Texts& rules, const Texts& exceptions, bool has_base) {
  auto guard = Guard::create({.seed = std::array<std::uint64_t, 2>{1, 2}, .is_exact = true}).value();
  for (const std::string& rule : rules) {
    EXPECT_TRUE(guard.add(rule).value()) << rule;
  }
  for (const std::string& rule : exceptions) {
    EXPECT_TRUE(guard.allow(rule).value()) << rule;
  }
  if (has_base) {
    EXPECT_TRUE(guard.compact().has_value());
  }
  return guard;
}

struct World {
  Texts rules;
  Texts blocked;
  Texts ok;
  Texts exceptions = {};
  Texts allowed = {};
};

void expect_answers(const Guard& guard, const Texts& urls, Answer answer) {
  GuardScratch scratch;
  for (const std::string& url : urls) {
    EXPECT_EQ(static_cast<int>(guard.check(url, scratch).answer), static_cast<int>(answer)) << url;
  }
}

void expect_world(const World& world) {
  for (const bool has_base : {false, true}) {
    SCOPED_TRACE(has_base ? "base" : "overlay");
    const Guard guard = make(world.rules, world.exceptions, has_base);
    expect_answers(guard, world.blocked, Answer::blocked);
    expect_answers(guard, world.ok, Answer::ok);
    expect_answers(guard, world.allowed, Answer::allowed);
  }
}

TEST(GuardMeaning, a_host_covers_itself_and_all_below_it) {
  expect_world(
      {.rules = {"evil.example"},
       .blocked = {"evil.example", "http://evil.example/", "https://EVIL.Example:8443/a/b?c#d",
                   "ftp://u:p@evil.example/x", "a.evil.example", "http://a.b.c.d.evil.example./x", "evil..example",
                   ".evil.example.", "http://evil%2eexample/", "//evil.example/x"},
       .ok = {"example", "notevil.example", "evil.example.org", "evilexample", "evil-example",
              "http://ok.example/evil.example", "http://ok.example/?evil.example", "http://evil.example@ok.example/"}});
}

TEST(GuardMeaning, a_path_covers_what_is_below_it) {
  for (const std::string rule : {"h.example/foo", "h.example/foo/", "http://h.example:81//foo//", "h.example/x/../foo",
                                 "h.example/%66oo", "h.example/./foo/."}) {
    expect_world(
        {.rules = {rule},
         .blocked = {"h.example/foo", "h.example/foo/", "h.example/foo/x", "h.example/foo/x/y?z", "h.example/foo?q",
                     "h.example/foo/?q", "h.example/foo?", "h.example//foo//x", "a.h.example/foo", "h.example/a/../foo",
                     "h.example/foo%2Fx", "h.example/foo%3Fq", "h.example/foo#x", "h.example/%2e/foo"},
         .ok = {"h.example", "h.example/", "h.example/foobar", "h.example/fo", "h.example/Foo", "h.example/x/foo",
                "h.example/foo/../x", "h.example/foo%20", "h.example?/foo", "other.example/foo", "example/foo"}});
  }
}

TEST(GuardMeaning, a_backslash_is_a_slash_too_as_in_browsers) {
  expect_world(
      {.rules = {"evil.example", "port.example/a/c", "odd.example/a\\b", "rule.example"},
       .blocked = {R"(http://evil.example\x)", R"(http:\\evil.example)", R"(http:\\evil.example\x?q)",
                   R"(http:/\evil.example)", R"(\\evil.example\x)", R"(evil.example\x)",
                   R"(http://evil.example\@good.example/)", R"(http://good.example\@evil.example/)",
                   R"(http://port.example\a\c)", R"(http://port.example/a\c\d)", R"(http://port.example/a\c?q)",
                   R"(http://port.example/x\..\a/c)", R"(http://odd.example/a\b)", R"(http://odd.example/a\b/c)",
                   R"(http://good.rule.example\@rule.example/)"},
       .ok = {R"(http://good.example\evil.example)", R"(http:\\good.example\evil.example)",
              R"(http://good.example/?u=\evil.example)", R"(http://good.example/#\\evil.example)",
              R"(http://port.example/a?q\c)", R"(http://port.example\a)", R"(http://odd.example/a/b)"},
       .exceptions = {"rule.example/ok", "good.rule.example"},
       .allowed = {R"(http://rule.example/ok/a\b)", R"(http://good.rule.example/a\b)"}});
}

// Programs split these differently, or map their names differently: a browser opens each on a listed host.
TEST(GuardMeaning, a_url_is_blocked_in_every_reading) {
  std::string invisible = "http://";
  for (int i = 0; i < 600; ++i) {
    invisible += "\u00AD";
  }
  expect_world({.rules = {"bad.example", "1.0.2.3", "xn--n3h.net", "xn--fa-hia.de", "fass.example"},
                .blocked = {"http://x%2f@bad.example/",
                            "http://bad.example%2f@good.org/",
                            "http://x%3f@bad.example/",
                            "http://good.bad.example%2f@bad.example/",
                            R"(http://\bad.example/)",
                            R"(http:\\\bad.example/)",
                            "http:///bad.example/",
                            "///bad.example",
                            "http://☃.bad。example/",
                            "http://-x.ｂad.example/",
                            "http://🍕.ｂad.example/",
                            "http://☃.net/",
                            "http://☃.☃.net/",
                            invisible + "bad.example/",
                            "http://1.0x.2.3/",
                            "http://0x1.515/",
                            "http://％62ad.example/",
                            "http://\U0001CCD7ad.example/",
                            "http://faß.de/",
                            "http://faẞ.de/",
                            "http://☃.faß.example/",
                            "http://a b.bad.example/",
                            "http://%25E2%2598%2583.ｂad.example/"},
                .ok = {"http://fass.de/", R"(http://good.org/\bad.example)"},
                .exceptions = {"good.bad.example", "allowed.bad.example"},
                .allowed = {"http://good.bad.example/", "http:/good.bad.example", "http://ｇood.bad.example/"}});
}

// A list may have a name in Unicode, and a URL in punycode, or the other way round. IDNA 2008 refuses all of these.
TEST(GuardMeaning, names_that_idna_2008_refuses_are_covered_in_both_spellings) {
  std::string long_label = "a";
  for (int i = 0; i < 60; ++i) {
    long_label += "ü";
  }
  const std::vector<std::pair<std::string, std::string>> names = {
      {"☃.net", "xn--n3h.net"},
      {"🍕.pizza", "xn--vi8h.pizza"},
      {"I♥NY.example", "xn--iny-zx5a.example"},
      {"ab--ü.de", "xn--ab---3ra.de"},
      {"-x.münchen.de", "-x.xn--mnchen-3ya.de"},
      {"straßenmesse.☃.de", "xn--straenmesse-y6a.xn--n3h.de"},
      {"☃.ς.example", "xn--n3h.xn--3xa.example"},
      {"1.0x.2.3", "1.0.2.3"},
      {"0x.1", "0.0.0.1"},
      {long_label + ".de", GuardRule::parse(long_label + ".de").value().text()}};
  for (const auto& [unicode, ascii] : names) {
    for (const auto& rule : {unicode, ascii}) {
      SCOPED_TRACE(rule);
      // Exceptions must cover what older programs read, too.
      const bool has_variants = unicode.contains("ß") || unicode.contains("ς") || unicode.contains("0x");
      std::vector<std::string> urls = {"http://" + ascii + "/x", "https://" + ascii};
      if (!has_variants) {
        urls.push_back("http://" + unicode + "/x");
      }
      expect_world({.rules = {rule}, .blocked = {"http://" + unicode + "/", "http://" + ascii + "/"}, .ok = {}});
      expect_world({.rules = {unicode, "de", "net", "example", "pizza"},
                    .blocked = {"http://other.net/"},
                    .ok = {},
                    .exceptions = {rule},
                    .allowed = urls});
    }
  }
}

TEST(GuardMeaning, a_capital_sharp_s_is_read_in_three_ways) {
  expect_world({.rules = {"straßenmesse.de", "strassenmee.de", "xn--straenmee-j1ae.example"},
                .blocked = {"http://☃.straßenmeẞe.de/", "http://straßenmeẞe.de/", "http://straßenmeẞe.example/",
                            "http://☃.straßenmeẞe.example/"},
                .ok = {"http://strassenmesse.de/"}});
}

// Who reads the other host must not get there by an exception for this one.
TEST(GuardMeaning, an_exception_counts_where_it_covers_every_reading) {
  expect_world({.rules = {"example", "de"},
                .blocked = {"http://good.example%2f@bad.example/", "http://good.example%2f@other.org/",
                            R"(http://good.example\@bad.example/)", "http://faß.de/"},
                .ok = {"http://other.org/"},
                .exceptions = {"good.example", "better.example", "xn--fa-hia.de"},
                .allowed = {"http://good.example%2f@better.example/", "http://xn--fa-hia.de/"}});
}

// The base finds an anchor that it does not have in one case of so many: what it then finds must not be an address.
TEST(GuardMeaning, addresses_have_no_hosts_below_them) {
  constexpr int kAddresses = 3000;
  for (const bool is_exact : {false, true}) {
    auto builder =
        GuardBuilder::create({.fpr = 0.1, .seed = std::array<std::uint64_t, 2>{1, 2}, .is_exact = is_exact}).value();
    const auto address = [](int i) { return "112.225." + std::to_string(i / 100) + "." + std::to_string(i % 100); };
    for (int i = 0; i < kAddresses; ++i) {
      ASSERT_TRUE(builder.add_block(address(i) + "/bin.sh").value());
      // Hosts four labels deep, so that the base has rules at that depth.
      ASSERT_TRUE(builder.add_block("a.b.c" + std::to_string(i) + ".example").value());
    }
    const Guard guard = builder.build().value();
    GuardScratch scratch;
    for (int i = 0; i < kAddresses; ++i) {
      EXPECT_EQ(guard.check("http://" + address(i) + ":33176/bin.sh", scratch).answer, Answer::blocked);
      const std::string below = "http://sub." + address(i) + ":33176/bin.sh";
      EXPECT_NE(guard.check(below, scratch).rule, address(i) + "/bin.sh") << below;
    }
  }
  expect_world({.rules = {"[::1]", "localhost", "192.0.2.7", "08.0.2.7"},
                .blocked = {"http://[::1]/", "192.0.2.7/x", "a.08.0.2.7"},
                .ok = {"http://sub.[::1]/", "sub.192.0.2.7", "a.sub.192.0.2.7"}});
  expect_world({.rules = {"com", "zip"}, .blocked = {"a.com"}, .ok = {"sub.192.0.2.7"}, .exceptions = {"192.0.2.7"}});
}

// The verdict names the rule of the reading that it covers.
TEST(GuardMeaning, a_url_with_several_readings_has_one_verdict) {
  const Guard guard = make({"evil.example"}, {"ok.evil.example"}, true);
  GuardScratch scratch;
  EXPECT_EQ(guard.check(R"(http:\\evil.example\x)", scratch).rule, "evil.example");
  EXPECT_EQ(scratch.readings().back().host(), "evil.example");
  EXPECT_EQ(guard.check(R"(http://ok.evil.example/a\b)", scratch).rule, "ok.evil.example");
  EXPECT_EQ(guard.check("http://other.example%2f@evil.example/", scratch).rule, "evil.example");
  EXPECT_EQ(scratch.readings().size(), 2U);
  EXPECT_GT(guard.check(R"(http://good.example/a\b)", scratch).probes, guard.check("good.example/a/b", scratch).probes);
  EXPECT_EQ(guard.check(R"(http:///\)", scratch).answer, Answer::invalid);
}

TEST(GuardMeaning, a_query_covers_exactly_that_page) {
  expect_world(
      {.rules = {"h.example/a?x=1"},
       .blocked = {"h.example/a?x=1", "http://b.h.example:8080/a?x=1#f", "h.example/a/?x=1", "h.example/a%3Fx=1"},
       .ok = {"h.example/a", "h.example/a?", "h.example/a?x=1&y=2", "h.example/a?x=2", "h.example/a/b?x=1",
              "h.example/?x=1", "h.example/a/?x=1/", "h.example/x=1"}});
  expect_world({.rules = {"h.example?q"},
                .blocked = {"h.example?q", "h.example/?q", "http://w.h.example//?q"},
                .ok = {"h.example", "h.example/q", "h.example/a?q", "h.example/?q="}});
  expect_world({.rules = {"h.example/a??"}, .blocked = {"h.example/a??"}, .ok = {"h.example/a?", "h.example/a"}});
  expect_world(
      {.rules = {"h.example/a?x/y"}, .blocked = {"h.example/a?x/y"}, .ok = {"h.example/a?x", "h.example/a/?x"}});
}

// A query's digest is no path's, and the other way round.
TEST(GuardMeaning, a_query_is_no_segment) {
  expect_world(
      {.rules = {"h.example/a?b"}, .blocked = {"h.example/a?b", "h.example/a/%253Fb"}, .ok = {"h.example/a/b"}});
  expect_world({.rules = {"h.example/a/b"}, .blocked = {"h.example/a/b?c"}, .ok = {"h.example/a?b", "h.example/a?/b"}});
}

TEST(GuardMeaning, an_empty_query_is_none) {
  expect_world(
      {.rules = {"h.example/a?"}, .blocked = {"h.example/a", "h.example/a/b", "h.example/a?c"}, .ok = {"h.example"}});
}

TEST(GuardMeaning, addresses_have_nothing_below_or_above_them) {
  expect_world(
      {.rules = {"192.0.2.7", "[2001:DB8::1]/x"},
       .blocked = {"http://192.0.2.7/", "192.0.2.7:8080/x", "http://3221225991/", "http://0xC0.0.2.7/",
                   "http://0300.0.519/", "http://[::ffff:192.0.2.7]/", "http://[2001:db8:0:0::1]:80/x/y"},
       .ok = {"192.0.2.70", "92.0.2.7", "2.7", "a.192.0.2.7", "http://[2001:db8::1]/y", "http://[2001:db8::1:1]/x"}});
  expect_world({.rules = {"2.7", "7"}, .blocked = {"2.0.0.7", "0.0.0.7"}, .ok = {"192.0.2.7", "0.2.7.1"}});
}

TEST(GuardMeaning, names_beyond_ascii_are_punycode) {
  expect_world({.rules = {"B\xc3\xbc"
                          "cher.example/\xc3\xa9"},
                .blocked = {"xn--bcher-kva.example/%C3%A9", "http://www.XN--BCHER-KVA.example/\xc3\xa9/x",
                            "b%C3%BCcher.example/%c3%a9"},
                .ok = {"bucher.example/\xc3\xa9", "xn--bcher-kva.example/e"}});
}

TEST(GuardMeaning, single_labels_and_public_suffixes_are_hosts_as_any) {
  expect_world({.rules = {"zip", "co.uk/x"},
                .blocked = {"zip", "http://zip/", "a.zip", "a.b.zip/c", "co.uk/x", "a.b.co.uk/x/y"},
                .ok = {"zip.example", "example/zip", "co.uk", "uk/x", "a.co.uk/y"}});
  expect_world({.rules = {"zip/x"}, .blocked = {"zip/x", "a.b.c.zip/x/y"}, .ok = {"zip", "a.zip/y", "x.zip"}});
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

// The masks' last bit stands for 16 and deeper; the base takes 32, the overlay has the rest.
TEST(GuardMeaning, every_depth_of_hosts_and_paths) {
  for (const std::size_t depth : {1U, 2U, 14U, 15U, 16U, 17U, 18U, 31U, 32U, 33U, 34U, 60U, 120U}) {
    const std::string host = repeat("a.", depth) + "h.example";
    const std::string path = "p.example" + repeat("/a", depth);
    expect_world({.rules = {host, path},
                  .blocked = {host, "a." + host, "b." + host + "/x", path, path + "/", path + "/a", "w." + path + "?q"},
                  .ok = {"h.example", "b.h.example", repeat("a.", depth - 1) + "h.example",
                         "b." + repeat("a.", depth - 1) + "h.example", "p.example",
                         "p.example" + repeat("/a", depth - 1), path + "b", "p.example/b" + repeat("/a", depth)}});
  }
}

TEST(GuardMeaning, all_of_many_depths_at_once) {
  World world;
  for (std::size_t depth = 1; depth <= 40; ++depth) {
    world.rules.push_back("x" + std::to_string(depth) + repeat(".a", depth - 1) + ".h.example/p" + repeat("/q", depth) +
                          "/r");
    world.blocked.push_back("w." + world.rules.back() + "/s");
    world.ok.push_back("x" + std::to_string(depth) + repeat(".a", depth) + ".h.example/p" + repeat("/q", depth) + "/r");
    world.ok.push_back("x" + std::to_string(depth) + repeat(".a", depth - 1) + ".h.example/p" +
                       repeat("/q", depth + 1) + "/r");
  }
  expect_world(world);
}

TEST(GuardMeaning, hosts_longer_than_any_name_have_the_parents_that_rules_can_name) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + label.substr(0, 55) + ".example";
  ASSERT_EQ(longest.size(), 255U);
  const std::string host = repeat("b.", 500) + longest;
  expect_world(
      {.rules = {longest}, .blocked = {longest, "b." + longest, host + "/x"}, .ok = {"example", longest.substr(64)}});
  const std::string wide(300, 'c');
  expect_world({.rules = {"example"},
                .blocked = {wide + ".example", repeat("b.", 1000) + "example"},
                .ok = {wide, "example." + wide}});
}

TEST(GuardMeaning, a_long_url_is_answered) {
  const std::string path = repeat("/a", 30'000);
  expect_world({.rules = {"h.example/a/a/a", "i.example" + repeat("/a", 20'000)},
                .blocked = {"h.example" + path, "i.example" + path + "?q"},
                .ok = {"j.example" + path, "h.example/a/b" + path, "i.example" + repeat("/a", 19'999)}});
}

// An exception wins over every rule, above it and below it.
TEST(GuardMeaning, exceptions_win) {
  expect_world(
      {.rules = {"evil.example", "evil.example/a/b", "good.evil.example", "half.example/x", "q.example/a?b"},
       .blocked = {"evil.example", "evil.example/a/b", "evil.example/okay", "bad.evil.example", "half.example/x"},
       .ok = {"ok.example", "half.example/ok", "good.example"},
       .exceptions = {"evil.example/ok", "good.evil.example", "half.example/x/y", "q.example", "ok.example"},
       .allowed = {"evil.example/ok", "evil.example/ok/x", "good.evil.example/x", "a.good.evil.example",
                   "good.evil.example/a/b", "half.example/x/y/z", "q.example/a?b", "w.evil.example/ok"}});
  expect_world({.rules = {"192.0.2.7", "com"},
                .blocked = {"192.0.2.7/x", "a.com", "com"},
                .ok = {"a.net"},
                .exceptions = {"192.0.2.7/ok", "good.com"},
                .allowed = {"192.0.2.7/ok", "www.good.com/x"}});
}

TEST(GuardMeaning, what_has_no_host_is_no_url) {
  for (const bool has_base : {false, true}) {
    const Guard guard = make({"h.example"}, {}, has_base);
    expect_answers(guard,
                   {"", " ", "/h.example", "?h.example", "http://", "http:///", "mailto:a@h.example", "...",
                    "http://:80/", "#h.example"},
                   Answer::invalid);
  }
}

TEST(GuardMeaning, what_has_no_host_is_no_rule) {
  auto guard = Guard::create().value();
  for (const std::string rule : {"", "/x", "mailto:a@b", "?q", "...", "http://"}) {
    EXPECT_FALSE(guard.add(rule).has_value()) << rule;
    EXPECT_FALSE(guard.allow(rule).has_value()) << rule;
    EXPECT_FALSE(guard.remove(rule).has_value()) << rule;
  }
}

TEST(GuardMeaning, a_verdict_names_the_rule) {
  GuardScratch scratch;
  for (const bool has_base : {false, true}) {
    const Guard guard = make({"evil.example/a/b", "q.example/x?y=1", "com", "192.0.2.7/i"}, {"good.com"}, has_base);
    EXPECT_EQ(guard.check("http://www.evil.example:81/a//b/c?d", scratch).rule, "evil.example/a/b");
    EXPECT_EQ(guard.check("w.q.example/x/?y=1", scratch).rule, "q.example/x?y=1");
    EXPECT_EQ(guard.check("a.b.com/x", scratch).rule, "com");
    EXPECT_EQ(guard.check("http://3221225991/i/j", scratch).rule, "192.0.2.7/i");
    EXPECT_EQ(guard.check("www.good.com/x", scratch).rule, "good.com");
  }
}

}  // namespace
}  // namespace mankai::test
