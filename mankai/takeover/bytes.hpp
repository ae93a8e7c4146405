#pragma once

/// Numbers in bytes of other programs: little-endian, packed, and never trusted.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"

namespace mankai::takeover {

/// Reads bytes from first to last. Errors: corrupt, if there are too few bytes.
class ByteCursor {
 public:
  /// `base`: offset of the first byte in the whole, for messages.
  explicit ByteCursor(std::span<const std::byte> bytes, std::uint64_t base = 0) noexcept : bytes_(bytes), base_(base) {}

  [[nodiscard]] Result<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > rest().size()) {
      return fail(ErrorCode::corrupt, "truncated: " + std::to_string(count) + " bytes at offset " +
                                          std::to_string(offset()) + ", of which " + std::to_string(rest().size()) +
                                          " are present");
    }
    const auto taken = rest().first(static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }
  /// A number or a double, little-endian.
  template <class T>
  [[nodiscard]] Result<T> take_number() {
    static_assert(std::is_arithmetic_v<T>);
    MANKAI_ASSIGN(const auto bytes, take(sizeof(T)));
    T number{};
    std::memcpy(&number, bytes.data(), sizeof(T));
    return number;
  }

  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return bytes_.subspan(at_); }
  [[nodiscard]] std::uint64_t offset() const noexcept { return base_ + at_; }
  [[nodiscard]] bool is_at_end() const noexcept { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t base_;
  std::size_t at_ = 0;
};

using ByteBuffer = std::vector<std::byte>;

/// Appends bytes.
inline void append(ByteBuffer& out, std::span<const std::byte> bytes) {
  const std::size_t before = out.size();
  out.resize(before + bytes.size());
  std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(before));
}
/// Appends a number or a double, little-endian.
template <class T>
void append_number(ByteBuffer& out, T number) {
  static_assert(std::is_arithmetic_v<T>);
  append(out, std::as_bytes(std::span(&number, 1)));
}

}  // namespace mankai::takeover
