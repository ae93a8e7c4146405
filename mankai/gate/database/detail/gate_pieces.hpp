#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/gate/gate_position.hpp"

// What GATE.LOADCHUNK of the Redis module takes (docs/formats/redis_dump.md).

namespace mankai::detail {

/// A gate in pieces, which are bound to their header: with that of another gate, or of this one at another position,
/// they are refused. The filter must outlive this and stay as it is.
class GatePieces {
 public:
  /// The source's id must be one. Cost: a pass over the cells.
  GatePieces(const CountingBloom& filter, const GatePosition& position);

  /// Where the gate stands, and its filter without the cells.
  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  /// The cells from `start` on, at most so many bytes of them; empty at their end.
  [[nodiscard]] std::string cells(std::size_t start, std::size_t most_bytes) const;

 private:
  const CountingBloom& filter_;
  std::string header_;
  std::uint64_t moment_ = 0;
};

}  // namespace mankai::detail
