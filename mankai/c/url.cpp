#include <vector>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/errors.hpp"
#include "mankai/c/mankai.h"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"
#include "mankai/url/public_suffixes.hpp"

namespace mankai::c {
namespace {

static_assert(MANKAI_URL_SAFE_BROWSING == url::kSafeBrowsingVersion);
static_assert(MANKAI_URL_KEYS == url::kCanonicalVersion);

Result<url::UrlRules> url_rules_of(std::uint32_t asked) {
  const auto rules = url::url_rules(asked == MANKAI_URL_DEFAULT ? url::kCanonicalVersion : asked);
  if (!rules) {
    return fail(ErrorCode::invalid_argument, "there are no URL rules " + std::to_string(asked));
  }
  return *rules;
}

// Of each thread, to reuse memory.
url::CanonicalUrl& scratch_url() noexcept {
  thread_local url::CanonicalUrl url;
  return url;
}

mankai_url_parts parts_of(const url::CanonicalUrl& url) noexcept {
  const auto offset = [&url](std::string_view part) {
    return static_cast<std::size_t>(part.data() - url.text().data());
  };
  return {.size = sizeof(mankai_url_parts),
          .scheme_end = url.scheme().size(),
          .host_begin = offset(url.host()),
          .host_end = offset(url.host()) + url.host().size(),
          .authority_end = offset(url.path()),
          .path_end = offset(url.path()) + url.path().size(),
          .is_ip = url.is_ip()};
}

// `append(url, ladder, texts)` appends views into the URL.
template <class Ladder, class Append>
int write_ladder(const void* raw, std::size_t bytes, std::uint32_t rules, std::uint32_t ladder, Ladder last,
                 mankai_texts** texts, const char* argument, const Append& append) noexcept {
  return guarded([&]() -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(raw, bytes));
    MANKAI_ASSIGN(const auto known, url_rules_of(rules));
    MANKAI_TRY(check_given(static_cast<const void*>(texts), argument));
    if (ladder > static_cast<std::uint32_t>(last)) {
      return fail(ErrorCode::invalid_argument, "there is no ladder " + std::to_string(ladder));
    }
    auto& url = scratch_url();
    MANKAI_TRY(url::canonicalize(view, url, known));
    std::vector<std::string_view> steps;
    append(url, static_cast<Ladder>(ladder), steps);
    *texts = texts_for_caller(steps);
    return {};
  });
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

uint32_t mankai_url_version() { return url::kCanonicalVersion; }

int mankai_url_canonicalize(const void* raw, size_t bytes, uint32_t rules, char* text, size_t room, size_t* needed,
                            mankai_url_parts* parts) {
  return guarded([&]() -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(raw, bytes));
    MANKAI_ASSIGN(const auto known, url_rules_of(rules));
    MANKAI_TRY(check_array(text, room, "text"));
    MANKAI_TRY(check_given(needed, "needed"));
    auto& url = scratch_url();
    MANKAI_TRY(url::canonicalize(view, url, known));
    if (parts != nullptr) {
      MANKAI_TRY(write_sized(parts_of(url), parts, "parts"));
    }
    *needed = url.text().size();
    write_text(url.text(), text, room);
    return {};
  });
}

int mankai_url_canonicalize_packed(const mankai_packed* raw, uint32_t rules, mankai_texts** canonical) {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(canonical), "canonical"));
    MANKAI_ASSIGN(const auto known, url_rules_of(rules));
    MANKAI_ASSIGN(const auto keys, KeySource(raw).checked());
    std::string data;
    std::vector<std::size_t> ends(keys.size());
    auto& url = scratch_url();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::string_view view;
      if (keys.read(i, 1, &view) == 1 && url::canonicalize(view, url, known)) {
        data += url.text();
      }
      ends[i] = data.size();
    }
    *canonical = texts_for_caller(data, ends);
    return {};
  });
}

int mankai_url_registrable_domain(const void* host, size_t bytes, size_t* begin) {
  return guarded([&]() -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(host, bytes));
    MANKAI_TRY(check_given(begin, "begin"));
    *begin = bytes - url::PublicSuffixes::builtin().registrable_domain(view).size();
    return {};
  });
}

int mankai_url_hosts(const void* raw, size_t bytes, uint32_t rules, uint32_t ladder, mankai_texts** hosts) {
  return write_ladder(raw, bytes, rules, ladder, url::HostLadder::uncapped, hosts, "hosts",
                      [](const auto& url, auto kind, auto& steps) { url::append_hosts(url, kind, steps); });
}

int mankai_url_paths(const void* raw, size_t bytes, uint32_t rules, uint32_t ladder, mankai_texts** paths) {
  return write_ladder(raw, bytes, rules, ladder, url::PathLadder::uncapped, paths, "paths",
                      [](const auto& url, auto kind, auto& steps) { url::append_paths(url, kind, steps); });
}
