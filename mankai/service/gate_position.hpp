#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai {

/// Where the source of a gate stands, as the gate's file keeps it in its source position: the decimal number, and
/// behind a blank the source's id where it has one.
struct GatePosition {
  std::uint64_t position = 0;
  std::string source_id = {};

  friend bool operator==(const GatePosition&, const GatePosition&) = default;
};

/// At most 53 bytes for an id that check_source_id lets through.
[[nodiscard]] std::string to_text(const GatePosition& position);
/// Errors: corrupt for what is none.
[[nodiscard]] Result<GatePosition> parse_gate_position(std::string_view text);

/// Errors: invalid_argument unless it has at most 32 characters, none of them a blank or a control character.
[[nodiscard]] Result<void> check_source_id(std::string_view id);

}  // namespace mankai
