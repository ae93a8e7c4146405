#pragma once

#include <string>

#include "mankai/catalog/catalog.hpp"
#include "mankai/storage/file.hpp"

namespace mankai {

/// What a filter from a file is for.
enum class Access : std::uint8_t {
  query,   ///< mapped: opening costs milliseconds at any size; changes would stay in memory
  change,  ///< read into memory of its own, in huge pages where granted
};

/// Opens a filter's file. Errors: not_found, io, corrupt, unsupported_version, out_of_space; all name the file.
[[nodiscard]] Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust = Trust::checked,
                                            const Memory& memory = system_memory());

/// Writes a filter's image to a file, whole or not at all. Errors: as write_file.
[[nodiscard]] Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing,
                                       FileLock* held = nullptr);

}  // namespace mankai
