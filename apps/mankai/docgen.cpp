// Writes the man pages and completions to a folder at build time. Usage: mankai_docgen FOLDER

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "apps/mankai-lab/subcommands.hpp"
#include "apps/mankai/help.hpp"
#include "apps/mankai/subcommands.hpp"

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    std::cerr << "docgen: cannot write " << path << "\n";
  }
  return static_cast<bool>(file);
}

bool write_man_pages(const std::filesystem::path& folder, const mankai::command::Program& program) {
  return std::ranges::all_of(mankai::command::man_pages(program, MANKAI_VERSION),
                             [&](const auto& page) { return write(folder / (page.name + ".1"), page.text); });
}

// All commands of `mankai`, including those of the lab with their options.
mankai::command::Program whole_program() {
  auto program = mankai::command::mankai_program();
  std::erase_if(program.subcommands, [](const auto& subcommand) { return subcommand.is_elsewhere(); });
  std::ranges::copy(mankai::command::lab_program().subcommands, std::back_inserter(program.subcommands));
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: mankai_docgen FOLDER\n";
    return 2;
  }
  const std::filesystem::path share = argv[1];
  const auto program = whole_program();
  const auto& subcommands = program.subcommands;
  const bool is_written =
      write_man_pages(share / "man/man1", program) &&
      write(share / "bash-completion/completions/mankai", mankai::command::bash_completion(subcommands)) &&
      write(share / "zsh/site-functions/_mankai", mankai::command::zsh_completion(subcommands)) &&
      write(share / "fish/vendor_completions.d/mankai.fish", mankai::command::fish_completion(subcommands));
  return is_written ? 0 : 1;
}
