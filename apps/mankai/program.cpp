#include "apps/mankai/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "apps/mankai/command_line.hpp"
#include "apps/mankai/help.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommand.hpp"

namespace mankai::command {
namespace {

// Returns the folder of this executable with a trailing slash; empty if unknown.
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

// Executes another program of this installation: in this executable's folder, otherwise on PATH. Returns only on
// failure. Errors: not_found; io.
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

/// The subcommand that the arguments name, which is not a group, or whose help they request.
struct Found {
  const Subcommand* subcommand = nullptr;  ///< nullptr: the program
  bool asks_for_help = false;
  std::vector<std::string> arguments = {};
};

std::unexpected<Error> unknown_command(const std::string& word, const std::vector<Subcommand>& subcommands,
                                       const std::string& prefix) {
  std::vector<std::string> words;
  for (const Subcommand& subcommand : subcommands) {
    words.push_back(subcommand.word());
  }
  const std::string near = nearest(word, words);
  return fail(ErrorCode::invalid_argument, (word.starts_with('-') ? "unknown option " : "unknown command ") + word +
                                               (near.empty() ? "" : ", did you mean " + near + "?") + "; see " +
                                               prefix + " --help");
}

// "help guard build" and "guard help build" both request help.
Result<Found> find(const Program& program, const std::vector<std::string>& arguments) {
  Found found;
  for (auto word = arguments.begin();; ++word) {
    if (!found.asks_for_help && word != arguments.end() && (*word == "help" || *word == "--help" || *word == "-h")) {
      found.asks_for_help = true;
      ++word;
    }
    const Subcommand* const group = found.subcommand;
    const auto& subcommands = group == nullptr ? program.subcommands : group->children;
    const std::string prefix = group == nullptr ? program.name : "mankai " + group->name;
    if (word == arguments.end()) {
      return found.asks_for_help ? Result<Found>(found)
                                 : fail(ErrorCode::invalid_argument, "no command given; see " + prefix + " --help");
    }
    const auto next = std::ranges::find(subcommands, *word, &Subcommand::word);
    if (next == subcommands.end()) {
      return unknown_command(*word, subcommands, prefix);
    }
    found.subcommand = &*next;
    if (!next->is_group()) {
      found.arguments.assign(word + 1, arguments.end());
      return found;
    }
  }
}

Result<int> run(const Program& program, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && (arguments.front() == "--version" || arguments.front() == "-V")) {
    return write_output(program.name + " " MANKAI_VERSION "\n");
  }
  MANKAI_ASSIGN(auto found, find(program, arguments));
  if (found.subcommand == nullptr) {
    return write_output(overview(program));
  }
  if (found.subcommand->is_elsewhere()) {
    return std::unexpected(run_installed(found.subcommand->program, found.subcommand->name, arguments));
  }
  if (!found.asks_for_help) {
    MANKAI_ASSIGN(found.asks_for_help, read_arguments(*found.subcommand, found.arguments));
  }
  return found.asks_for_help ? write_output(help_for(*found.subcommand)) : found.subcommand->run();
}

int report(const Error& error) {
  // A reader that closes the pipe early, such as head, is not an error.
  if (is_closed_pipe(error)) {
    return static_cast<int>(ExitCode::fine);
  }
  // The message may quote bytes of files, including control sequences of terminals.
  say(printable(error.message()));
  const int code = static_cast<int>(exit_code_for(error.code));
  return error.os_error == EINTR ? exit_code_after_stop(code) : code;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  prepare_standard_streams();
  try {
    const auto code = run(program, {argv + std::min(argc, 1), argv + argc});
    return code ? *code : report(code.error());
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
