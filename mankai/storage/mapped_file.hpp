#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/error.hpp"

namespace mankai {

/// A regular file in memory whose changes are the file's: what the process wrote survives its end, however it ends;
/// what the machine's end takes is what was not synchronised. Files are only ever made longer here.
class MappedFile {
 public:
  /// What the mapping is for.
  enum class Mode : std::uint8_t {
    read,   ///< changes stay in memory; the file must not be truncated while it is mapped
    write,  ///< changes go to the file
  };

  /// Errors: not_found; io, also for what is no regular file; out_of_space.
  [[nodiscard]] static Result<MappedFile> open(const std::string& path, Mode mode);

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
  /// Returns when the disk has everything that was written to these bytes. Errors: io.
  [[nodiscard]] Result<void> sync(std::size_t offset, std::size_t bytes);

 private:
  MappedFile(std::string path, int descriptor, std::span<std::byte> bytes) noexcept;
  void reset() noexcept;

  std::string path_;
  int descriptor_ = -1;
  std::span<std::byte> bytes_;
};

}  // namespace mankai
