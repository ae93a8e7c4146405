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

/// Reads a regular file whole. Errors: not_found; io (a directory, an unreadable file); out_of_space.
[[nodiscard]] Result<Region> read_file(const std::string& path, const Memory& memory = system_memory(),
                                       FileCalls& calls = system_calls());

/// Maps a regular file privately: changes stay in memory. Cost: independent of the size until bytes are touched.
/// The file must not be truncated while it is mapped; write_file never does that. The calls must outlive the region.
/// Errors: as read_file.
[[nodiscard]] Result<Region> map_file(const std::string& path, FileCalls& calls = system_calls());

/// Reads the first bytes of a regular file, at most as many as `into` holds, and returns how large the file is: enough
/// to refuse a wrong file before memory is allocated for it. Errors: not_found; io.
[[nodiscard]] Result<std::uint64_t> read_start(const std::string& path, std::span<std::byte> into,
                                               FileCalls& calls = system_calls());

/// Writes a file whole or not at all, as a NewFile: a temporary beside it, fsync, rename, fsync of the folder.
/// Errors: io, also for what is no regular file or may not be written; out_of_space; invalid_argument when it exists
/// and must not.
[[nodiscard]] Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, Existing existing,
                                      FileLock* held = nullptr, FileCalls& calls = system_calls(), FileMode mode = {});
/// As write_file, for contents that lie in several pieces, written one after the other.
[[nodiscard]] Result<void> write_file_parts(const std::string& path, std::span<const std::span<const std::byte>> parts,
                                            Existing existing, FileLock* held = nullptr,
                                            FileCalls& calls = system_calls(), FileMode mode = {});

}  // namespace mankai
