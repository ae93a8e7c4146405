#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/store/source_position.hpp"

namespace mankai {

/// The position of a gate's source. The gate's file stores it as text: the decimal number, then the source's id if it
/// has one, then the position's mark, which needs an id; separated by spaces.
struct GatePosition {
  std::uint64_t position = 0;
  std::string source_id = {};
  std::string mark = {};  ///< distinguishes the position from the same number in another copy of the source

  friend bool operator==(const GatePosition&, const GatePosition&) = default;
};

/// At most 64 bytes for a valid id and mark.
[[nodiscard]] std::string to_text(const GatePosition& position);
/// Errors: corrupt.
[[nodiscard]] Result<GatePosition> parse_gate_position(std::string_view text);
/// Reads the position in a gate's file; nothing if there is none. Errors: corrupt.
[[nodiscard]] Result<std::optional<GatePosition>> gate_position_of(const SourcePosition& stored);

/// Errors: invalid_argument unless it has at most 32 printable characters, none of them a space.
[[nodiscard]] Result<void> check_source_id(std::string_view id);
/// Errors: invalid_argument unless it has at most 10 such characters.
[[nodiscard]] Result<void> check_position_mark(std::string_view mark);

}  // namespace mankai
