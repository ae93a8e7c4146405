#pragma once

#include <string>

#include "mankai/base/error.hpp"
#include "mankai/storage/detail/descriptor.hpp"
#include "mankai/storage/file_calls.hpp"

namespace mankai {

/// Keeps other writers that ask for the same lock away from a file until it goes out of scope, also while its holder
/// replaces the file. Advisory, and dropped by the system when the process ends, however it ends.
class FileLock {
 public:
  /// Errors: locked when somebody else has it, with the process's number where the system tells it; not_found; io.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path, FileCalls& calls = system_calls());

 private:
  friend class NewFile;
  explicit FileLock(detail::Descriptor file) noexcept : file_(std::move(file)) {}

  detail::Descriptor file_;
};

}  // namespace mankai
