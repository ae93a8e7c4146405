#include "tests/support/failing_calls.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

namespace mankai::test {

void FailingCalls::fail(Failure failure, std::size_t number, bool breaks_disk, std::string_view only,
                        std::size_t times) {
  failure_ = failure;
  failing_ = number;
  times_ = breaks_disk ? std::numeric_limits<std::size_t>::max() : times;
  only_ = only;
  count_ = 0;
  failed_ = {};
}

bool FailingCalls::is_next(std::string_view call) {
  if (!only_.empty() && call != only_) {
    return false;
  }
  const std::size_t number = count_++;
  const bool fails = number >= failing_ && number - failing_ < times_;
  if (fails && failed_.empty()) {
    failed_ = call;
  }
  return fails;
}

bool FailingCalls::fails(std::string_view call, Can can) {
  const bool is_possible = failure_ == Failure::io || (failure_ == Failure::no_space && can.fill) ||
                           (failure_ == Failure::interrupted && can.be_interrupted);
  if (!is_possible || !is_next(call)) {
    return false;
  }
  errno = failure_ == Failure::io ? EIO : failure_ == Failure::interrupted ? EINTR : can.map ? ENOMEM : ENOSPC;
  return true;
}

bool FailingCalls::fails_sync(std::string_view call, int file) {
  if (syncing_) {
    syncing_();
  }
  if (!fails(call, {.fill = true, .be_interrupted = true})) {
    return false;
  }
  if (failure_ != Failure::interrupted && sync_failed_) {
    const int error = errno;
    sync_failed_(file);
    errno = error;
  }
  return true;
}

std::size_t FailingCalls::transferred(std::string_view call, std::size_t bytes) {
  return failure_ == Failure::short_transfer && bytes > 1 && is_next(call) ? bytes / 2 : bytes;
}

int FailingCalls::open(const char* path, int flags, mode_t mode) {
  return fails("open", {.fill = (flags & O_CREAT) != 0, .be_interrupted = true}) ? -1 : inner_->open(path, flags, mode);
}

int FailingCalls::duplicate(int file) { return fails("duplicate", {}) ? -1 : inner_->duplicate(file); }

ssize_t FailingCalls::pread(int file, void* into, std::size_t bytes, off_t offset) {
  return fails("pread", {.be_interrupted = true}) ? -1 : inner_->pread(file, into, transferred("pread", bytes), offset);
}

ssize_t FailingCalls::pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  return fails("pwrite", {.fill = true, .be_interrupted = true})
             ? -1
             : inner_->pwrite(file, from, transferred("pwrite", bytes), offset);
}

int FailingCalls::fsync(int file) { return fails_sync("fsync", file) ? -1 : inner_->fsync(file); }

int FailingCalls::fdatasync(int file) { return fails_sync("fdatasync", file) ? -1 : inner_->fdatasync(file); }

int FailingCalls::ftruncate(int file, off_t bytes) {
  return fails("ftruncate", {.fill = true, .be_interrupted = true}) ? -1 : inner_->ftruncate(file, bytes);
}

int FailingCalls::fallocate(int file, off_t offset, off_t bytes) {
  if (offset == refused_room_) {
    errno = ENOSPC;
    return -1;
  }
  return fails("fallocate", {.fill = true, .be_interrupted = true}) ? -1 : inner_->fallocate(file, offset, bytes);
}

int FailingCalls::punch_hole(int file, off_t offset, off_t bytes) noexcept {
  return fails("punch_hole", {.be_interrupted = true}) ? -1 : inner_->punch_hole(file, offset, bytes);
}

int FailingCalls::madvise(void* data, std::size_t bytes, int advice) noexcept {
  return fails("madvise", {}) ? -1 : inner_->madvise(data, bytes, advice);
}

int FailingCalls::flock(int file, int operation) {
  return fails("flock", {.be_interrupted = true}) ? -1 : inner_->flock(file, operation);
}

int FailingCalls::fstat(int file, struct stat* status) { return fails("fstat", {}) ? -1 : inner_->fstat(file, status); }

// Nobody can rely on it: only a privileged process may give files away.
int FailingCalls::fchown(int file, uid_t owner, gid_t group) { return inner_->fchown(file, owner, group); }

int FailingCalls::fchmod(int file, mode_t mode) { return fails("fchmod", {}) ? -1 : inner_->fchmod(file, mode); }

void* FailingCalls::mmap(std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return fails("mmap", {.fill = true, .map = true}) ? MAP_FAILED : inner_->mmap(bytes, protection, flags, file, offset);
}

void* FailingCalls::mremap(void* data, std::size_t old_bytes, std::size_t bytes, int flags) {
  return fails("mremap", {.fill = true, .map = true}) ? MAP_FAILED : inner_->mremap(data, old_bytes, bytes, flags);
}

int FailingCalls::msync(void* data, std::size_t bytes, int flags) {
  return fails("msync", {.fill = true, .be_interrupted = true}) ? -1 : inner_->msync(data, bytes, flags);
}

int FailingCalls::stat(const char* path, struct stat* status) {
  return fails("stat", {}) ? -1 : inner_->stat(path, status);
}

int FailingCalls::access(const char* path, int mode) { return fails("access", {}) ? -1 : inner_->access(path, mode); }

char* FailingCalls::realpath(const char* path) { return fails("realpath", {}) ? nullptr : inner_->realpath(path); }

int FailingCalls::rename(const char* from, const char* to) {
  return fails("rename", {.fill = true}) ? -1 : inner_->rename(from, to);
}

int FailingCalls::rename_no_replace(const char* from, const char* to) {
  return fails("rename_no_replace", {.fill = true}) ? -1 : inner_->rename_no_replace(from, to);
}

int FailingCalls::link(const char* from, const char* to) {
  return fails("link", {.fill = true}) ? -1 : inner_->link(from, to);
}

int FailingCalls::unlink(const char* path) { return fails("unlink", {}) ? -1 : inner_->unlink(path); }

}  // namespace mankai::test
