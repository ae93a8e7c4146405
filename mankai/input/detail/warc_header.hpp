#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/input/warc_reader.hpp"

namespace mankai::detail {

/// The start of every record, before the version number.
inline constexpr std::string_view kWarcMagic = "WARC/";
/// Maximum size of a block: offsets are summed in 64 bits.
inline constexpr std::uint64_t kWarcBlockBytesMax = std::uint64_t{1} << 60;

/// Parses the header of a record, from its version to its last field. Writes the URI, which may be folded, to `uri`.
/// Errors: corrupt; unsupported_version.
[[nodiscard]] Result<WarcRecord> parse_warc_header(std::string_view header, std::string& uri);

}  // namespace mankai::detail
