#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

namespace mankai::test {

/// Where files lie in memory, if there is such a place: for tests that are not about what a disk keeps, as waiting for
/// one would take most of their time.
inline std::filesystem::path files_in_memory() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

/// An empty folder, which is removed at the end with all that is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& where = std::filesystem::temp_directory_path())
      : path_((where / "mankai-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      std::abort();
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }
  /// Copies the files of a store as a process crash would leave them now. Returns the copy's path.
  std::string copy_store(const std::string& path, std::string_view name) const {
    for (const std::string suffix : {"", "-journal"}) {
      std::filesystem::remove(file(name) + suffix);
      if (std::filesystem::exists(path + suffix)) {
        std::filesystem::copy_file(path + suffix, file(name) + suffix);
      }
    }
    return file(name);
  }

 private:
  std::string path_;
};

}  // namespace mankai::test
