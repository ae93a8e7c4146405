#include "apps/mankai/man_page.hpp"

#include <string_view>

#include "apps/mankai/help.hpp"

namespace mankai::command {
namespace {

// Text that troff shows as it is; `command` between backquotes becomes bold.
std::string escape(std::string_view text) {
  std::string out;
  bool is_bold = false;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '`':
        is_bold = !is_bold;
        out += is_bold ? "\\fB" : "\\fP";
        break;
      case '\'': out += "\\(aq"; break;
      case '.': out += out.empty() || out.back() == '\n' ? "\\&." : "."; break;
      default: out += c;
    }
  }
  return out;
}

std::string paragraphs(std::string_view text, std::string_view macro) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find("\n\n");
    out += out.empty() ? "" : std::string(macro) + "\n";
    out += escape(text.substr(0, end)) + "\n";
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  }
  return out;
}

std::string item(const std::string& heading, const std::string& text) {
  return ".TP\n.B " + escape(heading) + "\n" + paragraphs(text, ".IP");
}

std::string examples(const Subcommand& subcommand) {
  std::string out;
  for (const Example& example : subcommand.examples) {
    out += item(example.line, example.meaning + ".");
  }
  for (const Subcommand& child : subcommand.children) {
    out += examples(child);
  }
  return out;
}

std::string section(const Subcommand& subcommand) {
  if (subcommand.is_elsewhere()) {
    return ".SS " + escape("mankai " + subcommand.name) + "\n" + escape(subcommand.summary) + ".\nSee " +
           escape(subcommand.program) + "(1).\n";
  }
  std::string out = ".SS " + escape("mankai " + subcommand.name) + "\n.B " + escape(usage_line(subcommand)) +
                    "\n.PP\n" + paragraphs(subcommand.description, ".PP");
  for (const bool is_positional : {true, false}) {
    for (const Option& option : subcommand.options) {
      if (option.is_positional() == is_positional) {
        out += item(option_heading(option), option.help);
      }
    }
  }
  for (const Subcommand& child : subcommand.children) {
    out += section(child);
  }
  return out;
}

}  // namespace

std::string man_page(const Program& program, const std::string& version) {
  constexpr char kToUpper = 'A' - 'a';
  std::string title = program.name;
  for (char& c : title) {
    c = static_cast<char>(c >= 'a' && c <= 'z' ? c + kToUpper : c);
  }
  std::string out = ".TH " + escape(title) + " 1 \"\" \"mankai " + version + "\" \"User Commands\"\n.SH NAME\n" +
                    escape(program.name) + " \\- " + escape(program.tagline) + "\n.SH SYNOPSIS\n.B " +
                    escape(program.name) + "\n.I COMMAND\n[\\fIOPTION\\fP...] [\\fIARGUMENT\\fP...]\n" +
                    ".SH DESCRIPTION\n" + paragraphs(program.description, ".PP") +
                    ".PP\nAn argument that begins with \\- and is no option goes after \\-\\-.\n.SH COMMANDS\n";
  for (const Subcommand& subcommand : program.subcommands) {
    out += section(subcommand);
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_codes()) {
    out += item(code, meaning + ".");
  }
  out += ".SH EXAMPLES\n";
  for (const Subcommand& subcommand : program.subcommands) {
    out += examples(subcommand);
  }
  return out;
}

}  // namespace mankai::command
