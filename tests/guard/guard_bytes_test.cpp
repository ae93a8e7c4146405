// A guard's bytes from outside: whatever was done to them, they are an error.

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/detail/exceptions.hpp"
#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/guard.hpp"
#include "mankai/guard/guard_format.hpp"

namespace mankai {
namespace {

using Answer = Verdict::Answer;
using Bytes = std::vector<std::byte>;

constexpr const char* kUrls[] = {"evil.example",
                                 "http://www.evil.example/x",
                                 "other.example/foo/x",
                                 "other.example/foobar",
                                 "deep.down.below.example/q?a=1",
                                 "removed.example",
                                 "added.example/here",
                                 "good.evil.example/",
                                 "10.1.2.3/bin",
                                 "localhost",
                                 "stranger.example"};

Guard small_guard(bool keeps_rules) {
  auto builder =
      GuardBuilder::create({.hash = HashKind::siphash, .seed = {{1, 2}}, .keeps_rules = keeps_rules}).value();
  for (const char* rule : {"evil.example", "other.example/foo", "below.example/q?a=1", "removed.example",
                           "a.b.c.d.e.example", "10.1.2.3/bin", "localhost", "x.other.example/1/2/3"}) {
    EXPECT_TRUE(builder.add_block(rule).value());
  }
  EXPECT_TRUE(builder.add_allow("good.evil.example").value());
  Guard guard = builder.build().value();
  EXPECT_EQ(guard.remove("removed.example").value(), RemoveOutcome::removed);
  EXPECT_TRUE(guard.add("added.example/here", 7).value());
  EXPECT_TRUE(guard.add("added.example/here", 9).value());
  return guard;
}

std::string answers(const Guard& guard) {
  std::string all;
  GuardScratch scratch;
  for (const char* url : kUrls) {
    const Verdict verdict = guard.check(url, scratch);
    all += std::to_string(static_cast<int>(verdict.answer)) + std::string(verdict.rule) + "\n";
  }
  return all;
}

bool is_promised(const Error& error) {
  return error.code == ErrorCode::corrupt || error.code == ErrorCode::unsupported_version;
}

class GuardBytes : public ::testing::TestWithParam<bool> {
 protected:
  const Guard guard_ = small_guard(GetParam());
  const Bytes bytes_ = guard_.to_bytes();
};

TEST_P(GuardBytes, come_back_the_same) {
  const Guard again = Guard::from_bytes(bytes_).value();
  EXPECT_EQ(again.to_bytes(), bytes_);
  EXPECT_EQ(answers(again), answers(guard_));
  EXPECT_EQ(again.exceptions(), guard_.exceptions());
  EXPECT_EQ(again.facts().removed_rules, 1U);
  EXPECT_EQ(again.facts().added_rules, 1U);
  EXPECT_EQ(again.facts().exact_rules, 1U);  // of one label
  EXPECT_EQ(again.facts().rules_in_force(), 8U);
}

TEST_P(GuardBytes, that_are_cut_are_refused) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    const auto cut = Guard::from_bytes(std::span(bytes_).first(size));
    ASSERT_FALSE(cut.has_value()) << size;
    EXPECT_TRUE(is_promised(cut.error())) << size << ": " << cut.error().message();
  }
}

TEST_P(GuardBytes, with_any_bit_changed_are_refused) {
  Bytes changed = bytes_;
  for (std::size_t bit = 0; bit < 8 * changed.size(); ++bit) {
    const auto flip = static_cast<std::byte>(1U << bit % 8);
    changed[bit / 8] ^= flip;
    const auto read = Guard::from_bytes(changed);
    ASSERT_FALSE(read.has_value()) << bit;
    EXPECT_TRUE(is_promised(read.error())) << bit;
    changed[bit / 8] ^= flip;
  }
}

// Changes a byte of a section, and makes the checksums right.
Bytes forged_at(const Bytes& bytes, std::size_t section, std::size_t byte, unsigned value) {
  Bytes forged = bytes;
  GuardHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  auto& [offset, size, sum] = header.sections[section];
  forged[offset + byte] = static_cast<std::byte>(value);
  sum = XXH3_64bits_withSeed(forged.data() + offset, size, section);
  header.checksum = XXH3_64bits_withSeed(&header, offsetof(GuardHeader, checksum), kGuardHeaderSeed);
  std::memcpy(forged.data(), &header, sizeof(header));
  return forged;
}

