// Writes the man pages and the completions below a folder, at build time. Usage: mankai_docgen FOLDER

#include <filesystem>
#include <fstream>
#include <iostream>

#include "apps/mankai-lab/subcommands.hpp"
#include "apps/mankai/completions.hpp"
#include "apps/mankai/man_page.hpp"
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

// What can be typed after "mankai": the commands of the lab with their options.
std::vector<mankai::command::Subcommand> all_of(const mankai::command::Program& product,
                                                const mankai::command::Program& lab) {
  auto all = product.subcommands;
  std::erase_if(all, [](const auto& subcommand) { return subcommand.is_elsewhere(); });
  all.insert(all.end(), lab.subcommands.begin(), lab.subcommands.end());
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: mankai_docgen FOLDER\n";
    return 2;
  }
  const std::filesystem::path share = argv[1];
  const auto product = mankai::command::mankai_program();
  const auto lab = mankai::command::lab_program();
  const auto subcommands = all_of(product, lab);
  const bool is_written =
      write(share / "man/man1/mankai.1", mankai::command::man_page(product, MANKAI_VERSION)) &&
      write(share / "man/man1/mankai-lab.1", mankai::command::man_page(lab, MANKAI_VERSION)) &&
      write(share / "bash-completion/completions/mankai", mankai::command::bash_completion(subcommands)) &&
      write(share / "zsh/site-functions/_mankai", mankai::command::zsh_completion(subcommands)) &&
      write(share / "fish/vendor_completions.d/mankai.fish", mankai::command::fish_completion(subcommands));
  return is_written ? 0 : 1;
}
