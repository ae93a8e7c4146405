#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"
#include "mankai/file/file_lock.hpp"

namespace mankai {

/// Permissions, as for chmod. Empty: those of the replaced file; for a new file 0600 less the umask, since files
/// contain hash keys and keys of users.
using FileMode = std::optional<mode_t>;

/// What to do if the path exists.
enum class Existing : std::uint8_t { refuse, replace };

/// A file that replaces its path atomically; until put_in_place a temporary beside it, which the destructor removes. A
/// crash or a full disk leaves the old file unchanged; the next creation of the path removes a temporary left by a
/// crash. Keeps the permissions of an existing file unless others are given, and its owner if allowed. Follows symbolic
/// links to an existing file. The calls must outlive the object.
class NewFile {
 public:
  /// `held` is the lock on the old file; it must outlive the object. Errors: io, also for a file that is not regular or
  /// not writable; out_of_space; invalid_argument if the file exists and must not.
  [[nodiscard]] static Result<NewFile> create(const std::string& path, Existing existing, FileLock* held = nullptr,
                                              FileCalls& calls = system_calls(), FileMode mode = {});

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> sync();
  /// Renames the file to the path atomically; returns when the name is on disk. A lock on the old file moves to the new
  /// one before that is visible. If only syncing the folder fails, the new file is in place and locked (is_in_place()).
  /// Errors: io; invalid_argument if the path now exists and must not. Pre: synchronized; called once.
  [[nodiscard]] Result<void> put_in_place();

  [[nodiscard]] bool is_in_place() const noexcept { return temporary_.empty(); }

 private:
  NewFile(FileCalls& calls, std::string path, std::string target, Existing existing, FileLock* held,
          FileMode mode) noexcept;

  [[nodiscard]] Result<void> look_at_old();
  [[nodiscard]] Result<void> set_permissions();
  [[nodiscard]] Result<void> create_temporary();
  [[nodiscard]] Result<void> rename_temporary();

  std::string path_;
  std::string target_;
  Existing existing_;
  FileLock* held_;
  FileMode mode_;
  std::optional<struct stat> old_;
  /// Empty if there is no temporary.
  std::string temporary_;
  detail::Descriptor file_;
  std::uint64_t written_ = 0;
  bool is_synced_ = false;
};

/// Returns the file at the end of a chain of symbolic links; the path itself if it does not exist. Errors: io.
[[nodiscard]] Result<std::string> resolve_links(const std::string& path, FileCalls& calls = system_calls());

/// Returns the path from the root, for a file that is opened again, perhaps after the process has changed its folder;
/// links stay. The path itself if the current folder is gone.
[[nodiscard]] std::string absolute_path(const std::string& path);

/// Returns the permissions of a file; empty if it does not exist.
[[nodiscard]] FileMode mode_of(const std::string& path, FileCalls& calls = system_calls());

/// Removes the temporary that a crash of an earlier holder left. Pre: the lock is held; the path has no symbolic links.
void remove_left_over(const std::string& target, FileCalls& calls = system_calls());

/// Removes a file, if it exists, and synchronizes its folder. Errors: io.
[[nodiscard]] Result<void> remove_file(const std::string& path, FileCalls& calls = system_calls());

/// Returns when the names in a file's folder are on disk. Has no effect if the file system does not synchronize folders
/// or the folder is not readable. Errors: io.
[[nodiscard]] Result<void> sync_folder_of(const std::string& path, FileCalls& calls = system_calls());

}  // namespace mankai
