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

/// Permissions of a file, as chmod takes them. Nothing: those of the file that is replaced, and for a new one its
/// owner's alone (0600), less the umask, since files have keys of hashes, and keys of users.
using FileMode = std::optional<mode_t>;

/// What to do when the path exists already.
enum class Existing : std::uint8_t { refuse, replace };

/// A file that replaces its path atomically. Until put_in_place it is a temporary beside the path, which the destructor
/// removes. A crash or a full disk leaves the old file unchanged; a process crash also leaves the temporary, which the
/// next holder of the file's lock removes.
///
/// Keeps the permissions of an existing file unless others are given, and its owner if allowed, and follows symbolic
/// links to an existing file. The calls must outlive it.
class NewFile {
 public:
  /// A lock that is held on the old file outlives this. Errors: io, also for what is no regular file or may not be
  /// written; out_of_space; invalid_argument when it exists and must not.
  [[nodiscard]] static Result<NewFile> create(const std::string& path, Existing existing, FileLock* held = nullptr,
                                              FileCalls& calls = system_calls(), FileMode mode = {});

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  /// Appends. Errors: io; out_of_space.
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  /// Returns when the disk has what was written. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync();
  /// Renames the file to the path atomically, and returns when the disk has the name. A lock held on the old file moves
  /// to the new one before it is visible. Errors: io; invalid_argument if the path exists by now and must not. If only
  /// the folder cannot be synchronized, the new file is in place and locked; is_in_place() tells. Pre: synchronized
  /// since the last write; called once.
  [[nodiscard]] Result<void> put_in_place();

  [[nodiscard]] bool is_in_place() const noexcept { return temporary_.empty(); }

 private:
  NewFile(FileCalls& calls, std::string path, std::string target, Existing existing, FileLock* held,
          FileMode mode) noexcept;

  [[nodiscard]] Result<void> look_at_old();
  [[nodiscard]] Result<void> set_permissions();
  [[nodiscard]] std::string temporary_name(unsigned attempt) const;
  [[nodiscard]] Result<void> create_temporary();
  [[nodiscard]] Result<void> rename_temporary();

  std::string path_;
  /// Where the path's symbolic links end.
  std::string target_;
  Existing existing_;
  FileLock* held_;
  FileMode mode_;
  /// Of the file that it replaces.
  std::optional<struct stat> old_;
  /// Empty when there is none, or none any more.
  std::string temporary_;
  detail::Descriptor file_;
  std::uint64_t written_ = 0;
  bool is_synced_ = false;
};

/// Returns the file at the end of a chain of symbolic links; the path itself if there is none yet. Errors: io.
[[nodiscard]] Result<std::string> resolve_links(const std::string& path, FileCalls& calls = system_calls());

/// Returns the permissions of a file; nothing if it does not exist.
[[nodiscard]] FileMode mode_of(const std::string& path, FileCalls& calls = system_calls());

/// Removes the temporary that an earlier holder of the file's lock left when it crashed. Pre: the lock is held, and the
/// path has no symbolic links.
void remove_left_over(const std::string& target, FileCalls& calls = system_calls()) noexcept;

/// Removes a file and synchronizes its folder, even if there was no file.
/// Errors: io.
[[nodiscard]] Result<void> remove_file(const std::string& path, FileCalls& calls = system_calls());

/// Returns when the disk has the names in a file's folder. Has no effect if the file system does not synchronize
/// folders or the folder is not readable. Errors: io.
[[nodiscard]] Result<void> sync_folder_of(const std::string& path, FileCalls& calls = system_calls());

}  // namespace mankai
