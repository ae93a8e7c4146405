#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "mankai/base/error.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai::detail {

/// Owns an open file descriptor; -1: none.
class Descriptor {
 public:
  Descriptor(FileCalls& calls, int value) noexcept : calls_(&calls), value_(value) {}
  Descriptor(Descriptor&& other) noexcept : calls_(other.calls_), value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(calls_, other.calls_);
    std::swap(value_, other.value_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) {
      calls_->close(value_);
    }
  }

  [[nodiscard]] int get() const noexcept { return value_; }
  [[nodiscard]] FileCalls& calls() const noexcept { return *calls_; }

 private:
  FileCalls* calls_;
  int value_;
};

template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

/// Does not wait for the writer of a FIFO; callers check the type of the file. A new file is private to its owner,
/// until it gets the permissions of the file it belongs to.
[[nodiscard]] Descriptor open_descriptor(FileCalls& calls, const std::string& path, int flags);

[[nodiscard]] std::unexpected<Error> system_error(std::string what);

/// Returns the status of an open regular file. Errors: io, also if it is not regular.
[[nodiscard]] Result<struct stat> regular_status(const Descriptor& file, const std::string& path);

/// Whether a path still leads to the open file. Errors: io.
[[nodiscard]] Result<bool> is_at(const std::string& path, const Descriptor& file);

/// Sets the permissions of an open file and, if allowed, its owner and group. Errors: io.
[[nodiscard]] Result<void> set_permissions(const Descriptor& file, const struct stat& alike, const std::string& path);

}  // namespace mankai::detail
