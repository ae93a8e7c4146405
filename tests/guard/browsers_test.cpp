// Generated URLs, and what Node makes of them, whose URL class is the URL Standard's: where it finds a listed host, the
// guard blocks. MANKAI_URLS says how many are tried; `make test-all` tries a million.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/guard.hpp"
#include "mankai/url/browser_url.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

using Answer = Verdict::Answer;
using Texts = std::vector<std::string>;

// The rules as people write them, and the hosts that they cover.
constexpr std::array<std::string_view, 8> kRules = {"bad.example", "☃.net",           "1.0x.2.3",      "2001:DB8::7",
                                                    "faß.de",      "straßenmesse.de", "ab--ü.example", "I♥NY.example"};
constexpr std::array<std::string_view, 8> kListed = {
    "bad.example",          "xn--n3h.net",         "1.0.2.3",
    "[2001:db8::7]",        "xn--fa-hia.de",       "xn--straenmesse-y6a.de",
    "xn--ab---3ra.example", "xn--iny-zx5a.example"};
constexpr std::string_view kExcepted = "good.bad.example";

std::string utf8(char32_t character) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    return {static_cast<char>(character)};
  }
  if (character < 0x800) {
    return {static_cast<char>(0xC0 | character >> 6), tail(0)};
  }
  if (character < 0x10000) {
    return {static_cast<char>(0xE0 | character >> 12), tail(6), tail(0)};
  }
  return {static_cast<char>(0xF0 | character >> 18), tail(12), tail(6), tail(0)};
}

/// Draws URLs, most of which lead to a listed host, in disguise.
class Urls {
 public:
  explicit Urls(std::uint64_t seed) : random_(seed) {}

  std::string draw() {
    std::string url = pick({"http:", "http:", "https:", "HtTp:", "ftp:", "ws:", "wss:", "file:", ""}) + slashes() +
                      user() + host() + port() + rest();
    for (std::uint64_t changes = chance(4) ? 1 + random_.below(3) : 0; changes > 0; --changes) {
      change(url);
    }
    return chance(30) ? pick({" ", "\n", "\x01\t"}) + url + pick({" ", "\r\n", ""}) : url;
  }

