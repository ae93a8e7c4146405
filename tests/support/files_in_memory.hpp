#pragma once

#include <unistd.h>

#include <filesystem>

namespace mankai::test {

/// Where files lie in memory, if there is such a place: for tests that are not about what a disk keeps, as waiting for
/// one would take most of their time.
inline std::filesystem::path files_in_memory() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

}  // namespace mankai::test
