#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/region.hpp"
#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// Identifies a file: two paths, or a path at two times, name the same file if these are equal. After the file has been
/// removed, another one may get the same identity.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Errors: not_found; io.
[[nodiscard]] Result<FileIdentity> identify(const std::string& path, FileCalls& calls = system_calls());

/// A regular file that is open. Reading and writing are by offset. The calls must outlive it and its regions.
/// Threads: const calls beside each other.
class OpenFile {
 public:
  enum class Mode : std::uint8_t {
    read,
    write,  ///< and read
  };

  /// Errors: not_found; io, also for what is no regular file.
  [[nodiscard]] static Result<OpenFile> open(const std::string& path, Mode mode, FileCalls& calls = system_calls());

  /// In bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Bytes allocated on the disk, as the file system reports them; the others are holes, which read as zeros.
  [[nodiscard]] std::uint64_t bytes_on_disk() const noexcept { return bytes_on_disk_; }
  [[nodiscard]] FileIdentity identity() const noexcept { return identity_; }
  /// How many names it had when it was opened.
  [[nodiscard]] std::uint64_t links() const noexcept { return links_; }

  /// Errors: io, also when the file ends before.
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;
  /// Errors: io; out_of_space. Some of the bytes may be written then. Pre: mode write.
  [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// Writes the bytes from `offset` to before `end` again. After a failed sync of any process, systems mark cached
  /// pages as clean, so a later sync succeeds without writing them. Errors: io, also if the file ends before;
  /// out_of_space. Pre: mode write.
  [[nodiscard]] Result<void> rewrite(std::uint64_t offset, std::uint64_t end) const;
  /// Returns when the disk has what any process has written. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync() const;

  /// The file's first bytes, read. Errors: out_of_space; io, also when there are fewer.
  [[nodiscard]] Result<Region> read_region(std::uint64_t bytes, const Memory& memory = system_memory()) const;
  /// The file's first bytes, mapped: changes stay in memory. Cost: independent of the size until bytes are touched. The
  /// file must not be truncated meanwhile; one that is replaced never is. Errors: as read_region.
  [[nodiscard]] Result<Region> map_region(std::uint64_t bytes) const;

 private:
  OpenFile(std::string path, detail::Descriptor file, const struct stat& status) noexcept;

  std::string path_;
  detail::Descriptor file_;
  std::uint64_t size_;
  std::uint64_t bytes_on_disk_;
  FileIdentity identity_;
  std::uint64_t links_;
};

}  // namespace mankai
