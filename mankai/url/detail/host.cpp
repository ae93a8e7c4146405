#include "mankai/url/detail/canonicalizer.hpp"

#include <arpa/inet.h>
#include <idn2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "mankai/url/detail/bytes.hpp"

namespace mankai::url {
namespace {

constexpr std::size_t kIpv4Bytes = 4;
constexpr std::size_t kIpv6Bytes = 16;

// Moves the bytes of a host together so that there are only single dots, between labels; returns the new end.
char* join_labels(char* begin, char* end) noexcept {
  char* out = begin;
  for (const char* in = begin; in != end; ++in) {
    if (*in != '.' || (out != begin && out[-1] != '.')) {
      *out++ = *in;
    }
  }
  return out != begin && out[-1] == '.' ? out - 1 : out;
}

// Returns where the last ":port" may begin, or npos; ignores the colons of an IPv6 address.
std::size_t find_port(std::string_view host) noexcept {
  if (host.empty() || host.front() != '[') {
    return host.rfind(':');
  }
  const std::size_t bracket = host.rfind(']');
  const bool is_followed = bracket != std::string_view::npos && host.substr(bracket + 1).starts_with(':');
  return is_followed ? bracket + 1 : std::string_view::npos;
}

// Removes a trailing ":port"; an empty one (":") means no port.
bool strip_port(std::string_view& host, std::optional<std::uint16_t>& port) noexcept {
  const std::size_t colon = find_port(host);
  if (colon == std::string_view::npos) {
    return false;
  }
  const std::string_view digits = host.substr(colon + 1);
  const auto value = parse_port(digits);
  if (!value) {
    return false;
  }
  port = digits.empty() ? std::nullopt : std::optional(static_cast<std::uint16_t>(*value));
  host = host.substr(0, colon);
  return true;
}

// Windows reads a dotted quad followed by a space and anything as the address, up to 15 bytes in all.
std::string_view without_space_and_rest(std::string_view host) noexcept {
  constexpr std::size_t kLongestQuad = 15;
  const std::size_t space = host.find(' ');
  if (host.size() > kLongestQuad || space == std::string_view::npos) {
    return host;
  }
  const std::string_view quad = host.substr(0, space);
  const bool is_quad = std::all_of(quad.begin(), quad.end(), [](char c) { return is_digit(c) || c == '.'; }) &&
                       std::count(quad.begin(), quad.end(), '.') == kIpv4Bytes - 1;
  return is_quad ? quad : host;
}

// Reads one to four numbers. As in inet_aton, the last one fills the remaining bytes; larger values are truncated, as
// in Safe Browsing's own test vectors ("276.2.3" is 20.2.0.3).
std::optional<std::array<std::uint8_t, kIpv4Bytes>> parse_ipv4(std::string_view host) noexcept {
  host = without_space_and_rest(host);
  std::array<std::uint8_t, kIpv4Bytes> address{};
  std::size_t filled = 0;
  while (filled < kIpv4Bytes) {
    const std::size_t dot = host.find('.');
    const auto number = parse_ipv4_part(host.substr(0, dot));
    if (!number || *number > UINT32_MAX) {
      return std::nullopt;
    }
    if (dot == std::string_view::npos) {
      std::uint64_t rest = *number;
      for (std::size_t i = kIpv4Bytes; i-- > filled; rest >>= 8U) {
        address[i] = static_cast<std::uint8_t>(rest);
      }
      return address;
    }
    address[filled++] = static_cast<std::uint8_t>(*number);
    host.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

void append_ipv4(std::span<const std::uint8_t> address, std::string& text) {
  std::array<char, INET_ADDRSTRLEN> buffer{};
  ::inet_ntop(AF_INET, address.data(), buffer.data(), buffer.size());
  text.append(buffer.data());
}

// Reads "[...]". Zones ("%eth0") are refused: they have no meaning in a URL.
std::optional<std::array<std::uint8_t, kIpv6Bytes>> parse_ipv6(std::string_view host) noexcept {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (host.size() < 2 || host.front() != '[' || host.back() != ']' || host.size() - 2 >= text.size()) {
    return std::nullopt;
  }
  const std::string_view inner = host.substr(1, host.size() - 2);
  if (inner.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  inner.copy(text.data(), inner.size());
  std::array<std::uint8_t, kIpv6Bytes> address{};
  const bool is_address = ::inet_pton(AF_INET6, text.data(), address.data()) == 1;
  return is_address ? std::optional(address) : std::nullopt;
}

// Appends the shortest form [RFC5952], or the IPv4 form if mapped ([RFC4291] §2.5.5.2) or NAT64 ([RFC6052] §2.1).
void append_ipv6(std::span<const std::uint8_t, kIpv6Bytes> address, std::string& text) {
  constexpr std::array<std::uint8_t, kIpv6Bytes - kIpv4Bytes> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, kIpv6Bytes - kIpv4Bytes> kNat64 = {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
  const auto prefix = address.first<kMapped.size()>();
  if (std::ranges::equal(prefix, kMapped) || std::ranges::equal(prefix, kNat64)) {
    append_ipv4(address.last(kIpv4Bytes), text);
    return;
  }
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  ::inet_ntop(AF_INET6, address.data(), buffer.data(), buffer.size());
  text.append(1, '[').append(buffer.data()).append(1, ']');
}

// Bytes that would change the meaning when the URL is read again: IDN maps their wide forms to them.
bool is_delimiter(char byte) noexcept { return !is_plain(byte) || std::strchr("/?@:[]", byte) != nullptr; }

// Returns punycode by UTS 46, not transitional ("ß" stays). Empty if IDN refuses the name or it changes the structure.
std::string to_punycode(std::string_view host) {
  // Longer than any name, even if punycode takes one byte for four. Bounds the cost of hostile names.
  constexpr std::size_t kLongestName = 1024;
  if (host.size() > kLongestName || host.find('\0') != std::string_view::npos) {
    return {};
  }
  struct Free {
    void operator()(void* memory) const noexcept { ::idn2_free(memory); }
  };
  const std::string name(host);
  std::uint8_t* found = nullptr;
  const int status = ::idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(name.c_str()), &found,
                                      IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  const std::unique_ptr<std::uint8_t, Free> owner(found);
  if (status != IDN2_OK) {
    return {};
  }
  std::string ascii(reinterpret_cast<const char*>(found));
  if (std::any_of(ascii.begin(), ascii.end(), is_delimiter)) {
    return {};
  }
  std::transform(ascii.begin(), ascii.end(), ascii.begin(), lower);
  // Ideographic full stops have become dots.
  ascii.resize(static_cast<std::size_t>(join_labels(ascii.data(), ascii.data() + ascii.size()) - ascii.data()));
  return ascii;
}

bool append_ascii_host(std::string_view host, UrlRules rules, std::string& text) {
  if (const auto address = parse_ipv6(host)) {
    append_ipv6(*address, text);
    return true;
  }
  if (const auto address = parse_ipv4(host)) {
    append_ipv4(*address, text);
    return true;
  }
  append_escaped(host, rules, text);
  return false;
}

}  // namespace

Authority split_authority(char* begin, char* end) noexcept {
  begin = std::find(std::reverse_iterator(end), std::reverse_iterator(begin), '@').base();
  std::transform(begin, end, begin, lower);
  end = join_labels(begin, end);
  Authority authority{.host = {begin, static_cast<std::size_t>(end - begin)}, .port = {}};
  // Removing a port may leave a trailing dot and vice versa ("a:80."). Both are removed until neither is left, so that
  // canonicalizing twice changes nothing. Each step reads only the removed bytes, since a host may consist of ports.
  while (strip_port(authority.host, authority.port)) {
    authority.host.remove_suffix(authority.host.ends_with('.') ? 1 : 0);
  }
  return authority;
}

bool append_host(std::string_view host, UrlRules rules, std::string& text) {
  const std::string ascii = std::ranges::all_of(host, is_ascii) ? std::string() : to_punycode(host);
  return append_ascii_host(ascii.empty() ? host : ascii, rules, text);
}

}  // namespace mankai::url
