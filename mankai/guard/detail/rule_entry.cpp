#include "mankai/guard/detail/rule_entry.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "mankai/base/ascii.hpp"
#include "mankai/url/browser_url.hpp"

namespace mankai::detail {
namespace {

// Addresses of sinkholes in hosts files.
constexpr std::array<std::string_view, 6> kNowhere = {"0.0.0.0", "127.0.0.1", "::", "::1", "0", "::0"};

constexpr bool is_hex(char byte) noexcept { return is_digit(byte) || (lower(byte) >= 'a' && lower(byte) <= 'f'); }

// Bytes of names in use, whether the DNS allows them or not.
constexpr bool is_host_byte(char byte) noexcept {
  return is_letter(byte) || is_digit(byte) || byte == '.' || byte == '-' || byte == '_' || !is_ascii(byte);
}

constexpr bool is_small_letter(char byte) noexcept { return byte >= 'a' && byte <= 'z'; }

constexpr auto kIsLabelByte = [] {
  std::array<bool, 256> is{};
  for (const char byte : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789-_")) {
    is[static_cast<unsigned char>(byte)] = true;
  }
  return is;
}();

constexpr RuleEntry skip(RuleSkip reason) noexcept { return {.skipped = reason}; }

// "*.ads.example" and ".ads.example" -> "ads.example".
std::string_view without_star(std::string_view text, bool& is_widened) noexcept {
  is_widened = text.starts_with("*.");
  text.remove_prefix(is_widened ? 2 : 0);
  text.remove_prefix(text.starts_with('.') ? 1 : 0);
  return text;
}

// Returns where the authority begins: after "scheme://" or "//".
std::size_t authority_begin(std::string_view text) noexcept {
  if (text.starts_with("//")) {
    return 2;
  }
  const std::size_t colon = text.find("://");
  const auto is_scheme_byte = [](char byte) {
    return is_letter(byte) || is_digit(byte) || byte == '+' || byte == '-' || byte == '.';
  };
  if (colon == std::string_view::npos || colon == 0 || !std::ranges::all_of(text.substr(0, colon), is_scheme_byte)) {
    return 0;
  }
  return colon + 3;
}

std::string_view host_of(std::string_view authority) noexcept {
  const std::size_t at = authority.rfind('@');
  authority.remove_prefix(at == std::string_view::npos ? 0 : at + 1);
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && std::ranges::all_of(authority.substr(colon + 1), is_digit)) {
    authority = authority.substr(0, colon);
  }
  return authority;
}

// May be wrong for escaped hosts: an escape may be a dot. Dots at both ends of a host do not separate labels.
bool may_be_single_label(std::string_view host) noexcept {
  const std::size_t first = host.find_first_not_of('.');
  const std::size_t dot = host.find('.', std::min(first, host.size()));
  return !host.starts_with('[') &&
         (dot == std::string_view::npos || host.find_first_not_of('.', dot) == std::string_view::npos);
}

bool is_address_in_brackets(std::string_view host) noexcept {
  return host.starts_with('[') && host.ends_with(']') && looks_like_address(host.substr(1, host.size() - 2));
}

bool is_prefix_length(std::string_view text, int longest) noexcept {
  constexpr std::size_t kDigitsMax = 3;
  if (text.empty() || text.size() > kDigitsMax || !std::ranges::all_of(text, is_digit)) {
    return false;
  }
  int length = 0;
  for (const char digit : text) {
    length = 10 * length + (digit - '0');
  }
  return length <= longest;
}

// "192.0.2.0/24", "2001:db8::/32", "192.0.2.1-192.0.2.9".
bool is_network(std::string_view text) noexcept {
  constexpr int kIpv4Bits = 32;
  constexpr int kIpv6Bits = 128;
  const auto* const end = std::ranges::find_if(text, [](char byte) { return byte == '/' || byte == '-'; });
  const std::string_view first(text.begin(), end);
  if (end == text.end() || !looks_like_address(first)) {
    return false;
  }
  const std::string_view rest(end + 1, text.end());
  return *end == '-' ? looks_like_address(rest) : is_prefix_length(rest, first.contains(':') ? kIpv6Bits : kIpv4Bits);
}

// Reads the addresses that are not a host followed by more text: networks and bare IPv6 addresses.
std::optional<RuleEntry> read_address(std::string_view text) noexcept {
  // Fast path: the first byte excludes most lines.
  if (text.empty() || !(is_hex(text.front()) || text.front() == ':')) {
    return std::nullopt;
  }
  if (is_network(std::string_view(text.begin(), std::ranges::find_if(text, is_blank)))) {
    return skip(RuleSkip::network);
  }
  return is_bare_ipv6(text) ? std::optional(RuleEntry{.text = text}) : std::nullopt;
}

// Whether all programs agree on the host: of letters, digits, '-' and '_', and the last label begins with no digit.
bool has_one_host(std::string_view text) noexcept {
  const std::string_view rest = text.substr(authority_begin(text));
  const std::string_view host = rest.substr(0, rest.find_first_of("/?"));
  const std::size_t last = host.find_last_not_of('.');
  const std::size_t dot = host.substr(0, last).rfind('.');
  const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
  return last != std::string_view::npos && !is_digit(host[begin]) &&
         std::ranges::all_of(host, [](char byte) { return is_host_byte(byte) && is_ascii(byte); });
}

}  // namespace

