#pragma once

/// What filters alone cannot show needs files, other programs and processor time.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"

namespace mankai::lab {

/// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  /// Errors: io.
  [[nodiscard]] static Result<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Another program that runs beside this one. It ends with this object, and the kernel ends it with this program.
class Program {
 public:
  /// Returns the path of a file beside this program [`beside` names a folder relative to its folder], or of a program
  /// in PATH; nothing if there is none.
  [[nodiscard]] static std::optional<std::string> find(std::string_view name, std::string_view beside = ".");
  /// Starts the program in a folder; its standard error is discarded. Errors: io.
  [[nodiscard]] static Result<Program> start(const std::vector<std::string>& words, const std::string& folder);
  Program(Program&& other) noexcept : pid_(std::exchange(other.pid_, 0)), output_(std::exchange(other.output_, -1)) {}
  Program& operator=(Program&&) = delete;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  /// Sends SIGTERM and waits.
  ~Program();

  /// Waits for a line of its standard output. Errors: io if there is none.
  [[nodiscard]] Result<std::string> read_line() const;
  /// Waits for its end. Errors: io for another code than 0.
  [[nodiscard]] Result<void> wait();
  /// The processor time that it has used, all threads together.
  [[nodiscard]] double cpu_seconds() const;

 private:
  Program(pid_t pid, int output) noexcept : pid_(pid), output_(output) {}
  pid_t pid_;
  int output_;
};

/// Returns the path of the Redis module in the build folder or installed; nothing if there is none.
[[nodiscard]] std::optional<std::string> find_redis_module();

/// Returns the folder of the newest PostgreSQL server's programs, as Debian installs them; nothing if there is none.
[[nodiscard]] std::optional<std::string> find_postgresql();

/// The processor time that this thread has used.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace mankai::lab
