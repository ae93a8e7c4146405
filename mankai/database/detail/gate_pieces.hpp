#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mankai/filter/counting_bloom.hpp"
#include "mankai/service/gate_position.hpp"

// What GATE.LOADCHUNK of the Redis module takes (docs/formats/redis_dump.md).

namespace mankai::detail {

/// The header: where the gate stands, and its filter without the cells. The source's id must be one.
[[nodiscard]] std::string gate_header_piece(const CountingBloom& filter, const GatePosition& position);
/// The cells from `start` on, at most so many bytes of them; empty at their end.
[[nodiscard]] std::string gate_cells_piece(const CountingBloom& filter, std::size_t start, std::size_t most_bytes);

}  // namespace mankai::detail