 private:
  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }
  template <std::size_t N>
  std::string pick(const char* const (&texts)[N]) {
    return texts[random_.below(N)];
  }

  std::string slashes() {
    return chance(2) ? "//" : pick({"", "/", "\\", "\\\\", "/\\", "///", "//\\", "\\\\\\", "/\t/", "////\\/"});
  }
  std::string user() {
    return chance(2) ? ""
                     : pick({"u@", "u:p@", "x%2f@", "x%3f@", "x%23@", "good.bad.example%2f@", "good.bad.example%5c@",
                             "@", "a@b@", "x\\@", "x/@", "x?@", "x#@", "☃:☃@", "%40@", "[@", "]@", ":@", "user\n@"});
  }
  std::string port() {
    return chance(2)
               ? ""
               : pick({":", ":80", ":443", ":8080", ":00081", ":65535", ":65536", ":8x", "：80", ":%38", ":8\t0"});
  }
  std::string rest() {
    std::string text = pick({"", "/", "\\", "?q", "#f", "/a/../b", "/%2e%2e/x", "/.", "//", "/a\\..\\b",
                             "/@other.test/", "\\@other.test", "/?u=http://other.test/", "/☃", "/%", "/%zz"});
    return chance(200) ? text + std::string(20'000, 'x') : text;
  }

  std::string host() {
    const std::string_view listed = kListed[random_.below(kListed.size())];
    if (chance(20)) {
      return labels() +
             pick({"other.test", "bad.example.test", "notbad.example", "4.3.2.1", "08.1", "a.1", "1.0.2.3.4"});
    }
    if (listed == "1.0.2.3") {
      return address();
    }
    if (listed.starts_with('[')) {
      return pick(
          {"[2001:db8::7]", "[2001:DB8:0:0:0:0:0:7]", "[2001:db8::0.0.0.7]", "[2001:0db8::0007]", "[2001:db8::7"});
    }
    return labels() + disguised(chance(2) ? in_unicode(listed) : std::string(listed)) +
           (chance(10) ? pick({".", "。", "%2e", ".."}) : "");
  }

  std::string in_unicode(std::string_view listed) {
    return listed == "xn--n3h.net"              ? "☃.net"
           : listed == "xn--fa-hia.de"          ? pick({"faß.de", "faẞ.de", "FAß.de"})
           : listed == "xn--straenmesse-y6a.de" ? pick({"straßenmesse.de", "straßenmeẞe.de", "STRAßENMESSE.de"})
           : listed == "xn--ab---3ra.example"   ? pick({"ab--ü.example", "AB--Ü.example", "ab--u\u0308.example"})
           : listed == "xn--iny-zx5a.example"   ? pick({"I♥NY.example", "i♥ny.example"})
                                                : std::string(listed);
  }

  // The listed address by one to four numbers, each as C writes them; sometimes with wide digits.
  std::string address() {
    const std::array<std::uint32_t, 4> bytes = {1, 0, 2, 3};
    const std::size_t parts = 1 + random_.below(bytes.size());
    std::string text;
    for (std::size_t i = 0; i < parts; ++i) {
      std::uint32_t value = bytes[i];
      for (std::size_t rest = i + 1; i + 1 == parts && rest < bytes.size(); ++rest) {
        value = value << 8 | bytes[rest];
      }
      std::array<char, 16> digits{};
      static_cast<void>(
          std::snprintf(digits.data(), digits.size(), pick({"%u", "0x%x", "0X%X", "0%o", "000%o"}).c_str(), value));
      const bool is_empty_number = value == 0 && chance(3);
      text += (i == 0 ? "" : ".") + (is_empty_number ? "0x" : std::string(digits.data()));
    }
    return (chance(3) ? disguised(text) : text) + (chance(8) ? "." : "");
  }

  std::string labels() {
    std::string text;
    for (std::uint64_t count = chance(2) ? random_.below(4) : 0; count > 0; --count) {
      text += label() + pick({".", ".", "。", "．", "%2E"});
    }
    return text;
  }
  std::string label() {
    if (chance(20)) {
      return {text_of(random_character(), 1 + random_.below(chance(5) ? 700 : 5))};
    }
    if (chance(20)) {
      return std::string(1 + random_.below(400), 'a') + pick({"", "ü", "☃"});
    }
    return pick({"good",
                 "GOOD",
                 "☃",
                 "🍕",
                 "-x",
                 "x-",
                 "_x",
                 "ab--c",
                 "xn--n3h",
                 "xn--",
                 "xn--zzz-",
                 "xn--☃",
                 "a b",
                 "a!b",
                 "münchen",
                 "MU\u0308NCHEN",
                 "ß",
                 "ẞ",
                 "ς",
                 "1",
                 "٣",
                 "א",
                 "ا1",
                 "a\u200Db",
                 "क्‍ष",
                 "\u0300",
                 "ﷺ",
                 "㎏",
                 "ﬃ",
                 "①",
                 "９",
                 "0x",
                 "\U0001CCD6",
                 "𝐱",
                 "％41",
                 "a%00b",
                 "%",
                 "<",
                 "|",
                 "％",
                 "：",
                 "／",
                 "＠",
                 "",
                 "\u00AD",
                 "\u200B"});
  }
  static std::string text_of(char32_t character, std::uint64_t times) {
    std::string text;
    for (std::uint64_t i = 0; i < times; ++i) {
      text += utf8(character + static_cast<char32_t>(i % 7));
    }
    return text;
  }
  char32_t random_character() {
    const auto character = static_cast<char32_t>(0x80 + random_.below(chance(3) ? 0x10FF00 : 0x3000));
    return character >= 0xD7F0 && character < 0xE000 ? U'☃' : character;
  }

  // Each letter as one of the characters that are mapped to it, with what is mapped to nothing between them, some of it
  // escaped.
  std::string disguised(std::string_view name) {
    const std::uint64_t rarity = 1 + random_.below(12);
    std::string text;
    while (!name.empty()) {
      const auto bytes = name.front() < 0 ? std::min<std::size_t>(name.size(), name.front() < '\xE0' ? 2 : 3) : 1;
      std::string letter(name.substr(0, bytes));
      name.remove_prefix(bytes);
      if (chance(rarity)) {
        letter = bytes == 1 ? like(letter.front()) : letter;
        letter += chance(6) ? pick({"\u00AD", "\u200B", "\u2060", "\uFE0F", "\t", "\n", "\U000E0100", "\u034F"}) : "";
        letter = chance(4) ? escaped(letter) : letter;
      }
      text += letter;
    }
    if (chance(60)) {
      std::string invisible;
      for (int i = 0; i < 600; ++i) {
        invisible += "\u00AD";
      }
      text.insert(0, invisible);
    }
    return text;
  }
  std::string like(char byte) {
    if (byte == '.') {
      return pick({".", "。", "．", "｡", "%2e", "%E3%80%82"});
    }
    const auto character = static_cast<char32_t>(byte);
    if (byte >= 'a' && byte <= 'z') {
      const std::array<char32_t, 8> likes = {U'Ａ', U'ａ', U'𝐚', U'ⓐ', U'Ⓐ', U'𝖆', U'𝕬', U'A'};
      return utf8(likes[random_.below(likes.size())] + (character - U'a'));
    }
    return byte >= '0' && byte <= '9' ? utf8(U'０' + (character - U'0')) : std::string(1, byte);
  }
  std::string escaped(std::string_view text) {
    std::string out;
    for (const char byte : text) {
      std::array<char, 4> escape{};
      static_cast<void>(std::snprintf(escape.data(), escape.size(), chance(2) ? "%%%02x" : "%%%02X",
                                      static_cast<unsigned>(static_cast<unsigned char>(byte))));
      out += escape.data();
    }
    return out;
  }

  // Puts a delimiter or a strange byte somewhere between two characters.
  void change(std::string& url) {
    std::size_t place = random_.below(url.size() + 1);
    while (place < url.size() && (static_cast<unsigned char>(url[place]) & 0xC0U) == 0x80) {
      ++place;
    }
    url.insert(place, pick({"/",  "\\", "@", ":", "?",    "#", "%",      "%2f", ".",  "\t", "\n",
                            "\r", " ",  "[", "]", "\x7f", "☃", "\u00AD", "％",  "0x", "1",  "\x02"}));
  }

  test::Random random_;
};

