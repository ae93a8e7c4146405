#include <algorithm>

#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

constexpr std::string_view kProtocol = " HTTP/";
constexpr std::size_t kUsualProtocolLength = 9;  // " HTTP/1.1"

// Registered methods consist of capital letters and hyphens; others also of underscores.
constexpr bool is_of_a_method(char character) noexcept {
  return (character >= 'A' && character <= 'Z') || character == '-' || character == '_';
}

// Returns the length of the method at the front, or 0 if no space follows it.
std::size_t method_length(std::string_view request) noexcept {
  constexpr std::size_t kMethodLengthMax = 32;
  std::size_t length = 0;
  while (length < request.size() && is_of_a_method(request[length])) {
    ++length;
  }
  const bool is_method = length <= kMethodLengthMax && length < request.size() && request[length] == ' ';
  return is_method ? length : 0;
}

std::size_t protocol_of(std::string_view rest) noexcept {
  if (rest.size() > kUsualProtocolLength) {
    const std::size_t usual = rest.size() - kUsualProtocolLength;
    if (rest.substr(usual, kProtocol.size()) == kProtocol) {
      return usual;
    }
  }
  const std::size_t blank = rest.rfind(' ');
  const bool is_protocol = blank != std::string_view::npos && rest.substr(blank).starts_with(kProtocol);
  return is_protocol ? blank : std::string_view::npos;
}

}  // namespace

void split_request(std::string_view request, LogRecord& out) noexcept {
  const std::size_t length = method_length(request);
  if (length == 0) {
    return;
  }
  const std::string_view method = request.substr(0, length);
  const std::string_view rest = request.substr(length + 1);
  const std::size_t protocol = protocol_of(rest);
  std::string_view target = rest.substr(0, protocol);
  if (protocol == std::string_view::npos) {
    while (target.ends_with(' ')) {
      target.remove_suffix(1);
    }
    if (method != "GET" || target.find(' ') != std::string_view::npos) {
      return;
    }
  }
  if (target.empty()) {
    return;
  }
  out.method = method;
  out.target = target;
  take_host_of_target(out);
}

void take_host_of_target(LogRecord& record) noexcept {
  if (!record.host.empty() || record.target.starts_with('/')) {
    return;
  }
  std::string_view authority = record.target;
  if (record.method != "CONNECT") {
    constexpr std::size_t kSchemeLengthMax = 16;
    const std::size_t scheme = authority.substr(0, kSchemeLengthMax).find("://");
    if (scheme == std::string_view::npos) {
      return;
    }
    authority.remove_prefix(scheme + 3);
    authority = authority.substr(0, authority.find_first_of("/?#"));
    authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  }
  record.host = without_port(authority);
}

std::string_view without_port(std::string_view host) noexcept {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) {
    return host;
  }
  const std::string_view port = host.substr(colon + 1);
  const bool is_port = std::ranges::all_of(port, is_digit);
  const bool is_bare_ipv6 = host.find(':') != colon && host[colon - 1] != ']';
  return is_port && !is_bare_ipv6 ? host.substr(0, colon) : host;
}

}  // namespace mankai::detail
