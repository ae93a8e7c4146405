#include "mankai/url/browser_url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "mankai/url/detail/bytes.hpp"
#include "mankai/url/detail/canonicalizer.hpp"

namespace mankai::url {
namespace {

// Returns the number of dots if the segment is "." or "..", where each dot may be written "%2e"; 0 for any other.
std::size_t dots_of(std::string_view segment) noexcept {
  constexpr std::size_t kEscapedDot = 3;
  std::size_t dots = 0;
  for (; !segment.empty(); ++dots) {
    const bool is_escaped = segment.starts_with("%2e") || segment.starts_with("%2E");
    if (!is_escaped && segment.front() != '.') {
      return 0;
    }
    segment.remove_prefix(is_escaped ? kEscapedDot : 1);
  }
  return dots <= 2 ? dots : 0;
}

// Resolves "." and ".." in the escaped path, as browsers do: in "/x%2f/../a", ".." removes "x%2f".
void append_path(std::string_view path, std::string& text) {
  const std::size_t root = text.size();
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    const std::size_t dots = dots_of(segment);
    if (dots == 0) {
      text.append(1, '/').append(segment);
      continue;
    }
    if (dots == 2 && text.size() > root) {
      text.resize(text.rfind('/'));
    }
    text += path.empty() ? "/" : "";
  }
}

constexpr std::size_t kIpv4Parts = 4;
constexpr std::size_t kIpv6Bytes = 16;
constexpr unsigned kByteBits = 8;

constexpr bool is_slash(char byte) noexcept { return byte == '/' || byte == '\\'; }

std::unexpected<Error> refused(std::string_view why) { return fail(ErrorCode::invalid_argument, std::string(why)); }

// As in kSchemes, a backslash is a slash, but exactly two slashes must precede the host.
constexpr Scheme kFile = {"file", {}};

const Scheme* find_special(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kSchemes, name, &Scheme::name);
  return found != std::end(kSchemes) ? found : name == kFile.name ? &kFile : nullptr;
}

std::size_t slash_count(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_slash) - text.begin());
}

void clean(std::string_view raw, std::string& input) {
  raw = without_blanks(raw);
  input = raw.substr(0, raw.find('#'));
  std::erase_if(input, is_line_byte);
}

struct Start {
  std::string_view scheme;
  std::string_view rest;
  bool is_special = true;
};

std::optional<Start> find_start(std::string_view input) {
  const std::size_t length = scheme_length(input);
  const std::string_view rest = length == 0 ? input : input.substr(length + 1);
  const std::string_view name = input.substr(0, length);
  std::string lowered(name.substr(0, std::min(name.size(), std::string_view("https").size())));
  std::ranges::transform(lowered, lowered.begin(), lower);
  const Scheme* const special = name.size() == lowered.size() ? find_special(lowered) : nullptr;
  const std::size_t slashes = slash_count(rest);
  if (special == &kFile) {
    return slashes == 2 ? std::optional(Start{.scheme = name, .rest = rest.substr(2)}) : std::nullopt;
  }
  if (special != nullptr) {
    return Start{.scheme = name, .rest = rest.substr(slashes)};
  }
  if (length != 0 && rest.starts_with("//")) {
    return Start{.scheme = name, .rest = rest.substr(2), .is_special = false};
  }
  if (length != 0) {
    return begins_with_port(rest, "/\\?") ? std::optional(Start{.scheme = "http", .rest = input}) : std::nullopt;
  }
  // One slash begins a path; two or more precede a host.
  return slashes == 1 ? std::nullopt : std::optional(Start{.scheme = "http", .rest = input.substr(slashes)});
}

void decode_once(std::string_view text, std::string& decoded) {
  decoded.clear();
  while (!text.empty()) {
    const auto value = escaped_byte(text);
    decoded += value.value_or(text.front());
    text.remove_prefix(value ? kEscapeBytes : 1);
  }
}

// "0x" alone is 0.
std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  return text == "0x" ? 0 : parse_ipv4_part(text);
}

std::string_view without_last_dot(std::string_view host) noexcept {
  host.remove_suffix(host.size() > 1 && host.ends_with('.') ? 1 : 0);
  return host;
}

