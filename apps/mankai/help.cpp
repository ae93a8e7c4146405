#include "apps/mankai/help.hpp"

#include <fmt/format.h>

namespace mankai::command {
namespace {

constexpr std::size_t kWidth = 80;

// Wraps paragraphs, separated by empty lines, and lines at `kWidth` columns.
std::string wrap(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view ends = text.substr(0, text.starts_with("\n\n") ? 2 : text.starts_with('\n') ? 1 : 0);
    text.remove_prefix(ends.size());
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    text.remove_prefix(text.starts_with(' ') ? 1 : 0);
    if (!ends.empty()) {
      out += ends;
      column = 0;
    } else if (column > 0 && column + 1 + word.size() > kWidth) {
      out += '\n';
      column = 0;
    }
    out += column == 0 ? std::string(indent, ' ') : " ";
    column += (column == 0 ? indent : 1) + word.size();
    out += word;
  }
  return out + "\n";
}

std::string options_text(const Subcommand& subcommand, bool positional) {
  std::string text;
  for (const Option& option : subcommand.options) {
    if (option.is_positional() == positional) {
      text += "  " + option_heading(option) + "\n" + wrap(option.help, 6);
    }
  }
  return text;
}

std::string list_of(const std::vector<Subcommand>& subcommands) {
  std::string text = "\nCommands:\n";
  for (const Subcommand& subcommand : subcommands) {
    text += fmt::format("  {:<8} {}\n", subcommand.word(), subcommand.summary);
  }
  return text;
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& exit_codes() {
  static const std::vector<std::pair<std::string, std::string>> kCodes = {
      {"0", "success, whatever the answers; also if the reader closes the output"},
      {"1",
       "negative answer, with --quiet of check, gate check, guard check and remove only; an unexpected verdict of lab "
       "or claim; guard update: a list was refused or not fetched, and its last accepted version is used; takeover "
       "check: something will be refused; takeover compare: something differs"},
      {"2", "usage: an unknown option, an invalid argument, or one that contradicts a file or a database"},
      {"3",
       "bad data: a corrupt or truncated file, a file that is not a filter, a newer format version, corrupt compressed "
       "input or a compressed format that is not supported; a block list without rules or with too many skipped rules"},
      {"4",
       "input or output: file missing, unreadable, a directory or locked by another process; no memory or disk space "
       "left; a line above --max-line"},
      {"5",
       "dedup read more than twice as many distinct lines as the capacity of its filter; all lines found to be new "
       "were printed and stored, and new lines may have been dropped; run it again without --keys"},
      {"129, 130, 143",
       "stopped by SIGHUP, Ctrl-C or SIGTERM; the input read before is saved, unless it is added together at the end; "
       "hot --follow, gate sync and guard serve exit with 0 on SIGTERM"},
  };
  return kCodes;
}

std::string usage_line(const Subcommand& subcommand) {
  std::string line = "mankai " + subcommand.name + (subcommand.is_group() ? " COMMAND" : "") + " [OPTION...]";
  line += subcommand.is_group() ? " [ARGUMENT...]" : "";
  for (const Option& option : subcommand.options) {
    if (option.is_positional()) {
      const std::string name = option.name + (option.is_repeatable ? "..." : "");
      line += option.is_required ? " " + name : " [" + name + "]";
    }
  }
  return line;
}

std::string option_heading(const Option& option) {
  const std::string letter = option.letter == '\0' ? "" : std::string("-") + option.letter + ", ";
  if (!option.value_if_bare.empty()) {
    return letter + option.name + "[=" + option.value + "]";
  }
  return letter + option.name + (option.value.empty() ? "" : " " + option.value);
}

std::string help_for(const Subcommand& subcommand) {
  std::string text = "mankai " + subcommand.name + ": " + subcommand.summary + "\n\nUsage: " + usage_line(subcommand) +
                     "\n\n" + wrap(subcommand.description, 0);
  if (const std::string arguments = options_text(subcommand, true); !arguments.empty()) {
    text += "\nArguments:\n" + arguments;
  }
  if (subcommand.is_group()) {
    text += list_of(subcommand.children) + "\nmankai " + subcommand.name + " COMMAND --help describes a command.\n";
  } else {
    text += "\nOptions:\n" + options_text(subcommand, false) + "  -h, --help\n      Print this help.\n";
  }
  text += "\nExamples:\n";
  for (const Example& example : subcommand.examples) {
    text += "  " + example.line + "\n      " + example.meaning + "\n";
  }
  return text;
}

std::string overview(const Program& program) {
  std::string text =
      fmt::format("{0}: {1}\n\nUsage: {0} COMMAND [OPTION...] [ARGUMENT...]\n", program.name, program.tagline);
  text += list_of(program.subcommands);
  text += fmt::format(
      "\n{0} COMMAND --help describes a command, with examples; so does man mankai-COMMAND.\n{0} --version prints the "
      "version.\n\nExit codes:\n",
      program.name);
  constexpr std::size_t kIndent = 17;
  for (const auto& [code, meaning] : exit_codes()) {
    text += fmt::format("  {:<14} ", code) + wrap(meaning, kIndent).substr(kIndent);
  }
  return text;
}

}  // namespace mankai::command