void expect_refused_or_usable(const Bytes& bytes) {
  auto read = Guard::from_bytes(bytes);
  if (!read) {
    EXPECT_TRUE(is_promised(read.error())) << read.error().message();
    return;
  }
  static_cast<void>(answers(*read));
  static_cast<void>(read->compact());
  static_cast<void>(answers(*read));
}

// Bytes that somebody made, with right checksums over wrong fields: nothing may be read outside them.
TEST_P(GuardBytes, that_are_forged_are_refused_or_answer) {
  GuardHeader header;
  std::memcpy(&header, bytes_.data(), sizeof(header));
  for (std::size_t section = 0; section < kGuardSections; ++section) {
    for (std::size_t byte = 0; byte < header.sections[section].bytes; ++byte) {
      for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
        expect_refused_or_usable(forged_at(bytes_, section, byte, value));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KeptRulesOrNot, GuardBytes, ::testing::Bool());

// The bytes of version 1, forever. Regenerating is right only with a new version.
TEST(GuardGolden, is_read_and_written_as_ever) {
  for (const bool keeps_rules : {true, false}) {
    const std::string path =
        std::string(MANKAI_GOLDEN_DIR) + (keeps_rules ? "/guard_siphash.mkg" : "/guard_without_rules.mkg");
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto bytes = std::as_bytes(std::span(text));
    const Guard guard = small_guard(keeps_rules);
    ASSERT_EQ(guard.to_bytes(), Bytes(bytes.begin(), bytes.end())) << path;
    EXPECT_EQ(answers(Guard::from_bytes(bytes).value()), answers(guard));
  }
}

// Goal: rules that were read as keys, such as on another thread, make the guard that their texts make.
TEST(GuardBuilding, takes_rules_as_texts_or_as_keys) {
  const GuardSettings settings{.hash = HashKind::siphash, .seed = {{1, 2}}};
  GuardBuilder by_text = GuardBuilder::create(settings).value();
  GuardBuilder by_key = GuardBuilder::create(settings).value();
  std::vector<RuleKey> keys;
  std::uint64_t added = 0;
  url::CanonicalUrl url;
  for (int i = 0; i < 3000; ++i) {
    const int host = i % 2900;  // the last hundred are repeated
    const std::string rule = "http://A" + std::to_string(host) + ".example/" + (host % 3 == 0 ? "b?q=1" : "");
    added += by_text.add_block(rule).value() ? 1 : 0;
    keys.push_back(key_of(rule, url, by_key.hasher()).value());
  }
  EXPECT_EQ(added, 2900U);
  EXPECT_EQ(by_key.add_block(std::span(keys).first(1000)).value(), 1000U);
  EXPECT_EQ(by_key.add_block(std::span(keys).subspan(1000)).value(), 1900U);
  EXPECT_FALSE(key_of("*.a.*", url, by_key.hasher()).has_value());
  EXPECT_EQ(by_key.build().value().to_bytes(), by_text.build().value().to_bytes());
}

TEST(GuardSettings, that_are_impossible_are_refused) {
  for (const double fpr : {0.0, 1.0, -1.0, 2.0}) {
    EXPECT_EQ(Guard::create({.fpr = fpr}).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(Guard::create({.keeps_rules = false, .is_exact = true}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Guard::create({.hash = HashKind::xxh3, .seed = {{1, 2}}}).error().code, ErrorCode::invalid_argument);
}

TEST(GuardCompaction, needs_kept_rules) {
  Guard guard = small_guard(false);
  EXPECT_EQ(guard.compact().error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(guard.facts().added_rules, 1U);
}

TEST(GuardRules, have_one_form) {
  const auto text = [](std::string_view raw) { return GuardRule::parse(raw).value().text(); };
  EXPECT_EQ(text("HTTP://user@WWW.Evil.Example:8080/"), "www.evil.example");
  EXPECT_EQ(text("evil.example/a/../b//c/"), "evil.example/b/c");
  EXPECT_EQ(text("evil.example/?q=1#"), "evil.example?q=1");
  EXPECT_EQ(text("evil.example/a/?"), "evil.example/a");
  EXPECT_EQ(text("0x7f.1/x"), "127.0.0.1/x");
  EXPECT_EQ(text(" *.evil.example/x "), "evil.example/x");
  EXPECT_EQ(text(".evil.example"), "evil.example");
  EXPECT_EQ(text("2001:DB8::0:1"), "[2001:db8::1]");
  EXPECT_EQ(text("http://192.0.2.0/24"), "192.0.2.0/24");
  // Where browsers open another host than the canonical form has, theirs is the rule's.
  EXPECT_EQ(text("☃.net/a"), "xn--n3h.net/a");
  EXPECT_EQ(text("http://%E2%98%83.net/a\\b"), "xn--n3h.net/a/b");
  EXPECT_EQ(text("faß.de"), "xn--fa-hia.de");
  EXPECT_EQ(text("faẞ.de"), "xn--fa-hia.de");
  EXPECT_EQ(text("1.0x.2.3/x"), "1.0.2.3/x");
  EXPECT_EQ(text("0x.1"), "0.0.0.1");
  EXPECT_EQ(text("odd.example/a\\b"), "odd.example/a\\b");
  EXPECT_EQ(text("276.2.3"), "20.2.0.3");
  EXPECT_EQ(text("http://x%2f@bad.example/"), "bad.example");
  std::string long_label = "a";
  for (int i = 0; i < 60; ++i) {
    long_label += "ü";
  }
  EXPECT_TRUE(text(long_label + ".de").starts_with("xn--a-"));
  EXPECT_FALSE(GuardRule::parse("/path").has_value());
  EXPECT_FALSE(GuardRule::parse(std::string(300, 'a') + ".example").has_value());
  EXPECT_FALSE(GuardRule::parse("a.example/" + std::string(kRuleBytesMax, 'x')).has_value());
  std::string labels = "a";
  for (int i = 0; i < 130; ++i) {
    labels += ".a";
  }
  EXPECT_FALSE(GuardRule::parse(labels).has_value());
}

// What lists skip is refused wherever a rule is taken.
TEST(GuardRules, that_would_cover_more_or_less_than_they_say_are_none) {
  Guard guard = Guard::create({.seed = {{1, 2}}}).value();
  for (const char* text : {"http://big.example/#!/page",
                           "big.example#x",
                           "ads.*.example",
                           "*",
                           "http://*.ads.example/",
                           "a%2Ab.example",
                           "p.example/*",
                           "p.example/%2A/",
                           "||adb.example^",
                           "@@||z.example^",
                           "0.0.0.0 hosts.example",
                           "a.example,b.example",
                           "a.example b.example",
                           "! c",
                           "# c",
                           "192.0.2.0/24",
                           "2001:db8::/32",
                           "192.0.2.1-192.0.2.9",
                           "a:b:c",
                           "http://[a:b:c]/",
                           "a(b.example",
                           "http:evil.example",
                           "2001:db8::7%eth0",
                           "\xFF.example",
                           "http://%FF.example/",
                           "％2562.example",
                           ""}) {
    EXPECT_EQ(guard.add(text).error().code, ErrorCode::invalid_argument) << text;
    EXPECT_TRUE(guard.add(text).error().detail.starts_with(shown_rule(text) + ": ")) << text;
    EXPECT_EQ(guard.allow(text).error().code, ErrorCode::invalid_argument) << text;
    EXPECT_TRUE(guard.allow(text).error().detail.starts_with(shown_rule(text) + ": ")) << text;
    EXPECT_EQ(guard.remove(text).error().code, ErrorCode::invalid_argument) << text;
    EXPECT_EQ(guard.disallow(text).error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_EQ(guard.facts().rules_in_force(), 0U);
}

TEST(GuardRules, exceptions_have_no_port) {
  auto guard = Guard::create().value();
  for (const std::string rule : {"good.example:8080", "http://good.example:443/x", "[2001:db8::7]:81"}) {
    EXPECT_EQ(guard.allow(rule).error().code, ErrorCode::invalid_argument) << rule;
    EXPECT_TRUE(guard.add(rule).value()) << rule;
  }
  for (const std::string rule : {"http://good.example:80/", "https://good.example:443/x", "2001:db8::7"}) {
    EXPECT_TRUE(guard.allow(rule).value()) << rule;
  }
}

TEST(GuardRules, that_look_like_networks_come_back_from_bytes) {
  Guard guard = Guard::create({.seed = {{1, 2}}}).value();
  EXPECT_TRUE(guard.allow("http://192.0.2.0/24").value());
  const Guard again = Guard::from_bytes(guard.to_bytes()).value();
  EXPECT_EQ(again.exceptions(), std::vector<std::string>{"192.0.2.0/24"});
}

// Guards of earlier builds hold them so: they open, and the exceptions cover what browsers open.
TEST(GuardRules, exceptions_of_the_older_form_become_what_they_are_today) {
  const Hasher hasher({.kind = kDefaultHash, .seed = {1, 2}});
  const auto bytes_of = [](std::initializer_list<std::string_view> texts) {
    Bytes bytes;
    for (const std::string_view text : texts) {
      const auto length = static_cast<std::uint32_t>(text.size());
      const auto length_bytes = std::as_bytes(std::span(&length, 1));
      bytes.insert(bytes.end(), length_bytes.begin(), length_bytes.end());
      const auto text_bytes = std::as_bytes(std::span(text));
      bytes.insert(bytes.end(), text_bytes.begin(), text_bytes.end());
    }
    return bytes;
  };
  const auto read = detail::Exceptions::from_bytes(
      bytes_of({"%FF.example/x", "1.0x.2.3", "a.example", "ok.%E2%98%83.net/x?q", "ok.xn--n3h.net/x?q"}), hasher);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->texts(), (std::set<std::string, std::less<>>{"1.0.2.3", "a.example", "ok.xn--n3h.net/x?q"}));
  for (const auto& wrong : {bytes_of({"ok.%e2%98%83.net"}), bytes_of({"b.example", "a.example"}),
                            bytes_of({"ok.%E2%98%83.net", "a.example"}), bytes_of({""}), bytes_of({"☃.net"})}) {
    const auto refused = detail::Exceptions::from_bytes(wrong, hasher);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  }
}

TEST(GuardTable, rules_that_the_hash_cannot_tell_apart_are_an_error_of_their_own) {
  detail::RuleTable table;
  const RuleKey host{.anchor = {1}, .host = {1}, .rule = {1}};
  const RuleKey path{.anchor = {2}, .host = {2}, .rule = {1}, .path_depth = 1};
  EXPECT_TRUE(table.insert(host, 0).value());
  EXPECT_EQ(table.insert(path, 0).error().code, ErrorCode::corrupt);
  EXPECT_EQ(table.rule_count(), 1U);
  EXPECT_EQ(table.node_count(), 1U);
}

TEST(GuardTable, an_exception_is_in_force_and_written_down_or_neither) {
  detail::Exceptions exceptions;
  const GuardRule first = GuardRule::parse("a.example").value();
  const GuardRule second = GuardRule::parse("b.example/x").value();
  const RuleKey key{.anchor = {1}, .host = {1}, .rule = {1}};
  const RuleKey same{.anchor = {2}, .host = {2}, .rule = {1}, .path_depth = 1};
  EXPECT_TRUE(exceptions.insert(first, key).value());
  EXPECT_FALSE(exceptions.insert(first, key).value());
  EXPECT_EQ(exceptions.insert(second, same).error().code, ErrorCode::corrupt);
  EXPECT_EQ(exceptions.texts().size(), 1U);
  EXPECT_EQ(exceptions.table().rule_count(), 1U);
  EXPECT_FALSE(exceptions.erase(second, same));
  EXPECT_TRUE(exceptions.erase(first, key));
  EXPECT_TRUE(exceptions.table().is_empty());
}

TEST(GuardTable, counts_what_no_base_has) {
  detail::RuleTable table;
  const RuleKey deep{.anchor = {1}, .host = {2}, .rule = {2}, .host_depth = 33};
  const RuleKey label{.anchor = {3}, .host = {3}, .rule = {3}, .is_single_label = true};
  EXPECT_TRUE(table.insert(deep, 0).value() && table.insert(deep, 1).value() && table.insert(label, 0).value());
  EXPECT_EQ(table.exact_count(), 2U);
  EXPECT_TRUE(table.erase(deep.rule, 0));
  EXPECT_EQ(table.exact_count(), 2U);
  EXPECT_TRUE(table.erase(deep.rule, {}));
  EXPECT_EQ(table.exact_count(), 1U);
}

TEST(GuardRules, of_any_length_of_host_are_found_in_longer_ones) {
  Guard guard = Guard::create({.seed = {{1, 2}}}).value();
  std::string host = "a.example";
  while (host.size() < 200) {
    host.insert(0, "b.");
  }
  EXPECT_TRUE(guard.add(host).value());
  GuardScratch scratch;
  EXPECT_EQ(guard.check(std::string(1000, 'x') + "." + host, scratch).answer, Answer::blocked);
  EXPECT_EQ(guard.check(host.substr(2), scratch).answer, Answer::ok);
}

}  // namespace
}  // namespace mankai
