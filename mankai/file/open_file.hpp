#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/region.hpp"
#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// Equal for two paths, or a path at two times, that name the same file. May be reused after the file was removed.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// The content at a path: replacing or changing the file changes the stamp, also if the inode number of a removed file
/// is used again.
struct FileStamp {
  FileIdentity identity;
  std::uint64_t bytes = 0;
  std::int64_t modified_nanoseconds = 0;  ///< since 1970
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Errors: not_found; io.
[[nodiscard]] Result<FileStamp> stamp_of(const std::string& path, FileCalls& calls = system_calls());
/// Errors: not_found; io.
[[nodiscard]] Result<FileIdentity> identify(const std::string& path, FileCalls& calls = system_calls());

/// An open regular file. The calls must outlive it and its regions. Threads: const calls are safe together.
class OpenFile {
 public:
  enum class Mode : std::uint8_t {
    read,
    write,  ///< also reads
  };

  /// Errors: not_found; io, also if the file is not regular.
  [[nodiscard]] static Result<OpenFile> open(const std::string& path, Mode mode, FileCalls& calls = system_calls());

  /// In bytes, at the time of opening.
  [[nodiscard]] std::uint64_t size() const noexcept { return stamp_.bytes; }
  /// Bytes allocated on disk, as the file system reports them; the rest are holes, which read as zeros.
  [[nodiscard]] std::uint64_t bytes_on_disk() const noexcept { return bytes_on_disk_; }
  [[nodiscard]] FileIdentity identity() const noexcept { return stamp_.identity; }
  /// At the time of opening.
  [[nodiscard]] FileStamp stamp() const noexcept { return stamp_; }
  /// Number of hard links at the time of opening.
  [[nodiscard]] std::uint64_t links() const noexcept { return links_; }

  /// Errors: io, also if the file ends before.
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;
  /// Errors: io; out_of_space; some of the bytes may be written then. Pre: mode write.
  [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// Writes [offset, end) again: after a failed sync by any process, systems mark cached pages as clean, and a later
  /// sync succeeds without writing. Errors: io, also if the file ends before; out_of_space. Pre: mode write.
  [[nodiscard]] Result<void> rewrite(std::uint64_t offset, std::uint64_t end) const;
  /// Returns when everything that any process has written is on disk. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync() const;

  /// Reads the file's first bytes. Errors: out_of_space; io, also if there are fewer.
  [[nodiscard]] Result<Region> read_region(std::uint64_t bytes, const Memory& memory = system_memory()) const;
  /// As read_region, but maps the bytes in O(1). The file must not be truncated meanwhile, but may be replaced.
  [[nodiscard]] Result<Region> map_region(std::uint64_t bytes) const;

 private:
  OpenFile(std::string path, detail::Descriptor file, const struct stat& status) noexcept;

  std::string path_;
  detail::Descriptor file_;
  std::uint64_t bytes_on_disk_;
  FileStamp stamp_;
  std::uint64_t links_;
};

}  // namespace mankai
