#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "mankai/file/file_calls.hpp"

namespace mankai::test {

/// Files in memory that are only read: for tests that open very many. Threads: one.
class MemoryFiles : public FileCalls {
 public:
  using Bytes = std::vector<std::byte>;

  void put(const std::string& path, Bytes bytes) { files_[path] = std::move(bytes); }
  void remove(const std::string& path) { files_.erase(path); }
  /// Pre: it is there.
  [[nodiscard]] Bytes& at(const std::string& path) { return files_.at(path); }

  int open(const char* path, int /*flags*/, mode_t /*mode*/) override {
    if (!files_.contains(path)) {
      return refuse(ENOENT);
    }
    open_[next_] = path;
    return next_++;
  }
  int close(int file) noexcept override { return open_.erase(file) == 1 ? 0 : refuse(EBADF); }
  ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) override {
    const Bytes& all = files_.at(open_.at(file));
    const auto begin = std::min(all.size(), static_cast<std::size_t>(offset));
    const std::size_t count = std::min(bytes, all.size() - begin);
    std::copy_n(all.data() + begin, count, static_cast<std::byte*>(into));
    return static_cast<ssize_t>(count);
  }
  int fstat(int file, struct stat* status) override { return stat(open_.at(file).c_str(), status); }
  int stat(const char* path, struct stat* status) override {
    const auto found = files_.find(path);
    if (found == files_.end()) {
      return refuse(ENOENT);
    }
    *status = {};
    status->st_mode = S_IFREG | 0600;
    status->st_size = static_cast<off_t>(found->second.size());
    status->st_ino = static_cast<ino_t>(std::distance(files_.begin(), found)) + 1;
    return 0;
  }
  int access(const char* path, int /*mode*/) override { return files_.contains(path) ? 0 : refuse(ENOENT); }
  char* realpath(const char* path) override { return ::strdup(path); }

  /// A copy; not one byte longer, so that AddressSanitizer sees every step past the end. Aligned to 64, but not as a
  /// page, so that the system takes no advice about it: each would cost a mapping, and there are only so many.
  void* mmap(std::size_t bytes, int /*protection*/, int flags, int file, off_t offset) override {
    if ((flags & MAP_PRIVATE) == 0) {
      refuse(EACCES);
      return MAP_FAILED;
    }
    auto* const start = static_cast<std::byte*>(::operator new(bytes + kOff, kPage));
    if (pread(file, start + kOff, bytes, offset) != static_cast<ssize_t>(bytes)) {
      ::operator delete(start, kPage);
      refuse(EINVAL);
      return MAP_FAILED;
    }
    return start + kOff;
  }
  int munmap(void* data, std::size_t /*bytes*/) noexcept override {
    ::operator delete(static_cast<std::byte*>(data) - kOff, kPage);
    return 0;
  }

  int duplicate(int /*file*/) override { return refuse(EROFS); }
  ssize_t pwrite(int /*file*/, const void* /*from*/, std::size_t /*bytes*/, off_t /*offset*/) override {
    return refuse(EROFS);
  }
  int fsync(int /*file*/) override { return refuse(EROFS); }
  int fdatasync(int /*file*/) override { return refuse(EROFS); }
  int ftruncate(int /*file*/, off_t /*bytes*/) override { return refuse(EROFS); }
  int fallocate(int /*file*/, off_t /*offset*/, off_t /*bytes*/) override { return refuse(EROFS); }
  int flock(int /*file*/, int /*operation*/) override { return refuse(EROFS); }
  int fchown(int /*file*/, uid_t /*owner*/, gid_t /*group*/) override { return refuse(EROFS); }
  int fchmod(int /*file*/, mode_t /*mode*/) override { return refuse(EROFS); }
  void* mremap(void* /*data*/, std::size_t /*old_bytes*/, std::size_t /*bytes*/, int /*flags*/) override {
    refuse(EROFS);
    return MAP_FAILED;
  }
  int msync(void* /*data*/, std::size_t /*bytes*/, int /*flags*/) override { return refuse(EROFS); }
  int rename(const char* /*from*/, const char* /*to*/) override { return refuse(EROFS); }
  int rename_no_replace(const char* /*from*/, const char* /*to*/) override { return refuse(EROFS); }
  int link(const char* /*from*/, const char* /*to*/) override { return refuse(EROFS); }
  int unlink(const char* /*path*/) override { return refuse(EROFS); }

 private:
  static constexpr std::align_val_t kPage{4096};
  static constexpr std::size_t kOff = 64;

  static int refuse(int error) noexcept {
    errno = error;
    return -1;
  }

  std::map<std::string, Bytes, std::less<>> files_;
  std::map<int, std::string> open_;
  int next_ = 3;
};

}  // namespace mankai::test
