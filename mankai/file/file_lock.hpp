#pragma once

#include <cstdint>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// Excludes other writers that request the same lock on a file, until the object is destroyed, even while its holder
/// replaces the file. Advisory; the system releases the lock when the process exits or crashes.
class FileLock {
 public:
  enum class Mode : std::uint8_t {
    exclusive,
    shared,  ///< beside others that are shared
  };

  /// Errors: locked if another process has the lock, with its number if the system reports one; not_found; io.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path, FileCalls& calls = system_calls(),
                                                Mode mode = Mode::exclusive);

  /// Releases the lock at once. The destructor does not, as long as a child of fork() has a copy of it.
  void release() && noexcept;

  /// Checks that nobody has moved another file to the path without the lock. A missing file is no error. Errors: io.
  [[nodiscard]] Result<void> check_at(const std::string& path) const;

 private:
  friend class NewFile;
  explicit FileLock(detail::Descriptor file) noexcept : file_(std::move(file)) {}

  detail::Descriptor file_;
};

/// Returns the process that holds the lock on a file; 0 if none or unknown. Takes no lock. Some file systems list files
/// ambiguously in the table of locks: such a line counts only if `is_surely_locked`.
[[nodiscard]] int lock_owner(const std::string& path, bool is_surely_locked, FileCalls& calls = system_calls());

/// Such a process in messages: "process 1234", "this process", or "another process" for 0.
[[nodiscard]] std::string process_name(int process);

}  // namespace mankai
