#pragma once

#include <cstdint>
#include <optional>

#include "mankai/durable/source_position.hpp"
#include "mankai/durable/store_footer_format.hpp"
#include "mankai/storage/file.hpp"

namespace mankai {

/// Returns the footer with the magic, the version and the checksum that it must have.
[[nodiscard]] StoreFooter sealed(StoreFooter footer) noexcept;
/// Writes where the source stands into a footer.
void set_position(StoreFooter& footer, const SourcePosition& position) noexcept;

/// Reads the footer of a file; nothing where it has none, as it is a plain image. Errors: corrupt, with the offset;
/// unsupported_version; io.
[[nodiscard]] Result<std::optional<StoreFooter>> read_footer(const OpenFile& file);

/// Where the source stood when the footer was written. Pre: a footer that was made or read here.
[[nodiscard]] SourcePosition position_of(const StoreFooter& footer) noexcept;

}  // namespace mankai
