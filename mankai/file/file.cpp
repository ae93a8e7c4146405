#include "mankai/file/file.hpp"

#include <algorithm>

namespace mankai {

Result<Region> read_file(const std::string& path, const Memory& memory, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  return file.read_region(file.size(), memory);
}

Result<std::uint64_t> read_start(const std::string& path, std::span<std::byte> into, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  MANKAI_TRY(file.read(0, into.first(std::min<std::uint64_t>(into.size(), file.size()))));
  return file.size();
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, Existing existing, FileLock* held,
                        FileCalls& calls, FileMode mode) {
  return write_file_parts(path, std::span(&bytes, 1), existing, held, calls, mode);
}

Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                              Existing existing, FileLock* held, FileCalls& calls, FileMode mode) {
  MANKAI_ASSIGN(auto file, NewFile::create(path, existing, held, calls, mode));
  for (const std::span<const std::byte> part : parts) {
    MANKAI_TRY(file.write(part));
  }
  MANKAI_TRY(file.sync());
  return file.put_in_place();
}

}  // namespace mankai
