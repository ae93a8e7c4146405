#include "apps/mankai/program.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai/command_line.hpp"
#include "apps/mankai/errors.hpp"
#include "apps/mankai/escape.hpp"
#include "apps/mankai/help.hpp"
#include "apps/mankai/installed_program.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"

namespace mankai::command {
namespace {

int report(const Error& error) {
  // Whoever reads our output and has had enough wants no error from us.
  if (is_closed_pipe(error)) {
    return static_cast<int>(ExitCode::fine);
  }
  // Texts from outside may be in it, and a terminal takes some of their bytes for commands.
  say(printable(error.message()));
  return static_cast<int>(exit_code_for(error.code));
}

int print(const std::string& text) {
  Output output;
  output.append(text);
  const auto finished = output.finish();
  return finished ? static_cast<int>(ExitCode::fine) : report(finished.error());
}

/// What is typed before one of these subcommands: "mankai", or "mankai guard".
using Prefix = std::string;

int missing_command(const Prefix& prefix) {
  say("no command given; see " + prefix + " --help");
  return static_cast<int>(ExitCode::usage);
}

int unknown_command(const std::string& word, const std::vector<Subcommand>& subcommands, const Prefix& prefix) {
  std::vector<std::string> words;
  for (const Subcommand& subcommand : subcommands) {
    words.push_back(subcommand.word());
  }
  const std::string near = nearest(word, words);
  say((word.starts_with('-') ? "unknown option " : "unknown command ") + word +
      (near.empty() ? "" : ", did you mean " + near + "?") + "; see " + prefix + " --help");
  return static_cast<int>(ExitCode::usage);
}

int run_subcommand(const Subcommand& subcommand, const std::vector<std::string>& arguments) {
  const auto wish = read_arguments(subcommand, arguments);
  if (!wish) {
    return report(wish.error());
  }
  if (*wish == Wish::help) {
    return print(help_for(subcommand));
  }
  const auto code = subcommand.run();
  return code ? *code : report(code.error());
}

bool is_help(const std::string& word) { return word == "help" || word == "--help" || word == "-h"; }

// Goes from word to word down to a subcommand that is no group; `help` is what describes all of these.
int run(const std::vector<Subcommand>& subcommands, std::vector<std::string> arguments, const Prefix& prefix,
        const std::string& help) {
  const bool asks_for_help = !arguments.empty() && is_help(arguments.front());
  if (asks_for_help) {
    arguments.erase(arguments.begin());
  }
  if (arguments.empty()) {
    return asks_for_help ? print(help) : missing_command(prefix);
  }
  const std::string word = arguments.front();
  arguments.erase(arguments.begin());
  for (const Subcommand& subcommand : subcommands) {
    if (subcommand.word() != word) {
      continue;
    }
    if (asks_for_help && !subcommand.is_group()) {
      return print(help_for(subcommand));
    }
    if (asks_for_help) {
      arguments.insert(arguments.begin(), "help");
    }
    return subcommand.is_group()
               ? run(subcommand.children, std::move(arguments), "mankai " + subcommand.name, help_for(subcommand))
               : run_subcommand(subcommand, arguments);
  }
  return unknown_command(word, subcommands, prefix);
}

// Returns the subcommand that `gen urls` or `help gen` names, or null.
const Subcommand* first_named(const std::vector<Subcommand>& subcommands, const std::vector<std::string>& arguments) {
  const auto word = std::ranges::find_if_not(arguments, is_help);
  const auto found = std::ranges::find_if(
      subcommands, [&](const Subcommand& one) { return word != arguments.end() && one.word() == *word; });
  return found == subcommands.end() ? nullptr : &*found;
}

int run(const Program& program, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && (arguments.front() == "--version" || arguments.front() == "-V")) {
    return print(program.name + " " MANKAI_VERSION "\n");
  }
  if (const Subcommand* named = first_named(program.subcommands, arguments);
      named != nullptr && named->is_elsewhere()) {
    return report(run_installed(named->program, named->name, arguments));
  }
  return run(program.subcommands, arguments, program.name, overview(program));
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  prepare_standard_streams();
  try {
    return run(program, {argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    say("out of memory; give fewer --keys or a higher --fpr, or stop other programs");
  } catch (const std::exception& error) {
    say(std::string("unexpected: ") + error.what());
  } catch (...) {
    say("unexpected failure");
  }
  return static_cast<int>(ExitCode::input_output);
}

}  // namespace mankai::command
