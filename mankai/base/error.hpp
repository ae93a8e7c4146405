#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace mankai {

/// Names the cause of a failed operation; the command's exit codes and the C ABI map one to one.
enum class ErrorCode : std::uint8_t {
  invalid_argument = 1,     ///< a request that makes no sense or contradicts another one
  not_found = 2,            ///< a file, kind or option that does not exist
  io = 3,                   ///< the operating system refused; `os_error` says why
  corrupt = 4,              ///< bytes from outside that are not what they claim to be
  unsupported_version = 5,  ///< a format newer than this library
  out_of_space = 6,         ///< memory or disk exhausted
  locked = 7,               ///< somebody else holds the file
};

/// Returns the code's stable, lower-case name, such as "corrupt".
[[nodiscard]] std::string_view name(ErrorCode code) noexcept;

/// Says what went wrong, where and what to do about it.
struct Error {
  ErrorCode code{};
  int os_error = 0;    ///< errno, or 0 when the operating system was not involved
  std::string detail;  ///< one line: what, where (offset or argument), way out

  /// Returns one line fit for a person: the detail, and the operating system's words if there are any.
  [[nodiscard]] std::string message() const;

  /// Returns the same error with "where: " in front of the detail, to name a file or an argument.
  [[nodiscard]] Error within(std::string_view where) const;
};

template <class T>
using Result = std::expected<T, Error>;

/// Returns the result, with "where: " in front of the detail of its error, if it has one.
template <class T>
[[nodiscard]] Result<T> within(std::string_view where, Result<T> result) {
  if (!result) {
    result = std::unexpected(result.error().within(where));
  }
  return result;
}

/// Makes the failure side of a Result.
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string detail, int os_error = 0) {
  return std::unexpected(Error{.code = code, .os_error = os_error, .detail = std::move(detail)});
}

}  // namespace mankai

#define MANKAI_JOIN_TOKENS(a, b) a##b
#define MANKAI_JOIN(a, b) MANKAI_JOIN_TOKENS(a, b)

/// Evaluates an expression of type Result and returns its error from the enclosing function, if it has one.
#define MANKAI_TRY(...)                                        \
  do {                                                         \
    if (auto mankai_tried = (__VA_ARGS__); !mankai_tried) {    \
      return std::unexpected(std::move(mankai_tried).error()); \
    }                                                          \
  } while (false)

/// MANKAI_ASSIGN(auto value, expression): declares or assigns the value of a Result, or returns its error from the
/// enclosing function. Expands to several statements: use it within braces.
#define MANKAI_ASSIGN(declaration, ...) \
  MANKAI_ASSIGN_AS(MANKAI_JOIN(mankai_result_, __LINE__), declaration, __VA_ARGS__)
#define MANKAI_ASSIGN_AS(result, declaration, ...)     \
  auto result = (__VA_ARGS__);                         \
  if (!result) {                                       \
    return std::unexpected(std::move(result).error()); \
  }                                                    \
  declaration = *std::move(result)
