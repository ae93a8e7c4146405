#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai::detail {

/// A file descriptor, which the destructor closes unless it is borrowed. Not named Descriptor: file/detail has a class
/// of that name in this namespace, and programs link both.
class InputDescriptor {
 public:
  InputDescriptor(int fd, bool is_owned) noexcept : fd_(fd), is_owned_(is_owned) {}
  InputDescriptor(InputDescriptor&& other) noexcept
      : fd_(other.fd_), is_owned_(std::exchange(other.is_owned_, false)) {}
  InputDescriptor& operator=(InputDescriptor&&) = delete;
  ~InputDescriptor() {
    if (is_owned_) {
      close(fd_);
    }
  }

  /// Errors: not_found, io.
  [[nodiscard]] static Result<InputDescriptor> open(const std::string& path, int flags = 0) {
    int fd = -1;
    do {
      fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
      const int os_error = errno;
      return fail(os_error == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot open", os_error);
    }
    return InputDescriptor(fd, true);
  }

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
  bool is_owned_;
};

}  // namespace mankai::detail
