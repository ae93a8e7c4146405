#pragma once

/// The head of an HTTP request. What is ambiguous or too large is refused before anything acts on it.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace mankai::command::serve {

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
