#include "apps/mankai/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai/command_line.hpp"
#include "apps/mankai/help.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommand.hpp"

namespace mankai::command {
namespace {

// Returns the folder of this executable with a slash at its end, or nothing where the system does not say.
std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t bytes = readlink("/proc/self/exe", path.data(), path.size());
  const std::string name(path.data(), static_cast<std::size_t>(bytes < 0 ? 0 : bytes));
  return name.substr(0, name.rfind('/') + 1);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Replaces this process by another program of the same installation: the one in this executable's folder, or else the
// first on PATH. Returns only if it cannot: not_found when there is no such program, io when it cannot be started.
Error run_installed(const std::string& program, const std::string& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> pointers = pointers_to(words);
  const std::string folder = own_folder();
  if (!folder.empty()) {
    execv((folder + program).c_str(), pointers.data());
  }
  if (folder.empty() || errno == ENOENT) {
    execvp(program.c_str(), pointers.data());
  }
  if (errno != ENOENT) {
    return {.code = ErrorCode::io, .os_error = errno, .detail = program + ": cannot be started"};
  }
  return {.code = ErrorCode::not_found,
          .detail = command + ": this command is part of " + program +
                    ", which is not installed; install that program in the folder of mankai or on PATH"};
}

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
  const auto code = write_output(text);
  return code ? *code : report(code.error());
}

// `prefix` is what is typed before the subcommands: "mankai", or "mankai guard".
int missing_command(const std::string& prefix) {
  say("no command given; see " + prefix + " --help");
  return static_cast<int>(ExitCode::usage);
}

int unknown_command(const std::string& word, const std::vector<Subcommand>& subcommands, const std::string& prefix) {
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

// A subcommand that is not a group: `rest` is what follows its name, `all` what the program was given.
int run_found(const Subcommand& found, bool asks_for_help, const std::vector<std::string>& rest,
              const std::vector<std::string>& all) {
  if (found.is_elsewhere()) {
    return report(run_installed(found.program, found.name, all));
  }
  return asks_for_help ? print(help_for(found)) : run_subcommand(found, rest);
}

int end_of_words(const Program& program, const Subcommand* group, bool asks_for_help, const std::string& prefix) {
  if (!asks_for_help) {
    return missing_command(prefix);
  }
  return print(group == nullptr ? overview(program) : help_for(*group));
}

// Runs the subcommand that the arguments name, such as "guard build", or prints its help after "help guard build".
int run(const Program& program, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && (arguments.front() == "--version" || arguments.front() == "-V")) {
    return print(program.name + " " MANKAI_VERSION "\n");
  }
  const Subcommand* group = nullptr;
  bool asks_for_help = false;
  for (auto word = arguments.begin();; ++word) {
    if (!asks_for_help && word != arguments.end() && is_help(*word)) {
      asks_for_help = true;
      ++word;
    }
    const auto& subcommands = group == nullptr ? program.subcommands : group->children;
    const std::string prefix = group == nullptr ? program.name : "mankai " + group->name;
    if (word == arguments.end()) {
      return end_of_words(program, group, asks_for_help, prefix);
    }
    const auto found = std::ranges::find(subcommands, *word, &Subcommand::word);
    if (found == subcommands.end()) {
      return unknown_command(*word, subcommands, prefix);
    }
    if (!found->is_group()) {
      return run_found(*found, asks_for_help, {word + 1, arguments.end()}, arguments);
    }
    group = &*found;
  }
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
