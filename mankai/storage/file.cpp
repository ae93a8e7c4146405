#include "mankai/storage/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace mankai {
namespace {

/// Linux moves at most 2 GiB less a page in one call.
constexpr std::size_t kTransferBytes = std::size_t{1} << 30;
constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kNewFileMode = 0666;
constexpr mode_t kPrivateMode = 0600;
/// A folder where each try finds another file than it locked is no place to lock in.
constexpr int kLockAttempts = 100;

class Descriptor {
 public:
  explicit Descriptor(int value) noexcept : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) {
      ::close(value_);
    }
  }

  [[nodiscard]] int get() const noexcept { return value_; }
  [[nodiscard]] int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_;
};

std::unexpected<Error> system_error(const std::string& what) {
  const int error = errno;
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found
                         : error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EFBIG
                             ? ErrorCode::out_of_space
                             : ErrorCode::io;
  return fail(code, what, error);
}

struct OpenFile {
  Descriptor descriptor;
  std::size_t bytes;
};

Result<OpenFile> open_regular(const std::string& path) {
  // Not blocking, so that a FIFO that nobody writes is refused below instead of waited for.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return system_error(path + ": cannot open");
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return system_error(path + ": cannot inspect");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, path + (S_ISDIR(status.st_mode) ? ": is a directory" : ": is no regular file") +
                                   ", where a filter's file was expected");
  }
  return OpenFile{.descriptor = std::move(file), .bytes = static_cast<std::size_t>(status.st_size)};
}

Result<void> read_all(int file, std::span<std::byte> into, const std::string& path) {
  while (!into.empty()) {
    const ssize_t got = ::read(file, into.data(), std::min(into.size(), kTransferBytes));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return system_error(path + ": cannot read");
    }
    if (got == 0) {
      return fail(ErrorCode::io, path + ": became shorter while it was read");
    }
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<void> write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), std::min(bytes.size(), kTransferBytes));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return system_error(path + ": cannot write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

// The file that a chain of symbolic links ends at; the path itself where there is none yet.
std::string resolve(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) {
    return path;
  }
  std::string resolved(real);
  std::free(real);
  return resolved;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A temporary file that is gone at the end unless it became the real one.
class Temporary {
 public:
  // A file that takes another's place is its owner's alone until it has that one's permissions.
  static Result<Temporary> create(const std::string& beside, bool replaces) {
    const mode_t mode = replaces ? kPrivateMode : kNewFileMode;
    for (unsigned attempt = 0;; ++attempt) {
      std::string path = beside + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
      const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (file >= 0) {
        return Temporary(std::move(path), Descriptor(file));
      }
      if (errno != EEXIST) {
        return system_error(beside + ": cannot create a file in this folder");
      }
    }
  }

  Temporary(Temporary&& other) noexcept
      : path_(std::exchange(other.path_, {})), descriptor_(std::move(other.descriptor_)) {}
  Temporary& operator=(Temporary&&) = delete;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
  }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void keep() noexcept { path_.clear(); }

 private:
  Temporary(std::string path, Descriptor descriptor) noexcept
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  std::string path_;
  Descriptor descriptor_;
};

// A new file gets the permissions of the one it replaces, and its owner and group where we may give them.
Result<void> copy_permissions(const struct stat& from, int file, const std::string& path) {
  static_cast<void>(::fchown(file, from.st_uid, from.st_gid) != 0);
  if (::fchmod(file, from.st_mode & kPermissionBits) != 0) {
    return system_error(path + ": cannot copy its permissions");
  }
  return {};
}

std::unexpected<Error> exists_already(const std::string& path) {
  return fail(ErrorCode::invalid_argument, path + ": exists already, and was left as it is");
}

// A rename would replace a device as well, and a file that its owner has made read-only.
Result<void> check_replaceable(const std::string& target, const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, path + ": is no regular file, and was left as it is");
  }
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) {
    return system_error(path + ": cannot be written");
  }
  return {};
}

// Puts the temporary in the path's place in one step.
Result<void> put_in_place(const Temporary& temporary, const std::string& path, Existing existing) {
  if (existing == Existing::replace) {
    if (::rename(temporary.path().c_str(), path.c_str()) != 0) {
      return system_error(path + ": cannot put the new file in place");
    }
    return {};
  }
  if (::renameat2(AT_FDCWD, temporary.path().c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    return {};
  }
  // Some file systems know no RENAME_NOREPLACE, but every one with hard links refuses to link over a file.
  if ((errno == EINVAL || errno == ENOSYS) && ::link(temporary.path().c_str(), path.c_str()) == 0) {
    ::unlink(temporary.path().c_str());
    return {};
  }
  if (errno == EEXIST) {
    return exists_already(path);
  }
  return system_error(path + ": cannot put the new file in place");
}

Result<void> sync_folder(const std::string& path) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some folders may be written but not read, and some file systems synchronise no folders: the file is there all the
  // same, and how soon its name lasts is theirs to say.
  if (folder.get() < 0 || ::fsync(folder.get()) == 0 || errno == EINVAL || errno == ENOTSUP) {
    return {};
  }
  return system_error(path + ": written, but its folder cannot be synchronised");
}

