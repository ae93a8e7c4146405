#include "mankai/url/public_suffixes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace mankai::url {
namespace {

TEST(PublicSuffixes, builtin_knows_old_rules) {
  const auto& suffixes = PublicSuffixes::builtin();
  EXPECT_EQ(suffixes.registrable_domain("www.example.com"), "example.com");
  EXPECT_EQ(suffixes.registrable_domain("example.com"), "example.com");
  EXPECT_EQ(suffixes.registrable_domain("a.b.example.co.uk"), "example.co.uk");
  EXPECT_EQ(suffixes.registrable_domain("co.uk"), "");
  EXPECT_EQ(suffixes.registrable_domain("a.b.ck"), "a.b.ck");  // *.ck
  EXPECT_EQ(suffixes.registrable_domain("www.ck"), "www.ck");  // !www.ck
  EXPECT_EQ(suffixes.registrable_domain("a.b.unlisted"), "b.unlisted");
  EXPECT_EQ(suffixes.registrable_domain("www.xn--85x722f.com.cn"), "xn--85x722f.com.cn");
}

TEST(PublicSuffixes, what_is_listed_is_known) {
  const auto& suffixes = PublicSuffixes::builtin();
  for (const std::string_view host : {"com", "co.uk", "zip", "xn--p1ai", "b.ck"}) {
    EXPECT_TRUE(suffixes.has(host)) << host;
  }
  for (const std::string_view host : {"", ".com", "forbidden", "ok", "example.com", "www.ck", "1", "[::1]"}) {
    EXPECT_FALSE(suffixes.has(host)) << host;
  }
  EXPECT_FALSE(suffixes.has(std::string_view("com\0", 4)));
}

TEST(PublicSuffixes, what_is_no_name_has_no_registrable_domain) {
  const auto& suffixes = PublicSuffixes::builtin();
  for (const std::string_view host : {"", "com", ".example.com", "1.2.3.4", "[::1]", "[2001:db8::1.2.3.4]"}) {
    EXPECT_EQ(suffixes.registrable_domain(host), "") << host;
  }
  EXPECT_EQ(suffixes.registrable_domain(std::string_view("a\0.com", 6)), "");
}

TEST(PublicSuffixes, answers_are_views_into_long_hosts_too) {
  for (const std::size_t bytes : {240U, 255U, 256U, 5000U}) {
    const std::string host = std::string(bytes - 12, 'x') + ".example.com";
    const std::string_view found = PublicSuffixes::builtin().registrable_domain(host);
    EXPECT_EQ(found, "example.com");
    EXPECT_EQ(found.data() + found.size(), host.data() + host.size());
  }
}

TEST(PublicSuffixes, a_newer_list_is_read_from_bytes) {
  const auto suffixes = PublicSuffixes::from_bytes("// a comment\n\ncom\n*.wild\n!city.wild\n").value();
  EXPECT_EQ(suffixes.registrable_domain("a.b.com"), "b.com");
  EXPECT_EQ(suffixes.registrable_domain("a.b.c.wild"), "b.c.wild");
  EXPECT_EQ(suffixes.registrable_domain("a.city.wild"), "city.wild");
}

TEST(PublicSuffixes, bytes_that_are_no_list_are_refused) {
  using namespace std::string_view_literals;
  EXPECT_EQ(PublicSuffixes::from_bytes("").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(PublicSuffixes::from_bytes("// nothing\n").error().code, ErrorCode::corrupt);
  EXPECT_EQ(PublicSuffixes::from_bytes("\n").error().code, ErrorCode::corrupt);
  EXPECT_EQ(PublicSuffixes::from_bytes("com\n\0net\n"sv).error().code, ErrorCode::corrupt);
}

TEST(PublicSuffixes, threads_may_ask_together) {
  const auto suffixes = PublicSuffixes::from_bytes("com\nco.uk\nuk\n").value();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&suffixes] {
      for (int call = 0; call < 1000; ++call) {
        EXPECT_EQ(suffixes.registrable_domain("www.example.co.uk"), "example.co.uk");
        EXPECT_EQ(PublicSuffixes::builtin().registrable_domain("www.example.com"), "example.com");
      }
    });
  }
}

}  // namespace
}  // namespace mankai::url