// Whether a host must be an IPv4 address.
bool ends_in_number(std::string_view host) noexcept {
  host = without_last_dot(host);
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return !last.empty() && is_digit(last.front()) && (std::ranges::all_of(last, is_digit) || parse_number(last));
}

std::optional<std::uint32_t> parse_ipv4(std::string_view host) noexcept {
  host = without_last_dot(host);
  std::uint32_t address = 0;
  for (std::size_t filled = 0; filled < kIpv4Parts; ++filled) {
    const std::size_t dot = host.find('.');
    const auto number = parse_number(host.substr(0, dot));
    const bool is_last = dot == std::string_view::npos;
    const std::size_t bytes = is_last ? kIpv4Parts - filled : 1;
    if (!number || *number >> (kByteBits * bytes) != 0) {
      return std::nullopt;
    }
    if (is_last) {
      return address | static_cast<std::uint32_t>(*number);
    }
    address |= static_cast<std::uint32_t>(*number) << (kByteBits * (kIpv4Parts - 1 - filled));
    host.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

void append_ipv4(std::uint32_t address, std::string& text) {
  for (std::size_t part = kIpv4Parts; part-- > 0;) {
    text += std::to_string(address >> (kByteBits * part) & 0xffU);
    text += part == 0 ? "" : ".";
  }
}

// Returns the first of the longest runs of at least two zeros, which "::" replaces.
std::span<const std::uint16_t> longest_zeros(std::span<const std::uint16_t> pieces) noexcept {
  std::span<const std::uint16_t> longest;
  for (std::size_t begin = 0; begin < pieces.size(); ++begin) {
    const auto rest = pieces.subspan(begin);
    const auto length = static_cast<std::size_t>(
        std::ranges::find_if(rest, [](std::uint16_t piece) { return piece != 0; }) - rest.begin());
    if (length > 1 && length > longest.size()) {
      longest = rest.first(length);
    }
  }
  return longest;
}

// Browsers write all eight pieces in hexadecimal.
bool append_ipv6(std::string_view inner, std::string& text) {
  constexpr int kHexadecimal = 16;
  constexpr std::size_t kPieces = kIpv6Bytes / 2;
  std::array<char, INET6_ADDRSTRLEN> copy{};
  std::array<std::uint8_t, kIpv6Bytes> bytes{};
  if (inner.size() >= copy.size() || inner.contains('\0')) {
    return false;
  }
  inner.copy(copy.data(), inner.size());
  if (::inet_pton(AF_INET6, copy.data(), bytes.data()) != 1) {
    return false;
  }
  std::array<std::uint16_t, kPieces> pieces{};
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces[i] = static_cast<std::uint16_t>(bytes[2 * i] << kByteBits | bytes[2 * i + 1]);
  }
  const auto zeros = longest_zeros(pieces);
  text += '[';
  for (std::size_t i = 0; i < kPieces;) {
    if (!zeros.empty() && &pieces[i] == zeros.data()) {
      text += i == 0 ? "::" : ":";
      i += zeros.size();
      continue;
    }
    std::array<char, 4> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), pieces[i], kHexadecimal).ptr;
    text.append(digits.data(), end);
    text += ++i < kPieces ? ":" : "";
  }
  text += ']';
  return true;
}

// Bytes that no browser accepts in a name. The standard also forbids a blank, but Chromium escapes it.
bool is_forbidden(char byte) noexcept {
  constexpr std::string_view kForbidden = "#%/:<>?@[\\]^|\x7f";
  return static_cast<unsigned char>(byte) < ' ' || !is_ascii(byte) || kForbidden.contains(byte);
}

// Appends the port unless it is the scheme's default. Returns false for an invalid port.
bool append_port(std::string_view digits, const Scheme* scheme, std::string& text) {
  const auto port = parse_port(digits);
  if (port && !digits.empty() && (scheme == nullptr || port != scheme->default_port)) {
    text.append(1, ':').append(std::to_string(*port));
  }
  return port.has_value();
}

}  // namespace

struct BrowserUrlParser {
  BrowserUrl& out;
  Deviations deviations;

