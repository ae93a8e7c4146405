#pragma once

/// One call of a command: its arguments, and the replies that all families send alike.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mankai/base/error.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// What a command returns: kOk after it has replied, or the error that is to be replied, whose text is its `detail`.
using Answer = Result<int>;

/// Makes an error with the text of the reply, which begins with ERR or another code, as engines have it.
[[nodiscard]] inline std::unexpected<Error> refuse(std::string text) {
  return fail(ErrorCode::invalid_argument, std::move(text));
}

inline constexpr const char* kWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr const char* kNotFound = "ERR not found";
inline constexpr const char* kItemExists = "ERR item exists";
inline constexpr const char* kNoMemory = "ERR Insufficient memory";
inline constexpr const char* kIncomplete = "ERR the filter is not complete: chunks of it are still to be loaded";
inline constexpr const char* kFilterFull = "ERR the filter is full: reserve a larger one";
inline constexpr const char* kUnknownArgument = "Unknown argument received";
inline constexpr const char* kBadData = "ERR received bad data";

class Call {
 public:
  Call(Context* context, String** arguments, int count) noexcept
      : context_(context), arguments_(arguments, static_cast<std::size_t>(count)) {}

  [[nodiscard]] Context* context() const noexcept { return context_; }
  /// All arguments, the command's name first.
  [[nodiscard]] std::span<String*> arguments() const noexcept { return arguments_; }
  /// The first argument after the name: the key.
  [[nodiscard]] String* key() const noexcept { return arguments_[1]; }
  [[nodiscard]] std::size_t size() const noexcept { return arguments_.size(); }
  [[nodiscard]] std::string_view text(std::size_t index) const noexcept;
  /// Whether the argument is this word (given in capitals), ignoring case.
  [[nodiscard]] bool is(std::size_t index, std::string_view word) const noexcept;
  [[nodiscard]] std::optional<long long> integer(std::size_t index) const noexcept;
  [[nodiscard]] std::optional<double> real(std::size_t index) const noexcept;
  /// Whether a client sent it, not a primary or an AOF file, which repeat what was done already.
  [[nodiscard]] bool is_from_client() const noexcept;
  /// Whether the client speaks the third version of the protocol.
  [[nodiscard]] bool is_resp3() const noexcept;

  // Replies; each returns what the command returns.
  int error(const char* text) const noexcept;
  int ok() const noexcept;
  int wrong_arity() const noexcept;
  int number(std::uint64_t number) const noexcept;
  int real_number(double number) const noexcept;
  /// A string of any bytes.
  int bytes(std::string_view text) const noexcept;
  /// 1 or 0, or a boolean where the protocol has them.
  int truth(bool value) const noexcept;
  /// Begins an array of `size` replies.
  int array(std::size_t size) const noexcept;
  /// An array of truths.
  int truths(std::span<const bool> values) const noexcept;

  /// Tells watchers and subscribers that the command's key has changed.
  void key_changed(const char* event) const noexcept;

 private:
  Context* context_;
  std::span<String*> arguments_;
};

/// The keys of a command, if there are any, and an answer for each, false at first; one key takes no memory.
class KeyBatch {
 public:
  /// All arguments from `first` on. Errors: std::bad_alloc.
  KeyBatch(const Call& call, std::size_t first);
  KeyBatch(const KeyBatch&) = delete;
  KeyBatch& operator=(const KeyBatch&) = delete;
  ~KeyBatch() = default;

  [[nodiscard]] std::span<const std::string_view> keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<bool> answers() const noexcept { return answers_; }

 private:
  std::string_view one_key_;
  bool one_answer_ = false;
  std::vector<std::string_view> many_keys_;
  std::unique_ptr<bool[]> many_answers_;
  std::span<std::string_view> keys_;
  std::span<bool> answers_;
};

/// Whether two words are equal, ignoring ASCII case.
[[nodiscard]] bool equal_words(std::string_view a, std::string_view b) noexcept;

/// A fact that a family's INFO tells.
struct Fact {
  template <std::integral Number>
  Fact(const char* called, Number number) noexcept : name(called), value(static_cast<std::uint64_t>(number)) {}
  Fact(const char* called, double number) noexcept : name(called), value(number) {}
  Fact(const char* called, std::string_view text) noexcept : name(called), value(text) {}

  const char* name;
  std::variant<std::uint64_t, double, std::string_view> value;
};

/// Replies with a map of facts.
int reply_facts(const Call& call, std::initializer_list<Fact> facts) noexcept;

/// The longest URL or rule that a client may send: browsers and servers take fewer bytes, and reading a URL of 20 MB
/// blocks the server for 0.1 s and more.
inline constexpr std::size_t kMostUrlBytes = std::size_t{64} << 10;
inline constexpr const char* kUrlTooLong = "ERR the URL is too long: at most 65536 bytes";

/// Texts from primaries and AOF files may be longer: they were accepted before.
[[nodiscard]] inline bool is_too_long(const Call& call, std::string_view text) noexcept {
  return text.size() > kMostUrlBytes && call.is_from_client();
}

}  // namespace mankai::redis
