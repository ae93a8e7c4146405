#pragma once

/// The file of shared cells beside a filter's file: FILE-shared.

#include <cstdint>
#include <optional>
#include <string>

#include "mankai/file/file_lock.hpp"
#include "mankai/file/mapped_file.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/shared_format.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai::detail {

[[nodiscard]] inline std::string shared_path(const std::string& path) { return path + "-shared"; }

/// What the processes that share a filter have done.
struct SharedCounts {
  std::uint64_t sequence;
  std::uint64_t keys;
};
/// Pre: a SharedHeader that other processes may be changing. Cells that are read later have all that was counted.
[[nodiscard]] SharedCounts counts_in(const std::byte* header) noexcept;

/// Checks the first bytes of a file of shared cells. Returns false if it does not count: from before a restart of the
/// system, or its creation was interrupted. Errors: unsupported_version; corrupt, also if it belongs to another file.
[[nodiscard]] Result<bool> check_shared(std::span<const std::byte> start, std::uint64_t file_bytes,
                                        const std::optional<FoundFooter>& footer, FileCalls& calls);
/// Opens the file of shared cells that belongs to a filter's file. Returns nothing if there is none that counts.
/// Errors: as check_shared; io.
[[nodiscard]] Result<std::optional<OpenFile>> open_shared(const std::string& path,
                                                          const std::optional<FoundFooter>& footer, FileCalls& calls);
/// Copies a filter from shared cells beside the processes that change them. Errors: io; out_of_space; corrupt.
[[nodiscard]] Result<AnyFilter> read_shared(const OpenFile& file, const Memory& memory, std::uint64_t& sequence);

/// Writes the filter's file from the mapped cells; returns the sequence that it has. Pre: the lock on the file is held.
/// Errors: io, also if the file was replaced by another one, or the cells were removed and others changed the file;
/// out_of_space; corrupt for a damaged header of the cells.
[[nodiscard]] Result<std::uint64_t> save_shared(const std::string& path, FileLock& lock, const MappedFile& cells,
                                                const Memory& memory, FileCalls& calls);

/// Returns whether the filter's file is intact and has the last checkpoint of the cells. Pre: as save_shared.
[[nodiscard]] bool has_checkpoint(const std::string& path, const MappedFile& cells, Trust trust, const Memory& memory,
                                  FileCalls& calls);

enum class Leftover : std::uint8_t { save, drop };
/// Removes the file of shared cells of processes that have ended without closing it, after saving what they did. Pre:
/// the lock on the file is held. Errors: locked if a process shares the filter; io if it cannot be removed; as
/// check_shared and save_shared.
[[nodiscard]] Result<void> settle_shared(const std::string& path, FileLock& lock, Leftover leftover,
                                         const Memory& memory, FileCalls& calls);

}  // namespace mankai::detail
