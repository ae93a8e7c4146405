#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

#include "mankai/file/file_calls.hpp"

namespace mankai::test {

/// What can happen to a call.
enum class Failure : std::uint8_t {
  io,              ///< EIO
  no_space,        ///< ENOSPC, or ENOMEM where memory is mapped
  interrupted,     ///< EINTR, to calls that a signal may interrupt
  short_transfer,  ///< half of the bytes, to reading and writing
};

/// Passes all calls on, but for one, which fails. Threads: one at a time.
class FailingCalls : public FileCalls {
 public:
  explicit FailingCalls(FileCalls& inner) : inner_(&inner) {}

  /// From now on, the call of this number fails and, in all, so many `times` in a row; all after it when the disk is
  /// broken. Counts from 0 those calls to which this can happen, or only those of one name.
  void fail(Failure failure, std::size_t number, bool breaks_disk = false, std::string_view only = {},
            std::size_t times = 1);
  /// Fails nothing more.
  void stop() { failing_ = std::numeric_limits<std::size_t>::max(); }
  [[nodiscard]] bool has_failed() const noexcept { return !failed_.empty(); }
  /// The name of the first call that failed.
  [[nodiscard]] std::string_view failed() const noexcept { return failed_; }
  /// From now on there is no room for what lies at this offset of a file.
  void refuse_room_at(off_t offset) { refused_room_ = offset; }
  /// Told of each sync of a file that failed here.
  void when_sync_fails(std::function<void(int)> told) { sync_failed_ = std::move(told); }

  /// Called before each sync, on whatever thread makes it.
  void when_syncing(std::function<void()> told) { syncing_ = std::move(told); }

  int open(const char* path, int flags, mode_t mode) override;
  int close(int file) noexcept override { return inner_->close(file); }
  int duplicate(int file) override;
  ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) override;
  ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) override;
  int fsync(int file) override;
  int fdatasync(int file) override;
  int ftruncate(int file, off_t bytes) override;
  int fallocate(int file, off_t offset, off_t bytes) override;
  int punch_hole(int file, off_t offset, off_t bytes) noexcept override;
  int madvise(void* data, std::size_t bytes, int advice) noexcept override;
  int flock(int file, int operation) override;
  int fstat(int file, struct stat* status) override;
  int fchown(int file, uid_t owner, gid_t group) override;
  int fchmod(int file, mode_t mode) override;
  void* mmap(std::size_t bytes, int protection, int flags, int file, off_t offset) override;
  int munmap(void* data, std::size_t bytes) noexcept override { return inner_->munmap(data, bytes); }
  void* mremap(void* data, std::size_t old_bytes, std::size_t bytes, int flags) override;
  int msync(void* data, std::size_t bytes, int flags) override;
  int stat(const char* path, struct stat* status) override;
  int access(const char* path, int mode) override;
  char* realpath(const char* path) override;
  int rename(const char* from, const char* to) override;
  int rename_no_replace(const char* from, const char* to) override;
  int link(const char* from, const char* to) override;
  int unlink(const char* path) override;

 private:
  /// What can happen to a call besides EIO.
  struct Can {
    bool fill = false;
    bool be_interrupted = false;
    bool map = false;
  };

  bool fails(std::string_view call, Can can);
  bool fails_sync(std::string_view call, int file);
  /// The bytes of a transfer that is made short.
  std::size_t transferred(std::string_view call, std::size_t bytes);
  bool is_next(std::string_view call);

  FileCalls* inner_;
  Failure failure_{};
  std::size_t failing_ = std::numeric_limits<std::size_t>::max();
  std::size_t times_ = 1;
  std::string_view only_;
  std::atomic<std::size_t> count_ = 0;
  std::string_view failed_;
  off_t refused_room_ = -1;
  std::function<void(int)> sync_failed_;
  std::function<void()> syncing_;
};

}  // namespace mankai::test
