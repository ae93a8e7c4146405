#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace mankai {

/// The system calls on files that the library uses, in one class so that tests can simulate a failing disk. Functions
/// return what the system calls of their names return: -1 (mmap, mremap: MAP_FAILED; realpath: nullptr) and errno on
/// failure. Callers handle short transfers and EINTR. Threads: safe, as the system's.
class FileCalls {
 public:
  FileCalls() = default;
  virtual ~FileCalls() = default;

  virtual int open(const char* path, int flags, mode_t mode) = 0;
  virtual int close(int file) noexcept = 0;
  /// Duplicates the descriptor, with FD_CLOEXEC.
  virtual int duplicate(int file) = 0;
  virtual ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) = 0;
  virtual ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) = 0;
  virtual int fsync(int file) = 0;
  virtual int fdatasync(int file) = 0;
  virtual int ftruncate(int file, off_t bytes) = 0;
  /// As posix_fallocate, but fails with -1 and errno.
  virtual int fallocate(int file, off_t offset, off_t bytes) = 0;
  /// As fallocate with FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE. Fails with ENOTSUP unless overridden.
  virtual int punch_hole(int file, off_t offset, off_t bytes) noexcept;
  virtual int flock(int file, int operation) = 0;
  /// As fcntl with F_OFD_SETLK and F_WRLCK for the whole file. Fails with ENOTSUP unless overridden.
  virtual int lock_for_writing(int file) noexcept;
  virtual int fstat(int file, struct stat* status) = 0;
  virtual int fchown(int file, uid_t owner, gid_t group) = 0;
  virtual int fchmod(int file, mode_t mode) = 0;

  virtual void* mmap(std::size_t bytes, int protection, int flags, int file, off_t offset) = 0;
  virtual int munmap(void* data, std::size_t bytes) noexcept = 0;
  virtual void* mremap(void* data, std::size_t old_bytes, std::size_t bytes, int flags) = 0;
  virtual int msync(void* data, std::size_t bytes, int flags) = 0;
  /// Fails with ENOTSUP unless overridden.
  virtual int madvise(void* data, std::size_t bytes, int advice) noexcept;

  virtual int stat(const char* path, struct stat* status) = 0;
  /// As faccessat for the effective user.
  virtual int access(const char* path, int mode) = 0;
  /// Returns the path without symbolic links; the caller frees it.
  virtual char* realpath(const char* path) = 0;
  virtual int rename(const char* from, const char* to) = 0;
  /// As renameat2 with RENAME_NOREPLACE.
  virtual int rename_no_replace(const char* from, const char* to) = 0;
  virtual int link(const char* from, const char* to) = 0;
  virtual int unlink(const char* path) = 0;

 protected:
  FileCalls(const FileCalls&) = default;
  FileCalls(FileCalls&&) = default;
  FileCalls& operator=(const FileCalls&) = default;
  FileCalls& operator=(FileCalls&&) = default;
};

/// Returns the calls of the operating system.
[[nodiscard]] FileCalls& system_calls() noexcept;

}  // namespace mankai
