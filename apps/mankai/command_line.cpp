#include "apps/mankai/command_line.hpp"

// The only file that includes CLI11: it takes ten times longer to compile than the others.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <numeric>

#include "mankai/remote/redis_address.hpp"

namespace mankai::command {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + static_cast<std::size_t>(a[i] != b[j]);
      diagonal = std::exchange(row[j + 1], std::min({row[j], row[j + 1], diagonal}) + 1);
      row[j + 1] = std::min(row[j + 1], substituted);
    }
  }
  return row[b.size()];
}

std::vector<std::string> option_names(const Subcommand& subcommand) {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : subcommand.options) {
    if (!option.is_positional()) {
      names.push_back(option.name);
    }
  }
  return names;
}

std::unexpected<Error> wrong_usage(const Subcommand& subcommand, const std::string& what) {
  return fail(ErrorCode::invalid_argument, what + "; see mankai " + subcommand.name + " --help");
}

std::unexpected<Error> unexpected_argument(const Subcommand& subcommand, const std::string& argument) {
  if (!argument.starts_with('-') || argument == "-") {
    // An address may have a password.
    const std::string shown = is_remote_address(argument) ? "an address of a server" : "'" + argument + "'";
    return wrong_usage(subcommand, shown + ": too many arguments");
  }
  const std::string typed = argument.substr(0, argument.find('='));
  const std::string near = nearest(typed, option_names(subcommand));
  const std::string hint = near.empty() ? "" : ", did you mean " + near + "?";
  return wrong_usage(subcommand, "unknown option " + typed + hint + " (a key that begins with - goes after --)");
}

CLI::Option* add_option(CLI::App& app, const Option& option, std::vector<std::string>& values) {
  const std::string letter = option.letter == '\0' ? "" : std::string("-") + option.letter + ",";
  if (option.is_flag()) {
    return app.add_flag(letter + option.name)->disable_flag_override();
  }
  CLI::Option* added = app.add_option(letter + option.name, values);
  // With an unlimited number of values, CLI11 would split "[a,b]" and take all following words.
  added->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return added;
}

// Without the address, which may have a password.
std::unexpected<Error> not_in_a_server(const Subcommand& subcommand, const Option& option) {
  return fail(
      ErrorCode::invalid_argument,
      subcommand.name + ": " + option.name +
          " must be a file, not an address of a server; give a file, or use one of the commands that take "
          "addresses: add, check, remove, count, info, dedup --state and hot --state. For anything else there are "
          "the server's commands, such as BF.RESERVE, BF.MERGE and DEL");
}

// Whether a text is an address whose scheme is not that of a filter in a server, such as http:// or REDIS://.
bool has_other_scheme(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const std::size_t end = text.find("://");
  return end != std::string_view::npos && end > 0 && std::ranges::all_of(text.substr(0, end), is_letter) &&
         !is_remote_address(text);
}

// Passes the parsed values to the option. Repeating it is an error unless it is_repeatable.
Result<void> deliver(const Subcommand& subcommand, const Option& option, const std::vector<std::string>& values) {
  if (values.size() > 1 && !option.is_repeatable) {
    return wrong_usage(subcommand, option.name + " was given more than once");
  }
  if (values.empty() && option.is_required) {
    return wrong_usage(subcommand, option.name + " is missing");
  }
  for (const std::string& value : values) {
    if (option.kind == ValueKind::file && is_remote_address(value)) {
      return not_in_a_server(subcommand, option);
    }
    if (option.kind == ValueKind::file_or_server && has_other_scheme(value)) {
      return wrong_usage(subcommand, option.name +
                                         ": unknown kind of address; give redis://, rediss:// or unix:/PATH, or a "
                                         "file, with ./ in front if its name contains ://");
    }
    if (is_file(option.kind) && value.empty()) {
      return wrong_usage(subcommand, option.name +
                                         (option.value == "DIR" ? " needs a folder's name" : " needs a file's name") +
                                         ", not an empty one");
    }
    MANKAI_TRY(option.take(value));
    if (!option.is_positional() && !option.is_flag() && value.empty()) {
      return wrong_usage(subcommand, option.name + " needs a value, not an empty one");
    }
  }
  return {};
}

