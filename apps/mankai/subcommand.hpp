#pragma once

/// A subcommand as data: parser, help, man page and completions are all made from it.

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// Exit codes of the command; docs/cli.md describes them for users.
enum class ExitCode : int {
  fine = 0,
  negative = 1,  ///< the answer is no, under --quiet
  usage = 2,
  bad_data = 3,
  input_output = 4,
  overfull = 5,  ///< a filter of a fixed size got more than twice its keys
};

/// Returns the exit code that docs/cli.md gives for a cause.
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

/// Type of a value, for completions.
enum class ValueKind : std::uint8_t { none, text, file, choice };

/// An option, a flag (`value` empty) or a positional argument (`name` without dashes).
struct Option {
  std::string name;     ///< "--keys", or "FILE"
  char letter = '\0';   ///< 'k' for -k
  std::string value{};  ///< what the help calls the value
  std::string help;     ///< one or more sentences
  ValueKind kind = ValueKind::none;
  std::vector<std::string> choices{};
  bool is_required = false;     ///< positionals only
  bool is_repeatable = false;   ///< takes more than one value
  std::string value_if_bare{};  ///< the value without "=VALUE", which then is the only way to give one
  std::function<Result<void>(const std::string& value)> take{};

  [[nodiscard]] bool is_positional() const { return !name.starts_with('-'); }
  [[nodiscard]] bool is_flag() const { return !is_positional() && value.empty(); }
  /// Whether the next word is its value.
  [[nodiscard]] bool takes_next_word() const { return !is_flag() && value_if_bare.empty(); }
};

/// Options in the order of the help. A braced list may mix single options and lists that several commands share.
struct Options : std::vector<Option> {
  Options() = default;
  Options(Option option);  // NOLINT(google-explicit-constructor)
  Options(std::initializer_list<Options> parts);
};

/// A command line to show, and what it does.
struct Example {
  std::string line;
  std::string meaning;
};

struct Subcommand {
  std::string name;           ///< all words behind "mankai", such as "guard build"
  std::string summary;        ///< a line without a full stop
  std::string description{};  ///< paragraphs separated by empty lines
  std::vector<Example> examples{};
  Options options{};
  std::function<Result<int>()> run{};  ///< returns the exit code
  /// Of a group, which has neither options nor run: the subcommands below it, whose names begin with its own.
  std::vector<Subcommand> children{};
  /// Another program that has this command; then the rest is empty.
  std::string program{};

  [[nodiscard]] bool is_elsewhere() const { return !program.empty(); }
  [[nodiscard]] bool is_group() const { return !children.empty(); }
  /// The last word of the name: what is typed behind the group's.
  [[nodiscard]] std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

/// Builders of options, which store what they read where `target` says.
[[nodiscard]] Option flag(std::string name, std::string help, bool& target);
[[nodiscard]] Option positional(std::string name, std::string help, ValueKind kind, std::string& target);
[[nodiscard]] Option positionals(std::string name, std::string help, ValueKind kind, std::vector<std::string>& targets);
[[nodiscard]] Option text_option(std::string name, std::string value, std::string help, ValueKind kind,
                                 std::string& target);
/// A text option that may be repeated.
[[nodiscard]] Option list_option(std::string name, std::string value, std::string help, ValueKind kind,
                                 std::vector<std::string>& targets);

/// Returns the option with these as the only values that completions offer.
[[nodiscard]] Option choice_option(Option option, std::span<const std::string_view> choices);
/// The option with a letter: 'q' for -q.
[[nodiscard]] Option with_letter(char letter, Option option);
/// The positional argument, which must be given.
[[nodiscard]] Option required(Option option);

/// An option whose value is read by `parse`, which returns a Result; its error gets the option's name in front.
template <class Parse, class T>
[[nodiscard]] Option parsed_option(std::string name, std::string value, std::string help, Parse parse, T& target) {
  Option option{.name = name, .value = std::move(value), .help = std::move(help), .kind = ValueKind::text};
  option.take = [name = std::move(name), parse, &target](const std::string& text) -> Result<void> {
    auto parsed = parse(text);
    if (!parsed) {
      // An unknown name is as much a wrong argument as a malformed number.
      return fail(ErrorCode::invalid_argument, name + ": " + parsed.error().detail);
    }
    target = std::move(*parsed);
    return {};
  };
  return option;
}

}  // namespace mankai::command
