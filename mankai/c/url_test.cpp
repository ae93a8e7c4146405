#include <array>

#include "mankai/c/c_test_support.hpp"

namespace mankai::c {
namespace {

std::vector<std::string> texts_of(mankai_texts* texts) {
  std::vector<std::string> all;
  for (std::size_t i = 0; texts != nullptr && i < texts->count; ++i) {
    all.emplace_back(texts->data + texts->offsets[i],
                     static_cast<std::size_t>(texts->offsets[i + 1] - texts->offsets[i]));
  }
  mankai_free(texts);
  return all;
}

TEST(CUrls, a_form_is_written_if_there_is_room_for_it) {
  constexpr std::string_view kRaw = "HTTP://Www.Example.COM:80/a/../b?q#fragment";
  constexpr std::string_view kForm = "http://www.example.com/b?q";
  std::string text(kForm.size(), '-');
  std::size_t needed = 0;
  mankai_url_parts parts{};
  parts.size = sizeof(parts);
  ASSERT_EQ(mankai_url_canonicalize(kRaw.data(), kRaw.size(), MANKAI_URL_DEFAULT, nullptr, 0, &needed, nullptr),
            MANKAI_OK)
      << mankai_last_error();
  EXPECT_EQ(needed, kForm.size());
  ASSERT_EQ(
      mankai_url_canonicalize(kRaw.data(), kRaw.size(), MANKAI_URL_KEYS, text.data(), needed - 1, &needed, &parts),
      MANKAI_OK);
  EXPECT_EQ(text, std::string(kForm.size(), '-'));
  ASSERT_EQ(
      mankai_url_canonicalize(kRaw.data(), kRaw.size(), MANKAI_URL_KEYS, text.data(), text.size(), &needed, &parts),
      MANKAI_OK);
  EXPECT_EQ(text, kForm);
  EXPECT_EQ(text.substr(0, parts.scheme_end), "http");
  EXPECT_EQ(text.substr(parts.host_begin, parts.host_end - parts.host_begin), "www.example.com");
  EXPECT_EQ(text.substr(parts.authority_end, parts.path_end - parts.authority_end), "/b");
  EXPECT_EQ(text.substr(parts.path_end), "?q");
  EXPECT_FALSE(parts.is_ip);
  EXPECT_EQ(mankai_url_version(), 2U);
}

TEST(CUrls, texts_without_a_host_are_refused) {
  std::size_t needed = 0;
  EXPECT_EQ(mankai_url_canonicalize("mailto:a@b", 10, 0, nullptr, 0, &needed, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_url_canonicalize("a.example", 9, 99, nullptr, 0, &needed, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_url_canonicalize("a.example", 9, 0, nullptr, 1, &needed, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_url_canonicalize("a.example", 9, 0, nullptr, 0, nullptr, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_url_canonicalize(nullptr, 9, 0, nullptr, 0, &needed, nullptr), MANKAI_INVALID_ARGUMENT);
}

TEST(CUrls, packed_forms_are_in_the_order_of_the_urls) {
  const std::string data = "a.exampleB.exampleaboutc.example";
  const std::array<std::int32_t, 6> offsets{0, 9, 18, 23, 23, 32};
  const std::uint8_t validity = 0b0'1111;  // the last is skipped
  mankai_packed packed{};
  packed.size = sizeof(packed);
  packed.data = data.data();
  packed.data_bytes = data.size();
  packed.offsets = offsets.data();
  packed.offset_bytes = sizeof(std::int32_t);
  packed.validity = &validity;
  packed.count = 5;
  mankai_texts* forms = nullptr;
  ASSERT_EQ(mankai_url_canonicalize_packed(&packed, MANKAI_URL_DEFAULT, &forms), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(texts_of(forms),
            (std::vector<std::string>{"http://a.example/", "http://b.example/", "http://about/", "", ""}));
}

TEST(CUrls, a_registrable_domain_is_the_end_of_its_host) {
  const auto begin_of = [](std::string_view host) {
    std::size_t begin = 99;
    EXPECT_EQ(mankai_url_registrable_domain(host.data(), host.size(), &begin), MANKAI_OK) << mankai_last_error();
    return begin;
  };
  EXPECT_EQ(begin_of("a.b.co.uk"), 2U);
  EXPECT_EQ(begin_of("example.com"), 0U);
  EXPECT_EQ(begin_of("co.uk"), 5U);
  EXPECT_EQ(begin_of("192.0.2.1"), 9U);
}

TEST(CUrls, ladders_begin_with_the_url_itself) {
  constexpr std::string_view kUrl = "http://a.b.example.com/1/2?q";
  mankai_texts* texts = nullptr;
  ASSERT_EQ(mankai_url_hosts(kUrl.data(), kUrl.size(), MANKAI_URL_SAFE_BROWSING, MANKAI_HOSTS_ALL, &texts), MANKAI_OK);
  EXPECT_EQ(texts_of(texts), (std::vector<std::string>{"a.b.example.com", "b.example.com", "example.com", "com"}));
  ASSERT_EQ(mankai_url_paths(kUrl.data(), kUrl.size(), MANKAI_URL_SAFE_BROWSING, MANKAI_PATHS_SAFE_BROWSING, &texts),
            MANKAI_OK);
  EXPECT_EQ(texts_of(texts), (std::vector<std::string>{"/1/2?q", "/1/2", "/", "/1/"}));
  EXPECT_EQ(mankai_url_hosts(kUrl.data(), kUrl.size(), 0, 9, &texts), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_url_paths(kUrl.data(), kUrl.size(), 0, 2, &texts), MANKAI_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mankai::c
