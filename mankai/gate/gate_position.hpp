#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai {

/// Where the source of a gate stands, as the gate's file keeps it in its source position: the decimal number, and
/// behind a blank the source's id where it has one, and behind another one the position's mark, which only a source
/// with an id can have.
struct GatePosition {
  std::uint64_t position = 0;
  std::string source_id = {};
  std::string mark = {};  ///< tells the position from the same number in another copy of the source

  friend bool operator==(const GatePosition&, const GatePosition&) = default;
};

/// At most 64 bytes for an id and a mark that the checks let through.
[[nodiscard]] std::string to_text(const GatePosition& position);
/// Errors: corrupt for what is none.
[[nodiscard]] Result<GatePosition> parse_gate_position(std::string_view text);

/// Errors: invalid_argument unless it has at most 32 characters, none of them a blank or a control character.
[[nodiscard]] Result<void> check_source_id(std::string_view id);
/// Errors: invalid_argument unless it has at most 10 such characters.
[[nodiscard]] Result<void> check_position_mark(std::string_view mark);

}  // namespace mankai
