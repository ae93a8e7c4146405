#include "apps/mankai/serve/request_head.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <ranges>

#include "mankai/base/ascii.hpp"
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
std::size_t scheme_bytes(std::string_view url) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view begin = url.substr(0, scheme.size());
    if (std::ranges::equal(begin, scheme, {}, lower)) {
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

// Characters that all browsers interpret equally in a host; DNS names are not longer.
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

// Whether every reading of `url` is a reading of `checked`.
bool has_readings_of(std::string_view url, std::string_view checked) {
  url::UrlReadings readings;
  url::UrlReadings checked_readings;
  readings.read(url);
  checked_readings.read(checked);
  return std::ranges::all_of(readings.all(), [&](const url::CanonicalUrl& reading) {
    return std::ranges::find(checked_readings.all(), reading) != checked_readings.all().end();
  });
}

std::string_view whole_target_of(std::string_view request_line) noexcept {
  const std::size_t begin = request_line.find(' ') + 1;
  return request_line.substr(begin, request_line.rfind(' ') - begin);
}

// Of a target in absolute form; empty for others.
std::string_view authority_of(std::string_view target) noexcept {
  const std::size_t scheme = scheme_bytes(target);
  return target.substr(scheme, scheme == 0 ? 0 : target.find_first_of("/?#", scheme) - scheme);
}

constexpr std::string_view kLineEnd = "\r\n";
// Of a host (RFC 3986), without the comma, which joins two of them.
constexpr std::string_view kHostCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+;=";
constexpr std::string_view kAddressCharacters = "0123456789abcdefABCDEF:.";

bool has_only(std::string_view text, std::string_view characters) noexcept {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

// Host and port, or empty.
bool is_authority(std::string_view text) noexcept {
  const bool is_address = text.starts_with('[');
  const std::size_t end = std::min(text.find(is_address ? ']' : ':'), text.size());
  const std::string_view host = text.substr(is_address ? 1 : 0, is_address ? end - 1 : end);
  std::string_view port = text.substr(end);
  if (is_address) {
    if (host.empty() || port.empty()) {
      return false;
    }
    port.remove_prefix(1);
  }
  return has_only(host, is_address ? kAddressCharacters : kHostCharacters) &&
         (port.empty() || (port[0] == ':' && has_only(port.substr(1), "0123456789")));
}

bool has_wrong_authority(std::string_view target) noexcept {
  const std::string_view authority = authority_of(target);
  return scheme_bytes(target) != 0 && (authority.empty() || !is_authority(authority));
}

constexpr Refusal kMalformed{400, "the request's head is malformed"};
constexpr Refusal kNotEncoded{400, "the URL has a second '?': percent-encode the value of url="};
constexpr Refusal kHostMissing{400, "HTTP/1.1 requires a Host header, which may be empty"};
constexpr Refusal kHosts{400, "a request may have one Host header, with a host and an optional port or empty"};
constexpr Refusal kLengths{400, "the length of the body is malformed or given twice"};
constexpr Refusal kLengthMissing{411, "a body needs a Content-Length; chunked bodies are not supported"};
constexpr Refusal kBodyTooLong{413, "a body may have at most 1 MiB; send several requests"};
constexpr Refusal kLineTooLong{414, "the request line may have at most 8192 bytes; send the URL by POST /check"};
constexpr Refusal kHeadTooLong{431, "the head may have at most 16384 bytes"};

constexpr Refusal kUnknownMethod{501, "the method is not one of HTTP"};
constexpr Refusal kWrongVersion{505, "the versions HTTP/1.1 and HTTP/1.0 are supported"};

// Other methods get status 501; most of these get 405 from the endpoint.
constexpr std::array<std::string_view, 9> kMethods = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                                      "CONNECT", "OPTIONS", "TRACE", "PATCH"};

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool is_token(std::string_view text) noexcept {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char byte) {
    return is_letter(byte) || is_digit(byte) || kMarks.contains(byte);
  });
}

