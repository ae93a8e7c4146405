#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// A mapped regular file. What was written survives a process crash, and power loss once it is synchronized. The calls
/// must outlive the object. Threads: one at a time; sync may run while the bytes are written.
class MappedFile {
 public:
  enum class Mode : std::uint8_t {
    read,   ///< changes stay in memory; the file must not be truncated while it is mapped
    write,  ///< changes go to the file
  };

  /// Errors: not_found; io, also if the file is not regular; corrupt if it is empty; out_of_space.
  [[nodiscard]] static Result<MappedFile> open(const std::string& path, Mode mode, FileCalls& calls = system_calls());

  /// Creates a file of zeros with its disk space allocated. Synchronizes neither the file nor its folder; removes the
  /// file after an error. Errors: invalid_argument if the path exists; io; out_of_space. Pre: bytes > 0.
  [[nodiscard]] static Result<MappedFile> create(const std::string& path, std::size_t bytes,
                                                 FileCalls& calls = system_calls());

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Extends the file by zeros with their disk space allocated, so that writing to them cannot fail later. The mapping
  /// may move. Errors: out_of_space; io. Pre: mode write.
  [[nodiscard]] Result<void> grow(std::size_t bytes);
  /// Truncates the file and the mapping, 0 < bytes <= current size. After an error the file may be longer than the
  /// mapping, with its old contents. Errors: io. Pre: mode write.
  [[nodiscard]] Result<void> truncate(std::size_t bytes);

  /// Allocates the disk space between two offsets in the file. Errors: out_of_space; io. Pre: mode write.
  [[nodiscard]] Result<void> take_room(std::uint64_t from, std::uint64_t until);
  /// Writes zeros between two offsets into the system's cache, in few large pieces: the first touch of each page
  /// then takes less time. Errors: io; out_of_space. Pre: mode write.
  [[nodiscard]] Result<void> write_zeros(std::uint64_t from, std::uint64_t until);
  /// Releases the disk space of whole pages between two offsets, which become zeros; the file keeps its size. Returns
  /// whether the file system supports that. Threads: safe while other bytes are written. Pre: mode write.
  bool punch_hole(std::uint64_t from, std::uint64_t until) noexcept;

  /// Releases the mapping of whole pages between two offsets until they are used again; the system's cache keeps them.
  /// A sync protects every written page that is mapped, and interrupts the processors that run this process for each.
  /// Threads: safe beside `sync`. Pre: mode write.
  void unload(std::uint64_t from, std::uint64_t until) noexcept;

  /// Copies the permissions and, if allowed, the owner of another file. Errors: not_found; io.
  [[nodiscard]] Result<void> copy_permissions(const std::string& from);

  /// Returns when everything written to the file, and its size, is on disk. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync();

 private:
  MappedFile(std::string path, detail::Descriptor file) noexcept;
  [[nodiscard]] Result<void> map(std::size_t bytes, int sharing);
  [[nodiscard]] Result<void> remap(std::size_t bytes);
  [[nodiscard]] Result<void> grow_file(std::size_t bytes);
  void reset() noexcept;

  std::string path_;
  detail::Descriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace mankai
