#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace mankai {

/// The cause of a failure; the command's exit codes and the C ABI map one to one.
enum class ErrorCode : std::uint8_t {
  invalid_argument = 1,     ///< an impossible or contradictory request
  not_found = 2,            ///< a missing file, kind or option
  io = 3,                   ///< a failed system call; `os_error` says why
  corrupt = 4,              ///< untrusted bytes in the wrong format
  unsupported_version = 5,  ///< a format newer than this library
  out_of_space = 6,         ///< memory or disk exhausted
  locked = 7,               ///< another process holds the file
};

/// The code's stable, lower-case name, such as "corrupt".
[[nodiscard]] std::string_view name(ErrorCode code) noexcept;

/// What is wrong, where, and what to do about it.
struct Error {
  ErrorCode code{};
  int os_error = 0;    ///< errno; 0 if no system call failed
  std::string detail;  ///< one line: what, where (offset or argument), remedy

  /// One line for people: the detail, and the system's error text, if any.
  [[nodiscard]] std::string message() const;

  /// The same error with "where: " before the detail, unless it starts so, to name a file or an argument.
  [[nodiscard]] Error within(std::string_view where) const;
};

template <class T>
using Result = std::expected<T, Error>;

/// The result; an error gets "where: " before its detail, unless it starts so.
template <class T>
[[nodiscard]] Result<T> within(std::string_view where, Result<T> result) {
  if (!result) {
    result = std::unexpected(result.error().within(where));
  }
  return result;
}

/// Constructs the error of a Result.
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string detail, int os_error = 0) {
  return std::unexpected(Error{.code = code, .os_error = os_error, .detail = std::move(detail)});
}

}  // namespace mankai

#define MANKAI_JOIN_TOKENS(a, b) a##b
#define MANKAI_JOIN(a, b) MANKAI_JOIN_TOKENS(a, b)

/// Evaluates an expression of type Result, and returns its error from the enclosing function, if any.
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