std::string_view trimmed(std::string_view text) noexcept {
  return mankai::trimmed(text, [](char byte) { return byte == ' ' || byte == '\t'; });
}

// Parses the parameters of a media type, such as ";q=0.5". An invalid number counts as 0.
double quality(std::string_view parameters) {
  for (const auto part : std::views::split(parameters, ';')) {
    const std::string_view parameter = trimmed(std::string_view(part));
    if (lowered(parameter.substr(0, 2)) != "q=") {
      continue;
    }
    const std::string_view number = parameter.substr(2);
    double value = 0;
    const auto parsed = std::from_chars(number.begin(), number.end(), value, std::chars_format::fixed);
    return parsed.ec == std::errc() && parsed.ptr == number.end() && value >= 0 ? std::min(value, 1.0) : 0;
  }
  return 1;
}

// Header values may contain tabs, but no other control characters.
bool has_control(std::string_view line) noexcept {
  constexpr char kDelete = 0x7f;
  return std::ranges::any_of(line,
                             [](char byte) { return (byte >= 0 && byte < ' ' && byte != '\t') || byte == kDelete; });
}

class HeadReader {
 public:
  std::expected<RequestHead, Refusal> read(std::string_view lines) {
    const std::string_view first = next_line(lines);
    if (auto refusal = take_request_line(first)) {
      return std::unexpected(*refusal);
    }
    while (!lines.empty()) {
      if (auto refusal = take_header(next_line(lines))) {
        return std::unexpected(*refusal);
      }
    }
    if (!has_length_ && head_.request_line.starts_with("POST ")) {
      return std::unexpected(kLengthMissing);
    }
    if (!has_host_ && head_.request_line.ends_with(" HTTP/1.1")) {
      return std::unexpected(kHostMissing);
    }
    return std::move(head_);
  }

 private:
  static std::string_view next_line(std::string_view& lines) {
    const std::string_view line = lines.substr(0, lines.find(kLineEnd));
    lines.remove_prefix(std::min(lines.size(), line.size() + kLineEnd.size()));
    return line;
  }

  std::optional<Refusal> take_request_line(std::string_view line) {
    if (line.size() + kLineEnd.size() > kRequestLineBytesMax) {
      return kLineTooLong;
    }
    if (has_control(line) || std::ranges::count(line, ' ') != 2 || line.contains("  ") ||
        has_wrong_authority(whole_target_of(line))) {
      return kMalformed;
    }
    if (std::ranges::count(line, '?') > 1) {
      return kNotEncoded;
    }
    if (!line.ends_with(" HTTP/1.1") && !line.ends_with(" HTTP/1.0")) {
      return kWrongVersion;
    }
    if (std::ranges::find(kMethods, line.substr(0, line.find(' '))) == kMethods.end()) {
      return kUnknownMethod;
    }
    head_.closes = line.ends_with(" HTTP/1.0");
    head_.request_line = line;
    return std::nullopt;
  }

  std::optional<Refusal> take_header(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (has_control(line) || colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
      return kMalformed;
    }
    const std::string name = lowered(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "content-length") {
      return take_length(value);
    }
    if (name == "transfer-encoding") {
      return kLengthMissing;
    }
    if (name == "host") {
      return take_host(value);
    }
    if (name == "connection") {
      head_.closes = head_.closes || lowered(value).contains("close");
    } else if (name == "expect") {
      head_.awaits_continue = lowered(value) == "100-continue";
    } else if (std::string* kept = kept_value(name); kept != nullptr && kept->empty()) {
      *kept = value;
    }
    return std::nullopt;
  }

  std::string* kept_value(std::string_view name) {
    return name == "accept"             ? &head_.accept
           : name == "content-type"     ? &head_.content_type
           : name == "content-encoding" ? &head_.content_encoding
                                        : nullptr;
  }

