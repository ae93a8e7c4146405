// Writes the man pages and the completions below a folder, at build time. Usage: mankai_docgen FOLDER

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "apps/mankai/completions.hpp"
#include "apps/mankai/man_page.hpp"

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

bool write_man_pages(const std::filesystem::path& folder, const std::vector<mankai::command::Subcommand>& subcommands) {
  return std::ranges::all_of(mankai::command::man_pages(subcommands, MANKAI_VERSION),
                             [&](const auto& page) { return write(folder / (page.name + ".1"), page.text); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: mankai_docgen FOLDER\n";
    return 2;
  }
  const std::filesystem::path share = argv[1];
  const auto subcommands = mankai::command::all_subcommands();
  const bool is_written =
      write_man_pages(share / "man/man1", subcommands) &&
      write(share / "bash-completion/completions/mankai", mankai::command::bash_completion(subcommands)) &&
      write(share / "zsh/site-functions/_mankai", mankai::command::zsh_completion(subcommands)) &&
      write(share / "fish/vendor_completions.d/mankai.fish", mankai::command::fish_completion(subcommands));
  return is_written ? 0 : 1;
}
