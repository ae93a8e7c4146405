#include "apps/mankai/help.hpp"

#include <string_view>

namespace mankai::command {
namespace {

std::string first_sentence(const std::string& help) {
  std::string sentence = help.substr(0, help.find(". "));
  if (sentence.ends_with('.')) {
    sentence.pop_back();
  }
  std::erase(sentence, '`');
  return sentence;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string escape(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

// Single quotes of bash and zsh have no escape inside.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names = {option.name};
  if (option.letter != '\0') {
    names.push_back(std::string("-") + option.letter);
  }
  return names;
}

std::string bash_value(const Option& option) {
  return option.kind == ValueKind::choice ? "_mankai_words " + quoted(join(option.choices))
         : is_file(option.kind)           ? "_mankai_files"
                                          : ":";
}

std::string words_of(const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> words;
  for (const Subcommand& subcommand : subcommands) {
    words.push_back(subcommand.word());
  }
  return join(words);
}

std::string bash_case(const Subcommand& subcommand) {
  if (subcommand.is_group()) {
    std::string text = "    " + subcommand.word() + ")\n      if ((COMP_CWORD == 2)); then _mankai_words " +
                       quoted(words_of(subcommand.children) + " --help") +
                       "; return; fi\n      case ${COMP_WORDS[2]} in\n";
    for (const Subcommand& child : subcommand.children) {
      text += bash_case(child);
    }
    return text + "      esac ;;\n";
  }
  std::string values;
  std::vector<std::string> options = {"--help"};
  std::string positional = ":";
  for (const Option& option : subcommand.options) {
    if (option.is_positional()) {
      // After files come keys: offers files for both.
      positional = positional == ":" ? bash_value(option) : positional;
      continue;
    }
    const std::vector<std::string> names = names_of(option);
    options.insert(options.end(), names.begin(), names.end());
    if (option.takes_next_word()) {
      values += "        " + (names.size() > 1 ? names[0] + "|" + names[1] : names[0]) + ") " + bash_value(option) +
                "; return ;;\n";
    }
  }
  std::string text = "    " + subcommand.word() + ")\n";
  if (!values.empty()) {
    text += "      case \"$previous\" in\n" + values + "      esac\n";
  }
  return text + "      if [[ $current == -* ]]; then _mankai_words " + quoted(join(options)) + "; else " + positional +
         "; fi ;;\n";
}

std::string zsh_value(const Option& option) {
  const std::string name = option.value.empty() ? option.name : option.value;
  return ":" + name +
         (option.kind == ValueKind::choice ? ":(" + join(option.choices) + ")"
          : is_file(option.kind)           ? ":_files"
                                           : ": ");
}

std::string zsh_specs(const Option& option) {
  if (option.is_positional()) {
    return " " + quoted((option.is_repeatable ? "*" : "") + zsh_value(option));
  }
  std::string specs;
  const std::string help = "[" + escape(first_sentence(option.help), "[]:\\") + "]";
  const std::string value = option.takes_next_word() ? zsh_value(option) : "";
  for (const std::string& name : names_of(option)) {
    std::string spec = option.is_repeatable ? "*" : "";
    spec += name;
    spec += !option.takes_next_word() ? "" : name.starts_with("--") ? "=" : "+";
    spec += help;
    spec += value;
    specs += " " + quoted(spec);
  }
  return specs;
}

std::string zsh_list(const std::vector<Subcommand>& subcommands) {
  std::string text = "    local -a commands\n    commands=(\n";
  for (const Subcommand& subcommand : subcommands) {
    text += "      " + quoted(subcommand.word() + ":" + escape(subcommand.summary, ":\\")) + "\n";
  }
  return text + "    )\n    _describe command commands\n    return\n";
}

std::string zsh_case(const Subcommand& subcommand) {
  if (subcommand.is_group()) {
    std::string text = "    " + subcommand.word() + ")\n  if ((CURRENT == 2)); then\n" + zsh_list(subcommand.children) +
                       "  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n";
    for (const Subcommand& child : subcommand.children) {
      text += zsh_case(child);
    }
    return text + "  esac ;;\n";
  }
  std::string text = "    " + subcommand.word() + ") _arguments -s '--help[Prints help]'";
  for (const Option& option : subcommand.options) {
    text += " \\\n      " + zsh_specs(option);
  }
  return text + " ;;\n";
}

std::string fish_line(const Subcommand& subcommand, const std::string& rest) {
  return "complete -c mankai -n '__mankai_is " + subcommand.name + "' " + rest + "\n";
}

std::string fish_value(const Option& option) {
  return option.kind == ValueKind::choice ? " -x -a " + quoted(join(option.choices))
         : is_file(option.kind)           ? " -r -F"
                                          : " -x";
}

std::string fish_option(const Subcommand& subcommand, const Option& option) {
  if (option.is_positional()) {
    return is_file(option.kind)               ? fish_line(subcommand, "-F")
           : option.kind == ValueKind::choice ? fish_line(subcommand, "-a " + quoted(join(option.choices)))
                                              : "";
  }
  const std::string letter = option.letter == '\0' ? "" : std::string(" -s ") + option.letter;
  return fish_line(subcommand, "-l " + option.name.substr(2) + letter +
                                   (option.takes_next_word() ? fish_value(option) : "") + " -d '" +
                                   escape(first_sentence(option.help), "'\\") + "'");
}

std::string fish_subcommand(const Subcommand& subcommand) {
  std::string text;
  for (const Option& option : subcommand.options) {
    text += fish_option(subcommand, option);
  }
  for (const Subcommand& child : subcommand.children) {
    text += "complete -c mankai -n '__mankai_is " + subcommand.name + "; and not __mankai_has_child' -a " +
            child.word() + " -d '" + escape(child.summary, "'\\") + "'\n";
    text += fish_subcommand(child);
  }
  return text + fish_line(subcommand, "-l help -s h -d 'Prints help'");
}

}  // namespace

std::string bash_completion(const std::vector<Subcommand>& subcommands) {
  std::string cases;
  for (const Subcommand& subcommand : subcommands) {
    cases += bash_case(subcommand);
  }
  return R"(# bash completion for mankai; generated from the text of its help

_mankai_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_mankai_files() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

_mankai() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  # Bash takes the = of --option=value for a word of its own.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    _mankai_words ')" +
         words_of(subcommands) + R"( --help --version'
    return
  fi
  case ${COMP_WORDS[1]} in
)" + cases +
         R"(  esac
}

complete -F _mankai mankai
)";
}

std::string zsh_completion(const std::vector<Subcommand>& subcommands) {
  std::string cases;
  for (const Subcommand& subcommand : subcommands) {
    cases += zsh_case(subcommand);
  }
  return R"(#compdef mankai
# zsh completion for mankai; generated from the text of its help

_mankai() {
  if ((CURRENT == 2)); then
)" + zsh_list(subcommands) +
         R"(  fi
  shift words
  ((CURRENT--))
  case $words[1] in
)" + cases +
         R"(  esac
}

_mankai "$@"
)";
}

std::string fish_completion(const std::vector<Subcommand>& subcommands) {
  std::string text = R"(# fish completion for mankai; generated from the text of its help

function __mankai_is
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

function __mankai_has_child
    test (count (commandline -opc)) -ge 3
end

complete -c mankai -f
)";
  for (const Subcommand& subcommand : subcommands) {
    text += "complete -c mankai -n __fish_use_subcommand -a " + subcommand.name + " -d '" +
            escape(subcommand.summary, "'\\") + "'\n";
  }
  for (const Subcommand& subcommand : subcommands) {
    text += fish_subcommand(subcommand);
  }
  return text;
}

}  // namespace mankai::command
