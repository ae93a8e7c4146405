#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mankai::test {

/// The bytes that XXH3's published sanity vectors are computed over; pinned digests of other hashes are of them, too.
inline std::string sanity_buffer(std::size_t bytes) {
  std::string buffer(bytes, '\0');
  std::uint64_t generator = 2654435761U;
  for (char& byte : buffer) {
    byte = static_cast<char>(generator >> 56);
    generator *= 11400714785074694797U;
  }
  return buffer;
}

}  // namespace mankai::test