void unmap(void* /*context*/, void* data, std::size_t bytes) noexcept { ::munmap(data, bytes); }

}  // namespace

Result<Region> read_file(const std::string& path, const Memory& memory) {
  auto file = open_regular(path);
  if (!file) {
    return std::unexpected(file.error());
  }
  auto region = Region::allocate(memory, file->bytes);
  if (!region) {
    return std::unexpected(region.error().within(path));
  }
  if (auto read = read_all(file->descriptor.get(), region->bytes(), path); !read) {
    return std::unexpected(read.error());
  }
  return region;
}

Result<Region> map_file(const std::string& path) {
  auto file = open_regular(path);
  if (!file) {
    return std::unexpected(file.error());
  }
  if (file->bytes == 0) {
    return Region();
  }
  void* data =
      ::mmap(nullptr, file->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file->descriptor.get(), 0);
  if (data == MAP_FAILED) {
    return system_error(path + ": cannot map");
  }
  // Advice only. Probes are random; pages of 2 MiB, where the file system has them, spare half of the TLB misses.
  static_cast<void>(::madvise(data, file->bytes, MADV_HUGEPAGE));
  return Region({static_cast<std::byte*>(data), file->bytes}, unmap, nullptr);
}

Result<std::uint64_t> read_start(const std::string& path, std::span<std::byte> into) {
  auto file = open_regular(path);
  if (!file) {
    return std::unexpected(file.error());
  }
  if (auto read = read_all(file->descriptor.get(), into.first(std::min(into.size(), file->bytes)), path); !read) {
    return std::unexpected(read.error());
  }
  return file->bytes;
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, Existing existing, FileLock* held) {
  return write_file_parts(path, std::span(&bytes, 1), existing, held);
}

Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                              Existing existing, FileLock* held) {
  const std::string target = existing == Existing::replace ? resolve(path) : path;
  struct stat old{};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && existing == Existing::refuse) {
    return exists_already(path);
  }
  if (exists) {
    if (auto replaceable = check_replaceable(target, old, path); !replaceable) {
      return replaceable;
    }
  }
  auto temporary = Temporary::create(target, exists);
  if (!temporary) {
    return std::unexpected(temporary.error());
  }
  for (const std::span<const std::byte> part : parts) {
    if (auto written = write_all(temporary->descriptor(), part, path); !written) {
      return written;
    }
  }
  if (exists) {
    if (auto copied = copy_permissions(old, temporary->descriptor(), path); !copied) {
      return copied;
    }
  }
  if (::fsync(temporary->descriptor()) != 0) {
    return system_error(path + ": cannot write");
  }
  // Locked before it can be seen, while the old file still is: there is no moment at which a third could lock either.
  Descriptor locked(held == nullptr ? -1 : ::fcntl(temporary->descriptor(), F_DUPFD_CLOEXEC, 0));
  if (held != nullptr && (locked.get() < 0 || ::flock(locked.get(), LOCK_EX | LOCK_NB) != 0)) {
    return system_error(path + ": cannot lock the new file");
  }
  if (auto placed = put_in_place(*temporary, target, existing); !placed) {
    return placed;
  }
  temporary->keep();
  if (held != nullptr) {
    ::close(std::exchange(held->descriptor_, locked.release()));
  }
  return sync_folder(target);
}

Result<FileLock> FileLock::acquire(const std::string& path) {
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
      return system_error(path + ": cannot open");
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        return fail(ErrorCode::locked, path + ": another process is changing it; try again when it has finished");
      }
      return system_error(path + ": cannot lock");
    }
    // A writer replaces the file; a lock on the one it replaced would keep nobody away.
    struct stat locked{};
    struct stat current{};
    if (::fstat(file.get(), &locked) == 0 && ::stat(path.c_str(), &current) == 0 && locked.st_ino == current.st_ino &&
        locked.st_dev == current.st_dev) {
      return FileLock(file.release());
    }
  }
  return fail(ErrorCode::io, path + ": cannot lock: it is another file at every look");
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

}  // namespace mankai
