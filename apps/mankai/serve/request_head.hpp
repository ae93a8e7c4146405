#pragma once

/// Parses the head of an HTTP request and the URL in its query. Refuses input that is ambiguous or too large.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command::serve {

enum class OtherParameters : std::uint8_t {
  refused,
  ignored,
};

/// Returns the value of the parameter `name` of a request's target such as "/check?url=http%3A%2F%2Fa%2F".
///
/// Shape:   form encoding: %XX is a byte, '+' a space; a '%' without two hexadecimal digits is literal. The value ends
///          at '&' or '#', so these must be encoded in it.
/// Errors:  invalid_argument if the parameter is missing, empty or repeated, or if others are present and refused:
///          checking one of two URLs, or a part of one, would be worse than an error.
/// Threads: pure.
[[nodiscard]] Result<std::string> query_value(std::string_view target, std::string_view name, OtherParameters others);

/// Returns the Location header for a URL, all readings of which passed the guard.
///
/// Shape:   the URL as browsers parse it (`url::parse_browser_url`): "http://" or "https://", host, port, and the rest
///          with all bytes percent-encoded that could end a header. It has no reading that `url` lacks.
/// Errors:  invalid_argument, with a sentence for the user: no scheme or host, another scheme, spaces or control
///          characters, a user name or a backslash before the path, which hide the target of a link, or a URL that no
///          browser opens.
/// Threads: pure.
[[nodiscard]] Result<std::string> redirect_location(std::string_view url);

/// Larger than any valid request; longer input is refused before it is stored.
inline constexpr std::size_t kHeadBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kRequestLineBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;

/// Path and query of a valid request line's target, also if that is in absolute form, such as http://host/path (RFC
/// 9112, 3.2.2).
[[nodiscard]] std::string_view target_of(std::string_view request_line) noexcept;

struct RequestHead {
  std::size_t bytes = 0;  ///< of the received head, including its empty line
  std::size_t body_bytes = 0;
  bool closes = false;  ///< close after the response
  bool awaits_continue = false;
  std::string request_line;  ///< METHOD TARGET VERSION, without the line end
  // Headers that affect the response; empty if missing.
  std::string accept;
  std::string content_type;
  std::string content_encoding;

  [[nodiscard]] std::string_view method() const noexcept;
  [[nodiscard]] std::string_view target() const noexcept;
  [[nodiscard]] std::string_view path() const noexcept;
};

/// Why a request is refused. The connection must be closed, because the start of the next request is unknown.
struct Refusal {
  int status = 0;
  std::string_view why;
};

/// Returns the head at the start of `bytes`, or nothing if it is incomplete.
///
/// Shape:   any bytes; those after the head are ignored.
/// Cost:    linear in the head.
/// Errors:  a Refusal: too long, a body beyond kBodyBytesMax or of unknown length, control characters, lines that two
///          parsers could read differently (a lone line feed, a folded header, a name with a space, two lengths or
///          hosts, none in HTTP/1.1), and URLs with a second '?', which were not percent-encoded.
/// Threads: pure.
[[nodiscard]] std::expected<std::optional<RequestHead>, Refusal> read_head(std::string_view bytes);

/// Returns the quality value of a media type in an Accept header, from 0 (refused or not named) to 1.
///
/// Shape:   "text/html, application/json;q=0.9", case-insensitive. Ranges such as */* match no type.
/// Threads: pure.
[[nodiscard]] double wanted(std::string_view accept, std::string_view type);

}  // namespace mankai::command::serve
