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

/// The most memory of a reply whose command has no limit of its own: facts, names, and 16384 slots of a cluster are
/// less.
inline constexpr std::size_t kMaxReplyBytes = std::size_t{64} << 20U;

/// Splits a stream of bytes into replies.
///
/// Cost:    linear in the bytes; memory follows the bytes that arrived, not the sizes that they announce.
/// Errors:  corrupt for bytes that are not replies, among them the types of version 3, arrays more than 8 deep, lines
///          of more than 64 KiB, and replies beyond the limit; every later call fails too.
/// Threads: one at a time.
class RedisReplyReader {
 public:
  RedisReplyReader();

  [[nodiscard]] Result<void> feed(std::string_view bytes);
  /// The next complete reply, if there is one. Fails if it takes more than `max_bytes` of memory, also before it is
  /// complete.
  [[nodiscard]] Result<std::optional<RedisReply>> next(std::size_t max_bytes = kMaxReplyBytes);

 private:
  /// Memory for the values of the reply that is being read.
  struct Budget {
    std::size_t max_bytes = 0;
    std::size_t used_bytes = 0;
    bool is_exceeded = false;

    [[nodiscard]] std::size_t left() const noexcept { return used_bytes < max_bytes ? max_bytes - used_bytes : 0; }
  };
  struct Builders;

  [[nodiscard]] std::unexpected<Error> invalid() const;
  void check_incomplete();

  std::unique_ptr<Budget> budget_;  // has its address in reader_
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
  std::string_view failure_;  // found here, not by hiredis
};

}  // namespace mankai
