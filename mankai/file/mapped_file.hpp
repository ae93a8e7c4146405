#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/file/detail/descriptor.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// A regular file in memory whose changes are the file's: what the process wrote survives its end, however it ends;
/// what a power loss takes is what was not synchronized. The calls must outlive it. Threads: one, but that sync
/// and sync_all may run beside writing to the bytes.
class MappedFile {
 public:
  /// What the mapping is for.
  enum class Mode : std::uint8_t {
    read,   ///< changes stay in memory; the file must not be truncated while it is mapped
    write,  ///< changes go to the file
  };

  /// Errors: not_found; io, also for what is no regular file; corrupt when it is empty; out_of_space.
  [[nodiscard]] static Result<MappedFile> open(const std::string& path, Mode mode, FileCalls& calls = system_calls());

  /// Makes a file of zeros, for which the disk's room is taken at once, and opens it for writing; it is not
  /// synchronized, nor is its folder. Nothing is left of it after an error. Errors: invalid_argument when the path
  /// exists; io; out_of_space. Pre: bytes > 0.
  [[nodiscard]] static Result<MappedFile> create(const std::string& path, std::size_t bytes,
                                                 FileCalls& calls = system_calls());

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Makes the file longer, with zeros for which the disk's room is taken at once, so that writing to them cannot fail
  /// later. The bytes may be somewhere else afterwards. Errors: out_of_space; io. Pre: mode write.
  [[nodiscard]] Result<void> grow(std::size_t bytes);
  /// Makes the file and the mapping so long, 0 < bytes <= the present length. After an error the file may be longer
  /// than the mapping, with what it had there. Errors: io. Pre: mode write.
  [[nodiscard]] Result<void> truncate(std::size_t bytes);

  /// Takes the disk's room between two offsets within the file, where it was given back or never taken. Errors:
  /// out_of_space; io. Pre: mode write.
  [[nodiscard]] Result<void> take_room(std::uint64_t from, std::uint64_t until);
  /// Gives the room of whole pages between two offsets back to the disk: they are zeros then, and the file stays as
  /// long as it is. Returns whether the file system can. Threads: beside writing to other bytes. Pre: mode write.
  bool punch_hole(std::uint64_t from, std::uint64_t until) noexcept;

  /// Gives the file the owner, where that is allowed, and the permissions of another one. Errors: not_found; io.
  [[nodiscard]] Result<void> copy_permissions(const std::string& from);

  /// Returns when the disk has everything that was written to these bytes. Errors: io.
  [[nodiscard]] Result<void> sync(std::size_t offset, std::size_t bytes);
  /// Returns when the disk has everything that was written to the file, and its size. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync_all();

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
