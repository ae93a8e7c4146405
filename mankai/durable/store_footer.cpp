#include "mankai/durable/store_footer.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "mankai/hash/checksum.hpp"

namespace mankai {
namespace {

std::uint64_t checksum_of(const StoreFooter& footer) noexcept {
  return checksum(std::as_bytes(std::span(&footer, 1)).first(offsetof(StoreFooter, checksum)));
}

Result<void> check_footer(const StoreFooter& footer, std::uint64_t offset) {
  const std::string where = "the footer at offset " + std::to_string(offset);
  // First: another version may have its checksum elsewhere.
  if (footer.version != kFooterVersion) {
    return fail(ErrorCode::unsupported_version, where + " says that it has version " + std::to_string(footer.version) +
                                                    ", and this library knows version " +
                                                    std::to_string(kFooterVersion) +
                                                    "; use a newer one, or restore the file from a copy if it is "
                                                    "damaged");
  }
  if (footer.checksum != checksum_of(footer)) {
    return fail(ErrorCode::corrupt, where + " is damaged: its checksum does not match; restore the file from a copy");
  }
  // Compared without adding to what the footer says: a forged size must not wrap.
  const bool is_in_place = footer.image_bytes <= offset && footer_offset(footer.image_bytes) == offset;
  if (!is_in_place || footer.position_bytes > kMaxPositionBytes || footer.is_open > 1) {
    return fail(ErrorCode::corrupt, where + " says what cannot be; restore the file from a copy");
  }
  return {};
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
  footer.position_bytes = position.view().size();
  std::ranges::copy(position.view(), footer.position.begin());
}

Result<std::optional<StoreFooter>> read_footer(const OpenFile& file) {
  StoreFooter footer{};
  if (file.size() < sizeof(footer)) {
    return std::nullopt;
  }
  const std::uint64_t offset = file.size() - sizeof(footer);
  if (auto read = file.read(offset, std::as_writable_bytes(std::span(&footer, 1))); !read) {
    return std::unexpected(read.error());
  }
  if (footer.magic != kFooterMagic) {
    return std::nullopt;
  }
  if (auto valid = check_footer(footer, offset); !valid) {
    return std::unexpected(valid.error());
  }
  return footer;
}

SourcePosition position_of(const StoreFooter& footer) noexcept {
  const auto* bytes = reinterpret_cast<const char*>(footer.position.data());
  return SourcePosition::of({bytes, footer.position_bytes}).value_or(SourcePosition());
}

}  // namespace mankai
