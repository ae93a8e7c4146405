#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai {

/// The position of a source of changes, such as the offset in a log: up to 64 bytes that only the caller interprets.
class SourcePosition {
 public:
  SourcePosition() noexcept = default;
  /// Errors: invalid_argument for more than 64 bytes.
  [[nodiscard]] static Result<SourcePosition> of(std::string_view bytes) {
    if (bytes.size() > kMaxPositionBytes) {
      return fail(ErrorCode::invalid_argument, "a source position of " + std::to_string(bytes.size()) +
                                                   " bytes is too long; use at most " +
                                                   std::to_string(kMaxPositionBytes));
    }
    SourcePosition position;
    std::ranges::copy(bytes, position.bytes_.begin());
    position.size_ = static_cast<std::uint8_t>(bytes.size());
    return position;
  }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;

 private:
  std::array<char, kMaxPositionBytes> bytes_{};
  std::uint8_t size_ = 0;
};

}  // namespace mankai
