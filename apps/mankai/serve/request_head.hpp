#pragma once

/// The head of an HTTP request, read before anything else sees it: what is ambiguous or too large never gets further.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace mankai::command::serve {

/// More than any request needs; what is longer is refused before it is kept.
inline constexpr std::size_t kHeadBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kRequestLineBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;

struct RequestHead {
  std::size_t bytes = 0;       ///< of the head as it came, with its empty line
  std::size_t body_bytes = 0;  ///< of what follows it
  bool closes = false;         ///< the client wants no other request on this connection
  bool awaits_continue = false;
  std::string request_line;  ///< without its line end
  std::string target;        ///< path and query
  /// What the parser gets: the request line without the query, which it would take apart at every '=', and the headers
  /// that answers depend on.
  std::string text;
};

/// Why a request is refused; the connection is of no use afterwards, for nobody knows where the next one begins.
struct Refusal {
  int status = 0;
  std::string_view reason;  ///< of the status
  std::string_view why;
};

/// Returns the head that `bytes` begin with, or nothing while its end is missing.
///
/// Shape:   any bytes; those behind the head are not looked at.
/// Cost:    linear in the head.
/// Errors:  a Refusal: too long, a body beyond kBodyBytesMax or of unknown length, control characters, lines that two
///          parsers could read differently (a lone line feed, a folded header, a name with a space, two lengths), and
///          URLs with a second '?', which were not percent-encoded.
/// Threads: pure.
[[nodiscard]] std::expected<std::optional<RequestHead>, Refusal> read_head(std::string_view bytes);

}  // namespace mankai::command::serve
