#pragma once

/// The head of an HTTP request and the URL in its query. What is ambiguous or too large is refused before anything acts
/// on it.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command::serve {

/// Whether a query may contain other parameters.
enum class OtherParameters : std::uint8_t {
  refused,
  ignored,
};

/// Returns the value of the only parameter `name` of a request's target such as "/check?url=http%3A%2F%2Fa%2F".
///
/// Shape:   a form's encoding: %XX is a byte, '+' a blank; a '%' without two digits after it is literal. The value
///          ends at '&' or '#', so that what is in it has to be encoded.
/// Errors:  invalid_argument if the parameter is missing, empty or repeated, or if there is another one and others are
///          refused: checking one of two URLs, or a part of one, would be worse than an error.
/// Threads: pure.
[[nodiscard]] Result<std::string> query_value(std::string_view target, std::string_view name, OtherParameters others);

/// Returns the Location for a link to `url`, all readings of which passed the guard, or why there is none.
///
/// Shape:   the URL as browsers split it (`url::parse_browser_url`): "http://" or "https://", host and port, and the
///          rest with every byte that could end a header percent-encoded. It has no reading that `url` lacks.
/// Errors:  invalid_argument, with a sentence for the person: another scheme, no scheme, no host; blanks or control
///          characters; a user name or a backslash before the path, which hide from people where a link leads; what
///          no browser opens.
/// Threads: pure.
[[nodiscard]] Result<std::string> redirect_location(std::string_view url);

/// More than any request needs; longer input is refused before it is stored.
inline constexpr std::size_t kHeadBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kRequestLineBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;

struct RequestHead {
  std::size_t bytes = 0;       ///< of the head as received, with its empty line
  std::size_t body_bytes = 0;  ///< of what follows it
  bool closes = false;         ///< the client sends no other request on this connection
  bool awaits_continue = false;
  std::string request_line;  ///< METHOD TARGET VERSION, without its line end
  // The headers that answers depend on, empty where they are missing.
  std::string accept;
  std::string content_type;
  std::string content_encoding;

  [[nodiscard]] std::string_view method() const noexcept;
  /// Path and query.
  [[nodiscard]] std::string_view target() const noexcept;
  [[nodiscard]] std::string_view path() const noexcept;
};

/// Why a request is refused. The connection ends, because it is unknown where the next request begins.
struct Refusal {
  int status = 0;
  std::string_view why;
};

/// Returns the head at the beginning of `bytes`, or nothing while its end is missing.
///
/// Shape:   any bytes; those after the head are ignored.
/// Cost:    linear in the head.
/// Errors:  a Refusal: too long, a body beyond kBodyBytesMax or of unknown length, control characters, lines that two
///          parsers could read differently (a lone line feed, a folded header, a name with a space, two lengths), and
///          URLs with a second '?', which were not percent-encoded.
/// Threads: pure.
[[nodiscard]] std::expected<std::optional<RequestHead>, Refusal> read_head(std::string_view bytes);

/// Returns the quality value that an Accept header gives to a media type, from 0 (refused, or not named) to 1.
///
/// Shape:   "text/html, application/json;q=0.9"; types in any case. Ranges such as */* name no type.
/// Threads: pure.
[[nodiscard]] double wanted(std::string_view accept, std::string_view type);

}  // namespace mankai::command::serve
