#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mankai/base/error.hpp"

namespace mankai::lab::forgetting {

struct Trace {
  std::vector<std::uint32_t> events;  ///< numbered from 0 by first occurrence
  std::vector<std::uint64_t> keys;    ///< by number
};

/// Reads big-endian 32-bit numbers, the format of cache2k's traces, compressed or not. Errors: of reading; corrupt if
/// the last number is truncated.
[[nodiscard]] Result<Trace> read_trace(const std::string& path, std::uint64_t most_events);

/// Errors: corrupt.
[[nodiscard]] Result<Trace> parse_trace(std::string_view bytes, std::uint64_t most_events);

}  // namespace mankai::lab::forgetting
