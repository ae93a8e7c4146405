#include "apps/mankai/installed_program.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace mankai::command {
namespace {

// Returns the folder of this executable with a slash at its end, or nothing where the system does not say.
std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t bytes = readlink("/proc/self/exe", path.data(), path.size());
  const std::string name(path.data(), static_cast<std::size_t>(bytes < 0 ? 0 : bytes));
  return name.substr(0, name.rfind('/') + 1);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Error run_installed(const std::string& program, const std::string& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> pointers = pointers_to(words);
  const std::string folder = own_folder();
  if (!folder.empty()) {
    execv((folder + program).c_str(), pointers.data());
  }
  if (folder.empty() || errno == ENOENT) {
    execvp(program.c_str(), pointers.data());
  }
  if (errno != ENOENT) {
    return {.code = ErrorCode::io, .os_error = errno, .detail = program + ": cannot be started"};
  }
  return {.code = ErrorCode::not_found,
          .detail = command + ": this command is part of " + program +
                    ", which is not installed; install that program in the folder of mankai or on PATH"};
}

}  // namespace mankai::command
