#include "apps/mankai/help.hpp"

#include <algorithm>
#include <string_view>

namespace mankai::command {
namespace {

// Escapes text for troff; `command` in backquotes becomes bold.
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
      case '\n': out += "\n.br\n"; break;
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

std::string options(const Subcommand& subcommand) {
  std::string out;
  for (const bool is_positional : {true, false}) {
    for (const Option& option : subcommand.options) {
      if (option.is_positional() == is_positional) {
        out += item(option_heading(option), option.help);
      }
    }
  }
  return out;
}

std::string examples(const Subcommand& subcommand) {
  std::string out = ".SH EXAMPLES\n";
  for (const Example& example : subcommand.examples) {
    out += item(example.line, example.meaning + ".");
  }
  return out;
}

std::string exit_status() {
  std::string out = ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_codes()) {
    out += item(code, meaning + ".");
  }
  return out;
}

// "mankai-guard-build"
std::string page_name(const Subcommand& subcommand) {
  std::string name = "mankai-" + subcommand.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string heading(std::string name, std::string_view summary, const std::string& version) {
  const std::string line = escape(name) + " \\- " + escape(summary);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return ".TH " + escape(name) + " 1 \"\" \"mankai " + version + "\" \"User Commands\"\n.SH NAME\n" + line + "\n";
}

std::string list_of(const std::vector<Subcommand>& subcommands) {
  std::string out = ".SH COMMANDS\n";
  for (const Subcommand& subcommand : subcommands) {
    out += item(page_name(subcommand) + "(1)", subcommand.summary + ".");
  }
  return out;
}

std::string see_also(const Subcommand& subcommand) {
  const std::size_t space = subcommand.name.find(' ');
  const std::string group = space == std::string::npos ? "" : ", mankai-" + subcommand.name.substr(0, space) + "(1)";
  return ".SH SEE ALSO\n" + escape("mankai(1)" + group) + "\n";
}

ManPage page_of(const Subcommand& subcommand, const std::string& version) {
  std::string text = heading(page_name(subcommand), subcommand.summary, version) + ".SH SYNOPSIS\n.B " +
                     escape(usage_line(subcommand)) + "\n.SH DESCRIPTION\n" + paragraphs(subcommand.description, ".PP");
  text += subcommand.is_group() ? list_of(subcommand.children) : ".SH OPTIONS\n" + options(subcommand);
  return {.name = page_name(subcommand), .text = text + exit_status() + examples(subcommand) + see_also(subcommand)};
}

}  // namespace

std::vector<ManPage> man_pages(const Program& program, const std::string& version) {
  std::vector<ManPage> pages = {
      {.name = program.name,
       .text = heading(program.name, program.tagline, version) + ".SH SYNOPSIS\n.B " + escape(program.name) +
               "\n.I COMMAND\n[\\fIOPTION\\fP...] [\\fIARGUMENT\\fP...]\n.SH DESCRIPTION\n" +
               paragraphs(program.description, ".PP") +
               ".PP\nAn argument that begins with \\- and is not an option must follow \\-\\-.\n" +
               list_of(program.subcommands) + exit_status()}};
  for (const Subcommand& subcommand : program.subcommands) {
    pages.push_back(page_of(subcommand, version));
    for (const Subcommand& child : subcommand.children) {
      pages.push_back(page_of(child, version));
    }
  }
  return pages;
}

}  // namespace mankai::command
