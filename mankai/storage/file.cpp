#include "mankai/storage/file.hpp"

#include <algorithm>

namespace mankai {

Result<Region> read_file(const std::string& path, const Memory& memory, FileCalls& calls) {
  const auto file = OpenFile::open(path, OpenFile::Mode::read, calls);
  return file ? file->read_region(file->size(), memory) : Result<Region>(std::unexpected(file.error()));
}

Result<Region> map_file(const std::string& path, FileCalls& calls) {
  const auto file = OpenFile::open(path, OpenFile::Mode::read, calls);
  return file ? file->map_region(file->size()) : Result<Region>(std::unexpected(file.error()));
}

Result<std::uint64_t> read_start(const std::string& path, std::span<std::byte> into, FileCalls& calls) {
  const auto file = OpenFile::open(path, OpenFile::Mode::read, calls);
  if (!file) {
    return std::unexpected(file.error());
  }
  if (auto read = file->read(0, into.first(std::min<std::uint64_t>(into.size(), file->size()))); !read) {
    return std::unexpected(read.error());
  }
  return file->size();
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, Existing existing, FileLock* held,
                        FileCalls& calls, FileMode mode) {
  return write_file_parts(path, std::span(&bytes, 1), existing, held, calls, mode);
}

Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                              Existing existing, FileLock* held, FileCalls& calls, FileMode mode) {
  auto file = NewFile::create(path, existing, held, calls, mode);
  if (!file) {
    return std::unexpected(file.error());
  }
  for (const std::span<const std::byte> part : parts) {
    if (auto written = file->write(part); !written) {
      return written;
    }
  }
  if (auto synced = file->sync(); !synced) {
    return synced;
  }
  return file->put_in_place();
}

}  // namespace mankai
