#pragma once

#include <cstdint>
#include <optional>

#include "mankai/file/file.hpp"
#include "mankai/store/source_position.hpp"
#include "mankai/store/store_footer_format.hpp"

namespace mankai {

/// Returns the footer with its magic, version and checksum set.
[[nodiscard]] StoreFooter sealed(StoreFooter footer) noexcept;
void set_position(StoreFooter& footer, const SourcePosition& position) noexcept;

/// The current copy of a file's footer.
struct FoundFooter {
  StoreFooter footer;                ///< one of version 1 keeps that version, and has generation 0
  std::uint64_t damaged_copies = 0;  ///< 1 if the other copy is valid. Both a crash and damage can cause one
  bool is_other_copy_stale = false;  ///< the other copy is damaged or older
};

/// Reads the footer of a file; returns nothing for a plain image, which has none. Errors: corrupt, with the offset, if
/// no copy is valid; unsupported_version; io.
[[nodiscard]] Result<std::optional<FoundFooter>> read_footer(const OpenFile& file);

/// The bytes of the current copy in the file, which a writer must sync before it relies on them.
struct FooterBytes {
  std::uint64_t begin;
  std::uint64_t end;
};
[[nodiscard]] FooterBytes bytes_of(const StoreFooter& footer) noexcept;

/// Replaces both copies of the footer, the older one first, and increments its generation. Returns when the disk has
/// the first of them. At all times the disk has one complete copy, of the old footer or the new one. Pre: the footer is
/// of this file and of the current version. Errors: io; then the disk has either footer.
[[nodiscard]] Result<void> replace_footer(const OpenFile& file, StoreFooter& footer);
/// Writes the footer over the older or damaged copy, so that both copies are equal. Pre: as replace_footer; the disk
/// has the current copy, or the other one is damaged. Errors: io.
[[nodiscard]] Result<void> refresh_footer(const OpenFile& file, StoreFooter& footer);

/// Returns the position of the source in a footer. Pre: a valid footer.
[[nodiscard]] SourcePosition position_of(const StoreFooter& footer) noexcept;

}  // namespace mankai