using Values = std::map<const Option*, std::vector<std::string>>;

// Bypasses CLI11, which gives some words a meaning: "[a,b]" is a valid key.
Result<void> place_positionals(const Subcommand& subcommand, const std::vector<std::string>& arguments,
                               Values& values) {
  auto next = arguments.begin();
  for (const Option& option : subcommand.options) {
    if (option.is_positional()) {
      const auto end = option.is_repeatable ? arguments.end() : next + (next == arguments.end() ? 0 : 1);
      values[&option].assign(next, end);
      next = end;
    }
  }
  return next == arguments.end() ? Result<void>{} : unexpected_argument(subcommand, *next);
}

// CLI11 would take the next word as the value of "--name=".
Result<void> check_values(const Subcommand& subcommand, const std::vector<std::string>& arguments) {
  bool is_value = false;
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    const auto option = std::ranges::find(subcommand.options, name, &Option::name);
    const bool is_option = !is_value && option != subcommand.options.end() && !option->is_positional();
    if (is_option && argument == name + "=") {
      return wrong_usage(subcommand, name + (option->is_flag()               ? " takes no value"
                                             : option->value_if_bare.empty() ? " needs a value"
                                                                             : " needs a value after ="));
    }
    is_value = is_option && argument == name && option->takes_next_word();
  }
  return {};
}

// CLI11 would take the next word as the optional value.
void write_out_bare_values(const Subcommand& subcommand, std::vector<std::string>& arguments) {
  for (const Option& option : subcommand.options) {
    if (!option.value_if_bare.empty()) {
      std::ranges::replace(arguments, option.name, option.name + "=" + option.value_if_bare);
    }
  }
}

// Returns the positional arguments.
Result<std::vector<std::string>> parse_options(const Subcommand& subcommand, std::vector<std::string> arguments,
                                               Values& values) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<const Option*, const CLI::Option*> flags;
  for (const Option& option : subcommand.options) {
    if (!option.is_positional()) {
      const CLI::Option* added = add_option(app, option, values[&option]);
      if (option.is_flag()) {
        flags[&option] = added;
      }
    }
  }
  MANKAI_TRY(check_values(subcommand, arguments));
  write_out_bare_values(subcommand, arguments);
  try {
    std::ranges::reverse(arguments);
    app.parse(std::move(arguments));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();  // "--keys: 1 required TEXT missing", "json was given a disallowed ..."
    const std::size_t colon = what.find(':');
    return wrong_usage(subcommand, colon == std::string::npos
                                       ? "--" + what.substr(0, what.find(' ')) + " takes no value"
                                       : what.substr(0, colon) + " needs a value");
  } catch (const CLI::ParseError& error) {
    return wrong_usage(subcommand, error.what());
  }
  for (const auto& [option, parsed] : flags) {
    values[option].resize(std::min<std::size_t>(parsed->count(), 1));
  }
  std::vector<std::string> left = app.remaining();
  const auto unknown =
      std::ranges::find_if(left, [](const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; });
  if (unknown != left.end()) {
    return unexpected_argument(subcommand, *unknown);
  }
  return left;
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, typed.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const bool is_prefix = typed.size() > 2 && candidate.starts_with(typed);
    const std::size_t distance = is_prefix ? 0 : edit_distance(typed, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::string() : *best;
}

Result<bool> read_arguments(const Subcommand& subcommand, const std::vector<std::string>& arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  for (const std::string_view help : {"--help", "-h"}) {
    if (std::find(arguments.begin(), dashes, help) != dashes) {
      return true;
    }
  }
  Values values;
  MANKAI_ASSIGN(auto positionals, parse_options(subcommand, {arguments.begin(), dashes}, values));
  if (dashes != arguments.end()) {
    positionals.insert(positionals.end(), dashes + 1, arguments.end());
  }
  MANKAI_TRY(place_positionals(subcommand, positionals, values));
  for (const Option& option : subcommand.options) {
    MANKAI_TRY(deliver(subcommand, option, values[&option]));
  }
  return false;
}

}  // namespace mankai::command