bool is_bare_ipv6(std::string_view text) noexcept {
  return text.contains(':') && !text.contains('%') && looks_like_address(text);
}

std::optional<RuleSkip> check_rule_host(std::string_view host) noexcept {
  if (host.empty()) {
    return RuleSkip::no_host;
  }
  if (host.contains('*')) {
    return RuleSkip::wildcard;
  }
  const bool is_one = std::ranges::all_of(host, [](char byte) { return is_host_byte(byte) || byte == '%'; });
  return is_one || is_address_in_brackets(host) ? std::nullopt : std::optional(RuleSkip::not_a_host);
}

bool ends_with_star(std::string_view path) noexcept {
  path.remove_suffix(path.ends_with('/') ? 1 : 0);
  return path.ends_with("/*");
}

Result<void> canonicalize_rule(std::string_view text, url::CanonicalUrl& url) {
  const std::string in_brackets = is_bare_ipv6(text) ? "[" + std::string(text) + "]" : std::string();
  text = in_brackets.empty() ? text : in_brackets;
  auto done = url::canonicalize(text, url, url::UrlRules::safe_browsing);
  if (has_one_host(text)) {
    return done;
  }
  url::BrowserUrl opened;
  url::CanonicalUrl canonical;
  const bool is_opened = url::parse_browser_url(text, url::Deviations::kept, opened) &&
                         url::canonicalize(opened.text(), canonical, url::UrlRules::safe_browsing);
  if (is_opened && (!done || canonical.host() != url.host())) {
    url = std::move(canonical);
    return {};
  }
  return done;
}

std::string_view trim(std::string_view text) noexcept { return trimmed(text, is_blank); }

std::string_view without_comment(std::string_view line) noexcept {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || is_blank(line[at - 1])) {
      return trim(line.substr(0, at));
    }
  }
  return trim(line);
}

std::string_view next_word(std::string_view& text) noexcept {
  const auto* const end = std::ranges::find_if(text, is_blank);
  const std::string_view word(text.begin(), end);
  text = trim(std::string_view(end, text.end()));
  return word;
}

bool is_same_word(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_nowhere(std::string_view address) noexcept { return std::ranges::find(kNowhere, address) != kNowhere.end(); }

bool is_hosts_line(std::string_view line) noexcept {
  std::string_view rest = without_comment(line);
  const std::string_view address = next_word(rest);
  return !is_comment(rest) && (is_nowhere(address) || looks_like_address(address));
}

bool looks_like_address(std::string_view word) noexcept {
  const std::string_view address = word.substr(0, word.find('%'));
  if (address.contains(':')) {
    const bool is_v6 =
        std::ranges::all_of(address, [&](char byte) { return is_hex(byte) || byte == ':' || byte == '.'; });
    return is_v6 && std::ranges::count(address, ':') >= 2;
  }
  return std::ranges::count(word, '.') == 3 &&
         std::ranges::all_of(word, [](char byte) { return is_digit(byte) || byte == '.'; });
}

bool looks_like_rule(std::string_view text) noexcept {
  if (text.contains("://") || looks_like_address(text)) {
    return true;
  }
  const std::string_view host = text.substr(0, text.find_first_of("/:?"));
  if (looks_like_address(host)) {
    return true;
  }
  const std::size_t dot = host.rfind('.');
  return dot != std::string_view::npos && dot != 0 && std::ranges::all_of(host, is_host_byte) &&
         (is_letter(host.back()) || !is_ascii(host.back()));
}

bool is_plain_name(std::string_view text) noexcept {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == text.size() || !is_small_letter(text[dot + 1])) {
    return false;
  }
  char before = '.';
  return std::ranges::all_of(text, [&before](char byte) {
    return (byte == '.' ? std::exchange(before, byte) != '.' : kIsLabelByte[static_cast<unsigned char>(before = byte)]);
  });
}

RuleEntry read_host(std::string_view text) noexcept {
  if (const auto address = read_address(text)) {
    return *address;
  }
  RuleEntry entry;
  entry.text = without_star(text, entry.is_widened);
  if (entry.text.contains('%')) {
    return skip(RuleSkip::not_a_host);
  }
  if (const auto reason = check_rule_host(entry.text)) {
    return skip(*reason);
  }
  entry.may_be_single_label = may_be_single_label(entry.text);
  return entry;
}

RuleEntry read_url(std::string_view text, Spaces spaces) noexcept {
  RuleEntry entry;
  if (const std::size_t hash = text.find('#'); hash != std::string_view::npos) {
    if (hash + 1 < text.size()) {
      return skip(RuleSkip::fragment);
    }
    text = text.substr(0, hash);
  }
  if (const auto address = read_address(text)) {
    return *address;
  }
  if (spaces == Spaces::refused && std::ranges::any_of(text, is_blank)) {
    return skip(RuleSkip::not_a_host);
  }
  const std::size_t begin = authority_begin(text);
  if (begin == 0) {
    text = without_star(text, entry.is_widened);
  }
  const std::string_view rest = text.substr(begin);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  const std::string_view host = host_of(authority);
  if (const auto reason = check_rule_host(host)) {
    return skip(*reason);
  }
  if (ends_with_star(rest.substr(0, rest.find('?')))) {
    return skip(RuleSkip::wildcard);
  }
  entry.text = text;
  entry.may_have_port = !authority.ends_with(host);
  entry.may_be_single_label = may_be_single_label(host);
  return entry;
}

}  // namespace mankai::detail
