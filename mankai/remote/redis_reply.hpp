#pragma once

/// Redis' protocol, version 2: requests are written as bytes, replies are read from bytes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"

struct redisReader;  // NOLINT(readability-identifier-naming): hiredis' name

namespace mankai {

/// A value that a server sent.
struct RedisReply {
  enum class Type : std::uint8_t { nil, integer, text, error, array };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text{};  ///< of a text or an error
  std::vector<RedisReply> members{};

  /// The value of a name in a map, which is an array of names and values; as text or number.
  [[nodiscard]] const RedisReply* value_of(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::string_view> text_of(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view name) const noexcept;
  /// The text of an error, also of the first one in an array (the result of a transaction); empty for other replies.
  [[nodiscard]] std::string_view error() const noexcept;
};

/// Appends the request of a command: `words` words follow, each appended by append_word.
void append_header(std::string& request, std::size_t words);
void append_word(std::string& request, std::string_view word);
[[nodiscard]] std::string request_of(std::span<const std::string_view> words);

/// Splits a stream of bytes into replies.
///
/// Cost:    linear in the bytes; memory follows the bytes that arrived, not the sizes that they announce.
/// Errors:  corrupt for bytes that are not replies; every later call fails too.
/// Threads: one at a time.
class RedisReplyReader {
 public:
  RedisReplyReader();

  [[nodiscard]] Result<void> feed(std::string_view bytes);
  /// The next complete reply, if there is one.
  [[nodiscard]] Result<std::optional<RedisReply>> next();

 private:
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace mankai
