#pragma once

#include <cstdint>
#include <optional>

#include "mankai/durable/source_position.hpp"
#include "mankai/durable/store_footer_format.hpp"
#include "mankai/storage/file.hpp"

namespace mankai {

/// Makes a footer, checksum and all.
[[nodiscard]] StoreFooter make_footer(std::uint64_t store_id, std::uint64_t image_bytes, std::uint64_t sequence,
                                      const SourcePosition& position, bool is_open) noexcept;
/// The same footer with another open mark.
[[nodiscard]] StoreFooter with_open_mark(StoreFooter footer, bool is_open) noexcept;

/// Reads the footer of a file; nothing where it has none, as it is a plain image. Errors: corrupt, with the offset;
/// unsupported_version; io.
[[nodiscard]] Result<std::optional<StoreFooter>> read_footer(const OpenFile& file);

/// Where the source stood when the footer was written. Pre: a footer that was made or read here.
[[nodiscard]] SourcePosition position_of(const StoreFooter& footer) noexcept;

}  // namespace mankai
