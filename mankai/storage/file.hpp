#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/region.hpp"

namespace mankai {

/// Reads a regular file whole. Errors: not_found; io (a directory, an unreadable file); out_of_space.
[[nodiscard]] Result<Region> read_file(const std::string& path, const Memory& memory = system_memory());

/// Maps a regular file privately: changes stay in memory. Cost: independent of the size until bytes are touched.
/// The file must not be truncated while it is mapped; write_file never does that.
/// Errors: as read_file.
[[nodiscard]] Result<Region> map_file(const std::string& path);

/// Reads the first bytes of a regular file, at most as many as `into` holds, and returns how large the file is: enough
/// to refuse a wrong file before memory is allocated for it. Errors: not_found; io.
[[nodiscard]] Result<std::uint64_t> read_start(const std::string& path, std::span<std::byte> into);

/// What to do when the path exists already.
enum class Existing : std::uint8_t { refuse, replace };

/// Keeps other writers that ask for the same lock away from a file until it goes out of scope, also while its holder
/// replaces the file. Advisory, and dropped by the system when the process ends, however it ends.
class FileLock {
 public:
  /// Errors: locked when somebody else has it; not_found; io.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  friend Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                                       Existing existing, FileLock* held);
  explicit FileLock(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_;
};

/// Writes a file whole or not at all: a temporary beside it, fsync, rename, fsync of the folder. A crash, a full disk
/// or a signal leaves the old file as it was; only SIGKILL leaves the temporary too. Keeps an existing file's owner,
/// where that is allowed, and permissions, and writes through a symbolic link to an existing file. A lock that is held
/// on the file goes over to the new one before anybody can see it. Errors: io, also for what is no regular file or may
/// not be written; out_of_space; invalid_argument when it exists and must not.
[[nodiscard]] Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, Existing existing,
                                      FileLock* held = nullptr);
/// As write_file, for contents that lie in several pieces, written one after the other.
[[nodiscard]] Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                                            Existing existing, FileLock* held = nullptr);

}  // namespace mankai
