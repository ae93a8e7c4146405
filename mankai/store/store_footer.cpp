#include "mankai/store/store_footer.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "mankai/base/bits.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai {
namespace {

template <class Footer>
std::uint64_t checksum_of(const Footer& footer) noexcept {
  return checksum(std::as_bytes(std::span(&footer, 1)).first(offsetof(Footer, checksum)));
}

std::string place_of(std::uint64_t offset) { return "the footer at offset " + std::to_string(offset); }

std::unexpected<Error> unknown_version(std::uint32_t version, std::uint64_t offset) {
  return fail(ErrorCode::unsupported_version, place_of(offset) + " is of version " + std::to_string(version) +
                                                  ", and this library reads versions 1 and " +
                                                  std::to_string(kFooterVersion) +
                                                  "; use a newer version of Mankai, or restore the file from a copy");
}

template <class Footer>
Result<Footer> read_at(const OpenFile& file, std::uint64_t offset) {
  Footer footer{};
  MANKAI_TRY(file.read(offset, std::as_writable_bytes(std::span(&footer, 1))));
  return footer;
}

Result<void> write_copy(const OpenFile& file, const StoreFooter& footer) {
  return file.write(footer_offset(footer.image_bytes, footer.generation), std::as_bytes(std::span(&footer, 1)));
}

// Version 1.

Result<void> check_footer(const StoreFooter1& footer, std::uint64_t offset) {
  // Checked first: another version may have its checksum elsewhere.
  if (footer.version != kFooterVersion1) {
    return unknown_version(footer.version, offset);
  }
  if (footer.checksum != checksum_of(footer)) {
    return fail(ErrorCode::corrupt,
                place_of(offset) + " is damaged: its checksum does not match; restore the file from a copy");
  }
  // Compared without an addition, in which a forged size could wrap around.
  const bool is_in_place = footer.image_bytes <= offset && align_up(footer.image_bytes, kFooterSector1) == offset;
  if (!is_in_place || footer.position_bytes > kMaxPositionBytes || footer.is_open > 1) {
    return fail(ErrorCode::corrupt, place_of(offset) + " has fields out of range; restore the file from a copy");
  }
  return {};
}

StoreFooter converted(const StoreFooter1& old) noexcept {
  StoreFooter footer{};
  footer.magic = old.magic;
  footer.version = old.version;
  footer.is_open = old.is_open;
  footer.store_id = old.store_id;
  footer.image_bytes = old.image_bytes;
  footer.sequence = old.sequence;
  footer.replaced_id = old.replaced_id;
  footer.position_bytes = static_cast<std::uint32_t>(old.position_bytes);
  footer.position = old.position;
  return footer;
}

Result<std::optional<FoundFooter>> read_version_1(const OpenFile& file) {
  if (file.size() < sizeof(StoreFooter1)) {
    return std::nullopt;
  }
  const std::uint64_t offset = file.size() - sizeof(StoreFooter1);
  MANKAI_ASSIGN(const auto footer, read_at<StoreFooter1>(file, offset));
  if (footer.magic != kFooterMagic) {
    return std::nullopt;
  }
  MANKAI_TRY(check_footer(footer, offset));
  return FoundFooter{.footer = converted(footer)};
}

// Version 2.

using Copies = std::array<StoreFooter, kFooterCopies>;

bool is_valid(const StoreFooter& footer, std::uint64_t offset, std::uint64_t number) noexcept {
  const bool is_in_place = footer.image_bytes <= offset && footer.generation % kFooterCopies == number &&
                           footer_offset(footer.image_bytes, number) == offset;
  return footer.magic == kFooterMagic && footer.version == kFooterVersion && footer.checksum == checksum_of(footer) &&
         is_in_place && footer.position_bytes <= kMaxPositionBytes && footer.is_open <= 1;
}

// A writer of this version would lose what a later version stores there.
Result<void> check_reserved(const StoreFooter& footer, std::uint64_t offset) {
  if (footer.zero == 0 && is_zero(footer.zeros)) {
    return {};
  }
  return fail(
      ErrorCode::unsupported_version,
      place_of(offset) + " has nonzero bytes that are reserved for later versions; use a newer version of Mankai");
}

// The copies of one file differ only in the fields that are changed in place.
bool belong_together(const StoreFooter& one, const StoreFooter& other) noexcept {
  return one.image_bytes == other.image_bytes && one.sequence == other.sequence &&
         position_of(one) == position_of(other);
}

bool have_equal_fields(const StoreFooter& one, const StoreFooter& other) noexcept {
  return belong_together(one, other) && one.is_open == other.is_open && one.store_id == other.store_id &&
         one.replaced_id == other.replaced_id;
}

// No copy is valid: a plain image, another version, or damage.
Result<std::optional<FoundFooter>> none_of(const Copies& copies, std::uint64_t first) {
  if (std::ranges::none_of(copies, [](const auto& copy) { return copy.magic == kFooterMagic; })) {
    return std::nullopt;
  }
  for (std::uint64_t number = 0; number < kFooterCopies; ++number) {
    const StoreFooter& copy = copies[number];
    if (copy.magic == kFooterMagic && copy.version != kFooterVersion) {
      return unknown_version(copy.version, first + number * kFooterPage);
    }
  }
  return fail(ErrorCode::corrupt, "both copies of the footer, at offsets " + std::to_string(first) + " and " +
                                      std::to_string(first + kFooterPage) +
                                      ", are damaged; restore the file from a copy");
}

Result<std::optional<FoundFooter>> chosen(const Copies& copies, std::uint64_t first) {
  std::array<bool, kFooterCopies> has{};
  for (std::uint64_t number = 0; number < kFooterCopies; ++number) {
    const std::uint64_t offset = first + number * kFooterPage;
    has[number] = is_valid(copies[number], offset, number);
    MANKAI_TRY(has[number] ? check_reserved(copies[number], offset) : Result<void>{});
  }
  if (!has[0] && !has[1]) {
    return none_of(copies, first);
  }
  if (has[0] != has[1]) {
    return FoundFooter{.footer = copies[has[0] ? 0 : 1], .damaged_copies = 1, .is_other_copy_stale = true};
  }
  if (!belong_together(copies[0], copies[1])) {
    return fail(ErrorCode::corrupt, "the copies of the footer, at offsets " + std::to_string(first) + " and " +
                                        std::to_string(first + kFooterPage) +
                                        ", belong to different files; restore the file from a copy");
  }
  return FoundFooter{.footer = copies[copies[0].generation > copies[1].generation ? 0 : 1],
                     .is_other_copy_stale = !have_equal_fields(copies[0], copies[1])};
}

}  // namespace

