#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/gate/gate_position.hpp"

namespace mankai::detail {

/// A gate in pieces for GATE.LOADCHUNK of the Redis module (docs/formats/redis_dump.md). The server refuses pieces with
/// the header of another gate or position. The filter must outlive this object and not change.
class GatePieces {
 public:
  /// Cost: a pass over the cells. Pre: the source's id is valid.
  GatePieces(const CountingBloom& filter, const GatePosition& position);

  /// The position, and the filter without its cells.
  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  /// At most `most_bytes` bytes of the cells from offset `start` on; empty at the end.
  [[nodiscard]] std::string cells(std::size_t start, std::size_t most_bytes) const;

 private:
  const CountingBloom& filter_;
  std::string header_;
  std::uint64_t moment_ = 0;
};

}  // namespace mankai::detail
