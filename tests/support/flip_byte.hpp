#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace mankai::test {

/// Changes one bit of a file's byte; a second call changes it back.
inline void flip_byte(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

}  // namespace mankai::test
