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

/// A file that takes its place at the end, whole: until then it is a temporary beside the path, which is gone again
/// unless put_in_place succeeded. A crash, a full disk or a signal leaves the old file as it was; only what ends the
/// process at once leaves the temporary too. One that the holder of the file's lock left is replaced by the next.
///
/// Keeps an existing file's owner, where that is allowed, and permissions unless it is given others, and goes through a
/// symbolic link to an existing file. The calls must outlive it.
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
  /// Takes the path's place in one step, and returns when the disk has the name. The lock that is held on the old file
  /// goes over to the new one before anybody can see it. Errors: io; invalid_argument when it exists by now and must
  /// not. The one error after which the new file is in place, and the lock on it, is that its folder cannot be
  /// synchronized; is_in_place() tells. Pre: synchronized since the last write; called once.
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

/// The file that a chain of symbolic links ends at; the path itself where there is none yet. Errors: io.
[[nodiscard]] Result<std::string> resolve_links(const std::string& path, FileCalls& calls = system_calls());

/// The permissions of a file, for one beside it; nothing where there is no such file.
[[nodiscard]] FileMode mode_of(const std::string& path, FileCalls& calls = system_calls());

/// Removes the temporary that an earlier holder of the file's lock left, who ended at once. Pre: the lock is held, and
/// the path has no symbolic links.
void remove_left_over(const std::string& target, FileCalls& calls = system_calls()) noexcept;

/// Removes a file and returns when its name is gone for good; its folder is synchronized also when there was no file.
/// Errors: io.
[[nodiscard]] Result<void> remove_file(const std::string& path, FileCalls& calls = system_calls());

/// Returns when the disk has the names in a file's folder. Some file systems synchronize no folders, and some folders
/// may be written but not read: how soon a name lasts there is theirs to say. Errors: io.
[[nodiscard]] Result<void> sync_folder_of(const std::string& path, FileCalls& calls = system_calls());

}  // namespace mankai
