#pragma once

#include <string>

#include "mankai/base/error.hpp"
#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// Keeps other writers that ask for the same lock away from a file until it goes out of scope, also while its holder
/// replaces the file. Advisory, and dropped by the system when the process ends, however it ends.
class FileLock {
 public:
  /// Errors: locked when somebody else has it, with the process's number where the system tells it; not_found; io.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path, FileCalls& calls = system_calls());

  /// Fails when the path names another file by now, which is somebody else's: it was moved there without asking for a
  /// lock. That it names none is no failure. Errors: io.
  [[nodiscard]] Result<void> check_at(const std::string& path) const;

 private:
  friend class NewFile;
  explicit FileLock(detail::Descriptor file) noexcept : file_(std::move(file)) {}

  detail::Descriptor file_;
};

/// Returns the process that holds the lock on a file, as far as the system tells; 0 for none, or when it cannot be
/// found out. Takes no lock itself. Some file systems show their files under another name among the locks, by which a
/// file could be taken for another: such a line is believed only for a file that is surely locked.
[[nodiscard]] int lock_owner(const std::string& path, bool is_surely_locked, FileCalls& calls = system_calls());

}  // namespace mankai
