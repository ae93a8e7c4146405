#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai::detail {

/// A file descriptor, closed at the end unless it was only lent.
class Descriptor {
 public:
  Descriptor(int fd, bool is_owned) noexcept : fd_(fd), is_owned_(is_owned) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_), is_owned_(std::exchange(other.is_owned_, false)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  /// Opens a file for reading. Errors: not_found, io.
  [[nodiscard]] static Result<Descriptor> open(const std::string& path);

  /// Returns what is left to read in a regular file, nothing for pipes and the like. Errors: io for a directory.
  [[nodiscard]] Result<std::optional<std::uint64_t>> remaining_bytes() const;

  /// Waits for bytes and returns how many came, 0 at the end.
  /// Errors: io with errno; EINTR of an unrelated signal is retried, and EAGAIN of a descriptor that somebody made
  ///         non-blocking waits. When `stop_fd` (if not -1) is readable: io with EINTR.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into, int stop_fd) const;

 private:
  int fd_;
  bool is_owned_;
};

}  // namespace mankai::detail
