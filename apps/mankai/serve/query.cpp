#include "apps/mankai/serve/query.hpp"

#include <algorithm>
#include <optional>
#include <ranges>

#include "mankai/url/browser_url.hpp"
#include "mankai/url/readings.hpp"

namespace mankai::command::serve {
namespace {

constexpr char kFirstPrintable = 0x21;
constexpr char kLastPrintable = 0x7e;
constexpr unsigned kDigitBits = 4;

std::optional<unsigned> digit_of(char byte) noexcept {
  constexpr unsigned kTen = 10;
  if (byte >= '0' && byte <= '9') {
    return static_cast<unsigned>(byte - '0');
  }
  const char letter = static_cast<char>(static_cast<unsigned char>(byte) | 0x20U);
  return letter >= 'a' && letter <= 'f' ? std::optional(static_cast<unsigned>(letter - 'a') + kTen) : std::nullopt;
}

std::string decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? digit_of(text[i + 1]) : std::nullopt;
    const auto low = high ? digit_of(text[i + 2]) : std::nullopt;
    if (low) {
      out += static_cast<char>((*high << kDigitBits) | *low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// Returns the length of "http://" or "https://", in any case, or 0.
std::size_t scheme_bytes(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view begin = url.substr(0, scheme.size());
    const bool is_it = std::ranges::equal(begin, scheme, [](char found, char wanted) {
      return (found >= 'A' && found <= 'Z' ? static_cast<char>(found + ('a' - 'A')) : found) == wanted;
    });
    if (is_it) {
      return scheme.size();
    }
  }
  return 0;
}

std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr unsigned kDigitMask = 0xf;
  constexpr std::string_view kUnsafe = "\"<>\\^`{|}";
  std::string out;
  for (const char byte : text) {
    if (byte < kFirstPrintable || byte > kLastPrintable || kUnsafe.contains(byte)) {
      const auto value = static_cast<unsigned char>(byte);
      out += {'%', kDigits[value >> kDigitBits], kDigits[value & kDigitMask]};
    } else {
      out += byte;
    }
  }
  return out;
}

// What every browser reads as a name or an address. DNS names are not longer.
bool is_plain_host(std::string_view host) {
  constexpr std::size_t kLongestName = 253;
  return host.size() <= kLongestName && std::ranges::all_of(host, [](char byte) {
           return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                  std::string_view("-._:[]").contains(byte);
         });
}

bool has_blank_or_control(std::string_view url) {
  return std::ranges::any_of(url,
                             [](char byte) { return (byte >= 0 && byte < kFirstPrintable) || byte > kLastPrintable; });
}

// Whether every reading of one URL is one of the other, which was checked.
bool has_readings_of(std::string_view url, std::string_view checked) {
  url::UrlReadings readings;
  url::UrlReadings checked_readings;
  readings.read(url);
  checked_readings.read(checked);
  return std::ranges::all_of(readings.all(), [&](const url::CanonicalUrl& reading) {
    return std::ranges::find(checked_readings.all(), reading) != checked_readings.all().end();
  });
}

}  // namespace

Result<std::string> query_value(std::string_view target, std::string_view name, OtherParameters others) {
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  const std::string_view query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  std::optional<std::string_view> value;
  for (const auto part : std::views::split(query, '&')) {
    const std::string_view pair(part);
    const bool is_it = pair.substr(0, pair.find('=')) == name;
    if (!is_it && others == OtherParameters::refused) {
      return fail(ErrorCode::invalid_argument, "there is another parameter than " + std::string(name) +
                                                   "=: where it belongs to the URL, percent-encode the URL");
    }
    if (is_it && value) {
      return fail(ErrorCode::invalid_argument, std::string(name) + "= is given twice: percent-encode its value");
    }
    if (is_it) {
      value = pair.substr(std::min(pair.size(), name.size() + 1));
    }
  }
  if (!value || value->empty()) {
    return fail(ErrorCode::invalid_argument,
                std::string(name) + "= is missing, with a percent-encoded URL as its value");
  }
  return decoded(*value);
}

Result<std::string> redirect_location(std::string_view url) {
  const std::size_t scheme = scheme_bytes(url);
  if (scheme == 0) {
    return fail(ErrorCode::invalid_argument, "Only addresses that begin with http:// or https:// are followed.");
  }
  if (has_blank_or_control(url)) {
    return fail(ErrorCode::invalid_argument, "The address has blanks or control characters in it.");
  }
  const std::size_t authority_end = std::min(url.find_first_of("/?#", scheme), url.size());
  const std::string_view authority = url.substr(scheme, authority_end - scheme);
  if (authority.find_first_of("@\\") != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument,
                "The address has a user name or a backslash in front of its path, which hides where it leads.");
  }
  url::BrowserUrl opened;
  if (!url::parse_browser_url(url, url::Deviations::kept, opened) || !is_plain_host(opened.host())) {
    return fail(ErrorCode::invalid_argument, "The address names no host that can be visited.");
  }
  std::string location(opened.scheme());
  location.append("://").append(opened.authority()).append(encoded(opened.path_and_query()));
  location += encoded(url.substr(std::min(url.find('#'), url.size())));
  if (!has_readings_of(location, url)) {
    return fail(ErrorCode::invalid_argument, "The address can be read in two ways.");
  }
  return location;
}

}  // namespace mankai::command::serve