std::string json(std::string_view text) {
  std::string line = "\"";
  for (const char byte : text) {
    std::array<char, 8> escape{};
    if (static_cast<unsigned char>(byte) < ' ') {
      static_cast<void>(std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte)));
      line += escape.data();
    } else {
      line += byte == '"' || byte == '\\' ? "\\" : "";
      line += byte;
    }
  }
  return line + "\"\n";
}

struct Hosts {
  std::string alone;
  std::string on_a_page;
  std::string scheme;  ///< with its colon
  std::string path;    ///< with the query
};

/// Asks one process about all of them.
std::vector<Hosts> hosts_by_node(const Texts& urls, const std::filesystem::path& folder) {
  const auto in = folder / "urls";
  const auto out = folder / "hosts";
  std::ofstream file(in, std::ios::binary);
  for (const std::string& url : urls) {
    file << json(url);
  }
  file.close();
  const std::string command = "node '" MANKAI_HOSTS_SCRIPT "' <'" + in.string() + "' >'" + out.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(*-env33-c, concurrency-mt-unsafe): our own words
  std::vector<Hosts> hosts;
  std::ifstream answers(out);
  for (std::string line; std::getline(answers, line);) {
    std::istringstream columns(line);
    Hosts& read = hosts.emplace_back();
    std::getline(columns, read.alone, '\t');
    std::getline(columns, read.on_a_page, '\t');
    std::getline(columns, read.scheme, '\t');
    std::getline(columns, read.path, '\t');
  }
  return hosts;
}

