#include <exception>
#include <new>

#include "apps/mankai/command_line.hpp"
#include "apps/mankai/errors.hpp"
#include "apps/mankai/help.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"

namespace mankai::command {
namespace {

int report(const Error& error) {
  // Whoever reads our output and has had enough wants no error from us.
  if (is_closed_pipe(error)) {
    return static_cast<int>(ExitCode::fine);
  }
  say(error.message());
  return static_cast<int>(exit_code_for(error.code));
}

int print(const std::string& text) {
  Output output;
  output.append(text);
  const auto finished = output.finish();
  return finished ? static_cast<int>(ExitCode::fine) : report(finished.error());
}

int unknown_command(const std::string& name, const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommands) {
    names.push_back(subcommand.name);
  }
  const std::string near = nearest(name, names);
  say((name.starts_with('-') ? "unknown option " : "unknown command ") + name +
      (near.empty() ? "" : ", did you mean " + near + "?") + "; see mankai --help");
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

int run(const std::vector<std::string>& arguments) {
  const std::vector<Subcommand> subcommands = all_subcommands();
  if (arguments.empty()) {
    say("a command is missing; see mankai --help");
    return static_cast<int>(ExitCode::usage);
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  std::string name = arguments.front();
  if (name == "--version" || name == "-V") {
    return print("mankai " MANKAI_VERSION "\n");
  }
  const bool asks_for_help = name == "help" || name == "--help" || name == "-h";
  if (asks_for_help && rest.empty()) {
    return print(overview(subcommands));
  }
  name = asks_for_help ? rest.front() : name;
  for (const Subcommand& subcommand : subcommands) {
    if (subcommand.name == name) {
      return asks_for_help ? print(help_for(subcommand)) : run_subcommand(subcommand, rest);
    }
  }
  return unknown_command(name, subcommands);
}

}  // namespace
}  // namespace mankai::command

int main(int argc, char** argv) {
  mankai::command::prepare_standard_streams();
  try {
    return mankai::command::run({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    mankai::command::say("out of memory: ask for fewer --keys or a higher --fpr, or stop other programs");
  } catch (const std::exception& error) {
    mankai::command::say(std::string("unexpected: ") + error.what());
  } catch (...) {
    mankai::command::say("unexpected failure");
  }
  return static_cast<int>(mankai::command::ExitCode::input_output);
}
