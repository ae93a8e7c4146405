#pragma once

/// One call of a command: its arguments, and the replies that all families share.

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

/// The result of a command: kOk if it has replied, else an error whose `detail` is the text of the error reply. Errors
/// of other Results in this folder are such errors too, unless documented otherwise.
using Answer = Result<int>;

/// Makes an error from the text of the reply, which begins with a code such as ERR.
[[nodiscard]] inline std::unexpected<Error> refuse(std::string text) {
  return fail(ErrorCode::invalid_argument, std::move(text));
}

inline constexpr const char* kWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr const char* kNotFound = "ERR not found";
inline constexpr const char* kItemExists = "ERR item exists";
inline constexpr const char* kNoMemory = "ERR Insufficient memory";
inline constexpr const char* kNoMemoryForValue = "ERR Insufficient memory: the key was deleted; load it again";
inline constexpr const char* kIncomplete = "ERR the filter is not complete: chunks of it are still to be loaded";
inline constexpr const char* kFilterFull = "ERR the filter is full: reserve a larger one";
inline constexpr const char* kUnknownArgument = "Unknown argument received";
inline constexpr const char* kBadData = "ERR received bad data";

class Call {
 public:
  Call(Context* context, String** arguments, int count) noexcept
      : context_(context), arguments_(arguments, static_cast<std::size_t>(count)) {}

  [[nodiscard]] Context* context() const noexcept { return context_; }
  [[nodiscard]] std::span<String*> arguments() const noexcept { return arguments_; }
  [[nodiscard]] String* key() const noexcept { return arguments_[1]; }
  [[nodiscard]] std::size_t size() const noexcept { return arguments_.size(); }
  [[nodiscard]] std::string_view text(std::size_t index) const noexcept { return text_of(arguments_[index]); }
  /// Whether the argument equals a word in capitals, ignoring case.
  [[nodiscard]] bool is(std::size_t index, std::string_view word) const noexcept;
  [[nodiscard]] std::optional<long long> integer(std::size_t index) const noexcept;
  [[nodiscard]] std::optional<double> real(std::size_t index) const noexcept;
  /// Whether a client sent it; false for the primary's stream and AOF files, which repeat accepted commands.
  [[nodiscard]] bool is_from_client() const noexcept;
  [[nodiscard]] bool is_resp3() const noexcept;

  // Each sends a reply and returns what the command returns.
  int error(const char* text) const noexcept;
  int ok() const noexcept;
  int wrong_arity() const noexcept;
  int number(std::uint64_t number) const noexcept;
  int real_number(double number) const noexcept;
  int bytes(std::string_view text) const noexcept;
  /// A boolean in RESP3, else 1 or 0.
  int truth(bool value) const noexcept;
  /// Begins an array: `size` replies must follow.
  int array(std::size_t size) const noexcept;
  int truths(std::span<const bool> values) const noexcept;

  /// Notifies watchers of the key and subscribers of the event.
  void key_changed(const char* event) const noexcept;

 private:
  Context* context_;
  std::span<String*> arguments_;
};

/// The keys of a command and an answer per key, initially false. One key needs no allocation.
class KeyBatch {
 public:
  /// All arguments from `first` on. Errors: std::bad_alloc.
  KeyBatch(const Call& call, std::size_t first) {
    if (call.size() - first == 1) {
      one_key_ = call.text(first);
    } else {
      read_many(call, first);
    }
  }
  KeyBatch(const KeyBatch&) = delete;
  KeyBatch& operator=(const KeyBatch&) = delete;
  ~KeyBatch() = default;

  [[nodiscard]] std::span<const std::string_view> keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<bool> answers() const noexcept { return answers_; }

 private:
  void read_many(const Call& call, std::size_t first);

  std::string_view one_key_;
  bool one_answer_ = false;
  std::vector<std::string_view> many_keys_;
  std::unique_ptr<bool[]> many_answers_;
  std::span<const std::string_view> keys_{&one_key_, 1};
  std::span<bool> answers_{&one_answer_, 1};
};

[[nodiscard]] bool equal_words(std::string_view a, std::string_view b) noexcept;

/// Refuses the option at `index` if a client has given it before among the options from argument `first` on. Pre: no
/// value of an option is a name of one.
[[nodiscard]] Result<void> must_be_once(const Call& call, std::size_t first, std::size_t index);

struct Fact {
  template <std::integral Number>
  Fact(const char* called, Number number) noexcept : name(called), value(static_cast<std::uint64_t>(number)) {}
  Fact(const char* called, double number) noexcept : name(called), value(number) {}
  Fact(const char* called, std::string_view text) noexcept : name(called), value(text) {}

  const char* name;
  std::variant<std::uint64_t, double, std::string_view> value;
};

int reply_facts(const Call& call, std::initializer_list<Fact> facts) noexcept;

/// Maximal length of a URL or rule from a client. Browsers and servers accept shorter ones only, and parsing a URL of
/// 20 MB blocks the server for 0.1 s and more.
inline constexpr std::size_t kMostUrlBytes = std::size_t{64} << 10;
inline constexpr const char* kUrlTooLong = "ERR the URL is too long: at most 65536 bytes";

/// Texts from primaries and AOF files are exempt: they were accepted before.
[[nodiscard]] inline bool is_too_long(const Call& call, std::string_view text) noexcept {
  return text.size() > kMostUrlBytes && call.is_from_client();
}

}  // namespace mankai::redis