// Dots beside dots are one, as everywhere in guards: no name has an empty label.
bool is_below(std::string host, std::string_view rule) {
  host.erase(std::unique(host.begin(), host.end(), [](char a, char b) { return a == '.' && b == '.'; }), host.end());
  host.resize(host.size() - (host.ends_with('.') ? 1 : 0));
  return host.ends_with(rule) && (host.size() == rule.size() || (host[host.size() - rule.size() - 1] == '.' &&
                                                                 rule != "1.0.2.3" && !rule.starts_with('[')));
}

bool is_listed(const std::string& host) {
  return std::ranges::any_of(kListed, [&](std::string_view rule) { return is_below(host, rule); });
}

Guard make(bool has_exceptions) {
  auto builder = GuardBuilder::create({.seed = std::array<std::uint64_t, 2>{1, 2}, .is_exact = true}).value();
  for (const std::string_view rule : kRules) {
    EXPECT_TRUE(builder.add_block(rule).value());
  }
  EXPECT_TRUE(!has_exceptions || builder.add_allow(kExcepted).value());
  return builder.build().value();
}

class Comparison {
 public:
  void check(const std::string& url, const Hosts& hosts) {
    ++urls_;
    for (const std::string& host : {hosts.alone, hosts.on_a_page}) {
      if (is_listed(host)) {
        ++listed_;
        EXPECT_EQ(guard_.check(url, scratch_).answer, Answer::blocked) << json(url) << "leads to " << host;
        const auto answer = guard_with_exceptions_.check(url, scratch_).answer;
        EXPECT_TRUE(answer == Answer::blocked || (answer == Answer::allowed && is_below(host, kExcepted)))
            << json(url) << "leads to " << host;
      }
    }
    constexpr std::array<std::string_view, 5> kCompared = {"http:", "https:", "ftp:", "ws:", "wss:"};
    if (std::ranges::find(kCompared, hosts.scheme) != kCompared.end()) {
      check_host(url, hosts.alone);
    }
  }

  // Where the Standard has a host it is ours, too, but for labels that we do not encode whole. Node 20 has the mapping
  // of "ẞ" that today's browsers no longer have.
  void check_host(const std::string& url, const std::string& host) {
    constexpr std::size_t kLongest = 255;
    if (host.size() > kLongest) {
      return;
    }
    ASSERT_TRUE(url::parse_browser_url(url, url::Deviations::kept, browser_)) << json(url) << "leads to " << host;
    if (browser_.has_capital_sharp_s() && browser_.host() != host) {
      ASSERT_TRUE(url::parse_browser_url(url, url::Deviations::capital_mapped, browser_)) << json(url);
    }
    EXPECT_EQ(browser_.host(), host) << json(url);
    ++compared_;
  }

  void report() const {
    std::printf("%llu URLs, %llu listed hosts, %llu hosts compared\n", static_cast<unsigned long long>(urls_),
                static_cast<unsigned long long>(listed_), static_cast<unsigned long long>(compared_));
    // A generator that yields none would find nothing.
    EXPECT_GT(listed_, urls_ / 4);
    EXPECT_GT(compared_, urls_ / 4);
  }

 private:
  Guard guard_ = make(false);
  Guard guard_with_exceptions_ = make(true);
  GuardScratch scratch_;
  url::BrowserUrl browser_;
  std::uint64_t urls_ = 0;
  std::uint64_t listed_ = 0;
  std::uint64_t compared_ = 0;
};

