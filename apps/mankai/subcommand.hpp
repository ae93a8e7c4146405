#pragma once

/// Subcommands as data, from which parser, help, man pages and completions are generated.

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// Exit codes; docs/cli.md describes them for users.
enum class ExitCode : int {
  fine = 0,
  negative = 1,  ///< the answer is no, with --quiet
  usage = 2,
  bad_data = 3,
  input_output = 4,
  overfull = 5,  ///< a fixed-size filter has more than twice its capacity
};

[[nodiscard]] constexpr ExitCode exit_code_for(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return ExitCode::usage;
    case ErrorCode::corrupt:
    case ErrorCode::unsupported_version: return ExitCode::bad_data;
    case ErrorCode::not_found:
    case ErrorCode::io:
    case ErrorCode::out_of_space:
    case ErrorCode::locked: return ExitCode::input_output;
  }
  return ExitCode::input_output;
}

enum class ValueKind : std::uint8_t {
  none,
  text,
  file,
  file_or_server,  ///< a file, or the address of a filter in a server
  choice,
};

[[nodiscard]] constexpr bool is_file(ValueKind kind) noexcept {
  return kind == ValueKind::file || kind == ValueKind::file_or_server;
}

/// An option, a flag (`value` empty) or a positional argument (`name` without dashes).
struct Option {
  std::string name;     ///< "--keys", or "FILE"
  char letter = '\0';   ///< 'k' for -k
  std::string value{};  ///< placeholder in the help
  std::string help;     ///< one or more sentences
  ValueKind kind = ValueKind::none;
  std::vector<std::string> choices{};
  bool is_required = false;     ///< positionals only
  bool is_repeatable = false;   ///< takes more than one value
  std::string value_if_bare{};  ///< the value without "=VALUE"; if set, only --NAME=VALUE gives one
  std::function<Result<void>(const std::string& value)> take{};

  [[nodiscard]] bool is_positional() const { return !name.starts_with('-'); }
  [[nodiscard]] bool is_flag() const { return !is_positional() && value.empty(); }
  [[nodiscard]] bool takes_next_word() const { return !is_flag() && value_if_bare.empty(); }
};

/// Options in help order. A braced list may mix single options and shared lists.
struct Options : std::vector<Option> {
  Options() = default;
  Options(Option option);  // NOLINT(google-explicit-constructor)
  Options(std::initializer_list<Options> parts);
};

struct Example {
  std::string line;
  std::string meaning;
};

struct Subcommand {
  std::string name;           ///< all words after "mankai", such as "guard build"
  std::string summary;        ///< a line without a full stop
  std::string description{};  ///< paragraphs, separated by empty lines
  std::vector<Example> examples{};
  Options options{};
  std::function<Result<int>()> run{};  ///< returns the exit code
  /// Subcommands of a group, whose names begin with the group's. A group has neither options nor run.
  std::vector<Subcommand> children{};
  /// Program that implements this subcommand; the fields after `summary` are then empty.
  std::string program{};

  [[nodiscard]] bool is_elsewhere() const { return !program.empty(); }
  [[nodiscard]] bool is_group() const { return !children.empty(); }
  [[nodiscard]] std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

/// These build options that store their value in `target`.
[[nodiscard]] Option flag(std::string name, std::string help, bool& target);
[[nodiscard]] Option positional(std::string name, std::string help, ValueKind kind, std::string& target);
[[nodiscard]] Option positionals(std::string name, std::string help, ValueKind kind, std::vector<std::string>& targets);
[[nodiscard]] Option text_option(std::string name, std::string value, std::string help, ValueKind kind,
                                 std::string& target);
[[nodiscard]] Option list_option(std::string name, std::string value, std::string help, ValueKind kind,
                                 std::vector<std::string>& targets);

/// Makes completions offer only these values.
[[nodiscard]] Option choice_option(Option option, std::span<const std::string_view> choices);
[[nodiscard]] Option with_letter(char letter, Option option);
[[nodiscard]] Option required(Option option);

/// A parser of a parsed_option that refuses 0.
template <class Parse>
[[nodiscard]] auto at_least_one(Parse parse) {
  return [parse](std::string_view text) -> Result<std::uint64_t> {
    auto number = parse(text);
    if (number && *number == 0) {
      return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is too small; give at least 1");
    }
    return number;
  };
}

/// An option whose value `parse` converts to a Result; its errors are prefixed with the option's name.
template <class Parse, class T>
[[nodiscard]] Option parsed_option(std::string name, std::string value, std::string help, Parse parse, T& target) {
  Option option{.name = name, .value = std::move(value), .help = std::move(help), .kind = ValueKind::text};
  option.take = [name = std::move(name), parse, &target](const std::string& text) -> Result<void> {
    auto parsed = parse(text);
    if (!parsed) {
      // Without this, parsers of names would return not_found.
      return fail(ErrorCode::invalid_argument, name + ": " + parsed.error().detail);
    }
    target = std::move(*parsed);
    return {};
  };
  return option;
}

}  // namespace mankai::command
