#include "mankai/file/new_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/file/detail/transfer.hpp"

namespace mankai {
namespace {

using detail::Descriptor;
using detail::system_error;

constexpr mode_t kPermissionBits = 07777;
/// Suffix of the temporary that only the holder of the file's lock creates; an existing one was left by a crash.
constexpr const char* kHoldersSuffix = "-checkpoint";
/// Suffix of others, before their number.
constexpr const char* kSuffix = ".mankai.tmp-";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Until its creator has ended, a temporary is locked, by a lock that has nothing to do with FileLock's: the file keeps
// it for a moment after the rename.
void remove_if_abandoned(const std::string& name, FileCalls& calls) {
  const Descriptor file = detail::open_descriptor(calls, name, O_RDWR | O_NOFOLLOW);
  if (file.get() >= 0 && calls.lock_for_writing(file.get()) == 0 && detail::is_at(name, file).value_or(false)) {
    calls.unlink(name.c_str());
  }
}

// Keeps others from removing a new temporary. Returns false if one of them found it before it was locked. On a file
// system without such locks nobody removes it.
bool protect(const Descriptor& file, const std::string& name) {
  return file.calls().lock_for_writing(file.get()) == 0 ? detail::is_at(name, file).value_or(false)
                                                        : errno != EAGAIN && errno != EACCES;
}

// Whether the file may be new. Problems of its folder are reported when a file in it is created or opened.
bool may_be_new() noexcept { return errno == ENOENT || errno == ENOTDIR || errno == EACCES; }

std::unexpected<Error> exists_already(const std::string& path) {
  return fail(ErrorCode::invalid_argument, path + ": exists already");
}

std::unexpected<Error> leads_nowhere(const std::string& path) {
  return fail(ErrorCode::io, path + ": is a symbolic link to a missing file; create that file, or remove the link");
}

}  // namespace

NewFile::NewFile(FileCalls& calls, std::string path, std::string target, Existing existing, FileLock* held,
                 FileMode mode) noexcept
    : path_(std::move(path)),
      target_(std::move(target)),
      existing_(existing),
      held_(held),
      mode_(mode),
      file_(calls, -1) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      existing_(other.existing_),
      held_(other.held_),
      mode_(other.mode_),
      old_(other.old_),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      written_(other.written_),
      is_synced_(other.is_synced_) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) {
    file_.calls().unlink(temporary_.c_str());
  }
}

Result<NewFile> NewFile::create(const std::string& path, Existing existing, FileLock* held, FileCalls& calls,
                                FileMode mode) {
  MANKAI_ASSIGN(auto target, existing == Existing::replace ? resolve_links(path, calls) : Result<std::string>(path));
  NewFile file(calls, path, std::move(target), existing, held, mode);
  MANKAI_TRY(file.look_at_old());
  MANKAI_TRY(file.create_temporary());
  return file;
}

// A rename would also replace a device, and a file that its owner has made read-only.
Result<void> NewFile::look_at_old() {
  FileCalls& calls = file_.calls();
  struct stat status{};
  if (calls.stat(target_.c_str(), &status) != 0) {
    return may_be_new() ? Result<void>() : system_error(path_ + ": cannot inspect");
  }
  if (existing_ == Existing::refuse) {
    return exists_already(path_);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, path_ + ": is not a regular file");
  }
  if (calls.access(target_.c_str(), W_OK) != 0) {
    return system_error(path_ + ": cannot be written");
  }
  old_ = status;
  return {};
}

// Each name is tried again after what a crash left has been removed.
Result<void> NewFile::create_temporary() {
  for (unsigned attempt = 0;; ++attempt) {
    const bool is_holders = held_ != nullptr && attempt < 2;
    std::string name = is_holders ? target_ + kHoldersSuffix : target_ + kSuffix + std::to_string(attempt / 2);
    Descriptor file = detail::open_descriptor(file_.calls(), name, O_WRONLY | O_CREAT | O_EXCL);
    if (file.get() >= 0) {
      if (!is_holders && !protect(file, name)) {
        continue;
      }
      file_ = std::move(file);
      temporary_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) {
      return system_error(path_ + ": cannot create a file in this folder");
    }
    if (is_holders) {
      remove_left_over(target_, file_.calls());
    } else if (attempt % 2 == 0) {
      remove_if_abandoned(name, file_.calls());
    }
  }
}