// Draws paths in which dot segments stand beside escaped delimiters: browsers resolve the dots first.
std::string draw_path(test::Random& random) {
  constexpr std::array<std::string_view, 26> kPieces = {
      "/",     "/",  "/",    "..",  "/..",  ".",  "%2e", "%2E%2e", ".%2e", "%2f", "%3f",  "%25", "%252f",
      "%253f", "\\", "/foo", "foo", "/foo", "ok", "/ok", "a",      "/b/",  "?",   "?x=1", "%5c", "%23"};
  std::string path = random.below(4) == 0 ? "/ok" : "/";
  for (std::uint64_t pieces = 1 + random.below(8); pieces > 0; --pieces) {
    path += kPieces.at(random.below(kPieces.size()));
  }
  return path + (random.below(2) == 0 ? "/../foo" : "");
}

// Whether a canonical path is one or below it.
bool is_path_below(std::string_view path, std::string_view rule) {
  return path.starts_with(rule) && (path.size() == rule.size() || path[rule.size()] == '/');
}

bool has_node() {
  return std::system("node --version >/dev/null 2>&1") == 0;  // NOLINT(*-env33-c, concurrency-mt-unsafe): our own words
}

// What a browser requests is judged by the rules' canonical form of it.
TEST(Browsers, no_url_that_leads_to_a_listed_path_is_ok) {
  if (!has_node()) {
    GTEST_SKIP() << "SKIPPED: there is no node. tools/install_dependencies.sh test installs it.";
  }
  auto builder = GuardBuilder::create({.seed = std::array<std::uint64_t, 2>{1, 2}, .is_exact = true}).value();
  ASSERT_TRUE(builder.add_block("path.example/foo").value() && builder.add_block("bad.example").value());
  ASSERT_TRUE(builder.add_allow("bad.example/ok").value());
  const Guard guard = builder.build().value();
  const test::TemporaryFolder folder;
  test::Random random(20'261'123);
  Texts urls(50'000);
  std::ranges::generate(urls, [&] {
    return std::string("http://") + (random.below(2) == 0 ? "path" : "bad") + ".example" + draw_path(random);
  });
  const auto opened = hosts_by_node(urls, folder.path());
  ASSERT_EQ(opened.size(), urls.size());
  GuardScratch scratch;
  std::uint64_t listed = 0;
  for (std::size_t i = 0; i < urls.size() && !HasFailure(); ++i) {
    const auto form =
        url::canonicalize("http://" + opened[i].alone + opened[i].path, url::UrlRules::safe_browsing).value();
    const bool is_listed =
        form.host() == "path.example" ? is_path_below(form.path(), "/foo") : !is_path_below(form.path(), "/ok");
    listed += is_listed ? 1 : 0;
    EXPECT_TRUE(!is_listed || guard.check(urls[i], scratch).answer == Answer::blocked)
        << json(urls[i]) << "leads to " << opened[i].path;
  }
  EXPECT_GT(listed, urls.size() / 4);
}

TEST(Browsers, no_url_that_leads_to_a_listed_host_is_ok) {
  constexpr std::size_t kBatch = 50'000;
  if (!has_node()) {
    GTEST_SKIP() << "SKIPPED: there is no node. tools/install_dependencies.sh test installs it.";
  }
  const char* const asked = std::getenv("MANKAI_URLS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::size_t count = asked == nullptr ? 2 * kBatch : std::strtoull(asked, nullptr, 10);
  const test::TemporaryFolder folder;
  Urls source(20'261'122);
  Comparison comparison;
  for (std::size_t done = 0; done < count; done += kBatch) {
    Texts urls(std::min(kBatch, count - done));
    std::ranges::generate(urls, [&] { return source.draw(); });
    const auto hosts = hosts_by_node(urls, folder.path());
    ASSERT_EQ(hosts.size(), urls.size());
    for (std::size_t i = 0; i < urls.size() && !HasFailure(); ++i) {
      comparison.check(urls[i], hosts[i]);
    }
  }
  comparison.report();
}

}  // namespace
}  // namespace mankai
