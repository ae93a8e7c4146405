// Runs a fuzz body over every file of the folders given: a committed corpus, or one input that failed elsewhere.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (std::filesystem::is_regular_file(path)) {
    return {path};
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

// A body that fails throws or aborts, which is what a replay has to do.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  std::size_t replayed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& path : files_of(argv[i])) {
      std::ifstream file(path, std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      std::fprintf(stderr, "%s\n", path.c_str());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      ++replayed;
    }
  }
  std::printf("replayed %zu inputs\n", replayed);
  // An empty or misspelled corpus would test nothing.
  return replayed == 0 ? 1 : 0;
}
