#pragma once

#include <cstdint>
#include <string>

namespace mankai::command {

/// Numbers for people; `--json` has them exactly.
[[nodiscard]] std::string human_count(std::uint64_t count);  ///< 1,234,567
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);  ///< 12.3 MiB
[[nodiscard]] std::string human_share(double share);         ///< 0.998%
[[nodiscard]] std::string human_estimate(double estimate);   ///< a count that is not whole; may be infinite

}  // namespace mankai::command