Result<void> NewFile::write(std::span<const std::byte> bytes) {
  is_synced_ = false;
  MANKAI_TRY(detail::write_at(file_, written_, bytes, path_));
  written_ += bytes.size();
  return {};
}

Result<void> NewFile::set_permissions() {
  if (old_) {
    MANKAI_TRY(detail::set_permissions(file_, *old_, path_));
  }
  if (mode_ && file_.calls().fchmod(file_.get(), *mode_) != 0) {
    return system_error(path_ + ": cannot set its permissions");
  }
  return {};
}

Result<void> NewFile::sync() {
  MANKAI_TRY(set_permissions());
  if (detail::uninterrupted([&] { return file_.calls().fsync(file_.get()); }) != 0) {
    return system_error(path_ + ": cannot write to the disk");
  }
  is_synced_ = true;
  return {};
}

Result<void> NewFile::put_in_place() {
  MANKAI_ASSERT(is_synced_ && !is_in_place());
  FileCalls& calls = file_.calls();
  // The new file is locked before it is visible and while the old one is locked, so that nobody else can lock either.
  Descriptor locked(calls, held_ == nullptr ? -1 : calls.duplicate(file_.get()));
  if (held_ != nullptr &&
      (locked.get() < 0 || detail::uninterrupted([&] { return calls.flock(locked.get(), LOCK_EX | LOCK_NB); }) != 0)) {
    return system_error(path_ + ": cannot lock the new file");
  }
  MANKAI_TRY(rename_temporary());
  temporary_.clear();
  if (held_ != nullptr) {
    held_->file_ = std::move(locked);
  }
  return sync_folder_of(target_, calls);
}

Result<void> NewFile::rename_temporary() {
  FileCalls& calls = file_.calls();
  if (existing_ == Existing::replace) {
    if (calls.rename(temporary_.c_str(), target_.c_str()) != 0) {
      return system_error(path_ + ": cannot put the new file in place");
    }
    return {};
  }
  if (calls.rename_no_replace(temporary_.c_str(), target_.c_str()) == 0) {
    return {};
  }
  // Some file systems lack RENAME_NOREPLACE, but every one with hard links refuses to link over a file.
  if ((errno == EINVAL || errno == ENOSYS) && calls.link(temporary_.c_str(), target_.c_str()) == 0) {
    calls.unlink(temporary_.c_str());
    return {};
  }
  if (errno == EEXIST) {
    struct stat status{};
    return calls.stat(target_.c_str(), &status) != 0 && errno == ENOENT ? leads_nowhere(path_) : exists_already(path_);
  }
  return system_error(path_ + ": cannot put the new file in place");
}

Result<std::string> resolve_links(const std::string& path, FileCalls& calls) {
  const std::unique_ptr<char, decltype(&std::free)> real(calls.realpath(path.c_str()), &std::free);
  if (real == nullptr) {
    return may_be_new() ? Result<std::string>(path) : system_error(path + ": cannot follow its links");
  }
  return std::string(real.get());
}

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.string();
}

FileMode mode_of(const std::string& path, FileCalls& calls) {
  struct stat status{};
  return calls.stat(path.c_str(), &status) == 0 ? FileMode(status.st_mode & kPermissionBits) : std::nullopt;
}

void remove_left_over(const std::string& target, FileCalls& calls) { calls.unlink((target + kHoldersSuffix).c_str()); }

Result<void> remove_file(const std::string& path, FileCalls& calls) {
  if (calls.unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_error(path + ": cannot remove");
  }
  return sync_folder_of(path, calls);
}

Result<void> sync_folder_of(const std::string& path, FileCalls& calls) {
  const Descriptor folder = detail::open_descriptor(calls, folder_of(path), O_RDONLY | O_DIRECTORY);
  if (folder.get() < 0) {
    return errno == EACCES ? Result<void>() : system_error(path + ": its folder cannot be opened for synchronization");
  }
  if (detail::uninterrupted([&] { return calls.fsync(folder.get()); }) == 0 || errno == EINVAL || errno == ENOTSUP) {
    return {};
  }
  return system_error(path + ": its folder cannot be synchronized");
}

}  // namespace mankai
