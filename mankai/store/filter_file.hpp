#pragma once

#include <string>

#include "mankai/file/file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/recovery_report.hpp"

namespace mankai {

/// What a filter from a file is for.
enum class Access : std::uint8_t {
  query,   ///< mapped: opening costs milliseconds at any size; changes would stay in memory
  change,  ///< read into memory of its own, in huge pages where granted
};

/// Opens a filter's file; `report`, where it is given, is told what was found in its journal. Errors: not_found, io,
/// corrupt, unsupported_version, out_of_space; all name the file.
[[nodiscard]] Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust = Trust::checked,
                                            const Memory& memory = system_memory(), RecoveryReport* report = nullptr);

/// Writes a filter to a file, whole or not at all: a new store, closed, without changes. The journal of one that it
/// replaces goes with it. Errors: invalid_argument when the file exists, or a journal of its name does, and must not;
/// locked when somebody is changing what would be replaced; io, also for what is no regular file or may not be written;
/// out_of_space.
[[nodiscard]] Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing,
                                       FileMode mode = {});

}  // namespace mankai