  Result<void> parse(std::string_view raw) {
    clean(raw, out.input_);
    out.text_.clear();
    out.has_deviations_ = out.has_capital_sharp_s_ = false;
    const auto start = find_start(out.input_);
    if (!start) {
      return refused("the URL has no host; write it as http://HOST/PATH or HOST/PATH");
    }
    out.text_.append(start->scheme);
    std::ranges::transform(out.text_, out.text_.begin(), lower);
    out.scheme_end_ = out.text_.size();
    const std::size_t size = std::min(start->rest.find_first_of(start->is_special ? "/\\?" : "/?"), start->rest.size());
    out.text_ += "://";
    MANKAI_TRY(append_authority(start->rest.substr(0, size)));
    append_rest(start->rest.substr(size), start->is_special);
    return {};
  }

  void clear() {
    out.text_.clear();
    out.scheme_end_ = out.host_begin_ = out.host_end_ = out.authority_end_ = 0;
    out.has_deviations_ = out.has_capital_sharp_s_ = false;
  }

 private:
  Result<void> append_authority(std::string_view authority) {
    authority.remove_prefix(authority.rfind('@') + 1);
    // A colon inside the brackets of an IPv6 address does not begin a port.
    const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
    const std::size_t colon = std::min(authority.find(':', std::min(bracket, authority.size())), authority.size());
    const Scheme* const scheme = find_special(out.scheme());
    out.host_begin_ = out.text_.size();
    decode_once(authority.substr(0, colon), out.host_);
    if (out.host_.empty() || !append_host()) {
      return refused("no browser opens the URL's host; check the bytes between \"//\" and the path");
    }
    out.host_end_ = out.text_.size();
    const std::string_view port = authority.substr(std::min(colon + 1, authority.size()));
    if (!append_port(port, scheme, out.text_)) {
      return refused("the URL's port is invalid; give a number up to 65535");
    }
    out.authority_end_ = out.text_.size();
    return {};
  }

  bool append_host() {
    const std::string_view bytes = out.host_;
    if (bytes.starts_with('[')) {
      return bytes.ends_with(']') && append_ipv6(bytes.substr(1, bytes.size() - 2), out.text_);
    }
    if (!append_name()) {
      return false;
    }
    const std::string_view name = std::string_view(out.text_).substr(out.host_begin_);
    if (name.empty() || std::ranges::any_of(name, is_forbidden)) {
      return false;
    }
    if (ends_in_number(name)) {
      const auto address = parse_ipv4(name);
      out.text_.resize(out.host_begin_);
      append_ipv4(address.value_or(0), out.text_);
      return address.has_value();
    }
    return true;
  }

  bool append_name() {
    if (std::ranges::all_of(out.host_, is_ascii)) {
      std::ranges::transform(out.host_, std::back_inserter(out.text_), lower);
      return true;
    }
    const Domain domain = append_domain(out.host_, deviations, out.text_);
    out.has_deviations_ = domain.has_deviations;
    out.has_capital_sharp_s_ = domain.has_capital_sharp_s;
    if (domain.is_text && std::string_view(out.text_).substr(out.host_begin_).contains('%')) {
      decode_once(out.text_.substr(out.host_begin_), out.host_);
      out.text_.replace(out.host_begin_, std::string::npos, out.host_);
      std::transform(out.text_.begin(), out.text_.end(), out.text_.begin(), lower);
    }
    return domain.is_text;
  }

  void append_rest(std::string_view rest, bool is_special) {
    const std::size_t query = std::min(rest.find('?'), rest.size());
    out.text_ += query == 0 ? "/" : "";
    if (is_special) {
      std::string path(rest.substr(0, query));
      std::ranges::replace(path, '\\', '/');
      append_path(path, out.text_);
    } else {
      out.text_ += rest.substr(0, query);
    }
    out.text_ += rest.substr(query);
  }
};

Result<void> parse_browser_url(std::string_view raw, Deviations deviations, BrowserUrl& out) {
  BrowserUrlParser parser{.out = out, .deviations = deviations};
  auto parsed = parser.parse(raw);
  if (!parsed) {
    parser.clear();
  }
  return parsed;
}

}  // namespace mankai::url