  // The host has no effect, but a proxy in front may have chosen a service by it (RFC 9112, 3.2).
  std::optional<Refusal> take_host(std::string_view value) {
    const bool is_valid = !has_host_ && is_authority(value);
    has_host_ = true;
    return is_valid ? std::nullopt : std::optional(kHosts);
  }

  std::optional<Refusal> take_length(std::string_view value) {
    std::size_t length = 0;
    const auto parsed = std::from_chars(value.begin(), value.end(), length);
    if (has_length_ || parsed.ptr != value.end() || parsed.ec == std::errc::invalid_argument) {
      return kLengths;
    }
    has_length_ = true;
    if (parsed.ec == std::errc::result_out_of_range || length > kBodyBytesMax) {
      return kBodyTooLong;
    }
    head_.body_bytes = length;
    return std::nullopt;
  }

  RequestHead head_;
  bool has_host_ = false;
  bool has_length_ = false;
};

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
      return fail(ErrorCode::invalid_argument, "unexpected parameter besides " + std::string(name) +
                                                   "=; if it is part of the URL, percent-encode the URL");
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
    return fail(ErrorCode::invalid_argument, "The address contains spaces or control characters.");
  }
  const std::size_t authority_end = std::min(url.find_first_of("/?#", scheme), url.size());
  const std::string_view authority = url.substr(scheme, authority_end - scheme);
  if (authority.find_first_of("@\\") != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument,
                "The address has a user name or a backslash before its path, which can hide where the link leads.");
  }
  url::BrowserUrl opened;
  if (!url::parse_browser_url(url, url::Deviations::kept, opened) || !is_plain_host(opened.host())) {
    return fail(ErrorCode::invalid_argument, "The address has no host that a browser can open.");
  }
  std::string location(opened.scheme());
  location.append("://").append(opened.authority()).append(encoded(opened.path_and_query()));
  location += encoded(url.substr(std::min(url.find('#'), url.size())));
  if (!has_readings_of(location, url)) {
    return fail(ErrorCode::invalid_argument, "The address is ambiguous: programs read it in different ways.");
  }
  return location;
}

std::string_view RequestHead::method() const noexcept {
  return std::string_view(request_line).substr(0, request_line.find(' '));
}

std::string_view target_of(std::string_view request_line) noexcept {
  const std::string_view target = whole_target_of(request_line);
  return target.substr(scheme_bytes(target) + authority_of(target).size());
}

std::string_view RequestHead::target() const noexcept { return target_of(request_line); }

std::string_view RequestHead::path() const noexcept { return target().substr(0, target().find_first_of("?#")); }

std::expected<std::optional<RequestHead>, Refusal> read_head(std::string_view bytes) {
  constexpr std::string_view kHeadEnd = "\r\n\r\n";
  const std::size_t end = bytes.substr(0, kHeadBytesMax).find(kHeadEnd);
  if (end == std::string_view::npos) {
    const std::size_t line_end = bytes.substr(0, kRequestLineBytesMax).find(kLineEnd);
    if (line_end == std::string_view::npos && bytes.size() >= kRequestLineBytesMax) {
      return std::unexpected(kLineTooLong);
    }
    if (bytes.size() >= kHeadBytesMax) {
      return std::unexpected(kHeadTooLong);
    }
    return std::nullopt;
  }
  auto head = HeadReader().read(bytes.substr(0, end));
  if (!head) {
    return std::unexpected(head.error());
  }
  head->bytes = end + kHeadEnd.size();
  return std::optional<RequestHead>(std::move(*head));
}

double wanted(std::string_view accept, std::string_view type) {
  double most = 0;
  for (const auto part : std::views::split(accept, ',')) {
    const std::string_view element(part);
    const std::string_view name = element.substr(0, element.find(';'));
    if (lowered(trimmed(name)) == type) {
      most = std::max(most, quality(element.substr(name.size())));
    }
  }
  return most;
}

}  // namespace mankai::command::serve
