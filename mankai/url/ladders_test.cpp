#include "mankai/url/ladders.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mankai::url {
namespace {

using Texts = std::vector<std::string>;

Texts hosts(std::string_view raw, HostLadder ladder) {
  const auto url = canonicalize(raw, UrlRules::safe_browsing).value();
  std::vector<std::string_view> views;
  append_hosts(url, ladder, views);
  return {views.begin(), views.end()};
}

Texts paths(std::string_view raw, PathLadder ladder) {
  const auto url = canonicalize(raw, UrlRules::safe_browsing).value();
  std::vector<std::string_view> views;
  append_paths(url, ladder, views);
  return {views.begin(), views.end()};
}

Texts expressions(std::string_view raw, HostLadder host_ladder, PathLadder path_ladder) {
  const auto url = canonicalize(raw, UrlRules::safe_browsing).value();
  std::vector<Expression> found;
  append_expressions(url, host_ladder, path_ladder, found);
  Texts texts;
  for (const auto& [host, path] : found) {
    texts.push_back(std::string(host).append(path));
  }
  return texts;
}

// The worked examples of Safe Browsing's documentation, in its order.
TEST(Ladders, have_the_documented_expressions) {
  EXPECT_EQ(expressions("http://a.b.c/1/2.html?param=1", HostLadder::safe_browsing_v4, PathLadder::safe_browsing),
            (Texts{"a.b.c/1/2.html?param=1", "a.b.c/1/2.html", "a.b.c/", "a.b.c/1/", "b.c/1/2.html?param=1",
                   "b.c/1/2.html", "b.c/", "b.c/1/"}));
  EXPECT_EQ(expressions("http://a.b.c.d.e.f.g/1.html", HostLadder::safe_browsing_v4, PathLadder::safe_browsing),
            (Texts{"a.b.c.d.e.f.g/1.html", "a.b.c.d.e.f.g/", "c.d.e.f.g/1.html", "c.d.e.f.g/", "d.e.f.g/1.html",
                   "d.e.f.g/", "e.f.g/1.html", "e.f.g/", "f.g/1.html", "f.g/"}));
  EXPECT_EQ(expressions("http://1.2.3.4/1/", HostLadder::safe_browsing_v4, PathLadder::safe_browsing),
            (Texts{"1.2.3.4/1/", "1.2.3.4/"}));
  EXPECT_EQ(expressions("http://example.co.uk/1", HostLadder::safe_browsing_v5, PathLadder::safe_browsing),
            (Texts{"example.co.uk/1", "example.co.uk/"}));
}

TEST(Ladders, hosts_of_each_policy) {
  const std::string_view url = "http://a.b.c.d.e.f.example.co.uk:81/";
  const std::string host = "a.b.c.d.e.f.example.co.uk";
  EXPECT_EQ(hosts(url, HostLadder::exact), (Texts{host}));
  EXPECT_EQ(hosts(url, HostLadder::safe_browsing_v4),
            (Texts{host, "e.f.example.co.uk", "f.example.co.uk", "example.co.uk", "co.uk"}));
  EXPECT_EQ(hosts(url, HostLadder::safe_browsing_v5),
            (Texts{host, "example.co.uk", "f.example.co.uk", "e.f.example.co.uk", "d.e.f.example.co.uk"}));
  EXPECT_EQ(hosts(url, HostLadder::uncapped),
            (Texts{host, "b.c.d.e.f.example.co.uk", "c.d.e.f.example.co.uk", "d.e.f.example.co.uk", "e.f.example.co.uk",
                   "f.example.co.uk", "example.co.uk", "co.uk", "uk"}));
}

TEST(Ladders, short_hosts_and_addresses) {
  EXPECT_EQ(hosts("http://b.c/", HostLadder::safe_browsing_v4), (Texts{"b.c"}));
  EXPECT_EQ(hosts("http://a.b.c.d.e/", HostLadder::safe_browsing_v4), (Texts{"a.b.c.d.e", "b.c.d.e", "c.d.e", "d.e"}));
  EXPECT_EQ(hosts("http://localhost/", HostLadder::safe_browsing_v4), (Texts{"localhost"}));
  EXPECT_EQ(hosts("http://a.example.com/", HostLadder::safe_browsing_v5), (Texts{"a.example.com", "example.com"}));
  EXPECT_EQ(hosts("http://co.uk/", HostLadder::safe_browsing_v5), (Texts{"co.uk"}));
  for (const auto ladder : {HostLadder::safe_browsing_v4, HostLadder::safe_browsing_v5, HostLadder::uncapped}) {
    EXPECT_EQ(hosts("http://1.2.3.4/", ladder), (Texts{"1.2.3.4"}));
    EXPECT_EQ(hosts("http://[2001:db8::1.2.3.4]/", ladder), (Texts{"[2001:db8::102:304]"}));
  }
}

TEST(Ladders, a_list_of_ones_own_decides_what_is_registrable) {
  const auto list = PublicSuffixes::from_bytes("com\nexample.com\n").value();
  const auto url = canonicalize("http://a.b.example.com/", UrlRules::safe_browsing).value();
  std::vector<std::string_view> views;
  append_hosts(url, HostLadder::safe_browsing_v5, views, &list);
  EXPECT_EQ(Texts(views.begin(), views.end()), (Texts{"a.b.example.com", "b.example.com"}));
}

// A megabyte of labels: a ladder that starts anew with each would take minutes.
TEST(Ladders, hosts_of_more_labels_than_a_name_has_keep_their_shorter_suffixes) {
  constexpr std::size_t kLabels = std::size_t{1} << 19U;
  std::string url = "http://";
  for (std::size_t i = 0; i < kLabels; ++i) {
    url += "a.";
  }
  url += "example.co.uk/1/2";
  for (const auto ladder : {HostLadder::exact, HostLadder::safe_browsing_v4, HostLadder::safe_browsing_v5}) {
    EXPECT_LE(hosts(url, ladder).size(), kMaxSafeBrowsingHosts);
  }
  EXPECT_EQ(hosts(url, HostLadder::safe_browsing_v4)[1], "a.a.example.co.uk");
  EXPECT_EQ(hosts(url, HostLadder::safe_browsing_v5)[1], "example.co.uk");
  const Texts all = hosts(url, HostLadder::uncapped);
  ASSERT_EQ(all.size(), 1 + kMaxNameLabels);
  EXPECT_EQ(all[1].size(), 2 * (kMaxNameLabels - 3) + std::string_view("example.co.uk").size());
  EXPECT_EQ(all.back(), "uk");
  EXPECT_EQ(expressions(url, HostLadder::safe_browsing_v4, PathLadder::uncapped).size(), 5U * 3U);
}

TEST(Ladders, a_name_of_127_labels_has_all_its_suffixes) {
  std::string url = "http://";
  for (std::size_t i = 1; i < kMaxNameLabels; ++i) {
    url += "a.";
  }
  EXPECT_EQ(hosts(url + "uk/", HostLadder::uncapped).size(), kMaxNameLabels);
  EXPECT_EQ(hosts("http://a." + url.substr(7) + "uk/", HostLadder::uncapped).size(), kMaxNameLabels + 1);
  EXPECT_EQ(hosts("http://a.a." + url.substr(7) + "uk/", HostLadder::uncapped).size(), kMaxNameLabels + 1);
}

TEST(Ladders, paths_of_each_policy) {
  EXPECT_EQ(paths("http://h/", PathLadder::safe_browsing), (Texts{"/"}));
  EXPECT_EQ(paths("http://h/?", PathLadder::safe_browsing), (Texts{"/"}));
  EXPECT_EQ(paths("http://h/?q", PathLadder::safe_browsing), (Texts{"/?q", "/"}));
  EXPECT_EQ(paths("http://h/1/2/3/4/5.html?q", PathLadder::safe_browsing),
            (Texts{"/1/2/3/4/5.html?q", "/1/2/3/4/5.html", "/", "/1/", "/1/2/", "/1/2/3/"}));
  EXPECT_EQ(paths("http://h/1/2/3/4/5/", PathLadder::uncapped),
            (Texts{"/1/2/3/4/5/", "/", "/1/", "/1/2/", "/1/2/3/", "/1/2/3/4/"}));
}

}  // namespace
}  // namespace mankai::url
