#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/input/warc_reader.hpp"

namespace mankai::detail {

/// Every record begins with this, before the version number.
inline constexpr std::string_view kWarcMagic = "WARC/";
/// No block is longer: offsets are added up in 64 bits.
inline constexpr std::uint64_t kWarcBlockBytesMax = std::uint64_t{1} << 60;

/// Reads the header of a record, from its version to its last field: type, date and length. The URI is written to
/// `uri`, since it may be folded. Errors: corrupt; unsupported_version.
[[nodiscard]] Result<WarcRecord> parse_warc_header(std::string_view header, std::string& uri);

}  // namespace mankai::detail
