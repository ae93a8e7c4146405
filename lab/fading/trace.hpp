#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mankai/base/error.hpp"

namespace mankai::lab::forgetting {

/// A trace of events that recur.
struct Trace {
  std::vector<std::uint32_t> events;  ///< numbered from 0 in the order in which each came first
  std::vector<std::uint64_t> keys;    ///< of each number
};

/// Reads big-endian numbers of 32 bits, as cache2k's traces are, packed or not; at most `most_events`.
/// Errors: of reading; corrupt where the last number is cut off.
[[nodiscard]] Result<Trace> read_trace(const std::string& path, std::uint64_t most_events);

/// The same from memory. Errors: corrupt.
[[nodiscard]] Result<Trace> parse_trace(std::string_view bytes, std::uint64_t most_events);

}  // namespace mankai::lab::forgetting
