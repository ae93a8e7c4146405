#include "mankai/file/file_calls.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace mankai {
namespace {

class SystemCalls final : public FileCalls {
 public:
  int open(const char* path, int flags, mode_t mode) override { return ::open(path, flags, mode); }
  int close(int file) noexcept override { return ::close(file); }
  int duplicate(int file) override { return ::fcntl(file, F_DUPFD_CLOEXEC, 0); }
  ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) override {
    return ::pread(file, into, bytes, offset);
  }
  ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) override {
    return ::pwrite(file, from, bytes, offset);
  }
  int fsync(int file) override { return ::fsync(file); }
  int fdatasync(int file) override { return ::fdatasync(file); }
  int ftruncate(int file, off_t bytes) override { return ::ftruncate(file, bytes); }
  int fallocate(int file, off_t offset, off_t bytes) override {
    // posix_fallocate returns the error and leaves errno alone.
    const int error = ::posix_fallocate(file, offset, bytes);
    if (error != 0) {
      errno = error;
      return -1;
    }
    return 0;
  }
  int punch_hole(int file, off_t offset, off_t bytes) noexcept override {
    return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
  }
  int flock(int file, int operation) override { return ::flock(file, operation); }
  int lock_for_writing(int file) noexcept override {
    struct flock all{};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    return ::fcntl(file, F_OFD_SETLK, &all);
  }
  int fstat(int file, struct stat* status) override { return ::fstat(file, status); }
  int fchown(int file, uid_t owner, gid_t group) override { return ::fchown(file, owner, group); }
  int fchmod(int file, mode_t mode) override { return ::fchmod(file, mode); }

  void* mmap(std::size_t bytes, int protection, int flags, int file, off_t offset) override {
    return ::mmap(nullptr, bytes, protection, flags, file, offset);
  }
  int munmap(void* data, std::size_t bytes) noexcept override { return ::munmap(data, bytes); }
  void* mremap(void* data, std::size_t old_bytes, std::size_t bytes, int flags) override {
    return ::mremap(data, old_bytes, bytes, flags);
  }
  int msync(void* data, std::size_t bytes, int flags) override { return ::msync(data, bytes, flags); }
  int madvise(void* data, std::size_t bytes, int advice) noexcept override { return ::madvise(data, bytes, advice); }

  int stat(const char* path, struct stat* status) override { return ::stat(path, status); }
  int access(const char* path, int mode) override { return ::faccessat(AT_FDCWD, path, mode, AT_EACCESS); }
  char* realpath(const char* path) override { return ::realpath(path, nullptr); }
  int rename(const char* from, const char* to) override { return ::rename(from, to); }
  int rename_no_replace(const char* from, const char* to) override {
    return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
  }
  int link(const char* from, const char* to) override { return ::link(from, to); }
  int unlink(const char* path) override { return ::unlink(path); }
};

}  // namespace

int FileCalls::punch_hole(int /*file*/, off_t /*offset*/, off_t /*bytes*/) noexcept {
  errno = ENOTSUP;
  return -1;
}

int FileCalls::lock_for_writing(int /*file*/) noexcept {
  errno = ENOTSUP;
  return -1;
}

int FileCalls::madvise(void* /*data*/, std::size_t /*bytes*/, int /*advice*/) noexcept {
  errno = ENOTSUP;
  return -1;
}

FileCalls& system_calls() noexcept {
  static SystemCalls calls;
  return calls;
}

}  // namespace mankai
