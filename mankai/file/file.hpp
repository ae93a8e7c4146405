#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/region.hpp"
#include "mankai/file/file_calls.hpp"
#include "mankai/file/file_lock.hpp"
#include "mankai/file/new_file.hpp"
#include "mankai/file/open_file.hpp"

namespace mankai {

/// Reads a whole regular file. Errors: not_found; io (a directory, an unreadable file); out_of_space.
[[nodiscard]] Result<Region> read_file(const std::string& path, const Memory& memory = system_memory(),
                                       FileCalls& calls = system_calls());

/// Reads the first bytes of a regular file, at most as many as `into` holds, and returns the file's size: enough to
/// refuse a wrong file before memory is allocated for it. Errors: not_found; io.
[[nodiscard]] Result<std::uint64_t> read_start(const std::string& path, std::span<std::byte> into,
                                               FileCalls& calls = system_calls());

/// Writes a file completely or not at all, as NewFile does. Errors: io, also for a file that is not regular or not
/// writable; out_of_space; invalid_argument if the file exists and must not.
[[nodiscard]] Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, Existing existing,
                                      FileLock* held = nullptr, FileCalls& calls = system_calls(), FileMode mode = {});
/// As write_file, for contents in several pieces.
[[nodiscard]] Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                                            Existing existing, FileLock* held = nullptr,
                                            FileCalls& calls = system_calls(), FileMode mode = {});

}  // namespace mankai