StoreFooter sealed(StoreFooter footer) noexcept {
  footer.magic = kFooterMagic;
  footer.version = kFooterVersion;
  footer.checksum = checksum_of(footer);
  return footer;
}

void set_position(StoreFooter& footer, const SourcePosition& position) noexcept {
  footer.position = {};
  footer.position_bytes = static_cast<std::uint32_t>(position.view().size());
  std::ranges::copy(position.view(), footer.position.begin());
}

Result<std::optional<FoundFooter>> read_footer(const OpenFile& file) {
  if (file.size() < store_bytes(0) || file.size() % kFooterPage != sizeof(StoreFooter)) {
    return read_version_1(file);
  }
  const std::uint64_t first = file.size() - store_bytes(0);
  Copies copies{};
  for (std::uint64_t number = 0; number < kFooterCopies; ++number) {
    MANKAI_ASSIGN(const auto copy, read_at<StoreFooter>(file, first + number * kFooterPage));
    copies[number] = copy;
  }
  return chosen(copies, first);
}

FooterBytes bytes_of(const StoreFooter& footer) noexcept {
  if (footer.version == kFooterVersion1) {
    const std::uint64_t begin = align_up(footer.image_bytes, kFooterSector1);
    return {.begin = begin, .end = begin + sizeof(StoreFooter1)};
  }
  const std::uint64_t begin = footer_offset(footer.image_bytes, footer.generation);
  return {.begin = begin, .end = begin + sizeof(StoreFooter)};
}

Result<void> replace_footer(const OpenFile& file, StoreFooter& footer) {
  // The current copy may have been written as the second one, without a sync.
  MANKAI_TRY(file.sync());
  MANKAI_TRY(refresh_footer(file, footer));
  MANKAI_TRY(file.sync());
  return refresh_footer(file, footer);
}

Result<void> refresh_footer(const OpenFile& file, StoreFooter& footer) {
  ++footer.generation;
  footer = sealed(footer);
  return write_copy(file, footer);
}

SourcePosition position_of(const StoreFooter& footer) noexcept {
  const auto* bytes = reinterpret_cast<const char*>(footer.position.data());
  return SourcePosition::of({bytes, footer.position_bytes}).value_or(SourcePosition());
}

}  // namespace mankai
