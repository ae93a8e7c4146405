#include "mankai/file/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "mankai/base/number.hpp"
#include "mankai/file/open_file.hpp"

namespace mankai {
namespace {

using detail::Descriptor;
using detail::system_error;

/// Gives up if somebody replaces the file during each of so many attempts.
constexpr int kLockAttempts = 100;
constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kNameBytes = 32;

// Returns /proc/locks, as far as it is readable; empty if it is missing.
std::string table_of_locks(FileCalls& calls) {
  std::string table;
  const Descriptor file = detail::open_descriptor(calls, "/proc/locks", O_RDONLY);
  if (file.get() < 0) {
    return table;
  }
  std::array<char, kReadBytes> part{};
  for (;;) {
    const ssize_t got = detail::uninterrupted(
        [&] { return calls.pread(file.get(), part.data(), part.size(), static_cast<off_t>(table.size())); });
    if (got <= 0) {
      return table;
    }
    table.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// Returns the process of a line such as "7: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF" if its file ends in `file`;
// else 0. "->" as second word marks a waiting process; processes of other namespaces have no number here.
int owner_in(std::string_view line, std::string_view file) {
  next_word(line);
  if (next_word(line) != "FLOCK") {
    return 0;
  }
  next_word(line);
  next_word(line);
  const int process = to_number<int>(next_word(line)).value_or(0);
  return next_word(line).ends_with(file) ? std::max(process, 0) : 0;
}

int owner_in_table(std::string_view table, std::string_view file) {
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    if (const int owner = owner_in(line, file); owner != 0) {
      return owner;
    }
    table.remove_prefix(std::min(line.size() + 1, table.size()));
  }
  return 0;
}

// Returns 0 if unknown. Some file systems list another device than stat has; then the inode's number alone must do.
int owner_of_lock(const Descriptor& file, bool is_surely_locked) {
  struct stat status{};
  if (file.calls().fstat(file.get(), &status) != 0) {
    return 0;
  }
  const std::string table = table_of_locks(file.calls());
  std::array<char, kNameBytes> device{};
  std::snprintf(device.data(), device.size(), "%02x:%02x", ::major(status.st_dev), ::minor(status.st_dev));
  const std::string inode = ":" + std::to_string(status.st_ino);
  const int owner = owner_in_table(table, device.data() + inode);
  return owner != 0 || !is_surely_locked ? owner : owner_in_table(table, inode);
}

std::unexpected<Error> locked_by_another(const std::string& path, const Descriptor& file) {
  const int owner = owner_of_lock(file, true);
  return fail(ErrorCode::locked, path + ": " + process_name(owner) +
                                     (owner == ::getpid() ? " has it open for changes already; close it first"
                                                          : " is changing it; try again when it has finished"));
}

// A network file system locks against other machines only files that are open for writing; elsewhere reading is enough.
Descriptor open_to_lock(FileCalls& calls, const std::string& path) {
  Descriptor file = detail::open_descriptor(calls, path, O_RDWR);
  const bool is_read_only = file.get() < 0 && (errno == EACCES || errno == EROFS || errno == EPERM);
  return is_read_only ? detail::open_descriptor(calls, path, O_RDONLY) : std::move(file);
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path, FileCalls& calls, Mode mode) {
  const int operation = (mode == Mode::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    Descriptor file = open_to_lock(calls, path);
    if (file.get() < 0) {
      return system_error(path + ": cannot open");
    }
    if (detail::uninterrupted([&] { return calls.flock(file.get(), operation); }) != 0) {
      if (errno == EWOULDBLOCK) {
        return locked_by_another(path, file);
      }
      return system_error(path + ": cannot lock");
    }
    // Writers replace the file; a lock on a replaced file would exclude nobody.
    MANKAI_ASSIGN(const auto stayed, detail::is_at(path, file));
    if (stayed) {
      return FileLock(std::move(file));
    }
  }
  return fail(ErrorCode::io, path + ": cannot lock: it is replaced again and again");
}

void FileLock::release() && noexcept {
  static_cast<void>(detail::uninterrupted([&] { return file_.calls().flock(file_.get(), LOCK_UN); }));
  const Descriptor closed = std::move(file_);
}

Result<void> FileLock::check_at(const std::string& path) const {
  const auto now = identify(path, file_.calls());
  if (!now) {
    return now.error().code == ErrorCode::not_found ? Result<void>{} : std::unexpected(now.error());
  }
  struct stat locked{};
  if (file_.calls().fstat(file_.get(), &locked) != 0) {
    return system_error(path + ": cannot inspect");
  }
  if (*now == FileIdentity{.device = locked.st_dev, .inode = locked.st_ino}) {
    return {};
  }
  return fail(ErrorCode::io,
              path + ": was replaced by another file while it was open; move that one away, and open it again");
}

int lock_owner(const std::string& path, bool is_surely_locked, FileCalls& calls) {
  const Descriptor file = detail::open_descriptor(calls, path, O_RDONLY);
  return file.get() < 0 ? 0 : owner_of_lock(file, is_surely_locked);
}

std::string process_name(int process) {
  return process == 0            ? "another process"
         : process == ::getpid() ? "this process"
                                 : "process " + std::to_string(process);
}

}  // namespace mankai
