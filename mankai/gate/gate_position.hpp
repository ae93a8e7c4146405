#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/store/source_position.hpp"

namespace mankai {

/// The position of a gate's source. A gate file stores it as text, separated by spaces: the decimal number, the
/// source's id if there is one, and the mark, which requires an id.
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
/// Returns the position in a gate file; empty if it has none. Errors: corrupt.
[[nodiscard]] Result<std::optional<GatePosition>> gate_position_of(const SourcePosition& stored);

/// Errors: invalid_argument unless the id has at most 32 printable characters and no space.
[[nodiscard]] Result<void> check_source_id(std::string_view id);
/// Errors: invalid_argument unless the mark has at most 10 such characters.
[[nodiscard]] Result<void> check_position_mark(std::string_view mark);

}  // namespace mankai
