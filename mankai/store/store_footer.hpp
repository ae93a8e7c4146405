#pragma once

#include <cstdint>
#include <optional>

#include "mankai/file/file.hpp"
#include "mankai/store/source_position.hpp"
#include "mankai/store/store_footer_format.hpp"

namespace mankai {

/// Returns the footer with the magic, the version and the checksum that it must have.
[[nodiscard]] StoreFooter sealed(StoreFooter footer) noexcept;
/// Writes where the source stands into a footer.
void set_position(StoreFooter& footer, const SourcePosition& position) noexcept;

/// A file's footer, as the copy has it that counts.
struct FoundFooter {
  StoreFooter footer;                ///< one of version 1 says so, and has generation 0
  std::uint64_t damaged_copies = 0;  ///< 1: the other copy serves. A crash leaves one now and then, and so does damage
  bool is_other_copy_stale = false;  ///< the other copy is damaged, or says what the store was before
};

/// Reads the footer of a file; nothing where it has none, as it is a plain image. Errors: corrupt, with the offset,
/// where no copy is valid; unsupported_version; io.
[[nodiscard]] Result<std::optional<FoundFooter>> read_footer(const OpenFile& file);

/// Where a file's bytes of the footer lie that a writer must make last before it relies on them.
struct FooterBytes {
  std::uint64_t begin;
  std::uint64_t end;
};
[[nodiscard]] FooterBytes bytes_of(const StoreFooter& footer) noexcept;

/// Replaces the footer in both copies, the older one first, and counts its generation on. Returns when the disk has one
/// of them; the other one follows. At each moment one of the two is whole on the disk, and is the old footer or the new
/// one. Pre: of this file, of the present version. Errors: io; then nobody can say which of them the disk has.
[[nodiscard]] Result<void> replace_footer(const OpenFile& file, StoreFooter& footer);
/// Writes the footer over the older copy, or the damaged one: then both say the same. Pre: as replace_footer's, and the
/// disk has the copy that counts, or the other one is damaged. Errors: io.
[[nodiscard]] Result<void> refresh_footer(const OpenFile& file, StoreFooter& footer);

/// Where the source stood when the footer was written. Pre: a footer that was made or read here.
[[nodiscard]] SourcePosition position_of(const StoreFooter& footer) noexcept;

}  // namespace mankai
